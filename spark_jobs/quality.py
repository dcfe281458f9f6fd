"""Quality: what specs and suites expect of the staged result, before anything is published."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Check as the plan says; exit 3 when a critical expectation does not hold."""
    return run(parser(__doc__ or "").parse_args(), "quality")


if __name__ == "__main__":
    sys.exit(main())
