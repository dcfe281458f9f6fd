"""A rule's body with values given: under which bindings it holds, and where it stops holding.

Every relation is read as it was published, views too: so one step of a proof takes no goals and no recursion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from foreset.explain.notation import Columns, readable
from foreset.ir.asked import waits_for
from foreset.ir.program import is_hidden
from foreset.ir.renaming import filled
from foreset.ir.rules import Atom, Let, Literal, Negation, Rule, atoms, literal_variables, nullable
from foreset.ir.terms import Const, Row, Term, Value, Var, names_in
from foreset.ir.text import print_literal, print_rule, print_term
from foreset.values.terms import equal
from foreset.values.widen import widened
from foreset.verify.batches import Batch, Binder
from foreset.verify.binding_order import Schemas, Stage, stage_of
from foreset.verify.groups import Facts
from foreset.verify.value_numbering import Codes, Numbers

Binding = dict[str, Value]
MOST = 10_000  # bindings that are followed at once


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a body. `failed` is the literal at which the last bindings (`before`) were lost."""

    bindings: tuple[Binding, ...]
    failed: Literal | None = None
    before: tuple[Binding, ...] = ()
    unknown: tuple[Literal, ...] = ()  # literals that could not be asked, for want of a value
    passed: int = 0


@dataclass(slots=True)
class Bodies:
    """Evaluates bodies over facts."""

    facts: Facts
    columns: Columns
    schemas: Schemas = field(init=False)
    binder: Binder = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = {name: tuple(column.type for column in found) for name, found in self.columns.items()}
        self.binder = Binder(Codes(), self.schemas)

    def text(self, rule: Rule) -> str:
        """The rule as its author wrote it where it stands on hidden relations, else in normal form."""
        if rule.text and any(is_hidden(atom.relation) for atom, _ in atoms(rule)):
            return " ".join(rule.text.split())
        shown = tuple(literal for literal in rule.body if not waits_for(literal))
        return print_rule(readable(replace(rule, body=shown), self.columns))

    def told(self, literal: Literal, binding: Mapping[str, Value], rule: Rule) -> str:
        """The literal with values, NULL too, in place of the variables that have one."""
        known = filled(literal, {name: Const(value, rule.types[name]) for name, value in binding.items()})
        if isinstance(known, Negation) and (called := waits_for(literal)):
            return f"{called} has answered ({', '.join(map(print_term, known.atom.args))})"
        return print_literal(readable(Rule(rule.head, (known,)), self.columns).body[0])

    def start(self, rule: Rule, row: Row) -> Binding | None:
        """The values with which the head gives `row`; None where it cannot."""
        binding: Binding = {}
        kinds, may_be_null = self.schemas[rule.head.relation], nullable(rule)
        for arg, value, kind in zip(rule.head.args, row, kinds, strict=True):
            if isinstance(arg, Const) and arg.value != value:
                return None
            given = value is not None or (isinstance(arg, Var) and arg.name in may_be_null)
            if isinstance(arg, Var) and given and rule.types[arg.name] == kind:
                first = binding.setdefault(arg.name, value)
                if not equal(first, value):
                    return None
        return binding

    def run(self, rule: Rule, body: Sequence[Literal], start: Binding) -> Outcome:
        """Follow a body from one binding: conditions as soon as they can be asked, then the best-bound atom."""
        rest, batch, passed = list(body), self._batch(start, rule), 0
        while rest:
            literal = _next(rule, rest, batch.names)
            if literal is None:
                break
            rest.remove(literal)
            found = self._step(literal, batch, rule)
            if not len(found):
                return Outcome((), literal, self._bindings(batch), tuple(rest), passed)
            batch, passed = Batch(found.names, found.rows[:MOST]), passed + 1
        return Outcome(self._bindings(batch), unknown=tuple(rest), passed=passed)

    def giving(self, rule: Rule, row: Row, bindings: Iterable[Binding]) -> tuple[Binding, ...]:
        """The bindings under which the head is `row`; all of them where some of its variables have no value."""
        names = {v.name for v in literal_variables(rule.head)}
        return tuple(b for b in bindings if not names <= b.keys() or self._head(rule, b) == row)

    def rows(self, atom: Atom, binding: Binding, rule: Rule) -> list[Row]:
        """The rows that an atom stands for under a binding: one, unless a variable is wider than its column."""
        pairs = zip(atom.args, self.schemas[atom.relation], strict=True)
        if all(isinstance(arg, Const) or rule.types[_name(arg)] == kind for arg, kind in pairs):
            return [tuple(arg.value if isinstance(arg, Const) else binding[_name(arg)] for arg in atom.args)]
        stage, one = _reading(rule, atom, binding, self.schemas), self._batch(binding, rule)
        _, rows = self._asked(atom.relation, stage, one)
        each = np.arange(len(rows))
        _, met = self.binder.met(stage, Batch(one.names, one.rows.repeat(len(rows), axis=0)), each, rows, rule)
        return self.binder.codes.tuples(rows[met])

    def _step(self, literal: Literal, batch: Batch, rule: Rule) -> Batch:
        match literal:
            case Atom(relation=relation):
                stage = _reading(rule, literal, batch.names, self.schemas)
                return self.binder.met(stage, batch, *self._asked(relation, stage, batch), rule)[0]
            case Negation(atom=Atom(relation=relation)):
                stage = stage_of(rule, literal, batch.names, self.schemas)
                _, met = self.binder.met(stage, batch, *self._asked(relation, stage, batch), rule)
                return self.binder.without(batch, met)
            case _:
                return self.binder.holding(literal, batch, rule)

    def _asked(self, relation: str, stage: Stage, batch: Batch) -> tuple[Numbers, Numbers]:
        """Pairs of a place in the batch and a row that it may meet."""
        places, keys = self.binder.keys(stage, batch)
        asked = self.binder.codes.tuples(keys)
        found = self.facts.rows(relation, stage.known, set(asked))
        pairs = [(place, row) for place, key in zip(places, asked, strict=True) for row in found.get(key, ())]
        rows = self.binder.codes.rows([row for _, row in pairs], self.schemas[relation])
        return np.array([place for place, _ in pairs], dtype=np.int64), rows

    def _batch(self, binding: Binding, rule: Rule) -> Batch:
        kinds = [rule.types[name] for name in binding]
        return Batch(tuple(binding), self.binder.codes.rows([tuple(binding.values())], kinds))

    def _bindings(self, batch: Batch) -> tuple[Binding, ...]:
        return tuple(dict(zip(batch.names, row, strict=True)) for row in self.binder.codes.tuples(batch.rows))

    def _head(self, rule: Rule, binding: Binding) -> Row:
        values = [arg.value if isinstance(arg, Const) else binding[_name(arg)] for arg in rule.head.args]
        return tuple(map(widened, values, self.schemas[rule.head.relation]))


