"""Capture: what each source gained and lost, netted and staged."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Capture every source that has no mark yet."""
    return run(parser(__doc__ or "").parse_args(), "capture")


if __name__ == "__main__":
    sys.exit(main())
