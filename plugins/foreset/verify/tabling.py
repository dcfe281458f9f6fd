"""Goal-directed evaluation with tables: each goal is asked once, each answer found once.

A goal is a relation, the columns that are given, and their values. A rule that
needs another view leaves its bindings waiting at that view's table and goes on when
answers come, so recursion and cycles end.

Negation takes two passes. The first leaves negated literals out: it finds a superset
of the answers, and every goal that the true answers can need, those of negated
literals included. The second goes through the strata from below and decides each
negation against answers that are complete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from foreset.ir.program import View
from foreset.ir.rules import Atom, Comparison, Let, Negation, Rule, Test
from foreset.ir.strata import Layering
from foreset.ir.terms import Const, Row, Value, Var
from foreset.reference.failure import Failure
from foreset.reference.terms import compile_comparison, compile_test, read_as
from foreset.reference.widen import widened
from foreset.verify.groups import Facts, GroupFacts, member_schemas
from foreset.verify.passing import Asked, Passage, Schemas, passage

Binding = dict[str, Value]
Goal = tuple[str, Asked]


@dataclass(slots=True)
class _Waiting:
    """Bindings of one rule that wait for answers at one of its atoms."""

    passage: Passage
    stage: int
    bindings: dict[Row, list[Binding]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Table:
    """The goals of one kind, their answers, and who waits for them."""

    keys: set[Row] = field(default_factory=set)
    answers: dict[Row, dict[Row, None]] = field(default_factory=lambda: defaultdict(dict))
    waiting: dict[tuple[int, int], _Waiting] = field(default_factory=dict)


@dataclass(slots=True)
class _Pass:
    """One pass over some strata: `views` are derived here, `settled` has final answers of lower ones."""

    facts: Facts
    schemas: Schemas
    views: Mapping[str, View]
    settled: Mapping[Goal, _Table]
    decide_negation: bool
    tables: dict[Goal, _Table] = field(default_factory=dict)
    negated: dict[Goal, set[Row]] = field(default_factory=lambda: defaultdict(set))
    _passages: dict[tuple[int, Asked], Passage] = field(default_factory=dict)
    _goals: list[tuple[Goal, set[Row]]] = field(default_factory=list)
    _news: list[tuple[Goal, list[tuple[Row, Row]]]] = field(default_factory=list)

    def ask(self, goal: Goal, keys: Iterable[Row]) -> None:
        """Ask for the rows of a view with these values in the given columns."""
        table = self.tables.setdefault(goal, _Table())
        fresh = {key for key in keys if key not in table.keys and None not in key}
        if fresh:
            table.keys |= fresh
            self._goals.append((goal, fresh))

    def run(self) -> None:
        """Go on until no goal and no answer is new."""
        while self._goals or self._news:
            goals, self._goals = self._goals, []
            for goal, keys in goals:
                self._begin(goal, keys)
            news, self._news = self._news, []
            for goal, answers in news:
                self._wake(goal, answers)

    def _begin(self, goal: Goal, keys: set[Row]) -> None:
        relation, asked = goal
        for rule in self.views[relation].rules:
            way = self._passage(rule, asked)
            found = (_from_head(way, key) for key in keys)
            self._advance(way, 0, list({frozenset(b.items()): b for b in found if b is not None}.values()))

    def _passage(self, rule: Rule, asked: Asked) -> Passage:
        key = (id(rule), asked)
        if key not in self._passages:
            self._passages[key] = passage(rule, asked, self.schemas)
        return self._passages[key]

    def _wake(self, goal: Goal, answers: list[tuple[Row, Row]]) -> None:
        for waiting in list(self.tables[goal].waiting.values()):
            atom = waiting.passage.stages[waiting.stage].literal
            assert isinstance(atom, Atom)
            found = [
                extended
                for key, row in answers
                for binding in waiting.bindings.get(key, ())
                if (extended := matched(atom, row, binding, waiting.passage.rule, self.schemas)) is not None
            ]
            self._advance(waiting.passage, waiting.stage + 1, found)

    def _advance(self, way: Passage, stage: int, bindings: list[Binding]) -> None:
        for number in range(stage, len(way.stages)):
            if not bindings:
                return
            literal, known = way.stages[number].literal, way.stages[number].known
            match literal:
                case Atom(relation=relation) if relation in self.views:
                    bindings = self._await(way, number, bindings)
                case Atom():
                    bindings = self._joined(literal, known, bindings, way.rule)
                case Negation(atom=atom):
                    bindings = self._absent(atom, known, bindings, way.rule)
                case _:
                    bindings = [kept for b in bindings if (kept := tested(literal, b, way.rule)) is not None]
        self._answer(way, bindings)

    def _await(self, way: Passage, number: int, bindings: list[Binding]) -> list[Binding]:
        """Leave the bindings at the view's table; go on with the answers that are there already."""
        atom, known = way.stages[number].literal, way.stages[number].known
        assert isinstance(atom, Atom)
        goal = (atom.relation, known)
        table = self.tables.setdefault(goal, _Table())
        waiting = table.waiting.setdefault((id(way), number), _Waiting(way, number))
        found: list[Binding] = []
        asked: set[Row] = set()
        for binding in bindings:
            key = key_at(atom, known, binding)
            if key is None:
                continue
            asked.add(key)
            waiting.bindings[key].append(binding)
            rows = table.answers.get(key, ())
            found += [b for row in rows if (b := matched(atom, row, binding, way.rule, self.schemas)) is not None]
        self.ask(goal, asked)
        return found

    def _joined(self, atom: Atom, known: Asked, bindings: list[Binding], rule: Rule) -> list[Binding]:
        keys = [(binding, key_at(atom, known, binding)) for binding in bindings]
        rows = self._rows(atom.relation, known, {key for _, key in keys if key is not None})
        return [
            extended
            for binding, key in keys
            if key is not None
            for row in rows.get(key, ())
            if (extended := matched(atom, row, binding, rule, self.schemas)) is not None
        ]

    def _absent(self, atom: Atom, known: Asked, bindings: list[Binding], rule: Rule) -> list[Binding]:
        keys = [(binding, key_at(atom, known, binding)) for binding in bindings]
        wanted = {key for _, key in keys if key is not None}
        if not self.decide_negation:
            self.negated[(atom.relation, known)] |= wanted
            return bindings
        rows = self._rows(atom.relation, known, wanted)
        return [
            binding
            for binding, key in keys
            if key is None
            or not any(matched(atom, row, binding, rule, self.schemas) is not None for row in rows.get(key, ()))
        ]

    def _rows(self, relation: str, known: Asked, keys: set[Row]) -> Mapping[Row, Iterable[Row]]:
        if (relation, known) in self.settled:
            return self.settled[(relation, known)].answers
        return self.facts.rows(relation, known, keys)

    def _answer(self, way: Passage, bindings: list[Binding]) -> None:
        relation = way.rule.head.relation
        goal, kinds = (relation, way.asked), self.schemas[relation]
        table = self.tables[goal]
        found = []
        for binding in bindings:
            row = head_row(way.rule, binding, kinds)
            key = tuple(row[p] for p in way.asked)
            if key in table.keys and row not in table.answers[key]:
                table.answers[key][row] = None
                found.append((key, row))
        if found:
            self._news.append((goal, found))


