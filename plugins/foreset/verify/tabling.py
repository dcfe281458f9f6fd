"""Goal-directed evaluation with tables: each goal is asked once, each answer found once.

A goal is a relation, the columns that are given, and their values. A rule that
needs another view leaves its bindings waiting at that view's table and goes on when
answers come, so recursion and cycles end. All goals and answers of a wave go
through a rule together.

Negation takes two passes. The first leaves negated literals out: it finds a superset
of the answers, and every goal that the true answers can need, those of negated
literals included. The second goes through the strata from below and decides each
negation against answers that are complete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from foreset.ir.program import View
from foreset.ir.rules import Atom, Negation, Rule, atoms
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.verify.batches import Batch, Binder
from foreset.verify.carried import Carriage, carriage, named, parted
from foreset.verify.codes import Codes, Distinct, Grown, Numbered, Numbers, nothing, without_null
from foreset.verify.doubled import linear
from foreset.verify.flows import Flow
from foreset.verify.groups import Facts, GroupFacts, member_schemas
from foreset.verify.looks import Looks
from foreset.verify.passing import Asked, Passage, Schemas, passage

Goal = tuple[str, Asked]


@dataclass(slots=True)
class _Keys:
    """A growing set of keys."""

    packed: Distinct = field(default_factory=Distinct)
    parts: list[Numbers] = field(default_factory=list)

    def add(self, keys: Numbers, codes: Codes) -> Numbers:
        """Those that are new."""
        fresh = keys[self.packed.add(codes.packed(keys))]
        if len(fresh):
            self.parts.append(fresh)
        return fresh

    def all(self, width: int) -> Numbers:
        """Every key."""
        return np.concatenate(self.parts) if self.parts else nothing(width)


@dataclass(slots=True)
class _Waiting:
    """Bindings of one rule that wait for answers at one of its atoms, by the key that they ask for."""

    passage: Passage
    stage: int
    names: tuple[str, ...]
    rows: Grown


@dataclass(slots=True)
class _Table:
    """The goals of one kind, their answers by key, and who waits for them."""

    answers: Grown
    keys: _Keys = field(default_factory=_Keys)
    known: Distinct = field(default_factory=Distinct)  # of the answers
    waiting: dict[tuple[int, int], _Waiting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Common:
    """What both passes have in common: they order rules alike, or the second asks what the first did not."""

    looks: Looks
    binder: Binder
    derived: Set[str]  # the views of all strata: nothing is known of their sizes in any pass
    carriages: Mapping[str, Carriage]
    passengers: dict[str, Numbered] = field(default_factory=dict)

    def fanout(self, relation: str, known: Asked) -> float | None:
        """Rows for one key, about."""
        return None if relation in self.derived else self.looks.facts.fanout(relation, known)


@dataclass(slots=True)
class _Pass:
    """One pass over some strata: `views` are derived here, `settled` has final answers of lower ones."""

    common: _Common
    views: dict[str, View]
    settled: Mapping[Goal, _Table]
    decide_negation: bool
    tables: dict[Goal, _Table] = field(default_factory=dict)
    negated: dict[Goal, _Keys] = field(default_factory=lambda: defaultdict(_Keys))
    _passages: dict[tuple[int, Asked], Passage] = field(default_factory=dict)
    _goals: dict[Goal, list[Numbers]] = field(default_factory=dict)
    _news: dict[Goal, list[Numbers]] = field(default_factory=dict)
    _flows: dict[str, Flow] = field(default_factory=dict)
    _parts: dict[str, Flow] = field(default_factory=dict)  # by the names of what a flow asks for

    @property
    def binder(self) -> Binder:
        """What literals do."""
        return self.common.binder

    @property
    def codes(self) -> Codes:
        """The numbers of values."""
        return self.binder.codes

    def ask(self, goal: Goal, keys: Numbers) -> None:
        """Ask for the rows of a view with these values in the given columns."""
        fresh = self._table(goal).keys.add(keys[without_null(keys)], self.codes)
        if len(fresh):
            self._goals.setdefault(goal, []).append(fresh)

    def run(self) -> None:
        """Go on until no goal and no answer is new."""
        while self._goals or self._news or self._flowing():
            goals, self._goals = self._goals, {}
            for goal, keys in goals.items():
                self._begin(goal, np.concatenate(keys))
            news, self._news = self._news, {}
            for goal, rows in news.items():
                if goal[0] in self._parts:
                    self._hear(self._parts[goal[0]], goal[0], np.concatenate(rows))
                else:
                    self._wake(goal, np.concatenate(rows))

    def _flowing(self) -> bool:
        """Where all is quiet, ask and answer what travels together; False if that was nothing new."""
        for flow in self._flows.values():
            one = flow.way
            self.ask((one.by_key, one.key), flow.new_keys())
            if self.views[one.by_row].rules:
                self.ask((one.by_row, one.whole), flow.questions())
        if not self._goals:
            for flow in self._flows.values():
                self._found((flow.way.view, flow.way.whole), flow.answers())
        return bool(self._goals or self._news)

    def _hear(self, flow: Flow, part: str, rows: Numbers) -> None:
        if part == flow.way.steps.name:
            self.ask((part, flow.way.key_of_step), flow.step(rows))
        else:
            flow.start(rows)

    def _flow(self, goal: Goal) -> Flow | None:
        """What takes goals of this kind, if the view hands on some of its columns."""
        relation, asked = goal
        one = self.common.carriages.get(relation)
        if one is None or asked != one.whole:
            return None
        if relation not in self._flows:
            starts = [self._passage(named(rule, one.by_key), one.key) for rule in one.starts]
            steps = [self._passage(rule, one.key_of_step) for rule in one.steps.rules]
            parts = (one.steps, *parted(one, steps, starts, self.common.fanout))
            passengers = self.common.passengers.setdefault(relation, Numbered(self.codes, len(one.carried)))
            flow = self._flows[relation] = Flow(one, passengers, self.codes)
            self.views |= {part.name: part for part in parts}
            self._parts |= {part.name: flow for part in parts}
        return self._flows[relation]

    def _table(self, goal: Goal) -> _Table:
        if goal not in self.tables:
            self.tables[goal] = _Table(Grown(len(self.binder.schemas[goal[0]])))
        return self.tables[goal]

    def _begin(self, goal: Goal, keys: Numbers) -> None:
        relation, asked = goal
        flow = self._flow(goal)
        if flow is not None:
            fresh, keys = flow.take(keys)
            self.ask((flow.way.steps.name, flow.way.key_of_step), fresh)
        for rule in self.views[relation].rules if len(keys) else ():
            way = self._passage(rule, asked)
            self._advance(way, 0, self.binder.begin(way, keys))

    def _passage(self, rule: Rule, asked: Asked) -> Passage:
        key = (id(rule), asked)
        if key not in self._passages:
            self._passages[key] = passage(rule, asked, self.binder.schemas, self.common.fanout)
        return self._passages[key]

    def _wake(self, goal: Goal, answers: Numbers) -> None:
        keys = self.codes.packed(answers[:, list(goal[1])])
        for waiting in list(self.tables[goal].waiting.values()):
            places, rows = waiting.rows.meet(keys)
            if len(places):
                batch = Batch(waiting.names, rows)
                self._go_on(waiting.passage, waiting.stage, batch, np.arange(len(rows)), answers[places])

    def _go_on(self, way: Passage, number: int, batch: Batch, places: Numbers, rows: Numbers) -> None:
        """From an atom of a view, with bindings and the answers that they meet."""
        stage = way.stages[number]
        assert isinstance(stage.literal, Atom)
        found, _ = self.binder.met(batch, places, rows, stage.literal, stage.known, way.rule)
        self._advance(way, number + 1, self.binder.keeping(found, stage.keep))

    def _advance(self, way: Passage, start: int, batch: Batch) -> None:
        for number in range(start, len(way.stages)):
            if not len(batch):
                return
            stage = way.stages[number]
            match stage.literal:
                case Atom(relation=relation) as atom if relation in self.views:
                    self._await(way, number, atom, batch)
                    return
                case Atom() as atom:
                    batch = self._joined(atom, stage.known, batch, way.rule)
                case Negation(atom=atom):
                    batch = self._absent(atom, stage.known, batch, way.rule)
                case literal:
                    batch = self.binder.holding(literal, batch, way.rule)
            batch = self.binder.keeping(batch, stage.keep)
        if len(batch):
            self._answer(way, batch)

    def _await(self, way: Passage, number: int, atom: Atom, batch: Batch) -> None:
        """Leave the bindings at the view's table; go on with the answers that are there already."""
        known = way.stages[number].known
        goal = (atom.relation, known)
        table = self._table(goal)
        places, keys = self.binder.keys(atom, known, batch)
        packed, batch = self.codes.packed(keys), Batch(batch.names, batch.rows[places])
        slot = (id(way), number)
        if slot not in table.waiting:
            table.waiting[slot] = _Waiting(way, number, batch.names, Grown(len(batch.names)))
        table.waiting[slot].rows.add(packed, batch.rows)
        at, rows = table.answers.meet(packed)
        self.ask(goal, keys)
        if len(at):
            self._go_on(way, number, batch, at, rows)

    def _joined(self, atom: Atom, known: Asked, batch: Batch, rule: Rule) -> Batch:
        places, keys = self.binder.keys(atom, known, batch)
        at, rows = self._rows(atom.relation, known, keys)
        return self.binder.met(batch, places[at], rows, atom, known, rule)[0]

    def _absent(self, atom: Atom, known: Asked, batch: Batch, rule: Rule) -> Batch:
        places, keys = self.binder.keys(atom, known, batch)
        if not self.decide_negation:
            self.negated[atom.relation, known].add(keys, self.codes)
            return batch
        at, rows = self._rows(atom.relation, known, keys)
        _, met = self.binder.met(batch, places[at], rows, atom, known, rule)
        mask = np.ones(len(batch), dtype=np.bool_)
        mask[met] = False
        return batch.where(mask)

    def _rows(self, relation: str, known: Asked, keys: Numbers) -> tuple[Numbers, Numbers]:
        if (relation, known) in self.settled:
            return self.settled[relation, known].answers.meet(self.codes.packed(keys))
        return self.common.looks.meet(relation, known, keys)

    def _answer(self, way: Passage, batch: Batch) -> None:
        self._found((way.rule.head.relation, way.asked), self.binder.heads(way.rule, batch))

    def _found(self, goal: Goal, rows: Numbers) -> None:
        """Keep those of some rows that are answers, and tell those who wait for them of the new ones."""
        table = self.tables[goal]
        rows = rows[table.keys.packed.holds(self.codes.packed(rows[:, list(goal[1])]))]
        rows = rows[table.known.add(self.codes.packed(rows))]
        if len(rows):
            table.answers.add(self.codes.packed(rows[:, list(goal[1])]), rows)
            self._news.setdefault(goal, []).append(rows)


