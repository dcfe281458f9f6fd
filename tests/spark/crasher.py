"""A refresh in a process of its own that kills itself at a named point, or stops itself until it is woken.

Run by test_crashes.py and test_fencing.py:

    python -m tests.spark.crasher WAREHOUSE SPECS GROUP REFRESH_ID POINT SPARK [force]

Points are functions of Foreset with `before` or `after`: nothing in the product knows of them. The numbers
are those of the crash points that reliability notes list for a commit of many tables:

    C1  epoch allocated, source versions not recorded    C8  all staged, not verified
    C2  source versions recorded                         C9  verification failed, the abort half done
    C3  files written, no log entry, no mark             C10 verified, not committed
    C4  log entry written beside the log, not published  C11 all views written, the manifest not
    C5  a version published, its answer lost             C12 manifest durable, its answer lost
    C6  one view of several written                      C13 published, its caller never told
    C7  reset to the pin done, the write not             C14 committed, publishing not begun
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foreset
from foreset.plan.stages import VERIFY
from foreset.refresh import runner

POINTS = {
    "C1 epoch allocated, vector not recorded": ("foreset.store.epochs:_recorded", "before"),
    "C2 vector recorded": ("foreset.store.epochs:_recorded", "after"),
    "captured, not maintained": ("foreset.refresh.runner:maintain", "before"),
    "C3 differential written, stratum not marked": ("foreset.refresh.maintaining:_stage_view", "after"),
    "one stratum of two maintained": ("foreset.refresh.runner:maintain", "after"),
    "C4 log entry not published": ("foreset.store.signed:append", "torn"),
    "C7 reset to the pin, not written": ("foreset.store.write_once:_reset", "after"),
    "C9 verification failed, abort half done": ("foreset.refresh.whole:close_run", "refused"),
    "C13 published, caller not told": ("foreset.refresh.committing:publish", "after"),
    "C8 all staged, not verified": ("foreset.refresh.checking:verify", "before"),
    "C10 verified, not committed": ("foreset.refresh.committing:commit", "before"),
    "C5 a view version published, not noted": ("foreset.store.write_once:_written", "after"),
    "C6 one view of two written": ("foreset.refresh.committing:_write_view", "after"),
    "a file taken over, its log entry not written": ("foreset.store.files:give_name", "after"),
    "all files of a view taken over, none in its log": ("foreset.store.write_once:taken_over", "after"),
    "C11 all written, manifest not": ("foreset.store.manifest:commit", "before"),
    "C12 manifest durable, answer lost": ("foreset.store.manifest:commit", "after"),
    "C14 committed, not published": ("foreset.refresh.committing:publish", "before"),
}
PAUSES = {
    "asleep, captured": ("foreset.refresh.runner:maintain", "before"),
    "asleep, all staged": ("foreset.refresh.checking:verify", "before"),
    "asleep, verified": ("foreset.refresh.committing:commit", "before"),
    "asleep, views written": ("foreset.store.manifest:commit", "before"),
}


def plant(point: str) -> None:
    """Make the process die at `point`, as if the power went: no handler, no cleaning up; or sleep there, once."""
    target, when = POINTS.get(point) or PAUSES[point]
    sent = signal.SIGKILL if point in POINTS else signal.SIGSTOP
    module_name, _, name = target.partition(":")
    module = importlib.import_module(module_name)
    honest: Callable[..., Any] = getattr(module, name)

    if when == "refused":
        refuse()

    def deadly(*args: Any, **kwargs: Any) -> Any:
        instead(module, name, deadly, honest)
        if when == "torn":
            tear(Path(args[0]))
        if when != "after":
            os.kill(os.getpid(), sent)
            return honest(*args, **kwargs)
        result = honest(*args, **kwargs)
        os.kill(os.getpid(), sent)
        return result

    instead(module, name, honest, deadly)


def instead(module: Any, name: str, function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Put another function in place of one, also where the list of stages names it."""
    setattr(module, name, other)
    runner.DOES.update({stage: other for stage, does in runner.DOES.items() if does is function})


def tear(table: Path) -> None:
    """What a writer leaves that dies in the middle: half a data file, and a log entry under a name of its own."""
    (table / "part-00000-torn.zstd.parquet").write_bytes(b"PAR1 half of a file")
    log = table / "_delta_log"
    newest = max(log.glob("*.json"))
    (log / f"{int(newest.stem) + 1:020d}.json#1").write_text(newest.read_text()[:200])
    (log / f".{int(newest.stem) + 1:020d}.json.tmp").write_text("")


def refuse() -> None:
    """Let verification fail."""

    def refused(_: object) -> None:
        raise foreset.VerificationFailed("planted")

    runner.DOES[VERIFY] = refused


def main() -> int:
    """Refresh, and die if a point is named."""
    warehouse, specs, group, refresh_id, point, spark, *more = sys.argv[1:]
    if point:
        plant(point)
    try:
        wh = foreset.open(warehouse, specs, spark)
        result = wh.refresh(group, "incremental", 60, refresh_id=refresh_id, force="force" in more)
    except foreset.ForesetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(result.seq)
    return 0


if __name__ == "__main__":
    sys.exit(main())
