"""A program in normal form as an answer set program: contents and derivations from scratch.

Clingo knows no NULL and no types, so both are written out. A value is a symbol that does not
depend on the column it stands in: a number is four times itself, so that `1` and `1.0` are
one symbol and quarters are whole; NULL is the symbol `null`. Every join and comparison says
that its sides are not NULL; a negated atom is first projected on its bound columns without
NULLs, so that `not p(X)` holds for a NULL X. Arithmetic is called back in Python, NULL in,
NULL out. Nothing here is shared with the readers of steps.

Each rule gets one atom per binding of its body, and so the number of derivations of a row
can be read off the model too.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import clingo

from foreset.ir.aggregates import Accumulator, Fold, Kind
from foreset.ir.program import Program, View
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test
from foreset.ir.strata import Layering
from foreset.ir.terms import Call, Const, Row, Term, Value, Var, names_in
from foreset.ir.types import Type
from foreset.ir.values import NAN

SCALE = 4
LARGEST = 20_000  # products of two such numbers, scaled, still fit clingo's 32 bits
NULL = clingo.Function("null")
FUNCTIONS = {"+": "add", "-": "sub", "*": "mul", "neg": "neg", "upper": "upper", "concat": "concat"}
OPERATORS = {"=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
Database = Mapping[str, frozenset[Row]]


class BeyondReach(Exception):
    """The program or its data cannot be said in clingo: only `naive` judges it."""


@dataclass(frozen=True, slots=True)
class Model:
    """What follows from the sources: rows of every view, and how often each of its rules derives each row."""

    rows: dict[str, frozenset[Row]]
    derivations: dict[str, Counter[tuple[Row, bool]]]  # True: by a rule that reads the view's own stratum


@dataclass(slots=True)
class Oracle:
    """One program, translated once."""

    program: Program
    layering: Layering
    text: str = ""
    kinds: dict[str, tuple[Type, ...]] = field(default_factory=dict)
    recursive: list[bool] = field(default_factory=list)  # per rule

    def __post_init__(self) -> None:
        self.kinds = {name: tuple(c.type for c in columns) for name, columns in self.program.columns_of().items()}
        parts = []
        for stratum in self.layering.strata:
            for view in stratum.views:
                parts += _groups(view) if view.aggregation else ()
                for rule in view.rules if not view.aggregation or view.aggregation.members not in self.kinds else ():
                    number = len(self.recursive)
                    own = (lit.relation in stratum.names for lit in rule.body if isinstance(lit, Atom))
                    self.recursive.append(any(own))
                    parts += _rule(rule, number)
        self.text = "\n".join(parts)

    def solve(self, sources: Database) -> Model:
        """The least model over these sources."""
        facts = "".join(
            f"r_{_relation(name)}({','.join(_text(value) for value in row)}).\n"
            for name, rows in sources.items()
            for row in rows
        )
        control = clingo.Control(["--warn=none"])
        control.add("base", [], f"{facts}{self.text}")
        control.ground([("base", [])], context=_Arithmetic())
        return self._read(control)

    def _read(self, control: clingo.Control) -> Model:
        rows: dict[str, set[Row]] = {view.name: set() for view in self.program.views}
        counts: dict[str, Counter[tuple[Row, bool]]] = {view.name: Counter() for view in self.program.views}
        for atom in control.symbolic_atoms:
            assert atom.is_fact, "a stratified program is solved by grounding"
            kind, _, name = atom.symbol.name.replace("'", "~").partition("_")
            if kind == "r" and name in rows:
                rows[name].add(tuple(map(_value, atom.symbol.arguments, self.kinds[name])))
            elif kind == "d":
                number, _, view = name.partition("_")
                if view not in counts:  # members that no view holds
                    continue
                kinds = self.kinds[view]
                row = tuple(map(_value, atom.symbol.arguments, kinds))
                counts[view][row, self.recursive[int(number)]] += 1
        return Model({name: frozenset(found) for name, found in rows.items()}, counts)


# ---------------------------------------------------------------- rules
def _rule(rule: Rule, number: int) -> Iterator[str]:
    """`r_p(head) :- d_0_p(head, every variable). d_0_p(...) :- body.` and the projections of negated atoms."""
    bound: list[str] = []
    body: list[str] = []
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    joined = {arg.name for atom in atoms for arg in atom.args[atom.groups :] if isinstance(arg, Var)}
    for atom in atoms:
        body += _atom(atom, bound, joined)
    for place, literal in enumerate(rule.body):
        match literal:
            case Negation(atom=atom):
                projection, test = _negation(atom, rule, f"n_{number}_{place}")
                yield projection
                body.append(test)
            case Atom():
                continue
            case _:
                body += _condition(literal)
    names = _names(rule)
    head = ",".join(_term(arg) for arg in rule.head.args)
    derivation = f"d_{number}_{_relation(rule.head.relation)}({','.join([head, *map(_name, names)])})"
    yield f"{derivation} :- {', '.join(body)}." if body else f"{derivation}."
    yield f"r_{_relation(rule.head.relation)}({head}) :- {derivation}."


def _groups(view: View) -> Iterator[str]:
    """One atom for each group, its accumulators by clingo's own aggregates over the members."""
    aggregation = view.aggregation
    assert aggregation is not None
    groups = [f"G{i}" for i in range(aggregation.groups)]
    element = [f"X{i}" for i in range(len(aggregation.element))]
    member = f"r_{_relation(aggregation.members)}({','.join((*groups, *element))})"
    some = f"r_{_relation(aggregation.members)}({','.join((*groups, *('_' for _ in element)))})"
    body = [some]
    for i, each in enumerate(aggregation.accumulators):
        held = f"a_{i}_{_relation(view.name)}({','.join((*groups, 'A'))})"
        for rule in _accumulator(each, held, element, member):
            yield f"{held} :- {some}, {rule}."
        body.append(f"a_{i}_{_relation(view.name)}({','.join((*groups, f'A{i}'))})")
    held = ",".join((*groups, *(f"A{i}" for i in range(len(aggregation.accumulators)))))
    yield f"r_{_relation(view.name)}({held}) :- {', '.join(body)}."


