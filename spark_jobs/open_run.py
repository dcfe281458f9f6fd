"""Open a refresh: freeze its plan, allocate its epoch, record the versions of its sources."""

import sys

from foreset.plan.stages import OPEN
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(OPEN, __doc__ or ""))
