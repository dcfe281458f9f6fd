"""Exit codes: the same for every command, documented in docs/cli.md and under every --help."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the process ends with."""

    OK = 0
    FAILED = 1
    BAD_SPEC = 2
    NOT_VERIFIED = 3
    FENCED = 4
    ENVIRONMENT = 5
    HELD = 6
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS = {
    Exit.OK: "ok",
    Exit.FAILED: "an error in the data or in Foreset",
    Exit.BAD_SPEC: "bad spec or usage",
    Exit.NOT_VERIFIED: "a test, verification or quality check failed",
    Exit.FENCED: "another refresh came first",
    Exit.ENVIRONMENT: "the machine is not ready",
    Exit.HELD: "the group is on hold",
}
EPILOG = "Exit codes: " + ", ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."
