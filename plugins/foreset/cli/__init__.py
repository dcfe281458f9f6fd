"""The command line: `foreset`. One module per command; each imports what it needs when it runs."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    from foreset.cli.app import run

    sys.exit(run(sys.argv[1:]))
