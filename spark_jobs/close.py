"""Close: say how the refresh ended; one that ended without a word has failed, and must keep nobody waiting."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Run it last, whatever happened."""
    return run(parser(__doc__ or "").parse_args(), "close")


if __name__ == "__main__":
    sys.exit(main())
