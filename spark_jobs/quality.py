"""Quality: what specs and suites expect of the staged result; exit 3 when a critical expectation does not hold."""

import sys

from foreset.plan.stages import QUALITY
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(QUALITY, __doc__ or ""))
