"""Bodies that hold for no data at all, as their constants show.

Only what is certain: values of one exact type, compared with each other. NaN and its order
stay out, and so does arithmetic.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from foreset.ir.rules import Comparison, Let, Literal, Rule
from foreset.ir.terms import Const, Term, Var
from foreset.ir.text import print_literal

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_NEVER_OF_ITSELF = ("!=", "<", ">")
_EXACT = (int, str, Decimal, dt.date)


def contradiction(rule: Rule) -> str:
    """Why no data can satisfy the body of a typed rule; empty when nothing shows."""
    limits: dict[str, list[tuple[str, Any, Literal]]] = {}
    for literal in rule.body:
        for op, left, right in _relations(literal):
            if isinstance(left, Var) and left == right and op in _NEVER_OF_ITSELF:
                return f"`{print_literal(literal)}` is never true"
            if isinstance(left, Const) and isinstance(right, Const):
                if _comparable(left, right) and not _holds(op, left.value, right.value):
                    return f"`{print_literal(literal)}` is never true"
            elif isinstance(left, Var) and isinstance(right, Const) and isinstance(right.value, _EXACT):
                known = limits.setdefault(left.name, [])
                for other_op, other, earlier in known:
                    if type(other) is type(right.value) and _exclude(op, right.value, other_op, other):
                        return f"`{print_literal(earlier)}` and `{print_literal(literal)}` exclude each other"
                known.append((op, right.value, literal))
    return ""


def _relations(literal: Literal) -> Iterator[tuple[str, Term, Term]]:
    match literal:
        case Comparison(op=op, left=left, right=right):
            yield (_TURNED[op], right, left) if isinstance(left, Const) else (op, left, right)
        case Let(var=var, term=term):
            yield "=", var, term
        case _:
            return


def _comparable(left: Const, right: Const) -> bool:
    return type(left.value) is type(right.value) and isinstance(left.value, _EXACT)


def _holds(op: str, a: Any, b: Any) -> bool:  # noqa: ANN401 - two values of one type
    match op:
        case "=":
            return bool(a == b)
        case "!=":
            return bool(a != b)
        case "<" | "<=":
            return bool(a < b) or (op == "<=" and a == b)
        case _:
            return bool(a > b) or (op == ">=" and a == b)


def _exclude(op: str, value: Any, other_op: str, other: Any) -> bool:  # noqa: ANN401 - two values of one type
    """No value satisfies both `X op value` and `X other_op other`."""
    if op == "=":
        return not _holds(other_op, value, other)
    if other_op == "=":
        return not _holds(op, other, value)
    if op[0] == other_op[0] or "!=" in (op, other_op):
        return False
    low, high = (value, other) if op[0] == ">" else (other, value)
    return bool(low > high) or (low == high and not (op.endswith("=") and other_op.endswith("=")))
