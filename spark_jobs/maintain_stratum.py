"""Maintain one stratum, or one part of it: its exact differential, staged in the run directory."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run


def main() -> int:
    """Maintain stratum N, whose lower strata are finished. `insert` does what an earlier `delete` has not done."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--stratum", type=int, required=True)
    arguments.add_argument("--part", choices=["delete", "insert"], default="insert")
    given = arguments.parse_args()
    return run(given, given.part)


if __name__ == "__main__":
    sys.exit(main())