def key_at(atom: Atom, known: Asked, binding: Binding) -> Row | None:
    """The values at the known positions; None if a NULL stands there, which joins with nothing."""
    args = (arg for position in known if isinstance(arg := atom.args[position], (Const, Var)))
    values = tuple(arg.value if isinstance(arg, Const) else binding[arg.name] for arg in args)
    return None if None in values else values


def matched(atom: Atom, row: Row, binding: Binding, rule: Rule, schemas: Schemas) -> Binding | None:
    """The binding with what `row` says of the atom's variables; None where the two do not meet."""
    extended = dict(binding)
    for arg, value, kind in zip(atom.args, row, schemas[atom.relation], strict=True):
        if isinstance(arg, Const):
            if value != arg.value:
                return None
        elif isinstance(arg, Var):
            wide = value if rule.types[arg.name] == kind else widened(value, rule.types[arg.name])
            if arg.name in extended:
                if wide is None or extended[arg.name] != wide:
                    return None
            else:
                extended[arg.name] = wide
    return extended


def _from_head(way: Passage, key: Row) -> Binding | None:
    values = dict(zip(way.asked, key, strict=True))
    binding: Binding = {}
    for position in way.given:
        arg, value = way.rule.head.args[position], values[position]
        if isinstance(arg, Const):
            if arg.value != value:
                return None
        elif isinstance(arg, Var) and binding.setdefault(arg.name, value) != value:
            return None
    return binding


def tested(literal: object, binding: Binding, rule: Rule) -> Binding | None:
    """The binding with what a value or a condition says; None where it does not hold."""
    slots, values = {name: i for i, name in enumerate(binding)}, tuple(binding.values())
    try:
        match literal:
            case Let(var=var, term=term):
                value = read_as(term, rule.types[var.name], slots, rule.types)(values)
                return {**binding, var.name: value}
            case Comparison():
                return binding if compile_comparison(literal, slots, rule.types)(values) else None
            case Test():
                return binding if compile_test(literal, slots, rule.types)(values) else None
            case _:
                raise AssertionError(f"{literal} is no condition")
    except Failure:  # the refresh itself would have stopped, had this binding met all other literals
        return None


