"""Random stratified programs and nights of changes, each named by one number.

Rules come as the parser would give them: expressions in any place, named arguments, many
`_`. The mix follows section "Grammar mix" of our field notes: recursion in two programs of
five, negation over recursion in three of ten, and the shapes in which maintenance
algorithms go wrong: cycles, cliques, chains, two supports, NULLs, empty relations, rows
that go and come back. Domains are tiny, so that joins hit and deltas are seldom empty.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random

from tests.property.nights import nights_of
from tests.refresh_cases import Case

from foreset.ir.program import Column, Program, Source, View
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


BATCHES = 5


def random_case(seed: int) -> Case:
    """The program and the nights that `seed` names."""
    return replace(case_from(Random(seed)), seed=seed, name=f"seed {seed}")


def case_from(rng: Random) -> Case:
    """A program and its nights, every choice taken from `rng`."""
    maker = _Maker(rng)
    program = maker.program()
    columns = {source.name: source.columns for source in program.sources}
    return Case(program, nights_of(rng, columns, maker.domain, maker.null_share, BATCHES))


@dataclass(slots=True)
class _Body:
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


class _Maker:
    """One program; every choice comes from `rng`."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.size = rng.choice((3, 3, 4, 4, 5, 6))
        self.main = rng.choices(("str", "num", "date"), (45, 45, 10))[0]
        self.mixed = rng.random() < 0.3  # columns of other sorts too
        self.wide = rng.random() < 0.35  # numbers of several types
        self.nan = rng.random() < 0.25
        self.tenths = rng.random() < 0.15  # no binary fraction is a tenth: beyond clingo's reach
        self.null_share = rng.choice((0.0, 0.0, 0.0, 0.1, 0.25))
        self.functions = rng.random() < 0.06
        self.lower: list[Relation] = []
        self.counter = 0

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

    # ------------------------------------------------------------ the program
    def program(self) -> Program:
        """Sources, then strata over what is there."""
        names = ("edge", "mark", "link")
        sources = []
        for name in names[: self.rng.choices((1, 2, 3), (20, 50, 30))[0]]:
            graph = name == "edge" or self.rng.random() < 0.25
            sources.append(Source(name, self.columns(graph=graph), table=f"t/{name}"))
            self.lower.append(Relation(name, sources[-1].columns))
        views: list[View] = []
        recursive = self.rng.random() < 0.45
        strata = self.rng.choices((1, 2, 3, 4), (25, 40, 25, 10))[0]
        over = recursive and self.rng.random() < 0.8  # negation over the recursion
        if over:
            strata = max(strata, 2)
        loops = {self.rng.randrange(max(1, strata - 1))} if recursive else set()
        if recursive and self.rng.random() < 0.25:
            loops.add(strata - 1)
        for number in range(strata):
            must = over and number > min(loops) and (number == strata - 1 or self.rng.random() < 0.5)
            made = self.loop() if number in loops else [self.plain(must_negate=must)]
            if must and number in loops:
                made[0] = self.guarded(made[0], made)
            for view in made:
                views.append(view)
                self.lower.append(Relation(view.name, view.columns, number in loops))
        return Program("random", tuple(sources), tuple(views))

    def view_name(self) -> str:
        """p, q, r, ..."""
        self.counter += 1
        return "pqrstuvw"[self.counter - 1]

    def plain(self, *, must_negate: bool) -> View:
        """A view over what lies below."""
        me = Relation(self.view_name(), self.columns(graph=self.rng.random() < 0.3))
        rules = [self.rule(me, (), must_negate=must_negate)]
        while len(rules) < 4 and self.rng.random() < 0.55:
            rules.append(self.rule(me, (), must_negate=False))
        if self.rng.random() < 0.06:
            rules.append(self.fact(me))
        return _view(me, rules)

    def fact(self, me: Relation) -> Rule:
        """A row that the rules themselves give."""
        return Rule(Atom(me.name, tuple(self.constant(kind) for kind in me.kinds)), ())

    def loop(self) -> list[View]:
        """One to three views that define each other."""
        graphs = [r for r in self.lower if r.pairs]
        shape = self.rng.random()
        if graphs and shape < 0.62:
            return [self.walk(self.rng.choice(graphs))]
        if graphs and shape < 0.72:
            return self.odd_and_even(self.rng.choice(graphs))
        if graphs and shape < 0.82:
            return [self.distance(self.rng.choice(graphs))]
        group = [Relation(self.view_name(), self.columns(graph=self.rng.random() < 0.5))
                 for _ in range(self.rng.choices((1, 2, 3), (50, 35, 15))[0])]  # fmt: skip
        made = []
        for i, me in enumerate(group):
            rules = [self.rule(me, (), must_negate=False)] if i == 0 or self.rng.random() < 0.6 else []
            around = (group[(i + 1) % len(group)], *group)
            rules.append(self.rule(me, around[:1], must_negate=False))
            while len(rules) < 4 and self.rng.random() < 0.3:
                rules.append(self.rule(me, (self.rng.choice(around),), must_negate=False))
            made.append(_view(me, rules))
        return made

    def guarded(self, view: View, group: Sequence[View]) -> View:
        """`view` with a negated recursive view in one of its rules: negation over recursion under recursion."""
        at = self.rng.randrange(len(view.rules))
        rule = view.rules[at]
        relations = (*self.lower, *(Relation(member.name, member.columns) for member in group))
        body = _Body(list(rule.body), _types(rule, {r.name: r for r in relations}))
        self.negate(body, [r for r in self.lower if r.recursive] or self.lower, headed=True)
        rules = (*view.rules[:at], replace(rule, body=tuple(body.literals)), *view.rules[at + 1 :])
        return replace(view, rules=tuple(replace(r, name=f"{view.name}#{i + 1}") for i, r in enumerate(rules)))

    # ------------------------------------------------------------ recursion as people write it
    def walk(self, edge: Relation) -> View:
        """Closures in all their forms over one graph."""
        kind = self.holding(edge.kinds)
        me = Relation(self.view_name(), (Column("c0", kind), Column("c1", kind)))
        p, e = me.name, edge.name
        rules = [_rule(p, "XY", (e, "XY"))]
        forms: list[Callable[[], Rule]] = [
            lambda: _rule(p, "XY", (e, "XZ"), (p, "ZY")),
            lambda: _rule(p, "XY", (p, "XZ"), (e, "ZY")),
            lambda: _rule(p, "XY", (p, "XZ"), (p, "ZY")),
            lambda: _rule(p, "XY", (e, "ZX"), (p, "ZW"), (e, "WY")),
            lambda: _rule(p, "YX", (p, "XY")),
            lambda: _rule(p, "XX", (p, "XY"), (p, "YX")),
            lambda: _rule(p, "XY", (p, "XZ"), (p, "XY"), (e, "ZY")),
        ]
        chosen = self.rng.choices(forms, (5, 3, 4, 2, 1, 1, 1), k=self.rng.choices((1, 2), (75, 25))[0])
        rules.extend(self.decorated(form(), me, edge) for form in chosen)
        return _view(me, rules)

    def odd_and_even(self, edge: Relation) -> list[View]:
        """Two views that call each other."""
        kind = self.holding(edge.kinds)
        odd, even = (Relation(self.view_name(), (Column("c0", kind), Column("c1", kind))) for _ in range(2))
        start = _rule(odd.name, "XY", (edge.name, "XY"))
        step = _rule(odd.name, "XY", (edge.name, "XZ"), (even.name, "ZY"))
        back = _rule(even.name, "XY", (edge.name, "XZ"), (odd.name, "ZY"))
        return [_view(odd, [start, step]), _view(even, [self.decorated(back, odd, edge)])]

    def distance(self, edge: Relation) -> View:
        """Bounded arithmetic inside recursion."""
        kind = self.holding(edge.kinds)
        number = self.rng.choice((INT, BIGINT))
        me = Relation(self.view_name(), (Column("c0", kind), Column("c1", number)))
        x, y, d, more = Var("X"), Var("Y"), Var("D"), Var("E")
        start: tuple[Literal, ...] = (Atom(edge.name, (x, Var("_"))), Comparison("=", d, Const(0, INT)))
        if self.rng.random() < 0.4:
            start = (*start, Comparison("=", x, self.constant(edge.kinds[0])))
        step = (
            Atom(me.name, (x, d)),
            Atom(edge.name, (x, y)),
            Comparison("=", more, Call("+", (d, Const(1, INT)))),
            Comparison("<", more, Const(self.rng.randrange(2, 6), INT)),
        )
        return _view(me, [Rule(Atom(me.name, (x, d)), start), Rule(Atom(me.name, (y, more)), step)])

    def decorated(self, rule: Rule, me: Relation, edge: Relation) -> Rule:
        """`rule`, now and then with a condition."""
        body = _Body(list(rule.body), _types(rule, {me.name: me, edge.name: edge}))
        if self.rng.random() < 0.3:
            self.negate(body, self.lower, headed=True)
        if self.rng.random() < 0.15:
            self.compare(body)
        return replace(rule, body=tuple(body.literals))

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
        body = _Body()
        wanted = max(len(own), self.rng.choices((1, 2, 3), (35, 52, 13))[0])
        relations = [*own, *(self.reading() for _ in range(wanted - len(own)))]
        self.rng.shuffle(relations)
        for relation in relations:
            self.join(body, relation)
        if not own and self.rng.random() < 0.2:
            self.compute(body)
        if must_negate:
            self.negate(body, [r for r in self.lower if r.recursive] or self.lower)
        while self.rng.random() < 0.18:
            self.negate(body, self.lower)
        while self.rng.random() < 0.13:
            self.compare(body)
        if self.rng.random() < 0.08:
            self.test(body)
        if self.rng.random() < 0.25:
            self.rng.shuffle(body.literals)
        return Rule(self.head(me, body, recursive=bool(own)), tuple(body.literals))

    def reading(self) -> Relation:
        """A relation to read: the newest ones most often, so that changes travel far."""
        return self.rng.choices(self.lower, [2 + i for i in range(len(self.lower))])[0]

    def join(self, body: _Body, relation: Relation) -> None:
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
            elif dice > 0.965:
                args.append(self.constant(kind))
                continue
            elif dice > 0.89:
                args.append(Var("_"))
                continue
            else:
                name = body.fresh()
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

    def negate(self, body: _Body, relations: Sequence[Relation], *, headed: bool = False) -> None:
        """A negated atom: bound variables, constants, and columns that do not matter.

        `headed`: the head is there already, so its variables may not become wider; nor may those of assignments.
        """
        relation = self.rng.choices(relations, [1 + i for i in range(len(relations))])[0]
        settled = headed or any(isinstance(literal, Comparison) for literal in body.literals)
        args: list[Term] = []
        for kind in relation.kinds:
            same = [n for n in body.of_sort(sort_of(kind)) if not settled or fits(kind, body.types[n])]
            dice = self.rng.random()
            if same and dice < 0.65:
                name = self.rng.choice(same)
                body.bind(name, kind)
                args.append(Var(name))
            elif dice < 0.82:
                args.append(Var("_"))
            else:
                args.append(self.constant(kind))
        if self.rng.random() < 0.03:
            args = [Var("_") for _ in args]
        body.literals.append(Negation(Atom(relation.name, tuple(args))))

    def compare(self, body: _Body) -> None:
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

    def test(self, body: _Body) -> None:
        """A boolean function, here `is_null`."""
        if body.types:
            name = self.rng.choice(list(body.types))
            body.literals.append(Test(Call("is_null", (Var(name),)), negated=self.rng.random() < 0.6))

    def compute(self, body: _Body) -> None:
        """A chain of assignments over bound variables."""
        if self.functions and (texts := body.of_sort("str")):
            text = Var(texts[0])
            calls = Call("upper", (text,)), Call("concat", (text, Const("a", STRING))), Call("lower", (text,))
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

    def head(self, me: Relation, body: _Body, *, recursive: bool) -> Atom:
        """Bound variables that fit the columns, new ones first; constants where there are none."""
        args: list[Term] = []
        unused = list(body.types)
        self.rng.shuffle(unused)
        for kind in me.kinds:
            fitting = [n for n, own in body.types.items() if fits(own, kind)]
            first = [n for n in unused if n in fitting]
            dice = self.rng.random()
            if not fitting or dice < 0.025:
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


def _rule(head: str, args: str, *body: tuple[str, str]) -> Rule:
    """`_rule("p", "XY", ("e", "XZ"), ("p", "ZY"))`."""
    literals = tuple(Atom(name, tuple(Var(v) for v in names)) for name, names in body)
    return Rule(Atom(head, tuple(Var(v) for v in args)), literals)


def _view(me: Relation, rules: Sequence[Rule]) -> View:
    return View(me.name, me.columns, tuple(replace(rule, name=f"{me.name}#{i + 1}") for i, rule in enumerate(rules)))


def _types(rule: Rule, relations: dict[str, Relation]) -> dict[str, Type]:
    """Types of the variables that positive atoms bind."""
    body = _Body()
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.columns is None:
            for arg, kind in zip(literal.args, relations[literal.relation].kinds, strict=True):
                if isinstance(arg, Var) and arg.name != "_":
                    body.bind(arg.name, kind)
    return body.types
