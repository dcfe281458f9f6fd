"""Commit: write each changed view once, then the one manifest row."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Publish; exit 4 when another refresh came first."""
    return run(parser(__doc__ or "").parse_args(), "commit")


if __name__ == "__main__":
    sys.exit(main())
