"""Put the Delta jars of `jars.lock` into a folder, each checked against its SHA-256.

Run by `make setup` and by the Spark image. A second run only compares hashes.

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

HERE = Path(__file__).resolve().parent
ATTEMPTS = 4
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Jar:
    coordinate: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Lock:
    jars: tuple[Jar, ...]
    excluded: tuple[str, ...]  # group:artifact, which Spark ships itself


def read_lock(path: Path) -> Lock:
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
    path = folder / jar.file
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def resolve(lock: Lock, work: Path, *, private_home: bool) -> tuple[Path, str]:
    """Let spark-submit resolve the coordinates into `work`; return its jar folder and what it said."""
    home = f" -Duser.home={work}" if private_home else ""
    empty_job = work / "nothing.py"
    empty_job.write_text("")
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise SystemExit("jars: this Python has no pyspark; run `make setup`")
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


def main() -> int:
    parser = argparse.ArgumentParser(description="Fetch and verify the Delta jars.")
    parser.add_argument("--lock", type=Path, default=HERE / "jars.lock")
    folder = Path(os.environ.get("FORESET_JARS") or HERE.parent / ".cache" / "jars")
    parser.add_argument("--into", type=Path, default=folder)
    arguments = parser.parse_args()
    lock = read_lock(arguments.lock)
    if all(is_good(jar, arguments.into) for jar in lock.jars):
        return 0
    print(f"jars: fetching {len(lock.jars)} Delta jars (once, about 13 MB) ...", file=sys.stderr)
    if why := fetch(lock, arguments.into):
        print(
            f"jars: {why}\n"
            "jars: the Delta jars are needed by everything that runs Spark. Check the network (a mirror is set with "
            "DEFAULT_ARTIFACT_REPOSITORY=URL, a proxy with SPARK_SUBMIT_OPTS=-Dhttps.proxyHost=...), then run "
            "`make setup` again; or copy the files named in docker/jars.lock to "
            f"{arguments.into} yourself.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
