"""Where the parser stopped, told in the words of the writer.

The parser knows what could have stood there; people want to know what they
forgot. This looks at the tokens around the stop and names the slip.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from foreset.diagnostics import Diagnostic
from foreset.spec import rule_faults as faults
from foreset.spec.source import Passage


@dataclass(frozen=True, slots=True)
class Stop:
    """The first token that does not fit (empty at the end), and what would."""

    offset: int
    text: str
    expected: frozenset[str]


def syntax_fault(passage: Passage, stop: Stop, *, flow: bool) -> Diagnostic:
    return faults.unexpected(stop.text, passage.span(stop.offset, stop.offset + 1))
