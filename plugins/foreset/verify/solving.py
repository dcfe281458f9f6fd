"""Which rows follow from the facts: goals through passes of `tabling.py`.

Negation takes two passes. The first leaves negated literals out: it finds a superset
of the answers, and every goal that the true answers can need, those of negated
literals included. The second goes through the strata from below and decides each
negation against answers that are complete.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from foreset.ir.program import View
from foreset.ir.rules import Rule, atoms
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.verify.batches import Binder
from foreset.verify.binding_order import Asked, Schemas
from foreset.verify.fact_cache import FactCache
from foreset.verify.groups import Facts, GroupFacts, member_schemas
from foreset.verify.linear_recursion import LinearRecursion, linear, taken_apart
from foreset.verify.origins import REMEMBERED
from foreset.verify.tabling import Common, Goal, Pass, Table
from foreset.verify.value_numbering import Codes


@dataclass(slots=True)
class Solver:
    """Answers goals over one state of the sources; views of groups are answered from their members."""

    layering: Layering
    facts: Facts
    schemas: Schemas
    sizes: Mapping[str, int] = field(
        default_factory=dict
    )  # rows of views, where somebody knows: for the order of joins
    codes: Codes = field(default_factory=Codes)

    def __post_init__(self) -> None:
        self.layering = _read_once(self.layering)
        groups = {s.names[0]: s.views[0] for s in self.layering.strata if s.aggregation}
        if groups:
            self.schemas = {**self.schemas, **member_schemas(groups.values())}
            self.facts = GroupFacts(self.facts, groups, self._members, self._plain_rules)

    def expect(self, view: str, asked: Asked, keys: set[Row]) -> None:
        """Groups that will be asked for."""
        assert isinstance(self.facts, GroupFacts)
        self.facts.expect(view, asked, keys)

    def which(
        self, rows: Mapping[str, set[Row]], goals: Mapping[Goal, set[Row]], near: Mapping[Goal, set[Row]]
    ) -> tuple[dict[str, set[Row]], dict[str, set[Row]]]:
        """Those of `rows`, by view, that are among the answers of the goals; and what has the keys of `near`."""
        both = {goal: goals.get(goal, set()) | near.get(goal, set()) for goal in (*goals, *near)}
        tables = self._solve(both, None)
        found: dict[str, set[Row]] = defaultdict(set)
        for (view, _), table in tables.items():
            if view in rows:
                asked = list(rows[view])
                held = table.known.holds(self.codes.packed(self.codes.rows(asked, self.schemas[view])))
                found[view] |= {row for row, there in zip(asked, held.tolist(), strict=True) if there}
        return found, {view: self._answers(tables[view, asked], asked, keys) for (view, asked), keys in near.items()}

    def _answers(self, table: Table, asked: Asked, keys: set[Row]) -> set[Row]:
        rows = self.codes.tuples(table.answers.everything())
        return {row for row in rows if tuple(row[position] for position in asked) in keys}

    def answers(self, extra: View, asked: Asked, keys: set[Row]) -> list[Row]:
        """The rows of a view that no stratum has, whose columns `asked` are one of `keys`."""
        self.schemas = {**self.schemas, extra.name: tuple(column.type for column in extra.columns)}
        goal = (extra.name, asked)
        return self.codes.tuples(self._solve({goal: keys}, extra)[goal].answers.everything())

    def _solve(self, goals: Mapping[Goal, set[Row]], extra: View | None) -> dict[Goal, Table]:
        """The tables of these goals; `extra` is a view that no stratum has."""
        views = {view.name: view for stratum in self.layering.strata for view in stratum.views if derived(view)}
        if extra is not None:
            views[extra.name] = extra
        recursions, parts = _recursions(self.layering)
        cache = FactCache(self.facts, self.codes, self.schemas)
        binder = Binder(self.codes, {**self.schemas, **parts})
        common = Common(cache, binder, views.keys() | parts.keys(), self.sizes, recursions)
        first = Pass(common, views, {}, decide_negation=False)
        for (relation, asked), keys in goals.items():
            kinds = [self.schemas[relation][position] for position in asked]
            first.ask_for((relation, asked), self.codes.rows(list(keys), kinds))
        _explore(first)
        tables = first.tables
        if first.negated:
            order = [stratum.views for stratum in self.layering.strata if derived(stratum.views[0])]
            tables = _decided(first, [*order, *([(extra,)] if extra else [])])
        return {goal: tables[goal] for goal in goals}

    def _members(self, view: View, asked: Asked, keys: set[Row]) -> Iterable[Row]:
        """The members of the groups whose columns `asked` are one of `keys`."""
        aggregation = view.aggregation
        assert aggregation is not None
        goal = (aggregation.members, asked)
        extra = None if aggregation.stored else View(aggregation.members, (), view.rules)
        return self.codes.tuples(self._solve({goal: keys}, extra)[goal].answers.everything())

    def _plain_rules(self, view: View) -> Sequence[Rule] | None:
        """The rules of the members, if sources are all they read."""
        aggregation = view.aggregation
        assert aggregation is not None
        own = {view.name: view for stratum in self.layering.strata for view in stratum.views}
        rules = own[aggregation.members].rules if aggregation.stored else view.rules
        return None if any(atom.relation in own for rule in rules for atom, _ in atoms(rule)) else rules


@functools.lru_cache(REMEMBERED)
def _read_once(layering: Layering) -> Layering:
    """The same strata, where no rule reads its view twice if it can be said with one that reads it once."""
    def read_once(stratum: Stratum) -> Stratum:
        return replace(stratum, views=tuple(linear(view) if derived(view) else view for view in stratum.views))

    return replace(layering, strata=tuple(map(read_once, layering.strata)))


@functools.lru_cache(REMEMBERED)
def _recursions(layering: Layering) -> tuple[dict[str, LinearRecursion], dict[str, tuple[Type, ...]]]:
    """The views that only hand columns on, taken apart, and the columns of their parts."""
    alone = (stratum.views[0] for stratum in layering.strata if len(stratum.views) == 1)
    found = [one for view in alone if derived(view) and (one := taken_apart(view)) is not None]
    return {one.view: one for one in found}, {name: kinds for one in found for name, kinds in one.schemas().items()}


def derived(view: View) -> bool:
    """False for groups, for what domains and edits say, and for constraints: those are facts."""
    return not (view.aggregation or view.called or view.constrained or view.given is not None)


def derived_near(
    rows: Mapping[str, set[Row]],
    near: Mapping[Goal, set[Row]],
    layering: Layering,
    facts: Facts,
    schemas: Schemas,
    sizes: Mapping[str, int] | None = None,
) -> tuple[dict[str, set[Row]], dict[str, set[Row]]]:
    """Which of `rows` follow; and of the views in `near`, one goal for each, rows that follow and have these keys.

    All of the latter follow. Some may be lacking, whose key is NULL.
    """
    solver = Solver(layering, facts, schemas, sizes or {})
    groups = {stratum.names[0] for stratum in layering.strata if stratum.aggregation}
    goals: dict[Goal, set[Row]] = defaultdict(set)
    for view, wanted in rows.items():
        for row in wanted:
            asked = _given(row)
            goals[view, asked].add(tuple(row[position] for position in asked))
    of_groups = {goal: keys for goal, keys in goals.items() if goal[0] in groups}
    for (view, asked), keys in of_groups.items():
        solver.expect(view, asked, keys)
    found, beside = solver.which(rows, {goal: keys for goal, keys in goals.items() if goal not in of_groups}, near)
    for (view, asked), keys in of_groups.items():
        found[view] |= {row for group in solver.facts.rows(view, asked, keys).values() for row in group}
    return {view: wanted & found[view] for view, wanted in rows.items()}, beside


def _given(row: Row) -> Asked:
    """NULLs are not asked by: they join with nothing, and are compared in the end."""
    return tuple(i for i, value in enumerate(row) if value is not None)


def _explore(first: Pass) -> None:
    """Run to the end, asking for what negated literals need as well."""
    while True:
        first.run()
        before = sum(len(table.keys.packed) for table in first.tables.values())
        for (relation, known), keys in list(first.negated.items()):
            if relation in first.views:
                first.ask((relation, known), keys.all(len(known)))
        if sum(len(table.keys.packed) for table in first.tables.values()) == before:
            return


def _decided(first: Pass, parts: Sequence[Sequence[View]]) -> dict[Goal, Table]:
    """The final answers, stratum by stratum: `parts` come in an order in which all they read is done."""
    settled: dict[Goal, Table] = {}
    for part in parts:
        own = {view.name: view for view in part}
        work = Pass(first.common, dict(own), settled, decide_negation=True)
        for (relation, known), table in first.tables.items():
            if relation in own:
                work.ask_for((relation, known), table.keys.all(len(known)))
        work.run()
        settled |= work.tables
    return settled
