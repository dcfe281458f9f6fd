"""What accumulators hold: of all members of a group, and folded from what they held before.

`gathered` is the meaning; `folded` must give the same from the old value and the change.
Values come in canonical order, so that results do not depend on how members are stored.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from foreset.ir.aggregates import OTHER, STATE, SUMS, Accumulator, Aggregation, Fold, InPython, Kind, Part, Upkeep
from foreset.ir.terms import Row, Value
from foreset.ir.values import DECIMALS, Misfit, canonical_float, coerce, sort_key
from foreset.values.errors import Failure
from foreset.values.numbers import scaled
from foreset.values.terms import read_as
from foreset.values.widen import widener

Members = Sequence[Row]  # elements of one group


def groups_of(rows: Iterable[Row], aggregation: Aggregation) -> dict[Row, list[Row]]:
    """The elements of each group; NULL groups with NULL."""
    found: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[: aggregation.groups]].append(row[aggregation.groups :])
    return found


def gathered(members: Members, aggregation: Aggregation) -> Row:
    """The accumulators of one group that has members."""
    return tuple(_whole(each, members) for each in aggregation.accumulators)


# ---------------------------------------------------------------- of all members
def _whole(accumulator: Accumulator, members: Members) -> Value:
    match accumulator.kind:
        case Kind.MEMBERS:
            return len(members)
        case Kind.SET:
            return _sorted(member[0] for member in members)
        case Kind.LIST:
            return _sorted(member[accumulator.inputs[0]] for member in members)
        case _:
            found = _filled(accumulator, members)
            return _OF_VALUES[accumulator.kind](accumulator, found)


def _filled(accumulator: Accumulator, members: Members) -> list[Row]:
    """The inputs of the members that have all of them, in canonical order."""
    found = (tuple(member[i] for i in accumulator.inputs) for member in members)
    return sorted((row for row in found if None not in row), key=sort_key)


def _sorted(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(sorted(values, key=lambda value: sort_key((value,))))


def _total(accumulator: Accumulator, found: Members) -> Value:
    return scaled(_sum(found), accumulator.type) if found else None


def _sum(found: Members) -> Decimal:
    total = Decimal(0)
    for (value,) in found:
        assert isinstance(value, int | Decimal)
        total = DECIMALS.add(total, Decimal(value))
    return total


def _truths(accumulator: Accumulator, found: Members) -> Value:
    wanted = accumulator.kind is Kind.TRUES
    return sum(value is wanted for (value,) in found) if found else None


def _first(_: Accumulator, found: Members) -> Value:
    return found[0][0] if found else None


def _last(_: Accumulator, found: Members) -> Value:
    return found[-1][0] if found else None


def _beside(_: Accumulator, found: Members, choose: Callable[..., Row]) -> Value:
    return choose(found, key=lambda pair: sort_key((pair[1], pair[0])))[0] if found else None


def neumaier(values: Iterable[float]) -> float:
    """A compensated sum; every reader makes the same steps in the same order."""
    total, lost = 0.0, 0.0
    for value in values:
        more = total + value
        lost += (total - more) + value if abs(total) >= abs(value) else (value - more) + total
        total = more
    whole = total + lost
    return canonical_float(total if math.isnan(whole) else whole)


def _doubles(found: Members) -> list[float]:
    return sorted((canonical_float(float(row[0])) for row in found), key=lambda x: (math.isnan(x), x))  # type: ignore[arg-type]


def _float_total(_: Accumulator, found: Members) -> Value:
    return neumaier(_doubles(found)) if found else None


def _deviation(_: Accumulator, found: Members) -> Value:
    if len(found) < 2:
        return None
    values = _doubles(found)
    mean = neumaier(values) / len(values)
    spread = neumaier((value - mean) * (value - mean) for value in values)
    return canonical_float(math.sqrt(spread / (len(values) - 1)) if not math.isnan(spread) else spread)


def _percentile(accumulator: Accumulator, found: Members) -> Value:
    if not found:
        return None
    values, share = _doubles(found), accumulator.parameter
    assert isinstance(share, float)
    place = share * (len(values) - 1)
    low = int(place)
    part = place - low
    return values[low] if part == 0 else canonical_float(values[low] + part * (values[low + 1] - values[low]))


def _text(accumulator: Accumulator, found: Members) -> Value:
    return str(accumulator.parameter).join(str(value) for (value,) in found) if found else None


def _fold(accumulator: Accumulator, found: Members) -> Value:
    fold = accumulator.fold
    assert fold is not None
    zero, add = _required(fold, "zero"), _required(fold, "add")
    state = zero()
    for row in found:
        state = add(state, *row)
    return state


Step = Callable[..., Value]
_SCOPES = {"zero": (), "merge": (STATE, OTHER)}


def step_of(fold: Fold, part: str) -> Step | None:
    """A part of a fold as a function of A and the values of a member (`zero`: of nothing, `merge`: of A and B)."""
    term: Part | None = getattr(fold, part)
    if term is None:
        return None
    if isinstance(term, InPython):
        return lambda *values: _in_python(fold, part, term, values)
    types = fold.types
    names = _SCOPES.get(part, (STATE, *(name for name, _ in fold.takes)))
    wideners = tuple(widener(types[name]) for name in names)  # members may be narrower than what the fold takes
    read = read_as(term, fold.state, {name: i for i, name in enumerate(names)}, types)

    def run(*values: Value) -> Value:
        found = read(tuple(widen(value) for widen, value in zip(wideners, values, strict=True)))
        if found is None:
            raise Failure(f"`{part}` of aggregate {fold.name} gives NULL")
        return found

    return run


def _required(fold: Fold, part: str) -> Step:
    step = step_of(fold, part)
    assert step is not None, f"aggregate {fold.name} has no `{part}`"
    return step


def _in_python(fold: Fold, part: str, function: InPython, values: Row) -> Value:
    """What a function of the deployment gives: nothing that it does may go unnoticed."""
    try:
        found = function.function(*values)
    except Exception as error:
        raise Failure(f"`{part}` of aggregate {fold.name} raises {type(error).__name__}: {error}") from error
    if found is None:
        raise Failure(f"`{part}` of aggregate {fold.name} gives NULL")
    try:
        return coerce(found, fold.state)
    except Misfit as misfit:
        raise Failure(f"`{part}` of aggregate {fold.name}: {misfit}") from misfit


_OF_VALUES: dict[Kind, Callable[[Accumulator, Members], Value]] = {
    Kind.FILLED: lambda _, found: len(found),
    Kind.TOTAL: _total,
    Kind.TRUES: _truths,
    Kind.FALSES: _truths,
    Kind.LEAST: _first,
    Kind.GREATEST: _last,
    Kind.AT_LEAST: lambda each, found: _beside(each, found, min),
    Kind.AT_GREATEST: lambda each, found: _beside(each, found, max),
    Kind.FLOAT_TOTAL: _float_total,
    Kind.DEVIATION: _deviation,
    Kind.PERCENTILE: _percentile,
    Kind.TEXT: _text,
    Kind.FOLD: _fold,
}


# ---------------------------------------------------------------- from the old row and the change
def folded(aggregation: Aggregation, old: Row | None, plus: Members, minus: Members) -> Row | None:
    """The accumulators after a change of members, None where the members themselves must be read.

    `old` is None where there was no group; an empty one is told by its first accumulator.
    """
    if aggregation.upkeep is Upkeep.ANEW:
        return None
    before = old or tuple(_EMPTY.get(each.kind) for each in aggregation.accumulators)
    after: list[Value] = []
    for place, each in enumerate(aggregation.accumulators):
        if each.kind in _EXTREMA:
            found = _extremum(aggregation, place, before, plus, minus)
            if found is _GONE:
                return None
            after.append(found)  # type: ignore[arg-type]
        else:
            after.append(_folded(each, before[place], plus, minus))
    for place, each in enumerate(aggregation.accumulators):
        if each.kind in SUMS and after[aggregation.place(Kind.FILLED, each.inputs)] == 0:
            after[place] = None
    return tuple(after)


_EMPTY: dict[Kind, Value] = {Kind.MEMBERS: 0, Kind.FILLED: 0, Kind.SET: ()}
_EXTREMA = {Kind.LEAST: 1, Kind.GREATEST: -1, Kind.AT_LEAST: 1, Kind.AT_GREATEST: -1}
_GONE = object()


def _folded(accumulator: Accumulator, before: Any, plus: Members, minus: Members) -> Value:  # noqa: ANN401 - as its kind
    came, went = _filled(accumulator, plus), _filled(accumulator, minus)
    match accumulator.kind:
        case Kind.MEMBERS:
            return int(before + len(plus) - len(minus))
        case Kind.FILLED:
            return int(before + len(came) - len(went))
        case Kind.TOTAL:
            change = DECIMALS.subtract(_sum(came), _sum(went))
            return scaled(DECIMALS.add(before or Decimal(0), change), accumulator.type)
        case Kind.TRUES | Kind.FALSES:
            return int((before or 0) + (_truths(accumulator, came) or 0) - (_truths(accumulator, went) or 0))  # type: ignore[operator]
        case Kind.SET:
            return _sorted((set(before) - {member[0] for member in minus}) | {member[0] for member in plus})
        case Kind.FOLD:
            return _refolded(accumulator, before, came, went)
        case _:
            raise AssertionError(f"{accumulator.kind} is not invertible")


def _refolded(accumulator: Accumulator, before: Value, came: Members, went: Members) -> Value:
    fold = accumulator.fold
    assert fold is not None
    add, remove = _required(fold, "add"), _required(fold, "remove")
    state = _required(fold, "zero")() if before is None else before
    for row in came:
        state = add(state, *row)
    for row in went:
        state = remove(state, *row)
    return state


def _extremum(aggregation: Aggregation, place: int, before: Row, plus: Members, minus: Members) -> object:
    """The extremum after the change, `_GONE` where it went and nothing better came."""
    each = aggregation.accumulators[place]
    beside = each.kind in (Kind.AT_LEAST, Kind.AT_GREATEST)
    least = _EXTREMA[each.kind] > 0
    key_at = aggregation.place(Kind.LEAST if least else Kind.GREATEST, each.inputs[::-1]) if beside else place
    old_key, old = before[key_at], before[place]

    def order(pair: Row) -> tuple[object, ...]:
        return sort_key((pair[1], pair[0])) if beside else sort_key(pair[:1])

    def key(pair: Row) -> Value:
        return pair[1] if beside else pair[0]

    came, went = _filled(each, plus), _filled(each, minus)
    best = (min if least else max)(came, key=order, default=None)
    better = best is not None and (
        old_key is None
        or (sort_key((key(best),)) < sort_key((old_key,)) if least else sort_key((key(best),)) > sort_key((old_key,)))
    )
    if better:
        assert best is not None
        return best[0]
    if any(key(pair) == old_key or key(pair) is old_key for pair in went):
        return _GONE
    if best is None or key(best) != old_key:
        return old
    standing = (old, old_key) if beside else (old,)
    return (min if least else max)((standing, best), key=order)[0]
