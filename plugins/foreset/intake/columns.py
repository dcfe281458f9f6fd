"""What becomes of each column: its name and type in the table, and how its values get there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.diagnostics import did_you_mean
from foreset.errors import SourceError, UsageError
from foreset.intake.casts import cast, says
from foreset.intake.csv_files import ROWS
from foreset.intake.infer import UTC, Found, Look
from foreset.intake.names import plain_name, plain_names
from foreset.ir.types import TIMESTAMP, TYPE_NAMES, Type, parse_type
from foreset.store.quoting import quoted

if TYPE_CHECKING:
    import duckdb

TYPED = "typed"  # the name of the rows as the table will have them
_PARTS = re.compile(r",(?![^(<]*[)>])")


@dataclass(frozen=True, slots=True)
class Planned:
    """A column of the table, from one of the files."""

    name: str
    type: Type
    found: Found
    value: str  # SQL over the rows of the files
    exact: str = ""  # SQL: that nothing is lost, where that is not known yet
    note: str = ""


def wanted_types(text: str) -> dict[str, Type]:
    """`--columns id:bigint,price:decimal(10,2)`."""
    found = {}
    for part in filter(None, map(str.strip, _PARTS.split(text))):
        name, colon, kind = part.rpartition(":")
        known = parse_type(kind)
        if not colon or not name.strip():
            raise UsageError(f"--columns: `{part}` has no type", "write `name:type`, such as `zip:string,born:date`")
        if known is None:
            hint = did_you_mean(kind.strip(), TYPE_NAMES, f"types are: {', '.join(TYPE_NAMES)}")
            raise UsageError(f"--columns: there is no type `{kind.strip()}`", hint)
        found[name.strip()] = known
    return found


def plan(look: Look, wanted: Mapping[str, Type], there: Mapping[str, Type]) -> tuple[Planned, ...]:
    """The columns of the table; `there` are those of the table whose rows stay."""
    names = plain_names(one.name for one in look.columns)
    if there:
        by_name = {key: name for name in there for key in (plain_name(name), name.lower())}
        names = [
            by_name.get(one.name.lower(), by_name.get(name, name))
            for one, name in zip(look.columns, names, strict=True)
        ]
        _same_columns(names, there)
    types = {chosen(one, names, look): kind for one, kind in wanted.items()}
    found = []
    for name, one in zip(names, look.columns, strict=True):
        kind = there.get(name) or types.get(name, one.type)
        if there and types.get(name, kind) != kind:
            raise UsageError(f"--columns: `{name}` is {kind} in the table", "leave it out, or use --replace")
        found.append(_planned(name, kind, one))
    return tuple(found)


def chosen(text: str, names: Sequence[str], look: Look) -> str:
    """The column that a user means: by its name in the table, or in the files."""
    for name, one in zip(names, look.columns, strict=True):
        if text in (name, one.name):
            return name
    raise UsageError(f"there is no column `{text}`", did_you_mean(text, names, f"columns are: {', '.join(names)}"))


def _same_columns(names: Sequence[str], there: Mapping[str, Type]) -> None:
    new, lost = [name for name in names if name not in there], [name for name in there if name not in names]
    if new or lost:
        parts = [f"the files have {_list(new)} and the table has not"] if new else []
        parts += [f"the table has {_list(lost)} and the files have not"] if lost else []
        raise UsageError("; ".join(parts), "--replace replaces the whole table, its columns too")


def _list(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(f'`{name}`' for name in names)}"


def _planned(name: str, kind: Type, one: Found) -> Planned:
    if kind == one.type and one.value:
        return Planned(name, kind, one, one.value, one.exact, one.note)
    note = one.note if kind == one.type or (kind == TIMESTAMP and one.note == UTC) else ""
    text = one.text if kind.name == "string" else f"NULLIF({one.text}, '')"  # an empty text says no other value
    return Planned(name, kind, one, cast(kind, text), "" if kind == one.type else says(kind, text), note)


def bind(connection: duckdb.DuckDBPyConnection, columns: Sequence[Planned]) -> None:
    """Make the rows of the table the view `typed`; `SourceError` where a value does not fit."""
    _check_values(connection, columns)
    texts = ", ".join(f"{one.value} AS {quoted(one.name)}" for one in columns)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {TYPED} AS SELECT {texts} FROM {ROWS}")


def _check_values(connection: duckdb.DuckDBPyConnection, columns: Sequence[Planned]) -> None:
    open_ = [one for one in columns if one.exact]
    if not open_:
        return
    bad = [f"{one.found.text} <> '' AND NOT coalesce({one.exact}, false)" for one in open_]
    asked = [fact for text, one in zip(bad, open_, strict=True)
             for fact in (f"count_if({text})", f"min({one.found.text}) FILTER (WHERE {text})")]  # fmt: skip
    (row,) = connection.execute(f"SELECT {', '.join(asked)} FROM {ROWS}").fetchall()
    faults = [(one, row[2 * i], row[2 * i + 1]) for i, one in enumerate(open_) if row[2 * i]]
    if faults:
        one, count, example = faults[0]
        also = f" (and so with {_list([other.name for other, _, _ in faults[1:]])})" if faults[1:] else ""
        rows = f"{count:,} value{'s' * (count != 1)}"
        raise SourceError(
            f"column `{one.name}` should be {one.type}, but {rows} cannot be that exactly, such as {example!r}{also}",
            f"correct the file, or give a type that fits, such as `--columns {one.name}:string`",
        )
