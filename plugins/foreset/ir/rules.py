"""Rules: a head and a body of literals.

Two levels share these classes. As *written*, arguments may be any term, named
or positional, `_` may repeat, and `sets` holds what is aggregated. In *normal
form* (rewrite/normalise_rules) every atom is positional, its arguments are
variables and constants, each `_` has a name of its own, there are no `sets`
(rewrite/split_aggregates), and `types` says the type of every variable: readers
of steps see normal form only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from foreset.diagnostics import Span
from foreset.ir.terms import Term, Var, variables
from foreset.ir.types import Type
from foreset.ir.versions import Version


@dataclass(frozen=True, slots=True)
class Atom:
    """`relation(args)`; `columns` holds the names when arguments are named.

    The first `groups` arguments name a group: there a NULL meets a NULL (see `nullable`).
    """

    relation: str
    args: tuple[Term, ...]
    columns: tuple[str, ...] | None = None
    version: Version = Version.CURRENT
    groups: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """`not p(...)`: there is no such row. Variables of no other literal are existential inside."""

    atom: Atom
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right`, op one of `= != < <= > >=`. NULL satisfies none."""

    op: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Test:
    """A function of type boolean as a literal, `is_null(X)` or `not is_null(X)`; NULL is not true."""

    call: Term
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    """`var = term` that gives `var` its value; a NULL term gives NULL. Only in normal form."""

    var: Var
    term: Term
    span: Span | None = field(default=None, compare=False, repr=False)


Literal = Atom | Negation | Comparison | Test | Let


@dataclass(frozen=True, slots=True)
class Aggregated:
    """`function(S, ..., result)`: what is made of a set; `args` stand between the set and the result as written."""

    function: str
    args: tuple[Term, ...]
    result: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetOf:
    """`setof(elements, body, var)`, and what is made of the set. Only in rules as written.

    Variables of the body that are not in `elements` group. Not so `_`, those in `free`
    (`L^body`), and in the short form (`local`) those that nothing outside of the braces names.
    `groups`, `outer` and `around` hold what rewrite/settle_sets finds: what groups, what of it has its value
    outside of the set, and the part of the rule that gives it.
    """

    elements: tuple[Term, ...]
    body: tuple[Literal, ...]
    var: Var
    aggregates: tuple[Aggregated, ...] = ()
    free: tuple[str, ...] = ()
    local: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    groups: tuple[str, ...] = ()
    outer: tuple[str, ...] = ()
    around: Rule | None = None
    calls: tuple[DomainCall, ...] = ()  # whether values are in views that are kept by constraints


@dataclass(frozen=True, slots=True)
class DomainCall:
    """`in(outputs, domain:function(args))`, or `not in(...)`; `places` names outputs. Only in rules as written."""

    domain: str
    function: str
    args: tuple[Term, ...]
    outputs: tuple[Term, ...] = ()
    places: tuple[str, ...] | None = None
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    called_span: Span | None = field(default=None, compare=False, repr=False)  # of `domain:function`

    @property
    def called(self) -> str:
        """`domain:function`."""
        return f"{self.domain}:{self.function}"


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body`; `name` is `view#n`, as messages and explain call it."""

    head: Atom
    body: tuple[Literal, ...]
    name: str = field(default="", compare=False)
    types: Mapping[str, Type] = field(default_factory=dict, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    sets: tuple[SetOf, ...] = ()  # beside the body; only as written
    calls: tuple[DomainCall, ...] = ()  # beside the body; only as written
    text: str = field(default="", compare=False, repr=False)  # as the user wrote it, without the dot at its end


def owner(rule: Rule) -> str:
    """The view in whose rules the user wrote it; hidden views are parts of such rules."""
    return rule.name.partition("#")[0] or rule.head.relation


def atoms(rule: Rule) -> Iterator[tuple[Atom, bool]]:
    """Every body atom, those of sets too, with True where it stands under `not`."""
    yield from atoms_of(rule.body)
    for one in rule.sets:
        yield from atoms_of(one.body)


def atoms_of(body: Iterable[Literal]) -> Iterator[tuple[Atom, bool]]:
    """Every atom among literals, with True where it stands under `not`."""
    for literal in body:
        match literal:
            case Atom():
                yield literal, False
            case Negation(atom=atom):
                yield atom, True
            case _:
                continue


def nullable(rule: Rule) -> frozenset[str]:
    """The variables that may be NULL though all positive atoms hold.

    A NULL joins with nothing, so these are the variables of one place alone, and those that only name groups:
    the rows whose key is NULL are one group, which several sets may have.
    """
    places = Counter[str]()
    joined: set[str] = set()
    for atom in (literal for literal in rule.body if isinstance(literal, Atom)):
        for place, arg in enumerate(atom.args):
            for var in variables(arg):
                places[var.name] += 1
                if place >= atom.groups:
                    joined.add(var.name)
    return frozenset(name for name, count in places.items() if count == 1 or name not in joined)


def null_safe(atom: Atom, rule: Rule) -> frozenset[int]:
    """The places of a body's atom at which a NULL meets a NULL."""
    if not atom.groups:
        return frozenset()
    names = nullable(rule)
    keys = enumerate(atom.args[: atom.groups])
    return frozenset(place for place, arg in keys if isinstance(arg, Var) and arg.name in names)


def literal_terms(literal: Literal) -> tuple[Term, ...]:
    """The terms of a literal, from left to right."""
    match literal:
        case Atom(args=args) | Negation(atom=Atom(args=args)):
            return args
        case Comparison(left=left, right=right):
            return (left, right)
        case Test(call=call):
            return (call,)
        case Let(var=var, term=term):
            return (var, term)
        case _:
            assert_never(literal)


def literal_variables(literal: Literal) -> Iterator[Var]:
    """Every occurrence of a variable in `literal`."""
    for term in literal_terms(literal):
        yield from variables(term)


def set_variables(one: SetOf) -> Iterator[Var]:
    """Every occurrence of a variable in a set and in what is made of it, but for the set's own name."""
    for term in one.elements:
        yield from variables(term)
    for literal in one.body:
        yield from literal_variables(literal)
    for aggregated in one.aggregates:
        for term in (*aggregated.args, aggregated.result):
            yield from variables(term)
