"""Does this file system lose commits? Two processes race for it, and what they were promised is counted.

Four ways to publish are tried in a scratch folder of the warehouse: under the
writer lock that keeps a second JVM out; by hard link, which refuses an existing
name; by rename after a look, as Delta's log store for local disks does it
(losses are expected: they are why the lock exists); and by deltalake's commit,
which writes the manifests.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from foreset.errors import EnvironmentFault
from foreset.session.jvm import PACKAGE_ROOT

RACERS = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many acts were acknowledged to a racer, and how many of these are gone."""

    acknowledged: int
    lost: int


@dataclass(frozen=True, slots=True)
class RaceResult:
    """The outcome of each way to publish."""

    lock: Outcome
    link: Outcome
    rename: Outcome
    table: Outcome


def race(warehouse: Path, seconds: float) -> RaceResult:
    """Race two processes through all four ways, in a folder that is removed afterwards."""
    private = warehouse / "_foreset"
    made = [folder for folder in (warehouse, private) if not folder.exists()]
    private.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="_race-", dir=private))
    try:
        for way in ("link", "rename"):
            (scratch / way).mkdir()
        (scratch / "counter").write_text("0")
        return _judge(scratch, _run_racers(scratch, seconds))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # not empty any more: someone else uses it
                folder.rmdir()


def _run_racers(scratch: Path, seconds: float) -> list[dict[str, int]]:
    path = os.pathsep.join(filter(None, (str(PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "foreset.session.race", str(scratch), str(number), str(seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
        )
        for number in range(RACERS)
    ]  # fmt: skip
    try:
        said = [racer.communicate(timeout=seconds * 4 + 60) for racer in racers]
    except subprocess.TimeoutExpired as fault:
        raise EnvironmentFault(f"the racing processes did not end within {fault.timeout:.0f} s") from fault
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    if failed := next((err for racer, (_, err) in zip(racers, said, strict=True) if racer.returncode), ""):
        raise EnvironmentFault(f"a racing process failed: {failed.strip().splitlines()[-1]}")
    return [json.loads(out) for out, _ in said]


def _judge(scratch: Path, reports: list[dict[str, int]]) -> RaceResult:
    from deltalake import DeltaTable

    def outcome(way: str, kept: int) -> Outcome:
        acknowledged = sum(report[way] for report in reports)
        return Outcome(acknowledged, acknowledged - kept)

    def bodies(way: str) -> int:
        return len({file.read_text() for file in (scratch / way).glob("[0-9]*")})

    rows = DeltaTable(str(scratch / "table")).to_pyarrow_table().num_rows
    return RaceResult(
        lock=outcome("lock", int((scratch / "counter").read_text())),
        link=outcome("link", bodies("link")),
        rename=outcome("rename", bodies("rename")),
        table=outcome("table", rows),
    )


def _racer(scratch: Path, number: int, seconds: float) -> dict[str, int]:
    import deltalake  # noqa: F401 - its import takes long, and must not be part of the race

    (scratch / f"ready-{number}").touch()
    deadline = time.monotonic() + 30
    while len(list(scratch.glob("ready-*"))) < RACERS and time.monotonic() < deadline:
        time.sleep(0.001)
    share = seconds / 4
    return {
        "lock": _under_the_lock(scratch, time.monotonic() + share),
        "link": _publish(scratch / "link", number, time.monotonic() + share, by_link=True),
        "rename": _publish(scratch / "rename", number, time.monotonic() + share, by_link=False),
        "table": _append(scratch / "table", number, time.monotonic() + share),
    }


def _under_the_lock(scratch: Path, deadline: float) -> int:
    """Count up in a file, by reading and writing it: without a working lock, counts are lost."""
    done, counter = 0, scratch / "counter"
    descriptor = os.open(scratch / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    while time.monotonic() < deadline:
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        counter.write_text(str(int(counter.read_text()) + 1))
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
        done += 1
    os.close(descriptor)
    return done


def _publish(folder: Path, number: int, deadline: float, *, by_link: bool) -> int:
    """Publish numbered files as a log store does: take the next free number, go on where a rival was faster."""
    done = version = 0
    mine = folder / f"partial-{number}"
    while time.monotonic() < deadline:
        target = folder / f"{version:020d}"
        version += 1
        if target.exists():
            continue
        mine.write_text(f"{number}-{done}")  # always a new file: a hard link shares its content
        if by_link:
            try:
                os.link(mine, target)
            except FileExistsError:
                continue
            finally:
                mine.unlink()
        else:
            mine.replace(target)
        done += 1
    mine.unlink(missing_ok=True)
    return done


def _append(table: Path, number: int, deadline: float) -> int:
    """Append one row per commit through deltalake; a refused commit is no promise."""
    import pyarrow as pa
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    done = 0
    while done < 5 or time.monotonic() < deadline:
        row = pa.table({"racer": [number], "act": [done]})
        with contextlib.suppress(DeltaError):
            write_deltalake(str(table), row, mode="append")
            done += 1
    return done


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_racer(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
