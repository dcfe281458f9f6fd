"""The type of each column, from all of its values: a type is taken only where it says every value exactly.

A text that begins with a zero, as a postal code, is no number. Numbers with a fraction are decimals, so that money
adds up. Whole numbers are `bigint` and decimals have room to grow, so that the files of tomorrow fit too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreset.intake.casts import DAY, TIME, ZONE, matches, says
from foreset.intake.csv_files import ROWS
from foreset.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    Type,
    array,
    decimal,
    parse_type,
)
from foreset.store.quoting import quoted

if TYPE_CHECKING:
    import duckdb

ROOMY = 18  # digits of a decimal, at least
EXACT = 15  # digits that a number of a JSON file has when DuckDB is through with it
_WHOLE = "-?(0|[1-9][0-9]*)"
_FRACTION = r"(\.[0-9]+)?"
_SCIENTIFIC = r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_WIDER = {"UTINYINT": SMALLINT, "USMALLINT": INT, "UINTEGER": BIGINT, "UBIGINT": decimal(20, 0),
          "HUGEINT": decimal(38, 0)}  # fmt: skip
_OWN = {"BOOLEAN": "boolean", "TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint",
        "FLOAT": "float", "DOUBLE": "double", "VARCHAR": "string", "BLOB": "binary", "DATE": "date"}  # fmt: skip
UTC = "read as UTC"


@dataclass(frozen=True, slots=True)
class Found:
    """A column of the files: the text of its values, and the type that fits them all."""

    name: str  # as the files have it
    type: Type
    text: str  # SQL: a value as text; NULL where there is none
    value: str = ""  # SQL: a value in `type`, where that is not by way of text
    exact: str = ""  # SQL: that `value` loses nothing
    note: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What all rows of the files are like."""

    rows: int
    columns: tuple[Found, ...]


def look(connection: duckdb.DuckDBPyConnection, format_: str) -> Look:
    """Read the rows once, and say what they hold."""
    rows = connection.table(ROWS)
    pairs = list(zip(rows.columns, map(str, rows.types), strict=True))
    if format_ == "parquet":
        count = _one(connection, f"SELECT count(*) FROM {ROWS}")[0]
        return Look(count, tuple(_typed(name, kind) for name, kind in pairs))
    texts = [_json_text(name) if format_ == "json" else quoted(name) for name, _ in pairs]
    filled = texts if format_ == "json" else [f"NULLIF({text}, '')" for text in texts]
    asked = [fact for i, value in enumerate(filled) for fact in _facts(value, quoted(pairs[i][0]), format_)]
    counts = list(_one(connection, f"SELECT count(*), {', '.join(asked)} FROM {ROWS}"))
    count, width, columns = counts.pop(0), len(asked) // len(pairs), []
    for i, (name, _) in enumerate(pairs):
        facts = _Facts(*(fact or 0 for fact in counts[i * width : (i + 1) * width]))
        kind, note = _of_json(facts) if format_ == "json" else _of_text(facts)
        columns.append(Found(name, kind, texts[i], note=note))
    return Look(count, tuple(columns))


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    (row,) = connection.execute(query).fetchall()
    return tuple(row)


# ---------------------------------------------------------------- texts
@dataclass(frozen=True, slots=True)
class _Facts:
    filled: int
    booleans: int
    wholes: int
    bigints: int
    decimals: int
    whole_digits: int
    scale: int
    doubles: int
    dates: int
    times: int
    zoned: int
    strings: int  # of JSON: values that stand in quotes
    nested: int  # of JSON: lists and objects


