"""What a machine must have to refresh views, each fault with its fix.

Data only: the CLI prints it. `examine` looks at everything and changes nothing
but a scratch folder in the warehouse, which it removes.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

import psutil

from foreset.errors import ForesetError
from foreset.session.config import LOOPBACK, Settings
from foreset.session.embedded import inspect_server
from foreset.session.fetch_jars import ensure, jar_folder, read_lock
from foreset.session.jars import FETCH, lock_file, verified_jars
from foreset.session.locations import absolute_warehouse, local_path, state_files
from foreset.session.locks import writer_lock_is_free
from foreset.session.own_conf import own_conf, shown
from foreset.session.race import RaceResult, race
from foreset.session.state import Fit

# What was resolved and run together (requirements.in); the first part of a version must agree.
PINNED = {
    "deltalake": "1.6.6",
    "duckdb": "2.0.",
    "pandas": "2.",
    "pyspark": "4.1.3",
    "delta-spark": "4.4.0",
    "great-expectations": "1.24.",
    "apache-airflow": "3.3.",
}
OPTIONAL = {
    "pyspark": "refreshes that are too large for this process",
    "delta-spark": "refreshes that are too large for this process",
    "great-expectations": "expectations other than `deny:`",
    "apache-airflow": "DAGs, reports in Airflow and `foreset up`",
}  # what does without them, and what does not
SETUP = 'in a checkout run `make setup`; else  pip install "foreset[all]"  installs the tested versions'
GIGABYTE = 1024**3


class Status(StrEnum):
    """How much a finding matters: `fail` means that no refresh can run, or that data is in danger."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what was found, and what to do about it."""

    name: str
    status: Status
    fact: str
    fix: str = ""


def examine(warehouse: str, *, race_seconds: float = 2.0) -> list[Finding]:
    """Look at everything; `race_seconds` is how long processes race for the warehouse's files (0: not at all)."""
    place = absolute_warehouse(warehouse)
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python,
        _java,
        _versions,
        _jars,
        _loopback,
        _memory,
        _own_conf,
        lambda: _warehouse(place),
        lambda: _server(place),
        lambda: _log_store(place, race_seconds),
    )
    return [finding for check in checks for finding in check()]


def mend() -> str:
    """Fetch what a machine can fetch for itself, the Delta jars; return what stayed wrong, or an empty string."""
    return ensure(read_lock(lock_file()), jar_folder())


def _verdict(name: str, fact: str, fix: str, *, good: bool, otherwise: Status = Status.FAIL) -> Finding:
    return Finding(name, Status.OK, fact) if good else Finding(name, otherwise, fact, fix)


def _python() -> Iterator[Finding]:
    good = (3, 11) <= sys.version_info[:2] < (3, 14)
    yield _verdict("python", f"Python {platform.python_version()}", "use Python 3.11, 3.12 or 3.13", good=good)


def _java() -> Iterator[Finding]:
    fix = "install a Java runtime, version 17 or newer, and put it on PATH or set JAVA_HOME"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        yield Finding("java", Status.FAIL, f"no java {'in JAVA_HOME=' + home if home else 'on PATH'}", fix)
        return
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as fault:
        yield Finding("java", Status.FAIL, f"{java} does not run: {fault}", fix)
        return
    major = java_major(said)
    yield _verdict("java", f"Java {major or 'of an unknown version'}: {java}", fix, good=major >= 17)


def java_major(said: str) -> int:
    """Return the major version in what `java -version` says (1.8 is 8), or 0."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else 0


def _versions() -> Iterator[Finding]:
    for name, pinned in PINNED.items():
        if (version := _version(name)) is None:
            status = Status.WARN if name in OPTIONAL else Status.FAIL
            lacking = f"{name} is not installed (tested: {pinned}); it is for {OPTIONAL.get(name, 'every refresh')}"
            yield Finding(f"version of {name}", status, lacking, SETUP)
            continue
        fact = f"{name} {version} (tested: {pinned})"
        yield _verdict(f"version of {name}", fact, SETUP, good=version.startswith(pinned), otherwise=Status.WARN)
    if (spark := _version("pyspark")) and (client := _version("pyspark-client")):
        yield _verdict(
            "pyspark and pyspark-client",
            f"pyspark {spark} and pyspark-client {client} share one folder",
            f"install both in one version, pyspark last: pip install --force-reinstall --no-deps pyspark=={spark} "
            f"pyspark-client=={spark}",
            good=spark == client,
        )


def _version(name: str) -> str | None:
    """The installed version of a distribution; None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _jars() -> Iterator[Finding]:
    try:
        jars = verified_jars()
    except ForesetError as fault:
        yield Finding("jars", Status.FAIL, fault.message, fault.hint or FETCH)
        return
    fact = f"{len(jars.paths)} Delta jars, each with the SHA-256 of jars.lock" if jars.paths else jars.fingerprint
    yield Finding("jars", Status.OK, fact)


