"""Random stratified programs and nights of changes, each named by one number.

Rules come as the parser would give them: expressions in any place, named arguments, many
`_`. The mix follows section "Grammar mix" of our field notes: recursion in two programs of
five, negation over recursion in three of ten, and the shapes in which maintenance
algorithms go wrong: cycles, cliques, chains, two supports, NULLs, empty relations, rows
that go and come back. Domains are tiny, so that joins hit and deltas are seldom empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from tests.property.nights import nights_of
from tests.property.random_rules import Body, Relation, RuleMaker, sort_of
from tests.refresh_cases import Case

from foreset.ir.program import Column, Program, Source, View
from foreset.ir.rules import Atom, Comparison, Literal, Rule, atoms
from foreset.ir.terms import Call, Const, Var
from foreset.ir.types import BIGINT, INT, Type


def random_case(seed: int) -> Case:
    """The program and the nights that `seed` names."""
    return replace(case_from(Random(seed)), seed=seed, name=f"seed {seed}")


def case_from(rng: Random) -> Case:
    """A program and its nights, every choice taken from `rng`."""
    maker = Maker(rng)
    program = maker.program()
    columns = {source.name: source.columns for source in program.sources}
    return Case(program, nights_of(rng, columns, _growth(rng, program), maker.domain, maker.null_share))


def _growth(rng: Random, program: Program) -> dict[str, str]:
    """What each source does on a night on which one view, with negation if there is such, can only grow."""
    names = {source.name for source in program.sources}
    negated_by = {v: {a.relation for r in v.rules for a, negated in atoms(r) if negated} for v in program.views}
    view = rng.choice([v for v, below in negated_by.items() if below and below <= names] or program.views)
    places: dict[str, set[bool]] = {name: set() for name in names}
    for rule in view.rules:
        for atom, negated in atoms(rule):
            places.setdefault(atom.relation, set()).add(negated)
    kinds = {(False,): "insert", (True,): rng.choice(("delete", "wipe")), (): "insert", (False, True): "nothing"}
    return {name: kinds[tuple(sorted(places[name]))] for name in sorted(names)}


class Maker(RuleMaker):
    """One program; every choice comes from `rng`."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.counter = 0

    # ------------------------------------------------------------ the program
    def program(self) -> Program:
        """Sources, then strata over what is there."""
        names = ("edge", "mark", "link")
        sources = []
        for name in names[: self.rng.choices((1, 2, 3), (20, 50, 30))[0]]:
            graph = name == "edge" or self.rng.random() < 0.25
            columns = self.columns(graph=graph)
            if name == "link" and self.rng.random() < 0.4:  # from two nodes to a third one
                columns = tuple(Column(f"c{i}", sources[0].columns[0].type) for i in range(3))
            sources.append(Source(name, columns, table=f"t/{name}"))
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
        while len(rules) < 4 and self.rng.random() < 0.6:
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
        shape = self.rng.random() + (0.2 if self.lower[-1].name == "link" else 0.0)
        if graphs and shape < 0.62:
            return [self.walk(self.rng.choice(graphs))]
        if graphs and shape < 0.72:
            return self.odd_and_even(self.rng.choice(graphs))
        if graphs and shape < 0.82:
            return [self.distance(self.rng.choice(graphs))]
        links = [r for r in self.lower if len(r.columns) == 3 and len(set(r.kinds)) == 1]
        pairs = [(e, link) for e in graphs for link in links if sort_of(e.kinds[0]) == sort_of(link.kinds[0])]
        if pairs and shape < 0.92:
            return [self.both(*self.rng.choice(pairs))]
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
        body = Body(list(rule.body), _types(rule, {r.name: r for r in relations}))
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
            lambda: _rule(p, "XY", (p, "XZ"), (p, "ZW"), (p, "WY")),
        ]
        chosen = self.rng.choices(forms, (5, 3, 6, 2, 1, 1, 1, 1), k=self.rng.choices((1, 2), (75, 25))[0])
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

    def both(self, edge: Relation, link: Relation) -> View:
        """What follows from two rows of the view at once, in an order of its own."""
        kind = self.holding((*edge.kinds, *link.kinds))
        me = Relation(self.view_name(), (Column("c0", kind),))
        p = me.name
        start = _rule(p, "X", (edge.name, "XX")) if self.rng.random() < 0.3 else _rule(p, "X", (edge.name, "XY"))
        step = _rule(p, "Z", (p, "X"), (p, "Y"), (link.name, "XYZ"))
        return _view(me, [start, self.decorated(step, me, link)])

    def decorated(self, rule: Rule, me: Relation, edge: Relation) -> Rule:
        """`rule`, now and then with a condition."""
        body = Body(list(rule.body), _types(rule, {me.name: me, edge.name: edge}))
        if self.rng.random() < 0.33:
            self.negate(body, self.lower, headed=True)
        if self.rng.random() < 0.15:
            self.compare(body)
        return replace(rule, body=tuple(body.literals))


def _rule(head: str, args: str, *body: tuple[str, str]) -> Rule:
    """`_rule("p", "XY", ("e", "XZ"), ("p", "ZY"))`."""
    literals = tuple(Atom(name, tuple(Var(v) for v in names)) for name, names in body)
    return Rule(Atom(head, tuple(Var(v) for v in args)), literals)


def _view(me: Relation, rules: Sequence[Rule]) -> View:
    return View(me.name, me.columns, tuple(replace(rule, name=f"{me.name}#{i + 1}") for i, rule in enumerate(rules)))


def _types(rule: Rule, relations: dict[str, Relation]) -> dict[str, Type]:
    """Types of the variables that positive atoms bind."""
    body = Body()
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.columns is None:
            for arg, kind in zip(literal.args, relations[literal.relation].kinds, strict=True):
                if isinstance(arg, Var) and arg.name != "_":
                    body.bind(arg.name, kind)
    return body.types
