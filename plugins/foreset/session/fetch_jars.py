"""Put the Delta jars of `jars.lock` into a folder, each checked against its SHA-256.

Run by `make setup`, by `foreset doctor --fix` and, as a script by itself, by the image. A second run only compares
hashes. Nothing but the standard library is imported here.

No registry is named here: Spark's own resolver (the one behind `--packages`) downloads, so mirrors and
proxies configured for Spark keep working. It gets a fresh private cache and home each time, because a
half-filled Maven cache of the user makes resolution fail; only the last attempt uses the user's own.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LOCK = Path(__file__).resolve().with_name("jars.lock")
CHECKOUT = LOCK.parents[min(3, len(LOCK.parents) - 1)]  # where this file lies in one: plugins/foreset/session/
ATTEMPTS = 4
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of jars.lock."""

    coordinate: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Lock:
    """What jars.lock says."""

    jars: tuple[Jar, ...]
    excluded: tuple[str, ...]  # group:artifact, which Spark ships itself


def jar_folder() -> Path:
    """Return the folder that should have the jars: FORESET_JARS, the cache of a checkout, or the cache of the user."""
    if named := os.environ.get("FORESET_JARS"):
        return Path(named).resolve()
    if (CHECKOUT / "pyproject.toml").is_file() and (CHECKOUT / "plugins" / "foreset").is_dir():
        return CHECKOUT / ".cache" / "jars"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "foreset" / "jars" / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]


def read_lock(path: Path) -> Lock:
    """Return the jars of a lock file: lines of coordinate, file, SHA-256, and `exclude` lines."""
    jars: list[Jar] = []
    excluded: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        match line.partition("#")[0].split():
            case []:
                pass
            case ["exclude", name]:
                excluded.append(name)
            case [coordinate, file, sha256]:
                jars.append(Jar(coordinate, file, sha256))
            case _:
                raise SystemExit(f"{path}: cannot read this line: {line}")
    return Lock(tuple(jars), tuple(excluded))


def is_good(jar: Jar, folder: Path) -> bool:
    """The jar is there, and it is the tested one."""
    path = folder / jar.file
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def resolve(lock: Lock, work: Path, *, private_home: bool) -> tuple[Path, str]:
    """Let spark-submit resolve the coordinates into `work`; return its jar folder and what it said."""
    home = f" -Duser.home={work}" if private_home else ""
    empty_job = work / "nothing.py"
    empty_job.write_text("")
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise SystemExit("jars: this Python has no pyspark; run `make setup`, or pip install 'foreset[spark]'")
    spark_home = Path(package.origin).parent
    submit = [
        f"{spark_home}/bin/spark-submit",
        *("--master", "local[1]"),
        *("--conf", f"spark.jars.ivy={work / 'ivy'}"),
        *("--conf", f"spark.driver.extraJavaOptions=-Djava.net.useSystemProxies=true{home}"),
        *("--packages", ",".join(jar.coordinate for jar in lock.jars)),
        *("--exclude-packages", ",".join(lock.excluded)),
        str(empty_job),
    ]
    environment = os.environ | {"SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": sys.executable,
                                "PYSPARK_DRIVER_PYTHON": sys.executable}  # fmt: skip
    try:
        done = subprocess.run(
            submit, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return work / "ivy" / "jars", f"no answer within {TIMEOUT_S} s"
    return work / "ivy" / "jars", done.stdout + done.stderr


def fetch(lock: Lock, folder: Path) -> str:
    """Fill `folder`; return an empty string, or why it could not be filled."""
    folder.mkdir(parents=True, exist_ok=True)
    why = ""
    for attempt in range(1, ATTEMPTS + 1):
        with tempfile.TemporaryDirectory(prefix="foreset-jars-") as tmp:
            found, said = resolve(lock, Path(tmp), private_home=attempt < ATTEMPTS)
            missing = [jar.file for jar in lock.jars if not (found / jar.file).is_file()]
            changed = [jar.file for jar in lock.jars if jar.file not in missing and not is_good(jar, found)]
            if changed:  # a retry cannot help, and taking it would be wrong
                return f"the SHA-256 of {', '.join(changed)} is not the one in jars.lock"
            if not missing:
                for jar in lock.jars:
                    partial = folder / f".{jar.file}.{os.getpid()}"
                    shutil.copyfile(found / jar.file, partial)
                    partial.replace(folder / jar.file)
                return ""
            why = f"{', '.join(missing)} did not arrive. Spark's resolver said:\n{said[-2000:]}"
        print(f"jars: attempt {attempt} of {ATTEMPTS} failed", file=sys.stderr)
        time.sleep(2**attempt if attempt < ATTEMPTS else 0)
    return why


def ensure(lock: Lock, folder: Path) -> str:
    """Fetch the jars unless they are there; return an empty string, or what is wrong and what to do."""
    if all(is_good(jar, folder) for jar in lock.jars):
        return ""
    print(f"jars: fetching {len(lock.jars)} Delta jars (once, about 13 MB) ...", file=sys.stderr)
    if not (why := fetch(lock, folder)):
        return ""
    return (
        f"{why}\nEverything that runs Spark needs the Delta jars. Check the network (a mirror is set with "
        "DEFAULT_ARTIFACT_REPOSITORY=URL, a proxy with SPARK_SUBMIT_OPTS=-Dhttps.proxyHost=...), then try again; "
        f"or copy the files that {LOCK.name} names to {folder} yourself."
    )


def main() -> int:
    """Fetch and verify; what is wrong goes to stderr."""
    parser = argparse.ArgumentParser(description="Fetch and verify the Delta jars.")
    parser.add_argument("--lock", type=Path, default=LOCK)
    parser.add_argument("--into", type=Path, help="default: FORESET_JARS, or a cache")
    arguments = parser.parse_args()
    why = ensure(read_lock(arguments.lock), arguments.into or jar_folder())
    if why:
        print(f"jars: {why}", file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