def head_row(rule: Rule, binding: Binding, kinds: tuple[object, ...]) -> Row:
    """The row that a binding gives."""
    values = []
    for arg, kind in zip(rule.head.args, kinds, strict=True):
        if isinstance(arg, Const):
            values.append(arg.value)
        elif isinstance(arg, Var):
            value = binding[arg.name]
            values.append(value if rule.types[arg.name] == kind else widened(value, kind))  # type: ignore[arg-type]
    return tuple(values)


@dataclass(slots=True)
class Solver:
    """Answers goals over one state of the sources; views of groups are answered from their members."""

    layering: Layering
    facts: Facts
    schemas: Schemas

    def __post_init__(self) -> None:
        groups = {s.names[0]: s.views[0] for s in self.layering.strata if s.aggregation}
        if groups:
            self.schemas = {**self.schemas, **member_schemas(groups.values())}
            self.facts = GroupFacts(self.facts, groups, self._members)

    def solve(self, goals: Mapping[Goal, set[Row]], extra: View | None = None) -> dict[Goal, _Table]:
        """The tables of these goals and of all that they need; `extra` is a view that no stratum has."""
        views = {view.name: view for stratum in self.layering.strata for view in stratum.views if derived(view)}
        if extra is not None:
            views[extra.name] = extra
        first = _Pass(self.facts, self.schemas, views, {}, decide_negation=False)
        for goal, keys in goals.items():
            first.ask(goal, keys)
        _explore(first)
        if not first.negated:
            return first.tables
        parts = [stratum.views for stratum in self.layering.strata if derived(stratum.views[0])]
        return _decided(first, [*parts, *([(extra,)] if extra else [])], self.facts, self.schemas)

    def _members(self, view: View, asked: Asked, keys: set[Row]) -> Iterable[Row]:
        """The members of the groups whose columns `asked` are one of `keys`."""
        aggregation = view.aggregation
        assert aggregation is not None
        goal = (aggregation.members, asked)
        extra = None if aggregation.stored else View(aggregation.members, (), view.rules)
        answers = self.solve({goal: keys}, extra)[goal].answers
        return [row for rows in answers.values() for row in rows]


def derived(view: View) -> bool:
    """False for groups, for what domains answer, and for constraints: those are facts."""
    return not (view.aggregation or view.called or view.constrained)


def derivable(rows: Mapping[str, set[Row]], layering: Layering, facts: Facts, schemas: Schemas) -> dict[str, set[Row]]:
    """Which of `rows`, by view, follow from the facts."""
    solver = Solver(layering, facts, schemas)
    groups = {stratum.names[0] for stratum in layering.strata if stratum.aggregation}
    wanted = {view: [(row, _given(row)) for row in asked] for view, asked in rows.items()}
    goals: dict[Goal, set[Row]] = defaultdict(set)
    for view, pairs in wanted.items():
        for row, asked in pairs:
            goals[view, asked].add(tuple(row[p] for p in asked))
    tables = solver.solve({goal: keys for goal, keys in goals.items() if goal[0] not in groups})
    found = {goal: solver.facts.rows(*goal, keys) for goal, keys in goals.items() if goal[0] in groups}
    found |= {goal: table.answers for goal, table in tables.items() if goal in goals}
    return {
        view: {row for row, asked in pairs if row in found[view, asked].get(tuple(row[p] for p in asked), ())}
        for view, pairs in wanted.items()
    }


def _given(row: Row) -> Asked:
    """NULLs are not asked by: they join with nothing, and are compared in the end."""
    return tuple(i for i, value in enumerate(row) if value is not None)


def _explore(first: _Pass) -> None:
    """Run to the end, asking for what negated literals need as well."""
    while True:
        first.run()
        before = sum(len(table.keys) for table in first.tables.values())
        for (relation, known), keys in list(first.negated.items()):
            if relation in first.views:
                first.ask((relation, known), keys)
        if sum(len(table.keys) for table in first.tables.values()) == before:
            return


def _decided(first: _Pass, parts: Sequence[Sequence[View]], facts: Facts, schemas: Schemas) -> dict[Goal, _Table]:
    """The final answers, stratum by stratum: `parts` come in an order in which all they read is done."""
    settled: dict[Goal, _Table] = {}
    for part in parts:
        own = {view.name: view for view in part}
        work = _Pass(facts, schemas, own, settled, decide_negation=True)
        for (relation, known), table in first.tables.items():
            if relation in own:
                work.tables.setdefault((relation, known), _Table())
                work.ask((relation, known), table.keys)
        work.run()
        settled |= work.tables
    return settled