def _reading(rule: Rule, atom: Atom, bound: Collection[str], schemas: Schemas) -> Stage:
    """The stage of an atom; unlike a goal, it also looks for a NULL that the head gives."""
    stage, names = stage_of(rule, atom, bound, schemas), nullable(rule)
    safe = (place.position for place in stage.places if isinstance(place.arg, Var) and place.arg.name in names)
    return replace(stage, safe=frozenset(safe))


def _name(arg: Term) -> str:
    assert isinstance(arg, Var), f"{arg} is not in normal form"
    return arg.name


def _next(rule: Rule, rest: Sequence[Literal], bound: Iterable[str]) -> Literal | None:
    known = set(bound)
    for literal in rest:
        if not isinstance(literal, Atom) and _needed(rule, literal) <= known:
            return literal
    atoms = (literal for literal in rest if isinstance(literal, Atom))
    return max(atoms, key=lambda one: _share(one, known), default=None)


def _share(atom: Atom, known: Set[str]) -> float:
    """How much of an atom has a value."""
    given = [isinstance(arg, Const) or _name(arg) in known for arg in atom.args]
    return sum(given) / max(len(given), 1)


def _needed(rule: Rule, literal: Literal) -> frozenset[str]:
    """The variables that must have a value before the literal can be asked."""
    if isinstance(literal, Let):
        return names_in(literal.term)
    own = frozenset(v.name for v in literal_variables(literal))
    if isinstance(literal, Negation):
        return own & {v.name for one in (rule.head, *rule.body) if one is not literal for v in literal_variables(one)}
    return own
