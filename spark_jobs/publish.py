"""Publish: bring exports up to the committed refresh; may be repeated."""

import sys

from foreset.plan.stages import PUBLISH
from foreset.refresh.jobs import run

if __name__ == "__main__":
    sys.exit(run(PUBLISH, __doc__ or ""))
