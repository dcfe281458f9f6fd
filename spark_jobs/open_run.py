"""Open a refresh: freeze its plan, allocate its epoch, record the versions of its sources."""

from __future__ import annotations

import sys
from pathlib import Path

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Open, or open again after a crash."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--spec", type=Path, required=True, help="the spec file")
    arguments.add_argument("--mode", default="auto")
    arguments.add_argument("--verify", default="200")
    arguments.add_argument("--note", default="")
    return run(arguments.parse_args(), "open")


if __name__ == "__main__":
    sys.exit(main())
