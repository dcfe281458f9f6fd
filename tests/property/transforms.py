"""Changes of programs and nights that must not change the outcome, or only in a way that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from tests.refresh_cases import Case, Night

from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Atom, Comparison, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Call, Const, Row, Term, Value, Var, variables
from foreset.ir.types import BOOLEAN, INT, STRING
from foreset.testing.replica import Delta

Rename = Callable[[str], str]
Names = Mapping[str, str]


# ---------------------------------------------------------------- nights
def merged(first: Night, second: Night) -> Night:
    """One night with the effect of two."""
    names = {*first, *second}
    pairs = {name: (first.get(name, Delta()), second.get(name, Delta())) for name in names}
    return {name: Delta((a.plus - b.minus) | (b.plus - a.minus), (a.minus - b.plus) | (b.minus - a.plus))
            for name, (a, b) in pairs.items()}  # fmt: skip


def split(night: Night, rng: Random) -> tuple[Night, Night]:
    """Two nights with the effect of one; rows that neither comes nor goes may come and go between them."""
    first: dict[str, Delta] = {}
    second: dict[str, Delta] = {}
    for name, delta in night.items():
        early_plus = frozenset(row for row in sorted(delta.plus, key=repr) if rng.random() < 0.5)
        early_minus = frozenset(row for row in sorted(delta.minus, key=repr) if rng.random() < 0.5)
        first[name] = Delta(early_plus, early_minus)
        second[name] = Delta(delta.plus - early_plus, delta.minus - early_minus)
    return first, second


def inverse(night: Night) -> Night:
    """What undoes a night."""
    return {name: Delta(delta.minus, delta.plus) for name, delta in night.items()}


def permuted(night: Night, rng: Random) -> Night:
    """The same changes, told in another order."""
    return {name: Delta(_shuffled(delta.plus, rng), _shuffled(delta.minus, rng))
            for name, delta in sorted(night.items(), reverse=True)}  # fmt: skip


def _shuffled(rows: frozenset[Row], rng: Random) -> frozenset[Row]:
    listed = list(rows)
    rng.shuffle(listed)
    return frozenset(listed)


# ---------------------------------------------------------------- programs
def with_rules(program: Program, change: Callable[[Rule], Iterator[Rule]]) -> Program:
    """Each rule replaced by others."""

    def changed(view: View) -> View:
        return replace(view, rules=tuple(new for rule in view.rules for new in change(rule)))

    return replace(program, views=tuple(map(changed, program.views)))


def duplicated(program: Program) -> Program:
    """Each rule twice."""
    return with_rules(program, lambda rule: iter((rule, rule)))


def reordered(program: Program, rng: Random) -> Program:
    """The literals of each body, the rules of each view, in another order."""

    def shuffled(rule: Rule) -> Iterator[Rule]:
        body = list(rule.body)
        rng.shuffle(body)
        yield replace(rule, body=tuple(body))

    program = with_rules(program, shuffled)
    views = [replace(view, rules=tuple(rng.sample(view.rules, len(view.rules)))) for view in program.views]
    rng.shuffle(views)
    return replace(program, views=tuple(views))


@dataclass(frozen=True, slots=True)
class _Renamed:
    """The parts of a program under other names."""

    name: Rename
    text: Rename

    def term(self, old: Term) -> Term:
        match old:
            case Var(name=own) if own != "_":
                return Var(f"{own}q")
            case Const(value=str() as value):
                return replace(old, value=self.text(value))
            case Call(args=args):
                return replace(old, args=tuple(map(self.term, args)))
            case _:
                return old

    def atom(self, old: Atom) -> Atom:
        columns = old.columns and tuple(map(self.name, old.columns))
        return replace(old, relation=self.name(old.relation), args=tuple(map(self.term, old.args)), columns=columns)

    def literal(self, old: Literal) -> Literal:
        match old:
            case Atom():
                return self.atom(old)
            case Negation():
                return replace(old, atom=self.atom(old.atom))
            case Comparison():
                return replace(old, left=self.term(old.left), right=self.term(old.right))
            case Test():
                return replace(old, call=self.term(old.call))
            case _:
                raise AssertionError(old)

    def columns(self, old: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(column, name=self.name(column.name)) for column in old)

    def rule(self, old: Rule) -> Rule:
        return replace(old, head=self.atom(old.head), body=tuple(map(self.literal, old.body)))

    def view(self, old: View) -> View:
        rules = tuple(map(self.rule, old.rules))
        return replace(old, name=self.name(old.name), columns=self.columns(old.columns), rules=rules)


def renamed(case: Case, name: Rename, text: Rename) -> Case:
    """Other names for relations, columns and variables, other texts for texts."""
    other = _Renamed(name, text)
    sources = tuple(replace(s, name=name(s.name), columns=other.columns(s.columns)) for s in case.program.sources)
    program = replace(case.program, sources=sources, views=tuple(map(other.view, case.program.views)))
    nights = tuple({name(n): _texts(delta, text) for n, delta in night.items()} for night in case.nights)
    return replace(case, program=program, nights=nights)


def _texts(delta: Delta, text: Rename) -> Delta:
    return Delta(retold(delta.plus, text), retold(delta.minus, text))


def retold(rows: frozenset[Row], text: Rename) -> frozenset[Row]:
    """Rows with other texts."""

    def other(value: Value) -> Value:
        return text(value) if isinstance(value, str) else value

    return frozenset(tuple(map(other, row)) for row in rows)


def texts_only_joined(program: Program) -> bool:
    """True when texts are compared for equality only, and no function sees them."""
    conditions = [lit for rule in program.rules for lit in rule.body if isinstance(lit, Comparison)]
    calls = [arg for rule in program.rules for arg in rule.head.args if isinstance(arg, Call)]
    calls += [side for literal in conditions for side in (literal.left, literal.right) if isinstance(side, Call)]
    return not calls and all(literal.op in ("=", "!=") for literal in conditions)


def beside(one: Case, other: Case) -> Case:
    """Both programs in one; the second keeps to itself."""
    second = renamed(other, lambda name: f"z_{name}", lambda text: text)
    program = replace(
        one.program,
        sources=one.program.sources + second.program.sources,
        views=second.program.views + one.program.views,
    )
    nights = tuple({**a, **b} for a, b in zip(one.nights, second.nights, strict=True))
    return replace(one, program=program, nights=nights)


def cut_in_three(program: Program, rng: Random) -> Program | None:
    """A rule q as q with c, with not c, and with c unknown, where c compares a variable with a constant."""
    found = [(rule, v) for rule in program.rules for v in _comparable(rule, program)]
    if not found:
        return None
    chosen, (name, constant) = rng.choice(found)
    op, other = rng.choice([("<", ">="), (">", "<="), ("=", "!=")])
    var = Var(name)
    parts = Comparison(op, var, constant), Comparison(other, var, constant), Test(Call("is_null", (var,)))

    def three(rule: Rule) -> Iterator[Rule]:
        if rule is not chosen:
            yield rule
            return
        yield from (replace(rule, body=(*rule.body, part)) for part in parts)

    return with_rules(program, three)


def _comparable(rule: Rule, program: Program) -> Iterator[tuple[str, Const]]:
    kinds = {name: [c.type for c in columns] for name, columns in program.columns_of().items()}
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.columns is None:
            for arg, kind in zip(literal.args, kinds[literal.relation], strict=True):
                if isinstance(arg, Var) and arg.name != "_":
                    if kind == STRING:
                        yield arg.name, Const("b", STRING)
                    elif kind.is_numeric:
                        yield arg.name, Const(1, INT)
                    elif kind == BOOLEAN:
                        yield arg.name, Const(True, BOOLEAN)


# ---------------------------------------------------------------- unfolding
def unfolded(program: Program) -> tuple[Program, str] | None:
    """A view with one plain rule put in the place of one atom that reads it; its name, where there is one."""
    for view in program.views:
        if len(view.rules) != 1 or not _plain(view.rules[0]):
            continue
        inner = view.rules[0]
        for rule in program.rules:
            for place, literal in enumerate(rule.body):
                if isinstance(literal, Atom) and literal.relation == view.name and _open(rule, literal):
                    new = _unfold(rule, place, literal, inner)
                    swapped = with_rules(program, lambda r, old=rule, new=new: iter((new if r is old else r,)))
                    return swapped, view.name
    return None


def _plain(rule: Rule) -> bool:
    """Only positive atoms with variables, and distinct variables in the head."""
    atoms = [lit for lit in rule.body if isinstance(lit, Atom) and lit.columns is None]
    names = [arg.name for arg in rule.head.args if isinstance(arg, Var)]
    simple = all(isinstance(arg, Var) for atom in atoms for arg in atom.args)
    itself = any(atom.relation == rule.head.relation for atom in atoms)
    return (
        bool(atoms) and simple and not itself and len(atoms) == len(rule.body)
        and len(set(names)) == len(rule.head.args) and rule.head.columns is None
    )  # fmt: skip


def _open(rule: Rule, atom: Atom) -> bool:
    """No arithmetic in the rule, whose type could change, and distinct variables in the atom."""
    calls = any(isinstance(lit, Comparison | Test) for lit in rule.body)
    names = [arg.name for arg in atom.args if isinstance(arg, Var)]
    return not calls and atom.columns is None and len(set(names)) == len(atom.args) and "_" not in names


def _unfold(rule: Rule, place: int, atom: Atom, inner: Rule) -> Rule:
    taken = {v.name for literal in rule.body for v in literal_variables(literal)}
    names: dict[str, str] = {}
    for mine, its in zip(atom.args, inner.head.args, strict=True):
        assert isinstance(mine, Var)
        assert isinstance(its, Var)
        names[its.name] = mine.name
    for literal in inner.body:
        for var in literal_variables(literal):
            if var.name not in names and var.name != "_":
                names[var.name] = next(n for n in (f"N{i}" for i in range(99)) if n not in {*taken, *names.values()})
    body = tuple(
        replace(lit, args=tuple(Var(names.get(v.name, v.name)) for arg in lit.args for v in variables(arg)))
        for lit in inner.body if isinstance(lit, Atom)
    )  # fmt: skip
    return replace(rule, body=(*rule.body[:place], *body, *rule.body[place + 1 :]))
