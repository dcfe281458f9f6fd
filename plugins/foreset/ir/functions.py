"""The functions and operators that rules may call, and the type of what they give.

The list is short on purpose: a function is here only if plain Python and Spark can be
made to agree on every value (values/functions.py, backends/spark/functions.py; the grid in
tests/spark/test_functions.py holds them to it). Result types are Spark 4.1's in ANSI mode.

Operators are calls named `+ - * / %` and `neg`. A call of a function that is not here,
or on types that it does not take, has no type: `analyse` says so to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    as_decimal,
    bounded_decimal,
    decimal,
    fits,
    widen,
)


@dataclass(frozen=True, slots=True)
class Argument:
    """What typing knows of an argument; `constant` is its value where it is written as one."""

    type: Type
    constant: Value = None


Arguments = tuple[Argument, ...]
Result = Callable[[Arguments], Type | None]


@dataclass(frozen=True, slots=True)
class Signature:
    """One function: `result` gives None for arguments that it does not take."""

    name: str
    least: int
    most: int | None  # None: any number
    result: Result
    doc: str
    fallible: bool = False  # it can stop a refresh: readers evaluate it as late as they can
    predicate: bool = False  # it may stand alone as a literal
    null_propagating: bool = True  # NULL in, NULL out

    @property
    def arity(self) -> tuple[int, int | None]:
        """The least and the greatest number of arguments."""
        return self.least, self.most

    def accepts(self, count: int) -> bool:
        """True when `count` arguments are neither too few nor too many."""
        return self.least <= count and (self.most is None or count <= self.most)


OPERATORS = ("+", "-", "*", "/", "%", "neg")
MAX_DOUBLE_SCALE = 15  # digits that a double can keep behind the point


# ---------------------------------------------------------------- kinds of arguments
Kind = Callable[[Type], bool]


def _number(kind: Type) -> bool:
    return kind.is_numeric


def _exact(kind: Type) -> bool:
    return kind.is_integral or kind.name == "decimal"


def _fractional(kind: Type) -> bool:
    return kind.is_fractional


def _whole(kind: Type) -> bool:
    return kind.is_integral


def _text(kind: Type) -> bool:
    return kind == STRING


def _int(kind: Type) -> bool:
    return fits(kind, INT)


def _date(kind: Type) -> bool:
    return kind == DATE


def _day(kind: Type) -> bool:
    return kind.is_temporal


def _moment(kind: Type) -> bool:
    return kind in (TIMESTAMP, TIMESTAMP_NTZ)


def _any(kind: Type) -> bool:
    return bool(kind.name)


def _gives(result: Type, *kinds: Kind) -> Result:
    """`result` whenever each argument is of its kind (the last kind repeats)."""

    def typed(args: Arguments) -> Type | None:
        padded = (*kinds, *(kinds[-1:] * (len(args) - len(kinds))))
        return result if all(kind(arg.type) for kind, arg in zip(padded, args, strict=False)) else None

    return typed


def _same(kind: Kind) -> Result:
    """The type of the only argument, if it is of `kind`."""
    return lambda args: args[0].type if kind(args[0].type) else None


def _common(args: Arguments) -> Type | None:
    """The widest of the arguments, if they mix."""

    common: Type | None = args[0].type
    for arg in args[1:]:
        common = widen(common, arg.type) if common else None
    return common


def _ordered(args: Arguments) -> Type | None:
    common = _common(args)
    return None if common is None or common.element else common


# ---------------------------------------------------------------- arithmetic
def _arithmetic(of_decimals: Callable[[Type, Type], Type], of_integers: Callable[[Type, Type], Type | None]) -> Result:
    """Integers by `of_integers`, decimals by `of_decimals`; with a binary fraction it is one too."""

    def typed(args: Arguments) -> Type | None:
        left, right = args[0].type, args[1].type
        if not (left.is_numeric and right.is_numeric):
            return None
        if left.is_integral and right.is_integral:
            return of_integers(left, right)
        if left.is_fractional or right.is_fractional:
            return FLOAT if left == right == FLOAT else DOUBLE
        return of_decimals(as_decimal(left), as_decimal(right))

    return typed


def _sum(a: Type, b: Type) -> Type:
    scale = max(a.scale, b.scale)
    return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def _product(a: Type, b: Type) -> Type:
    return bounded_decimal(a.precision + b.precision + 1, a.scale + b.scale)


def _quotient(a: Type, b: Type) -> Type:
    scale = max(6, a.scale + b.precision + 1)
    return bounded_decimal(a.precision - a.scale + b.scale + scale, scale)


def _remainder(a: Type, b: Type) -> Type:
    scale = max(a.scale, b.scale)
    return bounded_decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def _divided(args: Arguments) -> Type | None:
    typed = _arithmetic(_quotient, lambda _a, _b: DOUBLE)(args)
    return DOUBLE if typed == FLOAT else typed


def _floored(args: Arguments) -> Type | None:
    kind = args[0].type
    if kind.name == "decimal":
        return bounded_decimal(kind.precision - kind.scale + 1, 0)
    return BIGINT if kind.is_numeric else None


def _rounded(args: Arguments) -> Type | None:
    kind, digits = args[0].type, args[1].constant if len(args) > 1 else 0
    if not isinstance(digits, int) or isinstance(digits, bool) or digits < 0:
        return None
    if kind.name == "decimal":
        scale = min(digits, kind.scale)
        return decimal(min(kind.precision - kind.scale + 1 + scale, MAX_PRECISION), scale)
    return DOUBLE if kind.is_fractional and digits <= MAX_DOUBLE_SCALE else None


# ---------------------------------------------------------------- casts
def _to_integral(kind: Type) -> bool:
    return kind.is_numeric or kind in (BOOLEAN, STRING)


def _to_boolean(kind: Type) -> bool:
    return kind.is_integral or kind in (BOOLEAN, STRING)


def _to_text(kind: Type) -> bool:
    return _exact(kind) or kind.is_temporal or kind in (BOOLEAN, STRING)


def _to_time(kind: Type) -> bool:
    return kind.is_temporal or kind == STRING


def _to_fraction(kind: Type) -> bool:
    return kind.is_numeric or kind == STRING


def _to_decimal(args: Arguments) -> Type | None:
    kind, (precision, scale) = args[0].type, (arg.constant for arg in args[1:])
    if not (isinstance(precision, int) and isinstance(scale, int)) or not 0 <= scale <= precision <= MAX_PRECISION:
        return None
    if not precision or not _to_fraction(kind) or (kind.is_fractional and scale > MAX_DOUBLE_SCALE):
        return None
    return decimal(precision, scale)


# ---------------------------------------------------------------- the list
def _table(signatures: Iterable[Signature]) -> dict[str, Signature]:
    return {signature.name: signature for signature in signatures}


_NUMBERS = (
    Signature("+", 2, 2, _arithmetic(_sum, widen), "the sum of two numbers", fallible=True),
    Signature("-", 2, 2, _arithmetic(_sum, widen), "the difference of two numbers", fallible=True),
    Signature("*", 2, 2, _arithmetic(_product, widen), "the product of two numbers", fallible=True),
    Signature("/", 2, 2, _divided, "the quotient of two numbers; of integers it is a double", fallible=True),
    Signature("%", 2, 2, _arithmetic(_remainder, widen), "the remainder, with the sign of the first", fallible=True),
    Signature("neg", 1, 1, _same(_number), "minus a number", fallible=True),
    Signature("div", 2, 2, _gives(BIGINT, _whole), "div(A, B): whole division, towards zero", fallible=True),
    Signature("abs", 1, 1, _same(_number), "abs(X): a number without its sign", fallible=True),
    Signature("sign", 1, 1, _gives(INT, _exact), "sign(X): -1, 0 or 1, of an integer or a decimal"),
    Signature("round", 1, 2, _rounded, "round(X[, n]): half up to n digits, n a constant; of a decimal or a double"),
    Signature("floor", 1, 1, _floored, "floor(X): the greatest whole number not above X", fallible=True),
    Signature("ceil", 1, 1, _floored, "ceil(X): the least whole number not below X", fallible=True),
    Signature("sqrt", 1, 1, _gives(DOUBLE, _number), "sqrt(X): the square root, NaN below zero"),
    Signature("is_nan", 1, 1, _gives(BOOLEAN, _fractional), "is_nan(X): X is not a number", predicate=True),
)  # fmt: skip

_CHOICE = (
    Signature("least", 2, None, _ordered, "least(A, B, ...): the least that is not NULL", null_propagating=False),
    Signature("greatest", 2, None, _ordered, "greatest(A, B, ...): the greatest that is not NULL",
              null_propagating=False),
    Signature("coalesce", 1, None, _common, "coalesce(A, B, ...): the first that is not NULL", null_propagating=False),
    Signature("is_null", 1, 1, _gives(BOOLEAN, _any), "is_null(X): X is NULL", predicate=True, null_propagating=False),
)  # fmt: skip

_TEXTS = (
    Signature("lower", 1, 1, _gives(STRING, _text), "lower(text): in small letters"),
    Signature("upper", 1, 1, _gives(STRING, _text), "upper(text): in capitals"),
    Signature("length", 1, 1, _gives(INT, _text), "length(text): its number of characters"),
    Signature("concat", 1, None, _gives(STRING, _text), "concat(text, ...): one after the other"),
    Signature("substr", 2, 3, _gives(STRING, _text, _int), "substr(text, from[, length]): the first is 1, the last -1"),
    Signature("trim", 1, 1, _gives(STRING, _text), "trim(text): without spaces at both ends"),
    Signature("ltrim", 1, 1, _gives(STRING, _text), "ltrim(text): without spaces at the start"),
    Signature("rtrim", 1, 1, _gives(STRING, _text), "rtrim(text): without spaces at the end"),
    Signature("replace", 3, 3, _gives(STRING, _text), "replace(text, what, by): every occurrence"),
    Signature("split_part", 3, 3, _gives(STRING, _text, _text, _int),
              "split_part(text, by, n): the nth part, from the end if negative", fallible=True),
    Signature("lpad", 3, 3, _gives(STRING, _text, _int, _text), "lpad(text, length, with): filled up or cut to length"),
    Signature("rpad", 3, 3, _gives(STRING, _text, _int, _text), "rpad(text, length, with): filled up or cut to length"),
    Signature("starts_with", 2, 2, _gives(BOOLEAN, _text), "starts_with(text, prefix)", predicate=True),
    Signature("ends_with", 2, 2, _gives(BOOLEAN, _text), "ends_with(text, suffix)", predicate=True),
    Signature("contains", 2, 2, _gives(BOOLEAN, _text), "contains(text, part)", predicate=True),
)  # fmt: skip

_TIMES = (
    Signature("year", 1, 1, _gives(INT, _day), "year(date or timestamp)"),
    Signature("month", 1, 1, _gives(INT, _day), "month(date or timestamp): 1 to 12"),
    Signature("day", 1, 1, _gives(INT, _day), "day(date or timestamp): 1 to 31"),
    Signature("day_of_week", 1, 1, _gives(INT, _day), "day_of_week(date or timestamp): 1 is Sunday, 7 is Saturday"),
    Signature("hour", 1, 1, _gives(INT, _moment), "hour(timestamp), in UTC"),
    Signature("minute", 1, 1, _gives(INT, _moment), "minute(timestamp)"),
    Signature("second", 1, 1, _gives(INT, _moment), "second(timestamp)"),
    Signature("add_days", 2, 2, _gives(DATE, _date, _int), "add_days(date, n)", fallible=True),
    Signature("add_months", 2, 2, _gives(DATE, _date, _int), "add_months(date, n)", fallible=True),
    Signature("days_between", 2, 2, _gives(INT, _date), "days_between(from, to): negative if `to` is earlier"),
    Signature("trunc_week", 1, 1, _gives(DATE, _date), "trunc_week(date): the Monday on or before it"),
    Signature("trunc_month", 1, 1, _gives(DATE, _date), "trunc_month(date): the first day of its month"),
    Signature("trunc_year", 1, 1, _gives(DATE, _date), "trunc_year(date): the first day of its year"),
    Signature("last_day", 1, 1, _gives(DATE, _date), "last_day(date): the last day of its month"),
)  # fmt: skip

_CASTS = (
    *(Signature(kind.name, 1, 1, _gives(kind, _to_integral), f"{kind}(X): towards zero, from a number, boolean or text",
                fallible=True) for kind in (TINYINT, SMALLINT, INT, BIGINT)),
    *(Signature(kind.name, 1, 1, _gives(kind, _to_fraction), f"{kind}(X): from a number or text", fallible=True)
      for kind in (FLOAT, DOUBLE)),
    Signature("decimal", 3, 3, _to_decimal, "decimal(X, p, s): p digits, s of them behind the point, half up; "
              "p and s are constants", fallible=True),
    Signature("boolean", 1, 1, _gives(BOOLEAN, _to_boolean), "boolean(X): from an integer or text", fallible=True),
    Signature("string", 1, 1, _gives(STRING, _to_text), "string(X): from an integer, decimal, boolean or time"),
    Signature("date", 1, 1, _gives(DATE, _to_time), "date(X): from a timestamp, or text as 2026-11-18", fallible=True),
    *(Signature(kind.name, 1, 1, _gives(kind, _to_time), f"{kind}(X): from a date, or text as 2026-11-18 20:15:00",
                fallible=True) for kind in (TIMESTAMP, TIMESTAMP_NTZ)),
)  # fmt: skip

FUNCTIONS: dict[str, Signature] = _table((*_NUMBERS, *_CHOICE, *_TEXTS, *_TIMES, *_CASTS))


# ---------------------------------------------------------------- conditions as values
# What no rule can write: conditions inside of conditions, made by rewrite for edits.
ALL = "&"  # true where all of its arguments are; a NULL is not true
COMPARING = {op: f"{op}?" for op in ("=", "!=", "<", "<=", ">", ">=")}


def _comparable(args: Arguments) -> Type | None:
    return BOOLEAN if widen(args[0].type, args[1].type) else None


INTERNAL: dict[str, Signature] = _table((
    Signature(ALL, 1, None, _gives(BOOLEAN, lambda kind: kind == BOOLEAN), "all of them", predicate=True,
              null_propagating=False),
    *(Signature(name, 2, 2, _comparable, "a comparison") for name in COMPARING.values()),
))  # fmt: skip
SIGNATURES = {**FUNCTIONS, **INTERNAL}


# ---------------------------------------------------------------- terms
def type_of(term: Term, types: Mapping[str, Type]) -> Type | None:
    """The type of `term` where `types` gives those of its variables; None when it has none."""
    match term:
        case Var(name=name):
            return types.get(name)
        case Const(type=kind):
            return kind
        case Call(function=function, args=args):
            return result_of(function, tuple(argument_of(arg, types) for arg in args))


def argument_of(term: Term, types: Mapping[str, Type]) -> Argument | None:
    """What typing knows of `term` as an argument; None when it has no type."""
    kind = type_of(term, types)
    return None if kind is None else Argument(kind, term.value if isinstance(term, Const) else None)


def result_of(function: str, args: tuple[Argument | None, ...]) -> Type | None:
    """The type of a call; None when the function, their number or their types are wrong."""
    signature = SIGNATURES.get(function)
    known = tuple(arg for arg in args if arg is not None)
    if signature is None or not signature.accepts(len(args)) or len(known) < len(args):
        return None
    return signature.result(known)


def fallible(term: Term) -> bool:
    """True when evaluating `term` can stop a refresh."""
    match term:
        case Call(function=function, args=args):
            signature = SIGNATURES.get(function)  # one that there is not is told of by analysis, later
            return signature is None or signature.fallible or any(fallible(arg) for arg in args)
        case _:
            return False
