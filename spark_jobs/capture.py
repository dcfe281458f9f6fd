"""Capture: what each source gained and lost, netted and staged."""

import sys

from foreset.plan.stages import CAPTURE
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(CAPTURE, __doc__ or ""))
