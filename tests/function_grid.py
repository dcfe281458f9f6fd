"""Arguments on which Python and Spark must agree: edges first, then many at random from a fixed seed."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from random import Random

from foreset.ir.functions import FUNCTIONS, Argument, result_of
from foreset.ir.terms import Row, Value
from foreset.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal,
    integral_range,
)
from foreset.ir.values import NAN, canonical

INTEGRALS = (TINYINT, SMALLINT, INT, BIGINT)
MONEY, TINY, HUGE, FINE = decimal(12, 2), decimal(3, 1), decimal(38, 0), decimal(38, 18)
DECIMALS = (MONEY, TINY, HUGE, FINE, decimal(38, 38), decimal(20, 10))
TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


@dataclass(frozen=True, slots=True)
class Case:
    """One function on arguments of these types; `constants` fixes the last ones."""

    function: str
    kinds: tuple[Type, ...]
    rows: tuple[Row, ...]
    constants: tuple[int, ...] = ()

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What typing knows of them."""
        return (*(Argument(kind) for kind in self.kinds), *(Argument(INT, number) for number in self.constants))

    @property
    def result(self) -> Type:
        """The type of the call."""
        kind = result_of(self.function, self.arguments)
        assert kind is not None, self
        return kind

    @property
    def failing(self) -> bool:
        """True when the function may fail at all."""
        return FUNCTIONS[self.function].fallible

    @property
    def title(self) -> str:
        """A name for test output."""
        return f"{self.function}({', '.join(map(str, (*self.kinds, *self.constants)))})"


def _decimal_edges(kind: Type) -> list[Value]:
    top = Decimal(10**kind.precision - 1).scaleb(-kind.scale)
    unit = Decimal(1).scaleb(-kind.scale)
    found = [
        Decimal(0),
        unit,
        -unit,
        top,
        -top,
        Decimal("0.5"),
        Decimal("-1.5"),
        Decimal("2.5"),
        Decimal(3),
        Decimal(7),
    ]
    return [canonical(v, kind) for v in found if abs(v) <= top and v == v.quantize(unit, context=_WIDE)]


_WIDE = Context(prec=100)
_DOUBLES = [
    0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1.005, 0.49999999999999994, 1e-320, 1e15 + 0.5, 2.0**31,
    -(2.0**31) - 1, 2.0**52 + 1, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**63 - 1024, 1e22, 1e300, -1e308, math.inf,
    -math.inf, NAN,
]  # fmt: skip
_TEXTS = [
    "", " ", "a", "Ab", "  ab  ", "\tab\n", "ß", "İI", "ΑΣ", "ΑΣ Σ", "😀x😀", "e\u0301é", "a,b,,c", ",", "aaa", "Ǆ",
    "ﬁ", "x" * 40,
]  # fmt: skip
_NUMBERS = [
    "0", "-0", "+5", "12", "-128", "128", "5.", ".5", "-.5", "1.005", "2.675", "99999999999999999999", "1e3", "1E-3",
    "1e400", "-1e-400", "nan", "NaN", "Infinity", "0x1p3", "1f", "1d", "1L", " 1", "1 ", "1\n", "", "-", ".", "1_0",
    "１２", "0." + "1" * 50, "9" * 38, "9" * 39, "0" * 60 + "7", "9" * 38 + ".5", "0." + "4" * 38 + "9",
    "0.0049999999999999999999999999999999999999",
]  # fmt: skip
_WORDS = ["t", "TRUE", "Yes", "y", "1", "f", "False", "NO", "n", "0", "", " true", "true ", "wahr", "ﬀ", "tRue", "2"]
_DAYS = [
    "2026-11-18", "0001-01-01", "9999-12-31", "2024-02-29", "2023-02-29", "2026-13-01", "2026-00-10", "2026-1-1",
    "0000-01-01", "1582-10-10", " 2026-11-18", "2026-11-18 ", "2026-11-18T00:00:00", "20261118", "10000-01-01",
    "-2026-11-18", "", "epoch", "now", "２０２６-11-18", "1900-02-29", "2026-11-18\n",
]  # fmt: skip
_MOMENTS = [
    "2026-11-18 20:15:00", "2026-11-18T20:15:00", "2026-11-18 20:15:00.1", "2026-11-18 20:15:00.123456",
    "2026-11-18 20:15:00.1234567", "2026-11-18 20:15", "2026-11-18 20", "2026-11-18 24:00:00", "2026-11-18 20:60:00",
    "2026-11-18 20:15:60", "2026-11-18 20:15:00Z", "2026-11-18 20:15:00+01:00", "2026-11-18", "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "1583-10-10 01:02:03", "2026-02-30 00:00:00", "", "now", "2026-11-18  20:15:00",
    "2026-11-18 20:15:00.",
]  # fmt: skip
_DATES: list[Value] = [
    dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29),
    dt.date(2023, 1, 31), dt.date(2026, 11, 18), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1900, 2, 28),
    dt.date(2000, 12, 31), dt.date(2026, 11, 15),
]  # fmt: skip
_STAMPS: list[Value] = [
    dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 1), dt.datetime(2024, 2, 29, 12, 30, 15, 120000),
    dt.datetime(2026, 11, 18, 0, 0, 0, 500), dt.datetime(1582, 10, 4, 3, 2, 1), dt.datetime(1900, 1, 1, 5, 6, 7),
]  # fmt: skip


