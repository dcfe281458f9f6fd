"""Commit: write each changed view once, then the one manifest row."""

from __future__ import annotations

import sys

from foreset.refresh.committing import commit
from foreset.refresh.jobs import parser, run_phase


def main() -> int:
    """Publish; exit 4 when another refresh came first."""
    return run_phase(parser(__doc__ or "").parse_args(), lambda context, _: {"seq": commit(context).seq})


if __name__ == "__main__":
    sys.exit(main())
