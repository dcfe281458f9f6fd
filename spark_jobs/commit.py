"""Commit: write each changed view once, then the one manifest row; exit 4 when another refresh came first."""

import sys

from foreset.plan.stages import COMMIT
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(COMMIT, __doc__ or ""))