def _accumulator(each: Accumulator, held: str, element: list[str], member: str) -> Iterator[str]:
    values = [element[i] for i in each.inputs]
    there = ", ".join((member, *(f"{value} != null" for value in values)))
    tuples = ",".join(element)
    filled = f"#count{{ {tuples} : {there} }}"
    match each.kind:
        case Kind.MEMBERS | Kind.FILLED:
            yield f"A = C * {SCALE}, C = {filled}"
        case Kind.LEAST | Kind.GREATEST if len(values) == 1:
            word = "#min" if each.kind is Kind.LEAST else "#max"
            yield f"A = {word}{{ {values[0]} : {there} }}, {filled} > 0"
            yield f"A = null, {filled} = 0"
        case Kind.TOTAL | Kind.FLOAT_TOTAL:
            odd = f"#count{{ {tuples} : {there}, {values[0]} = nan }}"
            yield f"A = #sum{{ {values[0]},{tuples} : {there} }}, {filled} > 0, {odd} = 0"
            yield f"A = nan, {odd} > 0"
            yield f"A = null, {filled} = 0"
        case Kind.FOLD if each.fold is not None and (added := _added(each.fold)) is not None:
            given = [f"{_name(name)} = {value}" for (name, _), value in zip(each.fold.takes, values, strict=True)]
            yield f"A = #sum{{ F,{tuples} : {', '.join((there, *given))}, F = {_term(added)} }}"
        case _:
            raise BeyondReach(each.kind)


def _added(fold: Fold) -> Term | None:
    """What each element adds, where a fold is a sum of that."""
    match fold.zero, fold.add:
        case Const(value=0), Call(function="+", args=(Var(name="A"), term)) if "A" not in names_in(term):
            return term
        case _:
            return None


def _relation(name: str) -> str:
    return name.replace("~", "'")


def _names(rule: Rule) -> list[str]:
    """The variables that atoms and assignments bind."""
    found: dict[str, None] = {}
    for literal in rule.body:
        match literal:
            case Atom(args=args):
                found.update((arg.name, None) for arg in args if isinstance(arg, Var))
            case Let(var=var):
                found[var.name] = None
            case _:
                continue
    return list(found)


def _atom(atom: Atom, bound: list[str], joined: set[str]) -> Iterator[str]:
    """The atom, and that the variables which it shares are not NULL; those that only name groups may be."""
    yield f"r_{_relation(atom.relation)}({','.join(_term(arg) for arg in atom.args)})"
    for arg in atom.args:
        if isinstance(arg, Var):
            if arg.name in bound and arg.name in joined:
                yield f"{_name(arg.name)} != null"
            bound.append(arg.name)


