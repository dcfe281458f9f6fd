"""Verify the staged result by recomputation, before anything is published."""

from __future__ import annotations

import sys

from foreset.refresh.checking import verify
from foreset.refresh.jobs import parser, run_phase


def main() -> int:
    """Verify as the plan says; exit 3 when a row differs."""
    return run_phase(parser(__doc__ or "").parse_args(), lambda context, _: verify(context))


if __name__ == "__main__":
    sys.exit(main())
