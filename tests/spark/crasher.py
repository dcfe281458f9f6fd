"""A refresh in a process of its own that kills itself at a named point, or stops itself until it is woken.

Run by test_crashes.py and test_fencing.py:

    python -m tests.spark.crasher WAREHOUSE SPECS GROUP REFRESH_ID POINT SPARK

Points are functions of Foreset with `before` or `after`: nothing in the product knows of them.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

POINTS = {
    "C1 epoch allocated, vector not recorded": ("foreset.store.epochs:_recorded", "before"),
    "C2 vector recorded": ("foreset.store.epochs:_recorded", "after"),
    "captured, not maintained": ("foreset.refresh.whole:maintain", "before"),
    "C3 differential written, stratum not marked": ("foreset.refresh.maintaining:_stage_view", "after"),
    "one stratum of two maintained": ("foreset.refresh.whole:maintain", "after"),
    "C8 all staged, not verified": ("foreset.refresh.whole:verify", "before"),
    "C10 verified, not committed": ("foreset.refresh.whole:commit", "before"),
    "C5 a view version published, not noted": ("foreset.store.pins:_identified", "before"),
    "C6 one view of two written": ("foreset.refresh.committing:_write_view", "after"),
    "C11 all written, manifest not": ("foreset.store.manifest:commit", "before"),
    "C12 manifest durable, answer lost": ("foreset.store.manifest:commit", "after"),
    "C14 committed, not published": ("foreset.refresh.whole:publish", "before"),
}
PAUSES = {
    "asleep, captured": ("foreset.refresh.whole:maintain", "before"),
    "asleep, all staged": ("foreset.refresh.whole:verify", "before"),
    "asleep, verified": ("foreset.refresh.whole:commit", "before"),
    "asleep, views written": ("foreset.store.manifest:commit", "before"),
}


def plant(point: str) -> None:
    """Make the process die at `point`, as if the power went: no handler, no cleaning up; or sleep there, once."""
    target, when = POINTS.get(point) or PAUSES[point]
    sent = signal.SIGKILL if point in POINTS else signal.SIGSTOP
    module_name, _, name = target.partition(":")
    module = importlib.import_module(module_name)
    honest: Callable[..., Any] = getattr(module, name)

    def deadly(*args: Any, **kwargs: Any) -> Any:
        setattr(module, name, honest)
        if when == "before":
            os.kill(os.getpid(), sent)
            return honest(*args, **kwargs)
        result = honest(*args, **kwargs)
        os.kill(os.getpid(), sent)
        return result

    setattr(module, name, deadly)


def main() -> int:
    """Refresh, and die if a point is named."""
    warehouse, specs, group, refresh_id, point, spark = sys.argv[1:]
    import foreset.refresh.whole

    if point:
        plant(point)
    try:
        result = foreset.open(warehouse, specs, spark).refresh(group, "incremental", 60, refresh_id=refresh_id)
    except foreset.ForesetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(result.seq)
    return 0


if __name__ == "__main__":
    sys.exit(main())
