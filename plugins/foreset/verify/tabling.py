"""Goal-directed evaluation with tables: each goal is asked once, each answer found once.

A goal is a relation, the columns that are given, and their values. A rule that
needs another view leaves its bindings waiting at that view's table and goes on when
answers come, so recursion and cycles end. All goals and answers of a wave go
through a rule together.

A pass either leaves negated literals out and notes what they ask for, or decides them
against answers that are complete; `solving.py` has the order of passes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from foreset.ir.program import View
from foreset.ir.rules import Atom, Negation, Rule
from foreset.verify.batches import Batch, Binder
from foreset.verify.binding_order import Asked, Passage, Stage, passage
from foreset.verify.fact_cache import FactCache
from foreset.verify.flows import Flow
from foreset.verify.linear_recursion import LinearRecursion, named, parted
from foreset.verify.value_numbering import Codes, Distinct, Grown, Numbered, Numbers, nothing, without_null

Goal = tuple[str, Asked]


@dataclass(slots=True)
class Keys:
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
class Table:
    """The goals of one kind, their answers by key, and who waits for them."""

    answers: Grown
    keys: Keys = field(default_factory=Keys)
    known: Distinct = field(default_factory=Distinct)  # of the answers
    waiting: dict[tuple[int, int], _Waiting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Common:
    """What both passes share. They must order a rule alike: else the second would ask what the first did not."""

    cache: FactCache
    binder: Binder
    derived: Set[str]  # the views of all strata, and their parts
    sizes: Mapping[str, int]  # of some of them
    recursions: Mapping[str, LinearRecursion]
    carried_values: dict[str, Numbered] = field(default_factory=dict)

    def fanout(self, relation: str, known: Asked) -> float | None:
        """About how many rows one key finds; None where nobody knows. Of a view only its size is known, if that."""
        if relation not in self.derived:
            return self.cache.facts.fanout(relation, known)
        if relation not in self.sizes or not known:
            return None
        share: float = 1 - len(known) / len(self.binder.schemas[relation])
        return math.pow(self.sizes[relation], share)


@dataclass(slots=True)
class Pass:
    """One pass over some strata: `views` are derived here, `settled` has final answers of lower ones."""

    common: Common
    views: dict[str, View]
    settled: Mapping[Goal, Table]
    decide_negation: bool
    tables: dict[Goal, Table] = field(default_factory=dict)
    negated: dict[Goal, Keys] = field(default_factory=partial(defaultdict, Keys))
    _passages: dict[tuple[int, Asked], Passage] = field(default_factory=dict)
    _goals: dict[Goal, list[Numbers]] = field(default_factory=dict)
    _news: dict[Goal, list[Numbers]] = field(default_factory=dict)
    _flows: dict[str, Flow] = field(default_factory=dict)
    _parts: dict[str, Flow] = field(default_factory=dict)  # by the names of what a flow asks for
    _from_key: dict[str, Sequence[Rule]] = field(default_factory=dict)  # of views that hand columns on

    @property
    def binder(self) -> Binder:
        """What literals do."""
        return self.common.binder

    @property
    def codes(self) -> Codes:
        """The numbers of values."""
        return self.binder.codes

    def ask(self, goal: Goal, keys: Numbers) -> None:
        """Ask for the rows of a view with these values in the given columns; NULL joins with nothing."""
        self.ask_for(goal, keys[without_null(keys)])

    def ask_for(self, goal: Goal, keys: Numbers) -> None:
        """As `ask`, but a NULL in a key asks for rows with a NULL there: the members of a group may be such."""
        fresh = self._table(goal).keys.add(keys, self.codes)
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
        """When no goal and no answer is left, let the flows ask and answer. False when that gave nothing new."""
        for flow in self._flows.values():
            one = flow.recursion
            self.ask((one.by_key, one.key), flow.new_keys())
            if self.views[one.by_row].rules:
                self.ask((one.by_row, one.whole), flow.questions())
        if not self._goals:
            for flow in self._flows.values():
                self._found((flow.recursion.view, flow.recursion.whole), flow.answers())
        return bool(self._goals or self._news)

    def _hear(self, flow: Flow, part: str, rows: Numbers) -> None:
        if part == flow.recursion.steps.name:
            self.ask((part, flow.recursion.key_of_step), flow.step(rows))
        else:
            flow.start(rows)

    def _flow(self, goal: Goal) -> Flow | None:
        """The flow that takes goals of this kind; None where the view hands no column on."""
        relation, asked = goal
        one = self.common.recursions.get(relation)
        if one is None or asked != one.whole:
            return None
        if relation not in self._flows:
            starts = [self._passage(named(rule, one.by_key), one.key) for rule in one.starts]
            steps = [self._passage(rule, one.key_of_step) for rule in one.steps.rules]
            parts = (one.steps, *parted(one, steps, starts, self.common.fanout))
            values = self.common.carried_values.setdefault(relation, Numbered(self.codes, len(one.carried)))
            flow = self._flows[relation] = Flow(one, values, self.codes)
            self.views |= {part.name: part for part in parts}
            self._parts |= {part.name: flow for part in parts}
        return self._flows[relation]

    def _table(self, goal: Goal) -> Table:
        if goal not in self.tables:
            self.tables[goal] = Table(Grown(len(self.binder.schemas[goal[0]])))
        return self.tables[goal]

    def _begin(self, goal: Goal, keys: Numbers) -> None:
        flow = self._flow(goal)
        if flow is not None:
            fresh, keys = flow.take(keys)
            self.ask((flow.recursion.steps.name, flow.recursion.key_of_step), fresh)
        for rule in self._rules(goal) if len(keys) else ():
            way = self._passage(rule, goal[1])
            self._advance(way, 0, self.binder.begin(way, keys))

    def _rules(self, goal: Goal) -> Sequence[Rule]:
        """The rules of a view, in the form that suits what is given of it."""
        relation, asked = goal
        one = self.common.recursions.get(relation)
        if one is None or asked != one.key:
            return self.views[relation].rules
        if relation not in self._from_key:
            first, *parts = one.from_key()
            self._from_key[relation] = first.rules
            self.views |= {part.name: part for part in parts}
        return self._from_key[relation]

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
        """Continue a rule behind an atom of a view, with the bindings that waited and the answers that came."""
        stage = way.stages[number]
        found, _ = self.binder.met(stage, batch, places, rows, way.rule)
        self._advance(way, number + 1, self.binder.keeping(found, stage.keep))

    def _advance(self, way: Passage, start: int, batch: Batch) -> None:
        for number in range(start, len(way.stages)):
            if not len(batch):
                return
            stage = way.stages[number]
            match stage.literal:
                case Atom(relation=relation) if relation in self.views:
                    self._await(way, number, relation, batch)
                    return
                case Atom(relation=relation):
                    batch = self._joined(relation, stage, batch, way.rule)
                case Negation(atom=atom):
                    batch = self._absent(atom.relation, stage, batch, way.rule)
                case literal:
                    batch = self.binder.holding(literal, batch, way.rule)
            batch = self.binder.keeping(batch, stage.keep)
        if len(batch):
            self._answer(way, batch)

    def _await(self, way: Passage, number: int, view: str, batch: Batch) -> None:
        """Leave the bindings at the view's table; go on with the answers that are there already."""
        stage = way.stages[number]
        goal = (view, stage.known)
        table = self._table(goal)
        places, keys = self.binder.keys(stage, batch)
        packed, batch = self.codes.packed(keys), Batch(batch.names, batch.rows[places])
        slot = (id(way), number)
        if slot not in table.waiting:
            table.waiting[slot] = _Waiting(way, number, batch.names, Grown(len(batch.names)))
        table.waiting[slot].rows.add(packed, batch.rows)
        at, rows = table.answers.meet(packed)
        self.ask(goal, keys)
        if len(at):
            self._go_on(way, number, batch, at, rows)

    def _joined(self, relation: str, stage: Stage, batch: Batch, rule: Rule) -> Batch:
        places, keys = self.binder.keys(stage, batch)
        at, rows = self._rows(relation, stage.known, keys)
        return self.binder.met(stage, batch, places[at], rows, rule)[0]

    def _absent(self, relation: str, stage: Stage, batch: Batch, rule: Rule) -> Batch:
        places, keys = self.binder.keys(stage, batch)
        if not self.decide_negation:
            self.negated[relation, stage.known].add(keys, self.codes)
            return batch
        at, rows = self._rows(relation, stage.known, keys)
        return self.binder.without(batch, self.binder.met(stage, batch, places[at], rows, rule)[1])

    def _rows(self, relation: str, known: Asked, keys: Numbers) -> tuple[Numbers, Numbers]:
        if (relation, known) in self.settled:
            return self.settled[relation, known].answers.meet(self.codes.packed(keys))
        return self.common.cache.meet(relation, known, keys)

    def _answer(self, way: Passage, batch: Batch) -> None:
        self._found((way.rule.head.relation, way.asked), self.binder.heads(way.rule, batch))

    def _found(self, goal: Goal, rows: Numbers) -> None:
        """Keep the rows that answer a goal; those that are new go to the bindings that wait for them."""
        table = self.tables[goal]
        rows = rows[table.keys.packed.holds(self.codes.packed(rows[:, list(goal[1])]))]
        rows = rows[table.known.add(self.codes.packed(rows))]
        if len(rows):
            table.answers.add(self.codes.packed(rows[:, list(goal[1])]), rows)
            self._news.setdefault(goal, []).append(rows)
