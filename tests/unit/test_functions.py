"""The list of functions is one list, and each meaning holds where grids would not show it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from tests.function_grid import cases, uncovered

from foreset.ir.functions import FUNCTIONS, OPERATORS, Argument, fallible, result_of, type_of
from foreset.ir.terms import Call, Const, Row, Var
from foreset.ir.types import BIGINT, DATE, DOUBLE, FLOAT, INT, SMALLINT, STRING, TINYINT, Type, decimal
from foreset.ir.values import NAN, canonical
from foreset.values.functions import IMPLEMENTATIONS, Failure, call

MONEY = decimal(12, 2)


def test_every_function_has_its_meaning_and_its_cases() -> None:
    assert IMPLEMENTATIONS.keys() == FUNCTIONS.keys()
    assert not uncovered()


def test_spark_knows_the_same_functions() -> None:
    compilers = pytest.importorskip("foreset.backends.spark.functions").COMPILERS
    assert compilers.keys() == FUNCTIONS.keys()


def test_names_and_docs_agree() -> None:
    for name, signature in FUNCTIONS.items():
        assert signature.name == name
        assert name in OPERATORS or signature.doc.startswith(f"{name}(")


def test_values_are_canonical_and_only_the_fallible_fail() -> None:
    for case in cases():
        kinds = tuple(argument.type for argument in case.arguments)
        for row in case.rows:
            try:
                value = call(case.function, (*row, *case.constants), kinds, case.result)
            except Failure:
                assert FUNCTIONS[case.function].fallible, case.title
            else:
                assert repr(value) == repr(canonical(value, case.result)), (case.title, row)
                if None in row and FUNCTIONS[case.function].null_propagating:
                    assert value is None


def typed(function: str, *kinds: Type) -> Type | None:
    return result_of(function, tuple(Argument(kind) for kind in kinds))


@pytest.mark.parametrize(
    ("function", "kinds", "result"),
    [
        ("+", (TINYINT, TINYINT), TINYINT),
        ("+", (TINYINT, BIGINT), BIGINT),
        ("/", (INT, INT), DOUBLE),
        ("+", (FLOAT, FLOAT), FLOAT),
        ("+", (FLOAT, INT), DOUBLE),
        ("/", (FLOAT, FLOAT), DOUBLE),
        ("+", (MONEY, MONEY), decimal(13, 2)),
        ("*", (MONEY, MONEY), decimal(25, 4)),
        ("/", (MONEY, MONEY), decimal(27, 15)),
        ("%", (MONEY, decimal(5, 3)), decimal(5, 3)),
        ("*", (decimal(38, 10), decimal(38, 10)), decimal(38, 6)),
        ("+", (MONEY, INT), decimal(13, 2)),
        ("+", (MONEY, DOUBLE), DOUBLE),
        ("least", (TINYINT, SMALLINT, INT), INT),
        ("concat", (STRING, INT), None),
        ("+", (DATE, INT), None),
        ("round", (INT,), None),
        ("nothing", (INT,), None),
        ("abs", (INT, INT), None),
    ],
)
def test_types_are_those_of_spark(function: str, kinds: tuple[Type, ...], result: Type | None) -> None:
    assert typed(function, *kinds) == result


@pytest.mark.parametrize(
    ("function", "args", "kinds", "value"),
    [
        ("+", (0.1, 0.2), (DOUBLE, DOUBLE), 0.30000000000000004),
        ("%", (-7, 3), (INT, INT), -1),
        ("div", (-7, 2), (INT, INT), -3),
        ("/", (Decimal("1.00"), Decimal("3.00")), (MONEY, MONEY), Decimal("0.333333333333333")),
        ("least", (None, 3), (INT, INT), 3),
        ("greatest", (NAN, 1.0), (DOUBLE, DOUBLE), NAN),
        ("substr", ("abcdef", -2, 5), (STRING, INT, INT), "ef"),
        ("substr", ("abcdef", -8, 4), (STRING, INT, INT), "ab"),
        ("substr", ("abcdef", 0, 2), (STRING, INT, INT), "ab"),
        ("replace", ("aaa", "", "x"), (STRING, STRING, STRING), "aaa"),
        ("split_part", ("a,b,c", ",", -1), (STRING, STRING, INT), "c"),
        ("lpad", ("abc", 2, "x"), (STRING, INT, STRING), "ab"),
        ("add_months", (dt.date(2024, 1, 31), 1), (DATE, INT), dt.date(2024, 2, 29)),
        ("day_of_week", (dt.date(2026, 11, 15),), (DATE,), 1),
        ("trunc_week", (dt.date(2026, 11, 15),), (DATE,), dt.date(2026, 11, 9)),
        ("days_between", (dt.date(2026, 11, 15), dt.date(2026, 11, 18)), (DATE, DATE), 3),
        ("string", (Decimal("-0.50"),), (MONEY,), "-0.50"),
        ("int", (-2.9,), (DOUBLE,), -2),
        ("boolean", ("YES",), (STRING,), True),
        ("is_null", (None,), (INT,), True),
    ],
)
def test_meanings(function: str, args: Row, kinds: tuple[Type, ...], value: object) -> None:
    result = typed(function, *kinds)
    assert result is not None
    assert repr(call(function, args, kinds, result)) == repr(value)


@pytest.mark.parametrize(
    ("function", "args", "kinds", "words"),
    [
        ("+", (127, 1), (TINYINT, TINYINT), "overflow: 128 is out of the range of tinyint"),
        ("/", (1.0, 0.0), (DOUBLE, DOUBLE), "division by zero"),
        ("div", (-(2**63), -1), (BIGINT, BIGINT), "overflow"),
        ("int", ("12 ",), (STRING,), 'bad cast: "12 " is no int'),
        ("date", ("2026-02-30",), (STRING,), "bad cast"),
        ("floor", (NAN,), (DOUBLE,), "overflow"),
        ("add_days", (dt.date(9999, 12, 31), 1), (DATE, INT), "years 1 to 9999"),
        ("split_part", ("a", ",", 0), (STRING, STRING, INT), "counts from 1"),
    ],
)
def test_failures_say_what_happened(function: str, args: Row, kinds: tuple[Type, ...], words: str) -> None:
    result = typed(function, *kinds)
    assert result is not None
    with pytest.raises(Failure, match=words):
        call(function, args, kinds, result)


def test_rounding_looks_at_the_digits_that_are_there() -> None:
    # 1.005 is a little less than 1.005, and 0.49999999999999994 is less than a half.
    two = (Argument(DOUBLE), Argument(INT, 2))
    assert call("round", (1.005, 2), (DOUBLE, INT), result_of("round", two)) == 1.0
    assert call("round", (0.49999999999999994,), (DOUBLE,), DOUBLE) == 0.0
    assert call("round", (Decimal("2.675"), 2), (decimal(5, 3), INT), decimal(5, 2)) == Decimal("2.68")


def test_terms_have_the_type_of_their_parts() -> None:
    term = Call("+", (Call("length", (Var("X"),)), Const(1, INT)))
    assert type_of(term, {"X": STRING}) == INT
    assert type_of(term, {"X": INT}) is None
    assert type_of(term, {}) is None
    assert fallible(term)
    assert not fallible(Call("lower", (Var("X"),)))