def _negation(atom: Atom, rule: Rule, name: str) -> tuple[str, str]:
    """`n(shared) :- p(args), shared != null.` and `not n(shared)`."""
    shared = [arg.name for arg in atom.args if isinstance(arg, Var) and arg.name in _names(rule)]
    times = Counter(arg.name for arg in atom.args if isinstance(arg, Var))
    joined = [*dict.fromkeys(shared), *(n for n, k in times.items() if k > 1 and n not in shared)]
    args = ",".join(_name(n) for n in dict.fromkeys(shared))
    row = f"r_{_relation(atom.relation)}({','.join(_term(arg) for arg in atom.args)})"
    inner = [row, *(f"{_name(n)} != null" for n in joined)]
    head = f"{name}({args})" if args else name
    return f"{head} :- {', '.join(inner)}.", f"not {head}"


def _condition(literal: Literal) -> Iterator[str]:
    match literal:
        case Let(var=var, term=term):
            yield f"{_name(var.name)} = {_term(term)}"
        case Comparison(op=op, left=left, right=right):
            sides = _term(left), _term(right)
            yield f"{sides[0]} {OPERATORS[op]} {sides[1]}"
            yield from (f"{side} != null" for side in sides)
        case Test(call=Call(function="is_null", args=(term,)), negated=negated):
            yield f"{_term(term)} {'!=' if negated else '='} null"
        case _:
            raise BeyondReach(f"{literal}")


def _name(name: str) -> str:
    return f"V{name.replace('~', 't').replace('.', '_d_')}"


def _term(term: Term) -> str:
    match term:
        case Var(name=name):
            return _name(name)
        case Const(value=value):
            return _text(value)
        case Call(function="bigint" | "decimal", args=(total, *_)):
            return _term(total)  # numbers have one form here
        case Call(function=function, args=args):
            if function not in FUNCTIONS:
                raise BeyondReach(function)
            return f"@{FUNCTIONS[function]}({','.join(map(_term, args))})"


# ---------------------------------------------------------------- values
def _text(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"bool({int(value)})"
        case int() | float() | Decimal():
            return _number(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case dt.date() if not isinstance(value, dt.datetime):
            return f"day({value.toordinal()})"
        case _:
            raise BeyondReach(repr(value))


def _number(value: float | Decimal) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    scaled = value * SCALE
    if scaled != int(scaled) or abs(value) > LARGEST:
        raise BeyondReach(repr(value))
    return str(int(scaled))


def _value(symbol: clingo.Symbol, kind: Type) -> Value:
    if symbol.type is clingo.SymbolType.String:
        return symbol.string
    if symbol.type is clingo.SymbolType.Function:
        match symbol.name:
            case "null":
                return None
            case "nan":
                return NAN
            case "bool":
                return symbol.arguments[0].number == 1
            case "day":
                return dt.date.fromordinal(symbol.arguments[0].number)
            case _:
                raise BeyondReach(symbol.name)
    if abs(symbol.number) > LARGEST * SCALE:
        raise BeyondReach(str(symbol.number))
    if kind.is_fractional:
        return symbol.number / SCALE
    if kind.name == "decimal":
        return (Decimal(symbol.number) / SCALE).quantize(Decimal(1).scaleb(-kind.scale))
    assert symbol.number % SCALE == 0, f"{symbol} in a column of {kind}"
    return symbol.number // SCALE


class _Arithmetic:
    """What `@name(...)` in rules calls: NULL if an argument is NULL."""

    @staticmethod
    def add(a: clingo.Symbol, b: clingo.Symbol) -> clingo.Symbol:
        return _computed((a, b), a.number + b.number if _numbers(a, b) else None)

    @staticmethod
    def sub(a: clingo.Symbol, b: clingo.Symbol) -> clingo.Symbol:
        return _computed((a, b), a.number - b.number if _numbers(a, b) else None)

    @staticmethod
    def mul(a: clingo.Symbol, b: clingo.Symbol) -> clingo.Symbol:
        return _computed((a, b), a.number * b.number // SCALE if _numbers(a, b) else None)

    @staticmethod
    def neg(a: clingo.Symbol) -> clingo.Symbol:
        return _computed((a,), -a.number if _numbers(a) else None)

    @staticmethod
    def upper(a: clingo.Symbol) -> clingo.Symbol:
        return NULL if a == NULL else clingo.String(a.string.upper())

    @staticmethod
    def concat(*parts: clingo.Symbol) -> clingo.Symbol:
        return NULL if NULL in parts else clingo.String("".join(part.string for part in parts))


def _numbers(*symbols: clingo.Symbol) -> bool:
    return all(symbol.type is clingo.SymbolType.Number for symbol in symbols)


def _computed(args: Sequence[clingo.Symbol], number: int | None) -> clingo.Symbol:
    if NULL in args:
        return NULL
    if number is None:  # NaN is the only number that is not one
        return clingo.Function("nan")
    return clingo.Number(number) if abs(number) <= LARGEST * SCALE else clingo.Function("beyond")
