"""Random rules: safe, well typed, over whatever relations there are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random

from foreset.ir.program import Column
from foreset.ir.rules import Atom, Comparison, Literal, Negation, Rule, Test
from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, SMALLINT, STRING, Type, decimal, fits, widen
from foreset.ir.values import NAN, canonical

MONEY = decimal(22, 2)
SORTS = {"num": (INT,), "str": (STRING,), "date": (DATE,), "bool": (BOOLEAN,)}
NUMBERS = (SMALLINT, INT, INT, BIGINT, DOUBLE, MONEY, FLOAT)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
DAY = dt.date(2026, 11, 1)


@dataclass(frozen=True, slots=True)
class Relation:
    """What rules need to know of a relation while they are made."""

    name: str
    columns: tuple[Column, ...]
    recursive: bool = False

    @property
    def kinds(self) -> tuple[Type, ...]:
        """The types of its columns."""
        return tuple(column.type for column in self.columns)

    @property
    def pairs(self) -> bool:
        """True for two columns of one sort: a graph."""
        return len(self.columns) == 2 and sort_of(self.kinds[0]) == sort_of(self.kinds[1])


def sort_of(kind: Type) -> str:
    """Which types meet in joins."""
    return "num" if kind.is_numeric else {"string": "str", "date": "date", "boolean": "bool"}[kind.name]


@dataclass(slots=True)
class Body:
    """A body in the making: its literals, and the type of each variable that is bound."""

    literals: list[Literal] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)

    def of_sort(self, sort: str) -> list[str]:
        """Bound variables of one sort."""
        return [name for name, kind in self.types.items() if sort_of(kind) == sort]

    def bind(self, name: str, kind: Type) -> None:
        """`name` occurs in a column of `kind`."""
        common = widen(self.types.get(name, kind), kind)
        assert common is not None
        self.types[name] = common

    def fresh(self) -> str:
        """A name not taken yet."""
        return next(n for n in ("X", "Y", "Z", "U", "V", "W", *(f"V{i}" for i in range(99))) if n not in self.types)


class RuleMaker:
    """Rules of one program; every choice comes from `rng`."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.size = rng.choice((3, 4, 4, 5, 5, 6))
        self.main = rng.choices(("str", "num", "date"), (45, 45, 10))[0]
        self.mixed = rng.random() < 0.3  # columns of other sorts too
        self.wide = rng.random() < 0.35  # numbers of several types
        self.nan = rng.random() < 0.25
        self.tenths = rng.random() < 0.15  # no binary fraction is a tenth: beyond clingo's reach
        self.null_share = rng.choice((0.0, 0.0, 0.0, 0.1, 0.25))
        self.functions = rng.random() < 0.06
        self.lower: list[Relation] = []

    # ------------------------------------------------------------ values and columns
    def domain(self, kind: Type) -> Value:
        """A value of a small domain, never NULL."""
        pick = self.rng.randrange(self.size)
        match sort_of(kind):
            case "str":
                return "abcdefgh"[pick]
            case "date":
                return DAY + dt.timedelta(days=pick)
            case "bool":
                return pick % 2 == 0
        if kind.is_integral:
            return pick
        if kind.is_fractional and self.nan and self.rng.random() < 0.1:
            return NAN
        part = Decimal("0.1" if self.tenths else "0.5") if self.rng.random() < 0.15 else Decimal(0)
        return canonical(pick + part if kind == MONEY else float(pick + part), kind)

    def constant(self, kind: Type) -> Term:
        """A constant as people write it where a column of `kind` is meant."""
        pick = self.rng.randrange(self.size)
        match sort_of(kind):
            case "str":
                return Const("abcdefgh"[pick], STRING)
            case "date":
                return Const(DAY + dt.timedelta(days=pick), DATE)
            case "bool":
                return Const(pick % 2 == 0, BOOLEAN)
            case _:
                return Const(pick, INT)

    def kind(self) -> Type:
        """The type of a new column."""
        sort = self.main
        if self.mixed and self.rng.random() < 0.35:
            sort = self.rng.choices(("str", "num", "date", "bool"), (3, 4, 2, 1))[0]
        if sort == "num":
            return self.rng.choice(NUMBERS) if self.wide else INT
        return SORTS[sort][0]

    def columns(self, *, graph: bool) -> tuple[Column, ...]:
        """Columns of a new relation."""
        if graph:
            kind = self.kind()
            kinds = [kind, kind]
            if self.wide and kind.is_numeric and self.rng.random() < 0.3:
                kinds[1] = self.rng.choice(NUMBERS)
        else:
            kinds = [self.kind() for _ in range(self.rng.choices((1, 2, 3), (35, 50, 15))[0])]
        return tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds))

    def holding(self, kinds: Sequence[Type]) -> Type:
        """A type that holds values of all `kinds`."""
        common: Type | None = kinds[0]
        for kind in kinds[1:]:
            common = widen(common, kind) if common else None
        assert common is not None
        return common if common.name != "decimal" else MONEY

    # ------------------------------------------------------------ rules at random
    def rule(self, me: Relation, own: Sequence[Relation], *, must_negate: bool) -> Rule:
        """A safe, well-typed rule for `me` that reads each of `own`."""
        body = Body()
        wanted = max(len(own), self.rng.choices((1, 2, 3), (35, 52, 13))[0])
        relations = [*own, *(self.reading() for _ in range(wanted - len(own)))]
        self.rng.shuffle(relations)
        for relation in relations:
            self.join(body, relation)
        if not own and self.rng.random() < 0.2:
            self.compute(body)
        if must_negate:
            self.negate(body, [r for r in self.lower if r.recursive] or self.lower)
        if self.rng.random() < 0.05:  # two that flip at once
            self.negate(body, self.lower[:2])
            self.negate(body, self.lower[:2])
        while self.rng.random() < 0.13:
            self.negate(body, self.lower)
        while self.rng.random() < 0.1:
            self.compare(body)
        if self.rng.random() < 0.08:
            self.test(body)
        if self.rng.random() < 0.25:
            self.rng.shuffle(body.literals)
        return Rule(self.head(me, body, recursive=bool(own)), tuple(body.literals))

    def reading(self) -> Relation:
        """A relation to read: the newest ones most often, so that changes travel far."""
        return self.rng.choices(self.lower, [2 + i for i in range(len(self.lower))])[0]

    def join(self, body: Body, relation: Relation) -> None:
        """A positive atom that shares a variable with the body where it can."""
        args: list[Term] = []
        shared = False
        bound = dict(body.types)
        for kind in relation.kinds:
            old = [name for name in bound if sort_of(bound[name]) == sort_of(kind)]
            dice = self.rng.random()
            if old and (not shared or dice < 0.3):
                name = self.rng.choice(old)
                shared = True
            elif dice < 0.4 and (same := body.of_sort(sort_of(kind))) and self.rng.random() < 0.2:
                name = self.rng.choice(same)
            elif dice > 0.975:
                args.append(self.constant(kind))
                continue
            elif dice > 0.89:
                args.append(Var("_"))
                continue
            else:
                name = body.fresh()
            if name in bound and bound[name].is_integral and kind.is_integral and self.rng.random() < 0.06:
                args.append(Call(self.rng.choice("+-"), (Var(name), Const(1, INT))))
                continue
            body.bind(name, kind)
            args.append(Var(name))
        body.literals.append(self.named(Atom(relation.name, tuple(args)), relation))

    def named(self, atom: Atom, relation: Relation) -> Atom:
        """`atom`, now and then with named arguments."""
        if len(atom.args) < 2 or self.rng.random() > 0.06:
            return atom
        kept = [(c.name, arg) for c, arg in zip(relation.columns, atom.args, strict=True) if arg != Var("_")]
        if not kept:
            return atom
        self.rng.shuffle(kept)
        return replace(atom, args=tuple(arg for _, arg in kept), columns=tuple(name for name, _ in kept))

    def negate(self, body: Body, relations: Sequence[Relation], *, headed: bool = False) -> None:
        """A negated atom: bound variables, constants, and columns that do not matter.

        `headed`: the head is there already, so its variables may not become wider; nor may those of assignments.
        """
        relation = self.rng.choices(relations, [1 + i for i in range(len(relations))])[0]
        any_value: dict[str, Term] = {}
        settled = headed or any(isinstance(literal, Comparison) for literal in body.literals)
        args: list[Term] = []
        for kind in relation.kinds:
            same = [n for n in body.of_sort(sort_of(kind)) if not settled or fits(kind, body.types[n])]
            dice = self.rng.random()
            if same and dice < 0.65:
                name = self.rng.choice(same)
                if body.types[name].is_integral and kind.is_integral and self.rng.random() < 0.1:
                    args.append(Call(self.rng.choice("+-"), (Var(name), Const(1, INT))))
                    continue
                body.bind(name, kind)
                args.append(Var(name))
            elif dice < 0.86:
                args.append(any_value.get(sort_of(kind), Var("_")) if self.rng.random() < 0.7 else Var("_"))
                if self.rng.random() < 0.2:  # a name of its own, perhaps for the next column too
                    args[-1] = any_value.setdefault(sort_of(kind), Var(f"N{len(body.literals)}{sort_of(kind)}"))
            else:
                args.append(self.constant(kind))
        if self.rng.random() < 0.03:
            args = [Var("_") for _ in args]
        body.literals.append(Negation(Atom(relation.name, tuple(args))))

    def compare(self, body: Body) -> None:
        """A comparison of bound variables or with a constant."""
        if not body.types:
            return
        name = self.rng.choice(list(body.types))
        kind = body.types[name]
        others = [n for n in body.of_sort(sort_of(kind)) if n != name]
        op = self.rng.choice(OPERATORS[1:] if sort_of(kind) != "bool" else OPERATORS[:2])
        right: Term = Var(self.rng.choice(others)) if others and self.rng.random() < 0.6 else self.constant(kind)
        left: Term = Var(name)
        if kind.is_integral and self.rng.random() < 0.15:
            left = Call("+", (left, Const(1, INT)))
        body.literals.append(Comparison(op, left, right))

    def test(self, body: Body) -> None:
        """A boolean function, here `is_null`."""
        if body.types:
            name = self.rng.choice(list(body.types))
            negated = self.rng.random() < (0.6 if self.null_share else 0.9)
            body.literals.append(Test(Call("is_null", (Var(name),)), negated=negated))

    def compute(self, body: Body) -> None:
        """A chain of assignments over bound variables."""
        if self.functions and (texts := body.of_sort("str")):
            text = Var(texts[0])
            last = Const("a", STRING)
            calls = Call("upper", (text,)), Call("concat", (text, last)), Call("coalesce", (text, last))
            call = self.rng.choice(calls)
            name = body.fresh()
            body.literals.append(Comparison("=", Var(name), call))
            body.bind(name, STRING)
        for _ in range(self.rng.choices((1, 2, 3), (60, 30, 10))[0]):
            numbers = [n for n, kind in body.types.items() if kind.is_integral]
            if not numbers:
                return
            left, right = Var(self.rng.choice(numbers)), self.rng.choice([Var(self.rng.choice(numbers)), Const(1, INT)])
            term = Call(self.rng.choice(("+", "-", "*", "+")), (left, right))
            kinds = [body.types[t.name] if isinstance(t, Var) else INT for t in (left, right)]
            name = body.fresh()
            sides = (Var(name), term) if self.rng.random() < 0.85 else (term, Var(name))
            body.literals.append(Comparison("=", *sides))
            body.bind(name, self.holding(kinds))

    def head(self, me: Relation, body: Body, *, recursive: bool) -> Atom:
        """Bound variables that fit the columns, new ones first; constants where there are none."""
        args: list[Term] = []
        unused = list(body.types)
        self.rng.shuffle(unused)
        for kind in me.kinds:
            fitting = [n for n, own in body.types.items() if fits(own, kind)]
            first = [n for n in unused if n in fitting]
            dice = self.rng.random()
            if not fitting or dice < 0.015:
                args.append(self.constant(kind))
            else:
                name = first[0] if first and dice < 0.9 else self.rng.choice(fitting)
                unused = [n for n in unused if n != name]
                term: Term = Var(name)
                if not recursive and fits(body.types[name], INT) and fits(INT, kind) and self.rng.random() < 0.05:
                    term = Call("+", (term, Const(1, INT)))
                args.append(term)
        atom = Atom(me.name, tuple(args))
        if self.rng.random() < 0.04:
            pairs = list(zip((c.name for c in me.columns), args, strict=True))
            self.rng.shuffle(pairs)
            atom = replace(atom, args=tuple(a for _, a in pairs), columns=tuple(n for n, _ in pairs))
        return atom
