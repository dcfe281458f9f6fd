"""Quality: what specs and suites expect of the staged result, before anything is published."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from foreset.refresh.jobs import parser, run_phase
from foreset.refresh.quality import quality


def main() -> int:
    """Check what the plan holds; exit 3 when a critical expectation does not hold. Rows of data are not printed."""
    return run_phase(parser(__doc__ or "").parse_args(), lambda context, _: _told(quality(context)))


def _told(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: facts[key] for key in ("status", "checked", "failed", "warned", "seconds")}


if __name__ == "__main__":
    sys.exit(main())