def edges(kind: Type) -> list[Value]:
    """Values of `kind` where things go wrong, and NULL."""
    match kind.name:
        case "boolean":
            found: list[Value] = [True, False]
        case "decimal":
            found = _decimal_edges(kind)
        case "float" | "double":
            found = [canonical(value, kind) for value in _DOUBLES]
        case "string":
            found = list(_TEXTS)
        case "date":
            found = list(_DATES)
        case "timestamp" | "timestamp_ntz":
            found = list(_STAMPS)
        case _:
            low, high = integral_range(kind)
            found = [low, low + 1, -3, -1, 0, 1, 2, 3, 7, high - 1, high]
    return [*dict.fromkeys(found), None]


def some(rng: Random, kind: Type) -> Value:
    """A value of `kind` at random."""
    if rng.random() < 0.2:
        return rng.choice(edges(kind))
    match kind.name:
        case "decimal":
            digits = rng.randint(1, kind.precision)
            return canonical(
                Decimal(rng.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-kind.scale, context=_WIDE), kind
            )
        case "float" | "double":
            return canonical(
                rng.choice(
                    (
                        rng.uniform(-10, 10),
                        rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300),
                        rng.randint(-999, 999) / 100,
                    )
                ),
                kind,
            )
        case "tinyint" | "smallint" | "int" | "bigint":
            low, high = integral_range(kind)
            return rng.choice((rng.randint(low, high), max(low, min(high, rng.randint(-1000, 1000)))))
        case "string":
            return "".join(rng.choices("aAbB ,é😀ßΣ", k=rng.randint(0, 8)))
        case "date":
            return dt.date.fromordinal(rng.randint(1, dt.date.max.toordinal()))
        case _:
            return rng.choice(edges(kind))


def _case(
    function: str,
    *kinds: Type,
    extra: int = 40,
    constants: tuple[int, ...] = (),
    columns: tuple[Iterable[Value], ...] = (),
    most: int = 300,
) -> Case:
    rng = Random(f"{function}{kinds}{constants}")
    choices = [list(column) for column in columns] or [edges(kind) for kind in kinds]
    rows = list(itertools.product(*choices))
    if len(rows) > most:
        rows = rng.sample(rows, most)
    if not columns:
        rows += [tuple(some(rng, kind) for kind in kinds) for _ in range(extra)]
    return Case(function, kinds, tuple(dict.fromkeys(rows)), constants)


def _numbers() -> Iterator[Case]:
    pairs = [
        (TINYINT, TINYINT), (TINYINT, SMALLINT), (INT, INT), (INT, BIGINT), (BIGINT, BIGINT), (DOUBLE, DOUBLE),
        (FLOAT, FLOAT), (FLOAT, INT), (FLOAT, DOUBLE), (BIGINT, DOUBLE), (MONEY, MONEY), (MONEY, INT), (HUGE, HUGE),
        (FINE, FINE), (BIGINT, HUGE), (decimal(38, 38), FINE), (decimal(20, 10), TINY), (MONEY, DOUBLE), (TINY, FLOAT),
    ]  # fmt: skip
    for function in ("+", "-", "*", "/", "%"):
        yield from (_case(function, *pair, extra=120) for pair in pairs)
    yield from (_case("div", *pair) for pair in ((INT, INT), (BIGINT, BIGINT), (TINYINT, BIGINT)))
    for kind in (*INTEGRALS, *DECIMALS, DOUBLE, FLOAT):
        yield from (_case(function, kind) for function in ("neg", "abs", "floor", "ceil", "sqrt"))
    yield from (_case("sign", kind) for kind in (*INTEGRALS, *DECIMALS))
    for kind, digits in itertools.product((*DECIMALS, DOUBLE, FLOAT), (0, 1, 2, 7, 15)):
        yield _case("round", kind, constants=(digits,), extra=200)
    yield from (_case("round", kind) for kind in (MONEY, DOUBLE))
    yield from (_case("is_nan", kind) for kind in (DOUBLE, FLOAT))


def _choices() -> Iterator[Case]:
    for function in ("least", "greatest", "coalesce"):
        for kinds in (
            (INT, BIGINT),
            (DOUBLE, DOUBLE),
            (FLOAT, TINYINT),
            (MONEY, INT),
            (MONEY, DOUBLE),
            (STRING, STRING),
            (DATE, TIMESTAMP),
            (BOOLEAN, BOOLEAN),
            (INT, INT, INT),
        ):
            yield _case(function, *kinds)
    yield from (_case("is_null", kind) for kind in (INT, DOUBLE, STRING, DATE, MONEY))


