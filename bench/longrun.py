"""`make bench-longrun`: refreshes one after the other on one warm Spark server, and what of each stays in its heap.

    python -m bench.longrun [--refreshes 200] [--case B1] [--engine spark] [--every 20]

What lives after a full collection is counted by `jcmd GC.class_histogram`: bytes, blocks of Spark's storage, sessions.
It ends with 1 where any of them is larger after the last refresh than `SLACK` times what it was after a tenth of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.refresh import place
from bench.scales import worlds

import foreset
from foreset.plan.place import VARIABLE
from foreset.session.locations import state_files
from foreset.session.state import read_state

SLACK = 1.25
CLEAN_S = 2.0  # Spark's cleaner works on what a collection has found
CLASSES = {
    "blocks": ("org.apache.spark.storage.BlockInfo",),
    "sessions": ("org.apache.spark.sql.connect.service.SessionHolder",),
    "plans": ("org.apache.spark.sql.execution.QueryExecution",),
}


@dataclass(frozen=True, slots=True)
class Alive:
    """What a server holds after a full collection."""

    megabytes: float
    blocks: int
    sessions: int
    plans: int

    def beyond(self, before: Alive) -> list[str]:
        """What has grown."""
        now, then = asdict(self), asdict(before)
        return [f"{name}: {then[name]} -> {now[name]}" for name in now if now[name] > SLACK * max(then[name], 4)]


def alive(warehouse: str) -> Alive:
    """Collect twice, with time for Spark's cleaner between, and count."""
    state = read_state(state_files(warehouse))
    assert state is not None, "no server runs"
    histogram(state.jvm.pid)
    time.sleep(CLEAN_S)
    counts, total = histogram(state.jvm.pid)
    found = {name: sum(counts.get(one, 0) for one in classes) for name, classes in CLASSES.items()}
    return Alive(round(total / 2**20, 1), **found)


def histogram(pid: int) -> tuple[dict[str, int], int]:
    """How many objects of each class live in a JVM, and how many bytes all of them take; collects first."""
    told = subprocess.run(["jcmd", str(pid), "GC.class_histogram"], capture_output=True, text=True, check=True).stdout
    counts: dict[str, int] = {}
    for line in told.splitlines():
        words = line.split()
        if len(words) >= 4 and words[0].endswith(":"):
            counts[words[3]] = int(words[1])
        elif words and words[0] == "Total":
            return counts, int(words[2])
    raise AssertionError(told)


def refreshes(warehouse: str, given: argparse.Namespace, session: object) -> list[tuple[int, float, Alive]]:
    """Number, seconds and what lives, of each so many refreshes."""
    os.environ[VARIABLE] = given.engine
    world = worlds("small")[given.case][0]()
    world.create(warehouse)
    specs = Path(warehouse, "specs")
    specs.mkdir()
    specs.joinpath("long.yaml").write_text(world.spec("long"))
    wh, found = foreset.open(warehouse, str(specs), session), []
    for number in range(1, given.refreshes + 1):
        if number > 1:
            world.apply(warehouse, 2, "mixed")
        began = time.monotonic()
        wh.refresh("long", verify=20)
        if number % given.every == 0 or number == max(1, given.refreshes // 10):
            found.append((number, round(time.monotonic() - began, 2), alive(warehouse)))
            print(f"{number:4}  {found[-1][1]:6.2f} s  {found[-1][2]}", flush=True)
    return found


def main() -> None:
    """Refresh, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--refreshes", type=int, default=200)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--case", default="B1")
    parser.add_argument("--engine", default="spark")
    given = parser.parse_args()
    with place("embedded", warm=True) as (root, session):
        found = refreshes(root, given, session)
    grown = found[-1][2].beyond(found[0][2])
    print("flat" if not grown else f"grown: {', '.join(grown)}")
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()
