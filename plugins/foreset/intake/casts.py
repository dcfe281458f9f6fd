"""Texts as values of a type: which texts say a value exactly, and that value. All words are ours or numbers."""

from __future__ import annotations

from foreset.ir.types import Type
from foreset.store.types import duck_type

DAY = r"\d{4}-\d{2}-\d{2}"
TIME = DAY + r"[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6}0*)?)?"
ZONE = r" ?(Z|[-+]\d{2}(:?\d{2})?)"
WHOLE = "[-+]?[0-9]+"


def matches(value: str, pattern: str) -> str:
    """That a text has this form from end to end."""
    return f"regexp_full_match({value}, '{pattern}')"


def says(kind: Type, value: str) -> str:
    """That a text says a value of the type, and nothing is lost."""
    can = f"TRY_CAST({value} AS {duck_type(kind)}) IS NOT NULL"
    if kind.name in ("string", "binary"):
        return "true"
    if kind.name == "boolean":
        return f"lower({value}) IN ('true', 'false')"
    if kind.element is not None:
        return f"TRY_CAST(TRY_CAST({value} AS JSON) AS {duck_type(kind)}) IS NOT NULL"
    form = _form(kind)
    found = f"({matches(value, form)} AND {can})" if form else can
    if kind.name == "timestamp":
        return f"({found} OR ({matches(value, TIME + ZONE)} AND TRY_CAST({value} AS TIMESTAMPTZ) IS NOT NULL))"
    return found


def _form(kind: Type) -> str:
    """What a text of the type looks like; empty where the cast alone decides."""
    if kind.is_integral:
        return WHOLE
    if kind.name == "decimal":
        return WHOLE + rf"(\.[0-9]{{0,{kind.scale}}}0*)?"
    return {"date": DAY, "timestamp": TIME, "timestamp_ntz": TIME}.get(kind.name, "")


def cast(kind: Type, value: str) -> str:
    """The value that a text says; timestamps are UTC without a zone."""
    if kind.name == "string":
        return value
    if kind.name == "binary":
        return f"encode({value})"
    if kind.name == "timestamp":
        zoned = f"CAST(CAST({value} AS TIMESTAMPTZ) AS TIMESTAMP)"
        return f"CASE WHEN {matches(value, TIME)} THEN CAST({value} AS TIMESTAMP) ELSE {zoned} END"
    if kind.element is not None:
        return f"CAST(CAST({value} AS JSON) AS {duck_type(kind)})"
    return f"CAST({value} AS {duck_type(kind)})"
