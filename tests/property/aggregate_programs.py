"""Random programs with aggregates over joins and recursion, and negation above, each named by one number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random

from tests.property.nights import nights_of
from tests.property.own_aggregates import PARAMETERS, definitions, places_asked
from tests.property.programs import Maker
from tests.property.random_rules import OPERATORS, Body, Relation, sort_of
from tests.refresh_cases import Case

from foreset.analyse.aggregates import Resolved, prepared, resolve
from foreset.analyse.binding import bound_as_written
from foreset.analyse.scopes import with_groups
from foreset.diagnostics import Span
from foreset.ir.functions import type_of
from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Aggregated, Atom, Comparison, Literal, Rule, SetOf
from foreset.ir.terms import Call, Const, Term, Var, names_in
from foreset.ir.types import DOUBLE, INT, STRING, Type, array, decimal
from foreset.rewrite.pipeline import prepare
from foreset.spec.set_parts import set_name

OFTEN = ("count", "sum", "min", "max", "count", "sum", "max")
SELDOM = ("avg", "stddev", "arg_min", "arg_max", "string_agg", "collect", "median", "percentile", "bool_and", "bool_or")
NOWHERE = Span("", 1, 1)
_HALVES = (Const(Decimal("1.5"), decimal(2, 1)), Const(1.5, DOUBLE))  # they print alike


def random_aggregates(seed: int) -> Case:
    """The program and the nights that `seed` names."""
    rng = Random(seed)
    maker = _Maker(rng)
    program = maker.program()
    columns = {source.name: source.columns for source in program.sources}
    nights = nights_of(rng, columns, dict.fromkeys(columns, "insert"), maker.domain, maker.null_share)
    return Case(program, nights, seed, f"seed {seed}")


class _Outside(Body):
    """Literals beside the sets of a rule, most often with names that no set takes."""

    def __init__(self, *, apart: bool) -> None:
        super().__init__()
        self.apart = apart

    def fresh(self) -> str:
        """A name not taken yet."""
        return next(n for n in (f"O{i}" for i in range(99)) if n not in self.types) if self.apart else super().fresh()


class _Maker(Maker):
    """A program from `programs.py` with views of sets on top, and plain ones above these."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.null_share = rng.choice((0.0, 0.1, 0.25))
        self.definitions = definitions(rng) if rng.random() < 0.4 else ()
        self.known = prepared(self.definitions)[0]
        self.bodies: list[tuple[tuple[Literal, ...], dict[str, Type]]] = []  # of sets, to be gathered otherwise

    def view_name(self) -> str:
        """v1, v2 ..."""
        self.counter += 1
        return f"v{self.counter}"

    def program(self) -> Program:
        """Sources and strata, then aggregates, then views that read and negate them."""
        program = replace(super().program(), aggregates=self.definitions)
        views = list(program.views)
        for _ in range(self.rng.choices((1, 2, 3), (40, 40, 20))[0]):
            view = self.aggregating(program, views)
            if view is not None:
                views.append(view)
                if not any(column.type.element for column in view.columns):
                    self.lower.append(Relation(view.name, view.columns))
                views += [other for other in self.likenesses(view) if _sound(replace(program, views=(*views, other)))]
        if self.rng.random() < 0.7:
            above = self.plain(must_negate=self.rng.random() < 0.7)
            if _sound(replace(program, views=(*views, above))):
                views.append(above)
        return replace(program, views=tuple(views))

    def likenesses(self, view: View) -> Iterator[View]:
        """Views that hold nearly the same, so that what tells hidden views apart must be all that they are."""
        (rule,) = view.rules
        if rule.body or len(rule.sets) > 1:
            return
        (one,) = with_groups(rule).sets  # nothing around it
        name, counted = self.view_name(), [made.function for made in one.aggregates] == ["count"]
        head = replace(rule.head, relation=name)
        if counted and one.groups and self.rng.random() < 0.5:  # the same rows, of which fewer columns group
            whole = replace(one, elements=(*map(Var, one.groups), *one.elements), groups=())
            only = Atom(name, (one.aggregates[0].result,))
            yield View(name, view.columns[-1:], (Rule(only, (), f"{name}#1", sets=(whole,)),))
        elif any(made.function in PARAMETERS for made in one.aggregates):
            other = replace(one, aggregates=tuple(map(self.with_parameter, one.aggregates)), groups=())
            yield View(name, view.columns, (replace(rule, head=head, name=f"{name}#1", sets=(other,)),))
        elif any(map(_half, one.elements)) and not any(column.type.element for column in view.columns):
            elements = tuple(map(_other_half, one.elements))  # a decimal for a double
            kind = {True: DOUBLE, False: decimal(38, 1)}
            columns = tuple(replace(c, type=kind[c.type.name == "decimal"]) if c.type.is_fractional or
                            c.type.name == "decimal" else c for c in view.columns)  # fmt: skip
            other = replace(one, elements=elements, groups=())
            yield View(name, columns, (replace(rule, head=head, name=f"{name}#1", sets=(other,)),))

    def aggregating(self, program: Program, views: list[View]) -> View | None:
        """A view with one or two sets; None where chance put together what does not go."""
        for _ in range(8):
            name = self.view_name()
            made = self.one_rule(name)
            if made is not None and _sound(replace(program, views=(*views, made))):
                return made
        return None

    def one_rule(self, name: str) -> View | None:
        """A rule whose head shows most grouping variables and all results; some with literals around the sets."""
        around = self.around() if self.rng.random() < 0.5 else Body()
        first = self.set_of("S", {}, around.types)
        if first is None:
            return None
        one, groups, results = first
        sets, kinds = [one], {**groups, **results}
        if self.rng.random() < 0.45 and (second := self.second(one, groups, around.types, kinds)):
            sets.append(second[0])
            kinds |= {n: kind for n, kind in {**second[1], **second[2]}.items() if n not in kinds}
        elif one.local and self.rng.random() < 0.4 and (twins := self.twins(one, groups, results)):
            sets, kinds = list(twins[0]), {**groups, **twins[1]}
        beside = any(set_.local for set_ in sets[1:]) and not one.local  # a `setof` shows what it groups by
        hidden = 0.7 if beside else 0.2
        shown = [n for n in kinds if n not in groups or self.rng.random() >= hidden or one.local]
        shown += [n for n in around.types if n not in kinds and self.rng.random() < 0.5]
        numbers = [n for n in results if results[n].is_numeric]
        body = list(around.literals)
        if numbers and self.rng.random() < 0.15:
            body.append(Comparison(self.rng.choice((">", "<=", "!=")), Var(self.rng.choice(numbers)), Const(1, INT)))
        if self.rng.random() < 0.1:
            body.append(Atom(self.lower[0].name, tuple(Var("_") for _ in self.lower[0].columns)))
        kinds = {**around.types, **kinds}
        columns = tuple(Column(f"c{i}", kinds[n]) for i, n in enumerate(shown))
        head = Atom(name, tuple(Var(n) for n in shown))
        return View(name, columns, (Rule(head, tuple(body), f"{name}#1", sets=tuple(sets)),))

    def second(
        self, one: SetOf, groups: dict[str, Type], around: dict[str, Type], kinds: dict[str, Type]
    ) -> tuple[SetOf, dict[str, Type], dict[str, Type]] | None:
        """Another set: of the same groups, or of values that the first gives (what is above the mean of the group)."""
        for _ in range(3):
            keys = groups if self.rng.random() < 0.7 else {}
            known = {**around, **(kinds if self.rng.random() < 0.3 else {})}
            found = self.set_of("R", keys, {n: kind for n, kind in known.items() if n not in keys})
            if found is not None and (found[0].local or one.local or self.rng.random() < 0.4):
                return found
        return None

    def twins(
        self, one: SetOf, groups: dict[str, Type], results: dict[str, Type]
    ) -> tuple[tuple[SetOf, SetOf], dict[str, Type]] | None:
        """Braces, and others of one result over wider elements: both must come to it.

        Most often means, `T = avg{X | ...}, T = avg{X, I | ...}`, that agree where their sums do not.
        """
        others = sorted(bound_as_written(one.body) - groups.keys() - names_in(*one.elements))
        if not others:
            return None
        if self.rng.random() < 0.7:
            one = replace(one, aggregates=(Aggregated("avg", (), one.aggregates[0].result),))
            results = dict.fromkeys(results, DOUBLE)  # of decimals it is none: then chance tries again
        return (one, replace(one, elements=(*one.elements, Var(self.rng.choice(others))))), results

    def around(self) -> Body:
        """Literals beside the sets; their variables are called otherwise than those of sets."""
        made = _Outside(apart=self.rng.random() < 0.8)
        for _ in range(self.rng.choices((1, 2), (70, 30))[0]):
            self.join(made, self.reading())
        if self.rng.random() < 0.15:
            self.compute(made)
        if self.rng.random() < 0.15:
            self.negate(made, self.lower)
        if self.rng.random() < 0.2:
            self.compare(made)
        return made

    def set_of(
        self, var: str, keys: dict[str, Type], known: dict[str, Type]
    ) -> tuple[SetOf, dict[str, Type], dict[str, Type]] | None:
        """A set with its aggregates, the types of what groups, and of the results.

        `keys` are to group again; `known` are variables of the rule around it, which any literal may use.
        """
        if self.bodies and not known and self.rng.random() < 0.3:
            literals, types = self.rng.choice(self.bodies)
            return self.gathering(var, Body(list(literals), dict(types)), {}, keys)
        shared = {n: kind for n, kind in {**known, **keys}.items() if kind.element is None}
        body = Body(types={n: kind for n, kind in shared.items() if self.rng.random() < 0.8})
        outer = {n: kind for n, kind in body.types.items() if n in known}
        for _ in range(self.rng.choices((1, 2), (60, 40))[0]):
            self.join(body, self.reading())
        if self.rng.random() < (0.3 if outer else 0.15):
            self.compute(body)
        if self.rng.random() < (0.35 if outer else 0.2):
            self.negate(body, self.lower)
        if self.rng.random() < 0.2:
            self.compare(body)
        if self.rng.random() < 0.7:
            self.reach_out(body, outer)
        if not outer:
            self.bodies.append((tuple(body.literals), dict(body.types)))
        return self.gathering(var, body, outer, keys)

    def gathering(
        self, var: str, body: Body, outer: dict[str, Type], keys: dict[str, Type]
    ) -> tuple[SetOf, dict[str, Type], dict[str, Type]] | None:
        """What a set gathers of its body, what groups it, and what is made of it."""
        bound = bound_as_written(body.literals)
        names = [n for n in bound if n not in {*outer, *keys} or self.rng.random() < 0.1]
        names.sort()
        self.rng.shuffle(names)
        if not names:
            return None
        width = min(len(names), self.rng.choices((1, 2, 3), (55, 35, 10))[0])
        element, rest = names[:width], [n for n in names[width:] if n not in outer]
        if keys:
            rest = [n for n in keys if n in bound and n not in element]
            if not rest:
                return None
        local = bool(rest or outer) and self.rng.random() < 0.5
        grouping = rest[: self.rng.choice((1, 1, 2))] if local and not keys else rest
        free = () if local or not rest or keys or self.rng.random() < 0.7 else (grouping.pop(),)
        terms = tuple(self.gathered(n, body.types, outer) for n in element)
        kinds = {**outer, **body.types}
        made, results = self.aggregates(var, tuple(type_of(t, kinds) or kinds[n] for t, n in zip(terms, element,
                                        strict=True)), single=local)  # fmt: skip
        if not made:
            return None
        if width == 1 and not local and self.rng.random() < 0.1 and kinds.keys() >= {*element}:
            results[var] = array(type_of(terms[0], kinds) or kinds[element[0]])  # the set itself
        one = SetOf(terms, tuple(body.literals), Var(var), made, tuple(n for n in free if n not in element), local)
        if local:  # as the parser calls them
            one = replace(one, var=Var(set_name(Var(f"{var}0"))))
        return one, {n: body.types[n] for n in grouping}, results

    def reach_out(self, body: Body, outer: dict[str, Type]) -> None:
        """A comparison of what the set has with a variable of the rule around it, most often one that is only there."""
        inside = bound_as_written(body.literals)
        only = [n for n in outer if n not in inside] if self.rng.random() < 0.8 else []
        own = sorted(inside - outer.keys())
        pairs = [(a, b) for a in own for b in only or outer if sort_of(body.types[a]) == sort_of(body.types[b])]
        if pairs:
            left, right = self.rng.choice(pairs)
            op = self.rng.choice(OPERATORS[1:] if sort_of(body.types[left]) != "bool" else OPERATORS[:2])
            body.literals.append(Comparison(op, Var(left), Var(right)))

    def gathered(self, name: str, kinds: dict[str, Type], outer: dict[str, Type]) -> Term:
        """What is gathered: a variable, or its distance from one of the rule around."""
        others = [n for n in outer if outer[n].is_integral]
        if others and kinds[name].is_integral and self.rng.random() < 0.3:
            return Call(self.rng.choice("-+"), (Var(name), Var(self.rng.choice(others))))
        if kinds[name].is_integral and self.rng.random() < 0.2:
            return Call("*", (Var(name), self.rng.choice(_HALVES)))
        return Var(name)

    def aggregates(
        self, var: str, element: tuple[Type, ...], *, single: bool
    ) -> tuple[tuple[Aggregated, ...], dict[str, Type]]:
        """One to three aggregates that take elements of these types."""
        made: list[Aggregated] = []
        results: dict[str, Type] = {}
        for i in range(1 if single else self.rng.choices((1, 2, 3), (60, 25, 15))[0]):
            again = [each.function for each in made if each.function in PARAMETERS]
            one = Aggregated(*self.chosen(element, again), Var(f"{var}{i}"))
            found = resolve(one, element, self.known, NOWHERE)
            if isinstance(found, Resolved):
                kind = type_of(found.term, {str(k): need.type for k, need in enumerate(found.needs)})
                if kind is not None:
                    made.append(one)
                    results[f"{var}{i}"] = kind
        return tuple(made), results

    def chosen(self, element: tuple[Type, ...], again: list[str]) -> tuple[str, tuple[Term, ...]]:
        """An aggregate and what stands beside the set; some of `again`, with another parameter."""
        if again and self.rng.random() < 0.5:
            name = again[0]
        elif self.rng.random() < 0.5 and (own := self.fitting(element)):
            name = self.rng.choice(own)
        else:
            name = self.rng.choice(OFTEN if self.rng.random() < 0.75 else SELDOM)
        places = places_asked(self.rng, name, len(element), self.known)
        return name, (*self.parameter(name), *(Const(place, INT) for place in places))

    def fitting(self, element: tuple[Type, ...]) -> list[str]:
        """The aggregates of the spec that take such elements; of decimals DuckDB has other types."""
        if any(kind.name == "decimal" for kind in element):
            return []
        found = {name: resolve(Aggregated(name, (), Var("_")), element, self.known, NOWHERE) for name in self.known}
        return sorted(name for name, one in found.items() if isinstance(one, Resolved))

    def with_parameter(self, made: Aggregated) -> Aggregated:
        """The same with another parameter, if it takes one."""
        if made.function not in PARAMETERS:
            return made
        places = tuple(arg for arg in made.args if isinstance(arg, Const) and arg.type == INT)
        return replace(made, args=(*self.parameter(made.function), *places))

    def parameter(self, name: str) -> tuple[Const, ...]:
        """A constant beside the set, where the aggregate takes one."""
        if name == "percentile":
            return (Const(Decimal(self.rng.choice(PARAMETERS[name])), decimal(2, 2)),)
        if name == "string_agg" and self.rng.random() < 0.8:
            return (Const(self.rng.choice(PARAMETERS[name]).strip('"'), STRING),)
        return ()


def _half(term: Term) -> bool:
    return isinstance(term, Call) and term.args[-1] in _HALVES


def _other_half(term: Term) -> Term:
    if not isinstance(term, Call) or not _half(term):
        return term
    return replace(term, args=(*term.args[:-1], _HALVES[1 - _HALVES.index(term.args[-1])]))


def _sound(program: Program) -> bool:
    return prepare(program).program is not None
