"""Is a declared inverse one? Tried on samples: every short run of members, added, removed and merged.

A false inverse would not show until a night that removes something, and then in wrong numbers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice, product

from foreset.analyse.aggregates import prepared
from foreset.analyse.faults import aggregates as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.aggregates import OTHER, STATE, Definition, Fold, InPython
from foreset.ir.program import Program
from foreset.ir.terms import Row, Value
from foreset.ir.text import print_value
from foreset.ir.types import Type
from foreset.ir.values import NAN, canonical
from foreset.reference.aggregates import run_term
from foreset.reference.failure import Failure
from foreset.reference.terms import read_as
from foreset.rewrite.pipeline import Prepared

MOST = 24  # members that are tried with each other


def proven(found: Prepared) -> Prepared:
    """What was prepared, or its faults, if an inverse of its aggregates is none."""
    wrong = tuple(check_inverses(found.program)) if found.program else ()
    if not wrong:
        return found
    found.report.extend(wrong)
    return Prepared(None, None, found.report)


def check_inverses(program: Program) -> Iterator[Diagnostic]:
    """One fault for each aggregate of the spec whose `remove` or `merge` is not what it says."""
    sound, _ = prepared(program.aggregates)
    for one in sound.values():
        if one.fold is not None and (what := _wrong(one.fold)):
            yield faults.false_inverse(one.name, _place(one), what)


def _place(one: Definition) -> Span:
    assert one.fold is not None
    term = one.fold.remove or one.fold.merge or one.fold.add
    span = None if isinstance(term, InPython) else term.span
    return span or one.span or Span("", 1, 1)


def _wrong(fold: Fold) -> str:
    """The first law that a sample breaks; empty when all hold."""
    members = tuple(islice(_members(fold), MOST))
    try:
        zero = run_term(fold, "zero", fold.zero, ())
    except Failure as failure:
        return f"`zero` fails: {failure}"
    for law in (_inverse, _order, _merged):
        for a, b, c in product(members, members, members[:3]):
            try:
                text = law(fold, zero, (a, b, c))
            except Failure as failure:
                if str(failure).startswith("overflow"):  # these samples are too large for the type; the law may hold
                    continue
                text = f"an expression fails on {_shown(fold, a)}, {_shown(fold, b)}: {failure}"
            if text:
                return text
    return ""


def _add(fold: Fold, state: Value, member: Row) -> Value:
    return run_term(fold, "add", fold.add, (state, *member))


def _inverse(fold: Fold, zero: Value, sample: tuple[Row, Row, Row]) -> str:
    if fold.remove is None:
        return ""
    a, b, _ = sample
    before = _add(fold, zero, b)
    after = run_term(fold, "remove", fold.remove, (_add(fold, before, a), *a))
    if _same(after, before):
        return ""
    shown = f"A = {print_value(before)}, {_shown(fold, a)}"
    return f"`remove` is no inverse of `add`: with {shown} it gives {print_value(after)}"


def _order(fold: Fold, zero: Value, sample: tuple[Row, Row, Row]) -> str:
    if fold.remove is None:
        return ""
    a, b, c = sample
    start = _add(fold, zero, c)
    one, other = _add(fold, _add(fold, start, a), b), _add(fold, _add(fold, start, b), a)
    if _same(one, other):
        return ""
    found = f"{_shown(fold, a)} and {_shown(fold, b)} give {print_value(one)} or {print_value(other)}"
    return f"`add` depends on the order, so nothing can be removed: {found}"


def _merged(fold: Fold, zero: Value, sample: tuple[Row, Row, Row]) -> str:
    if fold.merge is None:
        return ""
    a, b, c = sample
    left, right = _add(fold, zero, a), _add(fold, _add(fold, zero, b), c)
    whole = _add(fold, _add(fold, _add(fold, zero, a), b), c)
    if isinstance(fold.merge, InPython):
        merged = run_term(fold, "merge", fold.merge, (left, right))
    else:
        merged = read_as(fold.merge, fold.state, {STATE: 0, OTHER: 1}, fold.types)((left, right))
    if _same(merged, whole):
        return ""
    return (
        f"`merge` of {print_value(left)} and {print_value(right)} gives {print_value(merged)}, not {print_value(whole)}"
    )


def _same(left: Value, right: Value) -> bool:
    return left is right or left == right


def _shown(fold: Fold, member: Row) -> str:
    return ", ".join(f"{name} = {print_value(value)}" for (name, _), value in zip(fold.takes, member, strict=True))


def _members(fold: Fold) -> Iterator[Row]:
    """Members of values that are ordinary, and of those where inverses break."""
    columns = [_values(kind) for _, kind in fold.takes]
    if len(columns) == 1:
        yield from ((value,) for value in columns[0])
        return
    longest = max(map(len, columns))
    for i in range(longest * 2):
        yield tuple(values[(i * (place + 1) + place) % len(values)] for place, values in enumerate(columns))


def _values(kind: Type) -> tuple[Value, ...]:
    make = _SAMPLES.get("whole" if kind.is_integral else kind.name)
    return make(kind) if make else ()


def _doubles(kind: Type) -> tuple[Value, ...]:
    return tuple(canonical(value, kind) for value in (0.0, 1.0, -2.0, 0.1, 0.7, 3e10, 1e-9, NAN))


_SAMPLES: dict[str, Callable[[Type], tuple[Value, ...]]] = {
    "whole": lambda _: (0, 1, -1, 2, 3, 7, -5, 100),
    "decimal": lambda kind: tuple(canonical(Decimal(n).scaleb(-kind.scale), kind) for n in (0, 1, -1, 3, 7, -5)),
    "float": _doubles,
    "double": _doubles,
    "boolean": lambda _: (True, False),
    "string": lambda _: ("", "a", "b", "ab", "B"),
    "date": lambda _: (dt.date(2026, 1, 31), dt.date(2024, 2, 29), dt.date(1999, 12, 1)),
    "timestamp": lambda _: (dt.datetime(2026, 1, 31), dt.datetime(2024, 2, 29, 12, 30)),  # noqa: DTZ001 - UTC here
    "timestamp_ntz": lambda _: (dt.datetime(2026, 1, 31), dt.datetime(2024, 2, 29, 12, 30)),  # noqa: DTZ001
}
