"""The last attempt at a refresh that failed, for those who ask what is wrong with a group.

A run folder is not enough: many failures come before there is one. The record says no more than the newest
failure, and a success ends it: a later seq makes it void, and a refresh that found nothing to do removes it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from foreset.records import codec
from foreset.store import files
from foreset.store.layout import Layout, join

NAME = "failed.json"


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """Which refresh failed, when, where and why, and what to do."""

    refresh_id: str
    at: str  # ISO, UTC
    phase: str
    error: str  # its class
    message: str
    hint: str = ""
    next: str = ""  # the command to run next
    seq: int = 0  # the newest refresh that readers saw then


def note(layout: Layout, attempt: FailedAttempt) -> None:
    """Keep `attempt` as the last one."""
    files.write_text(_path(layout), codec.to_text(attempt))


def forget(layout: Layout) -> None:
    """A refresh has gone well: nothing is wrong any more."""
    files.delete(layout.private, [NAME])


def last_failure(layout: Layout, newest_seq: int) -> FailedAttempt | None:
    """The last attempt, if it failed and nothing was published since; None for a record that a crash has torn."""
    with suppress(ValueError):
        found = codec.from_text(FailedAttempt, files.read_text(_path(layout)) or "", "the record of the last attempt")
        return found if found.seq >= newest_seq else None
    return None


def _path(layout: Layout) -> str:
    return join(layout.private, NAME)
