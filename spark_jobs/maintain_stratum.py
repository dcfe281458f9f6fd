"""Maintain one stratum: its exact differential, staged in the run directory."""

import sys

from foreset.plan.stages import STRATA
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(STRATA, __doc__ or ""))
