"""Constants of rules: the value and the type of what is written."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from foreset.diagnostics import Diagnostic, Span
from foreset.ir.terms import Const
from foreset.ir.types import BIGINT, DATE, DOUBLE, INT, MAX_PRECISION, TIMESTAMP, TIMESTAMP_NTZ, Type, decimal
from foreset.ir.values import Misfit, canonical, coerce
from foreset.spec import rule_faults

TIMES: dict[str, Type] = {"date": DATE, "timestamp": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ}
_NUMBER = re.compile(r"([0-9]+)(\.([0-9]+))?([eE][-+]?[0-9]+)?", re.ASCII)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_ESCAPED = re.compile(r"""\\(.)|''|\"\"""", re.DOTALL)


def number(text: str, span: Span) -> Const | Diagnostic:
    """`1` an integer, `1.5` a decimal of its own digits, `1e3` a double: as Spark SQL reads them."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return rule_faults.bad_number(text, span)
    if match[4]:
        value = float(text) if len(text) < 400 else math.inf
        return rule_faults.number_too_large(text, span) if math.isinf(value) else Const(value, DOUBLE, span)
    if match[2] is None:
        return integer(int(text), span) if len(text) <= 100 else rule_faults.number_too_large(text, span)
    scale = len(match[3])
    precision = max(len(match[1].lstrip("0")) + scale, scale)
    if precision > MAX_PRECISION:
        return rule_faults.number_too_large(text, span)
    return Const(Decimal(text), decimal(precision, scale), span)


def integer(value: int, span: Span | None) -> Const | Diagnostic:
    """The smallest of int, bigint and decimal that holds `value`."""
    if -(1 << 31) <= value < 1 << 31:
        return Const(value, INT, span)
    if -(1 << 63) <= value < 1 << 63:
        return Const(value, BIGINT, span)
    digits = len(str(abs(value)))
    if digits > MAX_PRECISION:
        assert span is not None
        return rule_faults.number_too_large(str(value), span)
    return Const(Decimal(value), decimal(digits, 0), span)


def negated(const: Const, span: Span) -> Const | Diagnostic | None:
    """`const`, a number, with a minus before it; None where it is no number."""
    match const.value:
        case bool():
            return None
        case int():
            return integer(-const.value, span)
        case Decimal() if const.type.scale == 0:
            return integer(-int(const.value), span)
        case Decimal():
            return Const(canonical(const.value.copy_negate(), const.type), const.type, span)
        case float():
            return Const(canonical(-const.value, const.type), const.type, span)
        case _:
            return None


def text_value(raw: str) -> tuple[str, int]:
    """What a quoted text says, and the index in `raw` of its first unknown escape (-1: none)."""
    inner, quote = raw[1:-1], raw[0]
    if "\\" not in inner and quote not in inner:
        return inner, -1
    bad = -1

    def plain(match: re.Match[str]) -> str:
        nonlocal bad
        if match[1] is None:
            return quote if match[0][0] == quote else match[0]
        if match[1] not in _ESCAPES and bad < 0:
            bad = match.start() + 1
        return _ESCAPES.get(match[1], match[1])

    return _ESCAPED.sub(plain, inner), bad


def moment(function: str, text: str, span: Span) -> Const | Diagnostic:
    """`date("...")` and its kin with a constant: read here, so that a slip is seen here."""
    kind = TIMES[function]
    try:
        return Const(coerce(text.strip(), kind), kind, span)
    except (Misfit, OverflowError):
        return rule_faults.bad_moment(function, text, span)
