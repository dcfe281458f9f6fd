"""A rule's body with values given: under which bindings it holds, and where it stops holding.

No goals here and no recursion: every relation is read as it is, views too, so one look says by which rows a
row follows at once. Shares nothing with `maintain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from foreset.explain.notation import Columns, readable
from foreset.ir.asked import waits_for
from foreset.ir.program import is_hidden
from foreset.ir.renaming import substituted
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, atoms, literal_variables, nullable
from foreset.ir.terms import Const, Row, Term, Value, Var, names_in
from foreset.ir.text import print_literal, print_rule, print_term
from foreset.values.terms import equal
from foreset.verify.binding_order import Asked, Schemas, known_positions
from foreset.verify.bindings import Binding, head_row, key_at, matched, tested
from foreset.verify.groups import Facts

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

    def __post_init__(self) -> None:
        self.schemas = {name: tuple(column.type for column in found) for name, found in self.columns.items()}

    def text(self, rule: Rule) -> str:
        """The rule as its author wrote it where it stands on hidden relations, else in normal form."""
        if rule.text and any(is_hidden(atom.relation) for atom, _ in atoms(rule)):
            return " ".join(rule.text.split())
        shown = tuple(literal for literal in rule.body if not waits_for(literal))
        return print_rule(readable(replace(rule, body=shown), self.columns))

    def told(self, literal: Literal, binding: Mapping[str, Value], rule: Rule) -> str:
        """The literal with values in place of the variables that have one."""
        if called := waits_for(literal):
            found = filled(literal, binding, rule)
            assert isinstance(found, Negation)
            return f"{called} has answered ({', '.join(map(print_term, found.atom.args))})"
        return print_literal(readable(Rule(rule.head, (filled(literal, binding, rule),)), self.columns).body[0])

    def start(self, rule: Rule, row: Row) -> Binding | None:
        """What the head says when it is to give `row`; None where it cannot."""
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
        rest, bindings, passed = list(body), [start], 0
        while rest:
            literal = _next(rule, rest, bindings[0].keys())
            if literal is None:
                break
            rest.remove(literal)
            found = self._step(literal, bindings, rule)[:MOST]
            if not found:
                return Outcome((), literal, tuple(bindings), tuple(rest), passed)
            bindings, passed = found, passed + 1
        return Outcome(tuple(bindings), unknown=tuple(rest), passed=passed)

    def giving(self, rule: Rule, row: Row, bindings: Iterable[Binding]) -> tuple[Binding, ...]:
        """The bindings under which the head is `row`; all of them where some of its variables have no value."""
        names = {v.name for v in literal_variables(rule.head)}
        kinds = self.schemas[rule.head.relation]
        return tuple(b for b in bindings if not names <= b.keys() or head_row(rule, b, kinds) == row)

    def rows(self, atom: Atom, binding: Binding, rule: Rule) -> list[Row]:
        """The rows that an atom means under a binding: one, but where a variable is wider than a column."""
        kinds = self.schemas[atom.relation]
        pairs = [(arg, kind) for arg, kind in zip(atom.args, kinds, strict=True) if isinstance(arg, Var)]
        if all(rule.types[arg.name] == kind for arg, kind in pairs):
            return [tuple(arg.value if isinstance(arg, Const) else binding[_name(arg)] for arg in atom.args)]
        safe = nullable(rule)
        ((_, found),) = self._met(atom, [binding], safe)
        return [row for row in found if matched(atom, row, binding, rule, self.schemas, safe) is not None]

    def _step(self, literal: Literal, bindings: list[Binding], rule: Rule) -> list[Binding]:
        match literal:
            case Atom():
                safe = nullable(rule)
                return [
                    extended
                    for binding, rows in self._met(literal, bindings, safe)
                    for row in rows
                    if (extended := matched(literal, row, binding, rule, self.schemas, safe)) is not None
                ]
            case Negation(atom=atom):
                return [
                    binding
                    for binding, rows in self._met(atom, bindings)
                    if not any(matched(atom, row, binding, rule, self.schemas) is not None for row in rows)
                ]
            case Let(var=var):
                found = ((binding, tested(literal, binding, rule)) for binding in bindings)
                return [
                    b for given, b in found if b is not None and _same(given.get(var.name, b[var.name]), b[var.name])
                ]
            case _:
                return [kept for binding in bindings if (kept := tested(literal, binding, rule)) is not None]

    def _met(
        self, atom: Atom, bindings: Iterable[Binding], may_be_null: Set[str] = frozenset()
    ) -> list[tuple[Binding, Iterable[Row]]]:
        """Each binding with the rows that it may meet; none where a NULL stands which joins with nothing."""
        given = list(bindings)
        known: Asked = known_positions(atom, set(given[0]))
        keys = [key_at(atom, known, binding, may_be_null) for binding in given]
        rows = self.facts.rows(atom.relation, known, {key for key in keys if key is not None})
        return [
            (binding, rows.get(key, ()) if key is not None else ()) for binding, key in zip(given, keys, strict=True)
        ]


def _name(arg: Term) -> str:
    assert isinstance(arg, Var), f"{arg} is not in normal form"
    return arg.name


def _same(a: Value, b: Value) -> bool:
    return a is b or (a is not None and b is not None and equal(a, b))


def filled(literal: Literal, binding: Mapping[str, Value], rule: Rule) -> Literal:
    """The literal with values, NULL too, in place of the variables that have one: for people to read."""
    values: dict[str, Term] = {name: Const(value, rule.types[name]) for name, value in binding.items()}
    match literal:
        case Atom():
            return _filled_atom(literal, values)
        case Negation(atom=atom):
            return Negation(_filled_atom(atom, values))
        case Comparison(op=op, left=left, right=right):
            return Comparison(op, substituted(left, values), substituted(right, values))
        case Test(call=call, negated=negated):
            return Test(substituted(call, values), negated)
        case Let(var=var, term=term):
            return Comparison("=", substituted(var, values), substituted(term, values))


def _filled_atom(atom: Atom, values: Mapping[str, Term]) -> Atom:
    return replace(atom, args=tuple(substituted(arg, values) for arg in atom.args))


def _next(rule: Rule, rest: Sequence[Literal], bound: Iterable[str]) -> Literal | None:
    known = set(bound)
    for literal in rest:
        if not isinstance(literal, Atom) and _needed(rule, literal) <= known:
            return literal
    atoms = [literal for literal in rest if isinstance(literal, Atom)]
    return max(atoms, key=lambda one: len(known_positions(one, known)) / max(len(one.args), 1), default=None)


def _needed(rule: Rule, literal: Literal) -> frozenset[str]:
    """The variables that must have a value before the literal can be asked."""
    if isinstance(literal, Let):
        return names_in(literal.term)
    own = frozenset(v.name for v in literal_variables(literal))
    if isinstance(literal, Negation):
        return own & {v.name for one in (rule.head, *rule.body) if one is not literal for v in literal_variables(one)}
    return own
