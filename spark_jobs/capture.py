"""Capture: what each source gained and lost, netted and staged."""

from __future__ import annotations

import sys

from foreset.refresh.capturing import capture_all, nothing_moved
from foreset.refresh.jobs import parser, run_phase


def main() -> int:
    """Capture every source that has no mark yet."""
    return run_phase(
        parser(__doc__ or "").parse_args(),
        lambda context, _: {"sources": capture_all(context), "unchanged": nothing_moved(context)},
    )


if __name__ == "__main__":
    sys.exit(main())
