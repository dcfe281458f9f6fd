"""Verify the staged result by recomputation, before anything is published."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Verify as the plan says; exit 3 when a row differs."""
    return run(parser(__doc__ or "").parse_args(), "verify")


if __name__ == "__main__":
    sys.exit(main())