def _texts() -> Iterator[Case]:
    yield from (_case(function, STRING, extra=200) for function in ("length", "trim", "ltrim", "rtrim"))
    letters = [
        chr(c)
        for c in range(0x110000)
        if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) in ("Ll", "Lu", "Lt", "Mn", "Cn") and c < 0x20000
    ]
    cased = [c for c in letters if c.lower() != c or c.upper() != c or 0x10D50 <= ord(c) <= 0x10D90]
    sigmas = [
        "ΑΣ Β",
        "ΑΣΒ",
        "Σ",
        "ΑΣ.",
        "ΑΣ.Β",
        "ΑΣ\u0301",
        "1Σ",
        "Α\u00adΣ",
        "ΑΣ'",
        "ΑΣ😀",
        "İx",
        "xİ",
        "I\u0307",
        "ﬃ",
        "ŉ",
        "ƛɤ\ua7cb\ua7dc",
    ]
    yield from (
        _case(function, STRING, columns=([*_TEXTS, *sigmas, *cased, None],), most=9999)
        for function in ("lower", "upper")
    )
    lengths = [-(2**31), -5, -3, -1, 0, 1, 2, 3, 5, 50, 2**31 - 1, None]
    yield _case("substr", STRING, INT, columns=(_TEXTS, lengths))
    yield _case("substr", STRING, INT, INT, columns=(["", "abcdef", "😀x😀é", None], lengths, lengths))
    yield _case("substr", STRING, TINYINT, SMALLINT, columns=(["abcdef"], [-3, 0, 2], [1, 2, -1]))
    parts = ["", "a", ",", "aa", "😀", " ", "ß", None]
    for function in ("starts_with", "ends_with", "contains"):
        yield _case(function, STRING, STRING, columns=([*_TEXTS, None], parts))
    yield _case("replace", STRING, STRING, STRING, columns=([*_TEXTS, None], parts, ["", "zz", "a", None]))
    yield _case(
        "split_part",
        STRING,
        STRING,
        INT,
        columns=([*_TEXTS, None], [*parts, "|", "."], [-3, -1, 0, 1, 2, 3, 2**31 - 1, -(2**31), None]),
    )
    for function in ("lpad", "rpad"):
        yield _case(
            function,
            STRING,
            INT,
            STRING,
            columns=([*_TEXTS[:12], None], [-1, 0, 1, 3, 7, None], ["", "x", "xyz", "😀é", None]),
        )
    yield _case("concat", STRING, STRING)
    yield _case("concat", STRING, STRING, STRING, columns=(["a", "", None], ["😀", None], ["", "b"]))
    yield _case("concat", STRING)


def _times() -> Iterator[Case]:
    for function in ("year", "month", "day", "day_of_week"):
        yield from (_case(function, kind) for kind in TIMES)
    for function in ("hour", "minute", "second"):
        yield from (_case(function, kind) for kind in TIMES[1:])
    days = [0, 1, -1, 31, 365, -365, 3652058, -3652058, 3652059, 2**31 - 1, -(2**31), None]
    months = [0, 1, -1, 12, -12, 11, 13, 119987, 119988, -119987, -119988, 2**31 - 1, -(2**31), None]
    yield _case("add_days", DATE, INT, columns=([*_DATES, None], days))
    yield _case("add_days", DATE, TINYINT)
    yield _case("add_months", DATE, INT, columns=([*_DATES, None], months))
    yield _case("days_between", DATE, DATE)
    yield from (_case(function, DATE) for function in ("trunc_week", "trunc_month", "trunc_year", "last_day"))


def _casts() -> Iterator[Case]:
    for target in INTEGRALS:
        yield from (_case(target.name, kind) for kind in (*INTEGRALS, *DECIMALS, DOUBLE, FLOAT, BOOLEAN))
        yield _case(target.name, STRING, columns=([*_NUMBERS, None],))
    for target in ("float", "double"):
        yield from (_case(target, kind, extra=200) for kind in (*INTEGRALS, *DECIMALS, DOUBLE, FLOAT))
        yield _case(target, STRING, columns=([*_NUMBERS, None],))
    for size in ((12, 2), (38, 0), (38, 38), (1, 0), (38, 18), (5, 5), (17, 15)):
        yield from (_case("decimal", kind, constants=size) for kind in (*INTEGRALS, *DECIMALS))
        yield _case("decimal", STRING, constants=size, columns=([*_NUMBERS, None],))
        if size[1] <= 15:
            yield from (_case("decimal", kind, constants=size, extra=300) for kind in (DOUBLE, FLOAT))
    yield from (_case("boolean", kind) for kind in (*INTEGRALS, BOOLEAN))
    yield _case("boolean", STRING, columns=([*_WORDS, None],))
    yield from (_case("string", kind) for kind in (*INTEGRALS, *DECIMALS, BOOLEAN, STRING, *TIMES))
    for target in ("date", "timestamp", "timestamp_ntz"):
        yield from (_case(target, kind) for kind in TIMES)
        yield _case(target, STRING, columns=([*_DAYS, *_MOMENTS, None],))


def cases() -> list[Case]:
    """The whole grid."""
    return [*_numbers(), *_choices(), *_texts(), *_times(), *_casts()]


def uncovered() -> set[str]:
    """Functions without a case."""
    return set(FUNCTIONS) - {case.function for case in cases()}
