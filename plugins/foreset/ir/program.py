"""A program: the sources, views and unit tests of one spec file, still as the user means them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from foreset.diagnostics import Span
from foreset.ir.aggregates import Aggregation, Definition
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.expectations import Expectation
from foreset.ir.rules import Rule, atoms
from foreset.ir.terms import Row
from foreset.ir.types import Type

SUPPORTED = ("stdel", "stdel-acyclic")  # declared strategies that keep supports; the second trusts the data
STRATEGIES = (
    "auto", "incremental", "strict", "recompute", "insert", "counting", "dred", "dredf", "dredc", "spread", *SUPPORTED,
)  # fmt: skip
ENGINES = ("auto", "spark", "duckdb")  # as specs name them
DEFAULT_MAX_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed column."""

    name: str
    type: Type
    description: str = field(default="", compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Source:
    """A relation that Foreset reads and never writes: a Delta table, or a view of another group."""

    name: str
    columns: tuple[Column, ...]
    table: str | None = None
    view: str | None = None
    description: str = ""
    key: tuple[str, ...] = ()  # columns in which no two rows agree; empty where none is declared
    span: Span | None = field(default=None, compare=False, repr=False)
    place_span: Span | None = field(default=None, compare=False, repr=False)  # of `table:` or `view:`

    @cached_property
    def key_places(self) -> tuple[int, ...]:
        """The places of the key among the columns; all of them where none is declared."""
        return tuple(i for i, column in enumerate(self.columns) if not self.key or column.name in self.key)

    @property
    def group_and_view(self) -> tuple[str, str]:
        """The group that publishes the view, and its name there; of a source that is a table, nothing."""
        group, _, view = (self.view or "").partition(".")
        return group, view


@dataclass(frozen=True, slots=True)
class View:
    """A relation that Foreset keeps: its rules say what is in it, and nothing else is."""

    name: str
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...]
    strategy: str = "auto"
    export: bool = False
    description: str = ""
    expectations: tuple[Expectation, ...] = ()
    aggregation: Aggregation | None = None  # of a view of groups: its only rule then gives the members
    hidden: bool = False  # made by rewrite for other views; users do not see it
    supports: str = ""  # the view whose derivations by one rule are its rows (rewrite/split_supports.py)
    called: str = ""  # `domain:function`: its rows are what that answers for the arguments that its only rule reads
    given: tuple[Row, ...] | None = None  # its rows, where edits say them: rows that were taken out of or put in a view
    constrained: bool = False  # kept by constraints: rows of values, and a column of what else holds
    evaluate: str = ""  # at_refresh | on_read: when calls are made; empty where the spec does not say
    engine: str = ""  # one of ENGINES; empty where the spec does not say
    span: Span | None = field(default=None, compare=False, repr=False)
    strategy_span: Span | None = field(default=None, compare=False, repr=False)
    engine_span: Span | None = field(default=None, compare=False, repr=False)


HIDDEN = "~"  # stands in the names of hidden views, and in no name that users can write


def is_hidden(name: str) -> bool:
    """True for the views that rewrite makes for others."""
    return HIDDEN in name


def member_columns(view: View) -> tuple[Column, ...]:
    """The columns of what a view of groups gathers."""
    assert view.aggregation is not None
    element = tuple(Column(f"e{i}", kind) for i, kind in enumerate(view.aggregation.element))
    return (*view.columns[: view.aggregation.groups], *element)


@dataclass(frozen=True, slots=True)
class Helper:
    """A relation that a pass or a strategy made for itself; nobody reads it by name."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that go and rows that come, of one relation."""

    insert: tuple[Row, ...] = ()
    delete: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitTest:
    """`tests:` of a spec: given these sources, this change has exactly these effects."""

    name: str
    given: Mapping[str, tuple[Row, ...]]
    change: Mapping[str, Change]
    expect: Mapping[str, Change]  # the effect of the change, per view
    state: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)  # whole contents after the change
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Program:
    """One spec file: one group, one DAG."""

    group: str
    sources: tuple[Source, ...]
    views: tuple[View, ...]
    tests: tuple[UnitTest, ...] = ()
    description: str = ""
    owner: str = ""
    schedule: str | None = None
    timezone: str = "UTC"
    tags: tuple[str, ...] = ()
    max_rounds: int = DEFAULT_MAX_ROUNDS
    aggregates: tuple[Definition, ...] = ()
    domains: tuple[Domain, ...] = ()
    engine: str = ""  # of views that do not say one
    file: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)
    engine_span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def shown(self) -> tuple[View, ...]:
        """The views that users declared."""
        return tuple(view for view in self.views if not view.hidden)

    @cached_property
    def auxiliaries(self) -> Mapping[str, tuple[str, ...]]:
        """By view, the hidden views by which it is kept, those that they read first."""
        by_name = {view.name: view for view in self.views}

        def visit(name: str, found: dict[str, None]) -> dict[str, None]:
            for rule in by_name[name].rules:
                for atom, _ in atoms(rule):
                    read = atom.relation
                    if read in by_name and by_name[read].hidden and read != name and read not in found:
                        visit(read, found)
                        found[read] = None
            return found

        return {name: tuple(visit(name, {})) for name in by_name}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of all views, in the order of the file."""
        return tuple(rule for view in self.views for rule in view.rules)

    def function(self, called: str) -> tuple[Domain, DomainFunction]:
        """The function that is called `domain:function`; analysis has seen that it is there."""
        name, _, wanted = called.partition(":")
        domain = next(domain for domain in self.domains if domain.name == name)
        found = domain.function(wanted)
        assert found is not None
        return domain, found

    def columns_of(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each source and view by name."""
        relations: tuple[Source | View, ...] = (*self.sources, *self.views)
        return {relation.name: relation.columns for relation in relations}
