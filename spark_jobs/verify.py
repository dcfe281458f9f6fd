"""Verify the staged result by recomputation, before anything is published; exit 3 when a row differs."""

import sys

from foreset.plan.stages import VERIFY
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(VERIFY, __doc__ or ""))
