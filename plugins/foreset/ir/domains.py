"""Domains: outside sources that rules may ask, as declared. What answers is registered by the deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from foreset.diagnostics import Span

if TYPE_CHECKING:
    from foreset.ir.program import Column
    from foreset.ir.terms import Row

DEFAULT_SECONDS = 60.0
DEFAULT_MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class DomainFunction:
    """`function(args)` returns rows of `results`; without results it is a test, true if there is any row."""

    name: str
    args: tuple[Column, ...]
    results: tuple[Column, ...]
    options: Mapping[str, str] = field(default_factory=dict)  # settings of the provider for this function
    on_error: Literal["stop", "keep"] = "stop"
    max_age: float = 0.0  # seconds for which an older answer will do
    seconds: float = DEFAULT_SECONDS  # for one batch of calls
    max_rows: int = DEFAULT_MAX_ROWS  # of one answer
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The function as a relation: arguments, then results."""
        return (*self.args, *self.results)

    def picked(self, rows: Iterable[Row], places: Sequence[str] | None) -> list[Row]:
        """The results that a call names, in its order; all where it names none."""
        if places is None:
            return list(rows)
        names = [column.name for column in self.results]
        wanted = [names.index(place) for place in places]
        return [tuple(row[place] for place in wanted) for row in rows]


@dataclass(frozen=True, slots=True)
class Domain:
    """A named source with its functions; `provider` and `connection` are names, never paths or addresses."""

    name: str
    provider: str
    functions: tuple[DomainFunction, ...]
    connection: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    span: Span | None = field(default=None, compare=False, repr=False)

    def function(self, name: str) -> DomainFunction | None:
        """The function of that name."""
        return next((function for function in self.functions if function.name == name), None)

    def options_of(self, function: DomainFunction) -> Mapping[str, str]:
        """What the provider needs to know of one of its functions; what the function says itself counts first."""
        return {**self.options, **function.options}
