"""Names of columns and tables as engines take them, whatever stands in them."""

from __future__ import annotations


def ticked(name: str) -> str:
    """For Spark: no dot or blank breaks it."""
    return "`" + name.replace("`", "``") + "`"


def quoted(name: str) -> str:
    """For DuckDB, sqlite and delta-rs."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as DuckDB takes it in a statement."""
    return "'" + text.replace("'", "''") + "'"
