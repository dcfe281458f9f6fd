"""Maintain one stratum: its exact differential, staged in the run directory."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run_phase
from foreset.refresh.maintaining import maintain


def main() -> int:
    """Maintain stratum N, whose lower strata are finished."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--stratum", type=int, required=True)
    return run_phase(arguments.parse_args(), lambda context, given: maintain(context, given.stratum))


if __name__ == "__main__":
    sys.exit(main())
