"""Publish: bring exports up to the committed refresh."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Bring exports up; may be repeated."""
    return run(parser(__doc__ or "").parse_args(), "publish")


if __name__ == "__main__":
    sys.exit(main())
