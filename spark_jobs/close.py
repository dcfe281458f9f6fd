"""Close: say how the refresh ended. One that ended without a word has failed; run it last, whatever happened."""

import sys

from foreset.plan.stages import CLOSE
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(CLOSE, __doc__ or ""))
