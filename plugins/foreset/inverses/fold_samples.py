"""Values to try aggregates on: ordinary ones, those where inverses break, and random ones of any size."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from decimal import Decimal

from foreset.ir.aggregates import Fold
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type, integral_range
from foreset.ir.values import NAN, canonical

_LETTERS = "abAB z_0'\"\\%é\u20ac\U0001f600"
_LONGEST = 12
_EPOCH = dt.datetime(2026, 1, 31)  # noqa: DTZ001 - naive is UTC here


def members(fold: Fold) -> Iterator[Row]:
    """Members of values that are ordinary, and of those where inverses break."""
    columns = [values(kind) for _, kind in fold.takes]
    if len(columns) == 1:
        yield from ((value,) for value in columns[0])
        return
    longest = max(map(len, columns))
    for i in range(longest * 2):
        yield tuple(found[(i * (place + 1) + place) % len(found)] for place, found in enumerate(columns))


def random_member(fold: Fold, generator: random.Random) -> Row:
    """A member of values of any size; every third value is at the end of what its type can hold, or ordinary."""
    return tuple(_random_value(kind, generator) for _, kind in fold.takes)


def values(kind: Type) -> tuple[Value, ...]:
    """A few values of a type."""
    if kind.element is not None:
        items = values(kind.element)
        return tuple(canonical(value, kind) for value in ((), items[:1], items[1:2], items[:3]))
    return _SAMPLES["whole" if kind.is_integral else kind.name](kind)


def _random_value(kind: Type, generator: random.Random) -> Value:
    if kind.element is not None:
        return tuple(_random_value(kind.element, generator) for _ in range(generator.randrange(4)))
    if generator.randrange(3) == 0:
        return generator.choice((*_ends(kind), *values(kind)))
    make = _RANDOM.get(kind.name)
    return make(kind, generator) if make else _whole(integral_range(kind)[1], generator)


def _random_double(kind: Type, generator: random.Random) -> Value:
    return canonical(generator.uniform(-1, 1) * 10.0 ** generator.randrange(-9, 12), kind)


def _random_decimal(kind: Type, generator: random.Random) -> Value:
    return canonical(Decimal(_whole(10**kind.precision - 1, generator)).scaleb(-kind.scale), kind)


def _random_moment(_: Type, generator: random.Random) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=generator.randrange(-(10**15), 10**15))


def _whole(largest: int, generator: random.Random) -> int:
    """Small numbers as often as large ones."""
    size = min(largest, 10 ** generator.randrange(1, len(str(largest)) + 1))
    return generator.randint(-size, size)


def _ends(kind: Type) -> tuple[Value, ...]:
    if kind.is_integral:
        low, high = integral_range(kind)
        return (low, low + 1, high - 1, high)
    if kind.name == "decimal":
        most = Decimal(10**kind.precision - 1).scaleb(-kind.scale)
        return (canonical(most, kind), canonical(-most, kind))
    return ()


def _decimals(kind: Type) -> tuple[Value, ...]:
    return tuple(canonical(Decimal(n).scaleb(-kind.scale), kind) for n in (0, 1, -1, 3, 7, -5))


def _doubles(kind: Type) -> tuple[Value, ...]:
    return tuple(canonical(value, kind) for value in (0.0, 1.0, -2.0, 0.1, 0.7, 3e10, 1e-9, NAN))


def _moments(_: Type) -> tuple[Value, ...]:
    return (_EPOCH, dt.datetime(2024, 2, 29, 12, 30))  # noqa: DTZ001 - naive is UTC here


_SAMPLES: dict[str, Callable[[Type], tuple[Value, ...]]] = {
    "whole": lambda _: (0, 1, -1, 2, 3, 7, -5, 100),
    "decimal": _decimals,
    "float": _doubles,
    "double": _doubles,
    "boolean": lambda _: (True, False),
    "string": lambda _: ("", "a", "b", "ab", "B"),
    "binary": lambda _: (b"", b"a", b"\x00\xff"),
    "date": lambda _: (dt.date(2026, 1, 31), dt.date(2024, 2, 29), dt.date(1999, 12, 1)),
    "timestamp": _moments,
    "timestamp_ntz": _moments,
}
_RANDOM: dict[str, Callable[[Type, random.Random], Value]] = {
    "boolean": lambda _, generator: generator.random() < 0.5,
    "string": lambda _, generator: "".join(generator.choices(_LETTERS, k=generator.randrange(_LONGEST))),
    "binary": lambda _, generator: generator.randbytes(generator.randrange(_LONGEST)),
    "float": _random_double,
    "double": _random_double,
    "decimal": _random_decimal,
    "date": lambda kind, generator: _random_moment(kind, generator).date(),
    "timestamp": _random_moment,
    "timestamp_ntz": _random_moment,
}
