"""A crash of Foreset's own code, as a fault of the file at hand: what is wrong with one spec takes down no other."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from foreset.diagnostics import Diagnostic, Span
from foreset.spec.faults import internal

log = logging.getLogger(__name__)


def internal_fault(file: str, error: Exception) -> Diagnostic:
    """The diagnostic of `error`, which nobody expected; its traceback goes to the log (`--debug` shows it)."""
    log.debug("%s", file, exc_info=error)
    lines = str(error).splitlines()
    return internal(Span(file, 1, 1), f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__)


def guarded(file: str, faults: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The faults; where finding them fails, that as a fault of `file`."""
    try:
        yield from faults
    except Exception as error:  # noqa: BLE001 - whatever the cause
        yield internal_fault(file, error)
