"""Strata: the units of maintenance, each a set of mutually recursive views or a single view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from foreset.ir.aggregates import Aggregation
from foreset.ir.hidden import all_in_words
from foreset.ir.program import View, is_hidden
from foreset.ir.rules import atoms
from foreset.ir.terms import Row


@dataclass(frozen=True, eq=False)
class Stratum:
    """One strongly connected part of the dependency graph, with the facts that strategies need.

    It equals itself alone, so that what follows from it can be remembered, here and elsewhere: rules that are equal as
    values may differ in where they stand, and in how a constant is written.
    """

    number: int  # 1-based, in an order in which every stratum comes after those that it reads
    level: int  # 1 + the greatest level among the strata that it reads: equal levels can run side by side
    views: tuple[View, ...]  # in normal form
    recursive: bool  # by the rules as written: supports do not count
    monotone: bool  # no negation in its rules: insertions never delete
    cyclic: bool  # a row may help to derive itself; False where rules show that it cannot
    reads: tuple[str, ...]  # the relations of lower strata and the sources that its rules read
    depends_on: tuple[int, ...]  # numbers of the strata that it reads directly
    blurred: bool = False  # two rows below may be one to a rule: some variable is wider than a column that it reads
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of what it reads: columns that tell rows apart

    @cached_property
    def aggregation(self) -> Aggregation | None:
        """What its only view accumulates, if it is a view of groups."""
        return self.views[0].aggregation

    @cached_property
    def constrained(self) -> bool:
        """True where its views are kept by constraints."""
        return self.views[0].constrained

    @cached_property
    def own_way(self) -> str:
        """The only strategy of what edits or domains say, and of what is kept by constraints; empty for all else."""
        if self.given is not None:
            return "give"
        return "ask" if self.called else "constrain" if self.constrained else ""

    @cached_property
    def given(self) -> tuple[Row, ...] | None:
        """The rows of its only view, where edits say them."""
        return self.views[0].given

    @cached_property
    def asks(self) -> bool:
        """Views that are kept by constraints, and ask domains in each refresh."""
        if not self.constrained or self.views[0].evaluate == "on_read":
            return False
        return any(is_hidden(atom.relation) for view in self.views for rule in view.rules for atom, _ in atoms(rule))

    @cached_property
    def called(self) -> str:
        """The function whose answers its only view holds, as `domain:function`."""
        return self.views[0].called

    @cached_property
    def engine(self) -> str:
        """The engine that the spec wants for it; empty where it does not say. All of its views have the same."""
        return self.views[0].engine

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its views, in the order of the file."""
        return tuple(view.name for view in self.views)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Its views as people call them, without those that keep supports of the others."""
        return all_in_words(view.name for view in self.views if not view.supports)

    @cached_property
    def supported(self) -> bool:
        """Whether derivations are kept, each as a row of a view of its own."""
        return any(view.supports for view in self.views)

    @cached_property
    def loops(self) -> bool:
        """Whether its views read each other: recursion, or supports that stand between a view and its rules."""
        own = frozenset(self.names)
        return any(atom.relation in own for view in self.views for rule in view.rules for atom, _ in atoms(rule))

    @cached_property
    def title(self) -> str:
        """How people see it: `stratum 2: affected`."""
        return f"stratum {self.number}: {', '.join(self.shown)}"


@dataclass(frozen=True, slots=True)
class Layering:
    """The strata of a program in order.

    Those of rows that edits give come first and have the last numbers: an edit renumbers no other stratum.
    """

    strata: tuple[Stratum, ...]

    def numbered(self, number: int) -> Stratum:
        """The stratum of that number."""
        return next(stratum for stratum in self.strata if stratum.number == number)

    def of(self, view: str) -> Stratum:
        """The stratum that defines `view`."""
        return next(stratum for stratum in self.strata if view in stratum.names)