@dataclass(slots=True)
class Solver:
    """Answers goals over one state of the sources; views of groups are answered from their members."""

    layering: Layering
    facts: Facts
    schemas: Schemas
    codes: Codes = field(default_factory=Codes)

    def __post_init__(self) -> None:
        self.layering = replace(self.layering, strata=tuple(map(self._read_once, self.layering.strata)))
        groups = {s.names[0]: s.views[0] for s in self.layering.strata if s.aggregation}
        if groups:
            self.schemas = {**self.schemas, **member_schemas(groups.values())}
            self.facts = GroupFacts(self.facts, groups, self._members, self._plain_rules)

    def _read_once(self, stratum: Stratum) -> Stratum:
        views = (linear(view, self.schemas[view.name]) if derived(view) else view for view in stratum.views)
        return replace(stratum, views=tuple(views))

    def which(self, rows: Mapping[str, set[Row]], goals: Mapping[Goal, set[Row]]) -> dict[str, set[Row]]:
        """Those of `rows`, by view, that are among the answers of the goals."""
        tables = self._solve(goals, None)
        found: dict[str, set[Row]] = defaultdict(set)
        for (view, _), table in tables.items():
            if view in rows:
                asked = list(rows[view])
                held = table.known.holds(self.codes.packed(self.codes.rows(asked, self.schemas[view])))
                found[view] |= {row for row, there in zip(asked, held.tolist(), strict=True) if there}
        return found

    def _solve(self, goals: Mapping[Goal, set[Row]], extra: View | None) -> dict[Goal, _Table]:
        """The tables of these goals; `extra` is a view that no stratum has."""
        views = {view.name: view for stratum in self.layering.strata for view in stratum.views if derived(view)}
        if extra is not None:
            views[extra.name] = extra
        carriages = {one.view: one for one in map(self._carriage, self.layering.strata) if one is not None}
        parts = {name: kinds for one in carriages.values() for name, kinds in one.schemas().items()}
        looks = Looks(self.facts, self.codes, self.schemas)
        binder = Binder(self.codes, {**self.schemas, **parts})
        first = _Pass(_Common(looks, binder, frozenset(views), carriages), views, {}, decide_negation=False)
        for (relation, asked), keys in goals.items():
            kinds = [self.schemas[relation][position] for position in asked]
            first.ask((relation, asked), self.codes.rows(list(keys), kinds))
        _explore(first)
        tables = first.tables
        if first.negated:
            order = [stratum.views for stratum in self.layering.strata if derived(stratum.views[0])]
            tables = _decided(first, [*order, *([(extra,)] if extra else [])])
        return {goal: tables[goal] for goal in goals}

    def _carriage(self, stratum: Stratum) -> Carriage | None:
        view = stratum.views[0]
        return carriage(view, self.schemas[view.name]) if len(stratum.views) == 1 and derived(view) else None

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


