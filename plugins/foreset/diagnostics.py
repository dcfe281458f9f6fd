"""What Foreset says about a text that a person wrote: where, what, and what to do.

A fault never raises on its own: passes collect diagnostics in a `Report`, so
that one run shows all faults of a file. Codes are stable; docs/errors.md lists
them. Lines and columns are 1-based, as editors count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum


class Severity(StrEnum):
    """How much a diagnostic matters: an error refuses the spec, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one line in a source file; `width` is the length of the caret."""

    file: str
    line: int
    column: int
    width: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault, at one place, with a hint that says how to mend it."""

    code: str
    message: str
    span: Span
    hint: str = ""
    severity: Severity = Severity.ERROR
    notes: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file as the user named it."""
        return self.span.file

    @property
    def line(self) -> int:
        """The 1-based line."""
        return self.span.line

    @property
    def column(self) -> int:
        """The 1-based column."""
        return self.span.column


@dataclass(slots=True)
class Report:
    """All diagnostics of one run, in the order of their places."""

    _found: list[Diagnostic] = field(default_factory=list)

    def add(self, *diagnostics: Diagnostic) -> None:
        """Note more faults."""
        self._found.extend(diagnostics)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Note more faults."""
        self._found.extend(diagnostics)

    def __iter__(self) -> Iterator[Diagnostic]:
        seen: dict[Diagnostic, None] = dict.fromkeys(self._found)
        return iter(sorted(seen, key=lambda d: (d.span, d.code, d.message)))

    def __len__(self) -> int:
        return len(set(self._found))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The faults that refuse the spec."""
        return tuple(d for d in self if d.severity is Severity.ERROR)

    @property
    def ok(self) -> bool:
        """True when nothing refuses the spec; warnings may remain."""
        return not self.errors


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The hint that names the nearest of `known`, in whatever case, or `otherwise`."""
    folded = {one.lower(): one for one in known}
    close = get_close_matches(name[:100].lower(), folded, n=1)
    return f"did you mean `{folded[close[0]]}`?" if close else otherwise
