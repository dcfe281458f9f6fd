"""Open a refresh: freeze its plan, allocate its epoch, record the versions of its sources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from foreset.plan.frozen import Request
from foreset.refresh.context import Context
from foreset.refresh.jobs import parser, run
from foreset.refresh.opening import open_refresh
from foreset.store.manifest import AlreadyCommitted


def main() -> int:
    """Open, or open again after a crash."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--spec", type=Path, required=True, help="the spec file")
    arguments.add_argument("--mode", default="auto")
    arguments.add_argument("--verify", default="200")
    arguments.add_argument("--note", default="")
    given = arguments.parse_args()
    request = Request(given.refresh_id, given.mode, given.verify, given.note)
    spec = given.spec.read_text(encoding="utf-8"), str(given.spec)
    return run(given, lambda spark, layout: _told(open_refresh(spark, layout, spec, request)))


def _told(opened: Context | AlreadyCommitted) -> dict[str, Any]:
    if isinstance(opened, AlreadyCommitted):
        return {"status": "committed", "seq": opened.seq}
    return {"status": "open", "epoch": opened.run.epoch, "seq": opened.run.seq, "rebuild": opened.plan.rebuild}


if __name__ == "__main__":
    sys.exit(main())