def derived(view: View) -> bool:
    """False for groups, for what domains answer, and for constraints: those are facts."""
    return not (view.aggregation or view.called or view.constrained)


def derivable(rows: Mapping[str, set[Row]], layering: Layering, facts: Facts, schemas: Schemas) -> dict[str, set[Row]]:
    """Which of `rows`, by view, follow from the facts."""
    solver = Solver(layering, facts, schemas)
    groups = {stratum.names[0] for stratum in layering.strata if stratum.aggregation}
    goals: dict[Goal, set[Row]] = defaultdict(set)
    for view, wanted in rows.items():
        for row in wanted:
            asked = _given(row)
            goals[view, asked].add(tuple(row[position] for position in asked))
    gathered: dict[str, set[Row]] = defaultdict(set)  # first: what reads a view of few groups finds most of them known
    for (view, asked), keys in goals.items():
        if view in groups:
            gathered[view] |= {row for group in solver.facts.rows(view, asked, keys).values() for row in group}
    found = solver.which(rows, {goal: keys for goal, keys in goals.items() if goal[0] not in groups})
    return {view: wanted & (gathered[view] | found[view]) for view, wanted in rows.items()}


def _given(row: Row) -> Asked:
    """NULLs are not asked by: they join with nothing, and are compared in the end."""
    return tuple(i for i, value in enumerate(row) if value is not None)


def _explore(first: _Pass) -> None:
    """Run to the end, asking for what negated literals need as well."""
    while True:
        first.run()
        before = sum(len(table.keys.packed) for table in first.tables.values())
        for (relation, known), keys in list(first.negated.items()):
            if relation in first.views:
                first.ask((relation, known), keys.all(len(known)))
        if sum(len(table.keys.packed) for table in first.tables.values()) == before:
            return


def _decided(first: _Pass, parts: Sequence[Sequence[View]]) -> dict[Goal, _Table]:
    """The final answers, stratum by stratum: `parts` come in an order in which all they read is done."""
    settled: dict[Goal, _Table] = {}
    for part in parts:
        own = {view.name: view for view in part}
        work = _Pass(first.common, dict(own), settled, decide_negation=True)
        for (relation, known), table in first.tables.items():
            if relation in own:
                work.ask((relation, known), table.keys.all(len(known)))
        work.run()
        settled |= work.tables
    return settled
