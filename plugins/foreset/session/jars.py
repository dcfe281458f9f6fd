"""The Delta jars: where they are, and whether they are the ones that were tested."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from foreset.errors import EnvironmentFault
from foreset.session.fetch_jars import LOCK, Jar, jar_folder, read_lock

FETCH = "run `foreset doctor --fix` (in a checkout: `make setup`), or point FORESET_JARS to a folder that has them"


@dataclass(frozen=True, slots=True)
class JarSet:
    """What Spark must load; `paths` is empty where the jars lie in Spark's own folder already."""

    paths: tuple[Path, ...]
    fingerprint: str


def lock_file() -> Path:
    """Return the lock file: beside the jars where they were shipped together, else the package's own."""
    beside = jar_folder() / LOCK.name
    return beside if beside.is_file() else LOCK


def faults_of(jars: tuple[Jar, ...], folder: Path) -> tuple[str, ...]:
    """Say of each jar that is missing or not the tested one what is wrong with it."""

    def fault(jar: Jar) -> str:
        path = folder / jar.file
        if not path.is_file():
            return f"{jar.file} is missing"
        same = hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256
        return "" if same else f"{jar.file} is not the tested one (its SHA-256 differs)"

    return tuple(said for said in map(fault, jars) if said)


def verified_jars() -> JarSet:
    """Return the jars that Spark must load, each with the hash of the lock; raise with the fix otherwise."""
    jars, folder = read_lock(lock_file()).jars, jar_folder()
    if not (faults := faults_of(jars, folder)):
        fingerprint = hashlib.sha256("".join(jar.sha256 for jar in jars).encode()).hexdigest()[:16]
        return JarSet(tuple(folder / jar.file for jar in jars), fingerprint)
    if named := _shipped_with_spark():
        return JarSet((), named)
    told = f"the Delta jars in {folder} cannot be used: {'; '.join(faults)}"
    raise EnvironmentFault(told, FETCH, worth_retrying=False)


def _shipped_with_spark() -> str:
    home = os.environ.get("SPARK_HOME")
    spec = importlib.util.find_spec("pyspark")
    folders = (
        [Path(home)] if home else [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    )
    found = (jar.name for folder in folders for jar in (folder / "jars").glob("delta-spark_*.jar"))
    return next(found, "")
