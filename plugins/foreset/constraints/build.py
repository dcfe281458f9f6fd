"""From comparisons as rules write them to literals in normal form: linear arithmetic, or a refusal with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from foreset.constraints.errors import BadConstraint
from foreset.constraints.form import Literal, linear, text
from foreset.constraints.sorts import NUMBER, TEXT, Sort, Variable, sort_of_value, ticks
from foreset.diagnostics import Span
from foreset.ir.rules import Comparison
from foreset.ir.terms import Call, Const, Term, Var

Scope = Mapping[str, Variable]
_NAMES = {"number": "numbers", "text": "texts", "boolean": "truth values", "date": "dates"}


@dataclass(slots=True)
class _Sum:
    """A sum in values (numbers) or ticks (all else), with the sort that its parts share."""

    sort: Sort | None = None
    terms: dict[Variable, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    moment: bool = False  # a date or time stands in it, not only a distance


def comparison(written: Comparison, scope: Scope) -> Literal | bool:
    """The literal that `written` says about the variables of `scope`; BadConstraint where it cannot be said."""
    left, right = written.left, written.right
    if _text_like(left, scope) or _text_like(right, scope):
        return text(_text_side(left, scope), written.op, _text_side(right, scope))
    a, b = _sum(left, scope), _sum(right, scope)
    if a.sort and b.sort and a.sort.kind != b.sort.kind and not _is_distance(a, b):
        raise BadConstraint(
            f"{_name(a.sort)} are compared with {_name(b.sort)}", "compare values of one kind", written.span
        )
    total = dict(a.terms)
    for v, c in b.terms.items():
        total[v] = total.get(v, Fraction(0)) - c
    scaled = {v: c / 10**v.sort.scale for v, c in total.items()}
    bound = b.constant - a.constant
    times = lcm(bound.denominator, *(c.denominator for c in scaled.values()))
    return linear({v: int(c * times) for v, c in scaled.items()}, written.op, int(bound * times))


def _name(sort: Sort) -> str:
    return _NAMES.get(sort.kind, "times")


def _is_distance(a: _Sum, b: _Sum) -> bool:
    """`D - E <= 3`: ticks of dates against a number."""
    pairs = ((a, b), (b, a))
    return any(_balanced(x) and y.sort == NUMBER and not y.terms for x, y in pairs)


def _balanced(part: _Sum) -> bool:
    return not part.moment and bool(part.terms) and sum(part.terms.values()) == 0


def lookup(var: Var, scope: Scope) -> Variable:
    """The variable that `var` names."""
    found = scope.get(var.name)
    if found is None:
        known = ", ".join(sorted(scope)) or "none"
        raise BadConstraint(f"`{var.name}` is not a variable here", f"known are: {known}", var.span)
    return found


def _text_like(term: Term, scope: Scope) -> bool:
    match term:
        case Var():
            return lookup(term, scope).sort == TEXT
        case Const(value=value):
            return isinstance(value, str)
        case _:
            return False


def _text_side(term: Term, scope: Scope) -> Variable | str:
    match term:
        case Var() if (found := lookup(term, scope)).sort == TEXT:
            return found
        case Const(value=str() as word):
            return word
        case _:
            raise BadConstraint(
                "a text is compared with something else", "compare it with a text or a text column", term.span
            )


def _sum(term: Term, scope: Scope) -> _Sum:
    match term:
        case Var():
            variable = lookup(term, scope)
            return _Sum(variable.sort, {variable: Fraction(1)})
        case Const(value=value):
            sort = sort_of_value(value)
            if sort is None:
                hint = "write a decimal such as 1.5: constraints are exact, and doubles are not"
                raise BadConstraint(f"{value!r} cannot be part of a constraint", hint, term.span)
            constant = ticks(value, NUMBER if sort.kind == "number" else sort)
            if constant is None:
                fact = f"text is not a number: {value!r}"
                raise BadConstraint(fact, "compute with numbers and dates only", term.span)
            return _Sum(sort, {}, Fraction(constant), moment=sort.kind != "number")
        case Call(function="+" | "-" as op, args=(left, right)):
            return _add(_sum(left, scope), _sum(right, scope), -1 if op == "-" else 1, term.span)
        case Call(function="neg", args=(only,)):
            return _times(_numbers(_sum(only, scope), term.span), Fraction(-1))
        case Call(function="*", args=(left, right)):
            a, b = _sum(left, scope), _sum(right, scope)
            if a.terms and b.terms:
                hint = "one side of `*` must be a number, or have a value from a relation"
                raise BadConstraint("a product of variables is not linear", hint, term.span)
            whole, factor = (a, b) if a.terms else (b, a)
            return _times(_numbers(whole, term.span), _numbers(factor, term.span).constant)
        case Call(function=function):
            hint = (
                "constraints can only add, subtract and multiply by a number; give its arguments values from a relation"
            )
            raise BadConstraint(f"`{function}` cannot be part of a constraint", hint, term.span)


def _add(a: _Sum, b: _Sum, sign: int, span: Span | None) -> _Sum:
    kinds = {part.sort.kind for part in (a, b) if part.sort}
    if "text" in kinds or "boolean" in kinds or len(kinds - {"number"}) > 1:
        raise BadConstraint("these values cannot be added", "add numbers, or a number to a date", span)
    sort = next((part.sort for part in (a, b) if part.sort and part.sort.kind != "number"), a.sort)
    total = dict(a.terms)
    for v, c in b.terms.items():
        total[v] = total.get(v, Fraction(0)) + sign * c
    return _Sum(sort, total, a.constant + sign * b.constant, a.moment != b.moment)


def _numbers(part: _Sum, span: Span | None) -> _Sum:
    if part.sort and part.sort.kind != "number":
        raise BadConstraint(f"{_name(part.sort)} cannot be multiplied", "multiply numbers only", span)
    return part


def _times(part: _Sum, factor: Fraction) -> _Sum:
    return _Sum(part.sort, {v: c * factor for v, c in part.terms.items()}, part.constant * factor, part.moment)