def _facts(value: str, column: str, format_: str) -> tuple[str, ...]:
    """In the order of the fields above."""
    kinds = ("'VARCHAR'", "'OBJECT', 'ARRAY'") if format_ == "json" else ()
    of_json = tuple(f"count_if(json_type({column}) IN ({kind}))" for kind in kinds) or ("0", "0")
    return (
        f"count({value})",
        f"count_if({says(BOOLEAN, value)})",
        f"count_if({matches(value, _WHOLE)})",
        f"count_if({matches(value, _WHOLE)} AND TRY_CAST({value} AS BIGINT) IS NOT NULL)",
        f"count_if({matches(value, _WHOLE + _FRACTION)})",
        f"max(length(regexp_extract({value}, '^-?([0-9]*)', 1)))",
        rf"max(length(regexp_extract({value}, '\.([0-9]+)$', 1)))",
        f"count_if({matches(value, _SCIENTIFIC)} AND TRY_CAST({value} AS DOUBLE) IS NOT NULL)",
        f"count_if({matches(value, DAY)} AND TRY_CAST({value} AS DATE) IS NOT NULL)",
        f"count_if({matches(value, TIME)} AND TRY_CAST({value} AS TIMESTAMP) IS NOT NULL)",
        f"count_if({matches(value, TIME + ZONE)} AND TRY_CAST({value} AS TIMESTAMPTZ) IS NOT NULL)",
        *of_json,
    )


def _of_text(facts: _Facts) -> tuple[Type, str]:
    if not facts.filled:
        return STRING, "no value in any row"
    if facts.booleans == facts.filled:
        return BOOLEAN, ""
    return _number(facts, most=38) or _time(facts) or (STRING, "")


def _of_json(facts: _Facts) -> tuple[Type, str]:
    if not facts.filled:
        return STRING, "no value in any row"
    if facts.nested:
        return STRING, "lists and objects are kept as JSON text"
    if facts.strings == facts.filled:
        return _time(facts) or (STRING, "")
    if facts.strings:
        return STRING, "numbers and texts are mixed"
    if facts.booleans == facts.filled:
        return BOOLEAN, ""
    return _number(facts, most=EXACT) or (STRING, "numbers and booleans are mixed")


def _number(facts: _Facts, most: int) -> tuple[Type, str] | None:
    if facts.bigints == facts.filled:
        return BIGINT, ""
    digits, scale = facts.whole_digits + facts.scale, facts.scale
    if facts.decimals == facts.filled and digits <= (38 if facts.wholes == facts.filled else most):
        return decimal(max(digits, ROOMY), scale), ""
    return (DOUBLE, "") if facts.doubles == facts.filled else None


def _time(facts: _Facts) -> tuple[Type, str] | None:
    if facts.dates == facts.filled:
        return DATE, ""
    if facts.times == facts.filled:
        return TIMESTAMP, UTC
    return (TIMESTAMP, "") if facts.zoned == facts.filled else None


def _json_text(name: str) -> str:
    column = quoted(name)
    return f"CASE json_type({column}) WHEN 'VARCHAR' THEN {column}->>'$' ELSE CAST({column} AS VARCHAR) END"


# ---------------------------------------------------------------- files that have types
def _typed(name: str, kind: str) -> Found:
    column = quoted(name)
    text = f"CAST({column} AS VARCHAR)"
    known = _known(kind)
    if known is not None:
        return Found(name, known, text, column)
    if kind == "TIMESTAMP WITH TIME ZONE":
        return Found(name, TIMESTAMP, text, f"CAST({column} AS TIMESTAMP)")
    if kind.startswith("TIMESTAMP"):
        exact = f"CAST(CAST({column} AS TIMESTAMP) AS TIMESTAMP_NS) = {column}" if kind.endswith("_NS") else ""
        return Found(name, TIMESTAMP, text, f"CAST({column} AS TIMESTAMP)", exact, UTC)
    if kind.startswith(("STRUCT", "MAP")) or kind.endswith("]"):
        return Found(name, STRING, f"CAST(to_json({column}) AS VARCHAR)", note="nested, kept as JSON text")
    return Found(name, STRING, text)


def _known(kind: str) -> Type | None:
    if kind.endswith("[]"):
        element = _known(kind[:-2])
        return array(element) if element else None
    if kind in _WIDER:
        return _WIDER[kind]
    if re.fullmatch(r"DECIMAL\(\d+,\s?\d+\)", kind):
        return parse_type(kind)
    return parse_type(_OWN[kind]) if kind in _OWN else None
