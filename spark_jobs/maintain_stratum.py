"""Maintain one stratum, or one part of it: its exact differential, staged in the run directory."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run_phase
from foreset.refresh.maintaining import Part, maintain


def main() -> int:
    """Maintain stratum N, whose lower strata are finished."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--stratum", type=int, required=True)
    arguments.add_argument("--part", choices=[part.value for part in Part], default=Part.ALL.value)
    return run_phase(arguments.parse_args(), lambda context, given: maintain(context, given.stratum, given.part))


if __name__ == "__main__":
    sys.exit(main())
