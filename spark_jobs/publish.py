"""Publish: bring exports up to the committed refresh."""

from __future__ import annotations

import sys

from foreset.refresh.jobs import parser, run_phase
from foreset.refresh.publishing import publish


def main() -> int:
    """Bring exports up; may be repeated."""
    return run_phase(parser(__doc__ or "").parse_args(), lambda context, _: publish(context))


if __name__ == "__main__":
    sys.exit(main())