def _loopback() -> Iterator[Finding]:
    fix = f"let this user listen on {LOOPBACK} (firewall, sandbox), and see that the loopback interface is up"
    try:
        with socket.create_server((LOOPBACK, 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
            yield Finding("loopback", Status.OK, f"a free port on {LOOPBACK} can be opened and reached")
    except OSError as fault:
        yield Finding("loopback", Status.FAIL, f"no port on {LOOPBACK} can be opened and reached: {fault}", fix)


def _memory() -> Iterator[Finding]:
    try:
        wanted = Settings.from_environment().memory_mb
    except ForesetError as fault:
        yield Finding("memory", Status.FAIL, fault.message, fault.hint)
        return
    free = psutil.virtual_memory().available // (1024 * 1024)
    fact = f"{free} MB free; the embedded server may use {wanted} MB and about 500 MB beside its heap"
    fix = "close other programs, or set FORESET_SPARK_MEMORY lower (at least 1g)"
    yield _verdict("memory", fact, fix, good=free > wanted + 500, otherwise=Status.WARN)


def _own_conf() -> Iterator[Finding]:
    try:
        own = own_conf()
    except ForesetError as fault:
        yield Finding("Spark settings", Status.FAIL, fault.message, fault.hint)
        return
    if own:
        told = ", ".join(shown(key, value) for key, value in sorted(own.items()))
        yield Finding("Spark settings", Status.OK, f"of your own: {told}")


def _warehouse(warehouse: str) -> Iterator[Finding]:
    path = local_path(warehouse)
    if path is None:
        yield Finding("warehouse", Status.OK, f"{warehouse} is not on a disk of this machine: not tried")
        return
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    good = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    yield _verdict(
        "warehouse",
        f"{path} {'can' if good else 'cannot'} be written" + ("" if there == path else f" (to be created in {there})"),
        "make it writable for this user, or name another with --warehouse or FORESET_WAREHOUSE",
        good=good,
    )
    free = shutil.disk_usage(there).free / GIGABYTE
    fact = f"{free:.1f} GB free where the warehouse is"
    status = Status.FAIL if free < 0.2 else Status.WARN
    yield _verdict("disk", fact, "free some space, or run `foreset gc`", good=free >= 2, otherwise=status)


def _server(warehouse: str) -> Iterator[Finding]:
    try:
        report = inspect_server(warehouse, Settings.from_environment())
    except ForesetError:  # the jars or the settings are at fault, which have a finding of their own
        report = inspect_server(warehouse)
    files = state_files(warehouse)
    if report.fit is None:
        held = files.writer.exists() and not writer_lock_is_free(files)
        fact = "no embedded server runs" + ("; another Spark holds the write lock" if held else "")
        fact += f"; its state and log would be in {files.folder}"
        yield Finding("embedded server", Status.OK, fact)
        return
    use = "in use" if report.in_use else "idle"
    fact = f"{report.fit}: port {report.port}, process {report.supervisor_pid}, JVM {report.jvm_pid}, {use}"
    fact += f"; its log: {files.log}"
    fixes = {
        Fit.OTHER_SETTINGS: "nothing, or use the FORESET_SPARK_* settings it was started with: the next refresh "
        "replaces it as soon as it is idle",
        Fit.CRASHED: "nothing: the next refresh replaces it",
        Fit.OTHER_WAREHOUSE: "nothing: the next refresh starts a server of this warehouse's own",
        Fit.ELSEWHERE: "if it runs in another container, set FORESET_SPARK=sc://host:port to use it; else nothing",
    }
    yield _verdict(
        "embedded server", fact, fixes.get(report.fit, ""), good=report.fit is Fit.FITS, otherwise=Status.WARN
    )


def _log_store(warehouse: str, seconds: float) -> Iterator[Finding]:
    path = local_path(warehouse)
    if path is None:
        yield Finding(
            "log store",
            Status.WARN,
            f"{warehouse}: Delta's log store for this scheme protects commits, and was not tried",
            "on s3:// let only one driver write, or set spark.delta.logStore.s3.impl to S3DynamoDBLogStore on all",
        )
        return
    if seconds <= 0:
        return
    try:
        result = race(path, seconds)
    except (OSError, ForesetError) as fault:
        yield Finding("log store", Status.FAIL, f"processes could not race in {path}: {fault}", "see `warehouse` above")
        return
    yield from race_findings(result)


def race_findings(result: RaceResult) -> Iterator[Finding]:
    """Say what the races mean: what protects the warehouse's commits here."""
    elsewhere = "move the warehouse to a local file system (ext4, xfs, btrfs, apfs), or to an object store"
    lock, link, table = result.lock, result.link, result.table
    yield _verdict(
        "one writing JVM",
        f"the writer lock let two processes in together {lock.lost} times in {lock.acknowledged}: it "
        + ("keeps a second JVM out, so Spark's commits are safe" if not lock.lost else "protects nothing here"),
        elsewhere,
        good=lock.acknowledged > 0 and not lock.lost,
    )
    yield _verdict(
        "hard links",
        f"{link.lost} of {link.acknowledged} files published by hard link were lost "
        f"(by rename, as Delta's own log store does it: {result.rename.lost} of {result.rename.acknowledged})",
        elsewhere,
        good=link.acknowledged > 0 and not link.lost,
    )
    yield _verdict(
        "manifest commits",
        f"{table.lost} of {table.acknowledged} commits that deltalake acknowledged to two processes were lost",
        elsewhere,
        good=table.acknowledged > 0 and not table.lost,
    )
