"""Providers that come with Foreset: Python functions, files and tables, sqlite, Spark's readers, HTTP.

Table-like providers answer `function(args) -> results` from the rows whose columns named as the arguments have
their values: the arguments are pushed to the source.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreset.domains.http import HttpRefused, get_json
from foreset.domains.provider import Access, Answer, DomainFailed, Given, Provider, one_by_one
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.ir.types import INT
from foreset.store.quoting import quoted, ticked
from foreset.store.scratch import opened
from foreset.store.spark_values import collected, literal, without_zone
from foreset.store.types import duck_type

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import DataFrame

_BATCH = 200  # arguments in one query


@dataclass(frozen=True)
class PythonDomain:
    """Python functions by name; each takes the arguments and returns rows."""

    functions: Mapping[str, Callable[..., Answer]]

    def answer(self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access) -> Given:
        """Call by call: a package that has batches of its own registers a provider of its own."""
        del access
        called = self.functions.get(function.name)
        if called is None:
            raise DomainFailed(f"provider `{domain.provider}` has no function `{function.name}`", "declare what it has")
        return one_by_one(domain, function, arguments, lambda args: called(*args))


class Files:
    """Parquet, CSV, JSON and Delta tables below the warehouse, by DuckDB: `options: {format: ..., path: ...}`."""

    def answer(
        self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access
    ) -> Mapping[Row, Answer]:
        """One query for the batch."""
        import pyarrow as pa

        options = domain.options_of(function)
        with closing(opened()) as connection:
            source = _relation(connection, options, access)
            keys = pa.table({f"k{i}": [row[i] for row in arguments] for i in range(len(function.args))} or {"k": [0]})
            connection.register("wanted", keys)
            connection.register("source", source)
            chosen = [f"w.k{i}" for i in range(len(function.args))] + [_cast(c) for c in function.results]
            on = [f"w.k{i} = {_cast(c)}" for i, c in enumerate(function.args)]
            query = f"SELECT {', '.join(chosen) or '1'} FROM wanted w JOIN source s ON {' AND '.join(on) or 'true'}"  # noqa: S608
            return _by_arguments(connection.sql(query).fetchall(), len(function.args))


def _relation(connection: duckdb.DuckDBPyConnection, options: Mapping[str, str], access: Access) -> object:
    path = inside(access.root, options.get("path", ""))
    match options.get("format", "parquet"):
        case "parquet":
            return connection.read_parquet(path)
        case "csv":
            return connection.read_csv(path, all_varchar=True)
        case "json":
            return connection.read_json(path)
        case "delta":
            from deltalake import DeltaTable

            return DeltaTable(path).to_pyarrow_dataset()
        case other:
            raise DomainFailed(
                f"format `{other}` is not known", "use parquet, csv, json or delta; for others the `spark` provider"
            )


def _cast(column: Column) -> str:
    """A column in its declared type; a text that names a zone is that instant, as one of a file with types is."""
    name, kind = quoted(column.name), duck_type(column.type)
    if without_zone(column.type) == column.type:
        return f"CAST(s.{name} AS {kind})"
    return f"CAST(CAST(s.{name} AS {kind.replace('TIMESTAMP', 'TIMESTAMPTZ')}) AS {kind})"


def inside(root: str, path: str) -> str:
    """`path` below `root`; DomainFailed where it leaves it."""
    whole, top = Path(root, path).resolve(), Path(root).resolve()
    if not path or not whole.is_relative_to(top) or whole == top:
        raise DomainFailed(
            f"`{path}` is not below the warehouse", "write a path relative to the warehouse, without `..`"
        )
    return str(whole)


class Sqlite:
    """A sqlite file below the warehouse, opened read-only: `options: {path: ..., table: ...}`."""

    def answer(
        self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access
    ) -> Mapping[Row, Answer]:
        """Bound parameters only."""
        options = domain.options_of(function)
        path = Path(inside(access.root, options.get("path", "")))
        columns = ", ".join(quoted(column.name) for column in function.results) or "1"
        where = " AND ".join(f"{quoted(column.name)} = ?" for column in function.args) or "1"
        query = f"SELECT {columns} FROM {quoted(options.get('table', ''))} WHERE {where}"  # noqa: S608 - names are quoted
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return {args: connection.execute(query, [_plain(value) for value in args]).fetchall() for args in arguments}


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | bytes) else str(value)


class SparkReader:
    """Whatever Spark reads below the warehouse, and databases by JDBC with a named connection."""

    def answer(
        self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access
    ) -> Mapping[Row, Answer]:
        """Conditions on the arguments are pushed down by Spark, some hundred at a time."""
        from pyspark.sql import functions as F

        rows = _spark_rows(domain, domain.options_of(function), access)
        keys = [F.col(ticked(c.name)).cast(str(c.type)) for c in function.args]
        chosen = [*keys, *(F.col(ticked(c.name)).cast(str(c.type)) for c in function.results)]
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(arguments), _BATCH):
            batch = [row for row in arguments[start : start + _BATCH] if row]
            each = [
                reduce(and_, (key == literal(v, c.type) for key, v, c in zip(keys, row, function.args, strict=True)))
                for row in batch
            ]
            some = rows.where(reduce(or_, each)) if each else rows
            named = [column.alias(f"c{i}") for i, column in enumerate(chosen)] or [F.lit(1).alias("c0")]
            most = function.max_rows * max(1, len(batch)) + 1  # so one more than all arguments may have together
            found += collected(some.select(*named).limit(most), [c.type for c in function.columns] or [INT])
        return _by_arguments(found, len(function.args))


def _spark_rows(domain: Domain, options: Mapping[str, str], access: Access) -> DataFrame:
    """The source as Spark sees it. Options are few, and none of them is SQL or an address."""
    if access.spark is None:
        raise DomainFailed(f"domain `{domain.name}` needs Spark", "run the refresh with a Spark session")
    kind = options.get("format", "")
    if kind not in _SPARK_FORMATS:
        raise DomainFailed(
            f"format `{kind}` is not known to the `spark` provider", f"known are: {', '.join(_SPARK_FORMATS)}"
        )
    for name in options.keys() - {"format", "path", "table", *_SPARK_OPTIONS}:
        raise DomainFailed(
            f"option `{name}` is not known to the `spark` provider", f"known are: {', '.join(_SPARK_OPTIONS)}"
        )
    reader = access.spark().read.format(kind).options(**{k: v for k, v in options.items() if k in _SPARK_OPTIONS})
    if kind != "jdbc":
        rows: DataFrame = reader.load(inside(access.root, options.get("path", "")))
        return rows
    table = options.get("table", "")
    if not _TABLE.fullmatch(table) or domain.connection is None:
        raise DomainFailed(
            f"domain `{domain.name}` needs `connection:` and `table:`, a plain name", "as in `table: public.people`"
        )
    known = access.connection(domain.connection)
    opened = {"url": known.extra.get("url", ""), "dbtable": table, "user": known.login, "password": known.password}
    answered: DataFrame = reader.options(**opened).load()
    return answered


_TABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_SPARK_FORMATS = ("parquet", "orc", "avro", "csv", "json", "delta", "jdbc")
_SPARK_OPTIONS = ("header", "sep", "multiLine", "dateFormat", "timestampFormat", "encoding", "fetchsize")


class Http:
    """JSON over HTTP: `options: {path: /a/b, items: data.rows}`; arguments go into the query by their names."""

    def answer(self, domain: Domain, function: DomainFunction, arguments: Sequence[Row], access: Access) -> Given:
        """One request for each row of arguments."""
        if domain.connection is None:
            raise DomainFailed(f"domain `{domain.name}` names no connection", "add `connection:` with the name of one")
        connection, options = access.connection(domain.connection), domain.options_of(function)

        def ask(args: Row) -> Answer:
            query = {column.name: _text(value) for column, value in zip(function.args, args, strict=True)}
            try:
                found = get_json(connection, options.get("path", "/"), query, access.http)
            except HttpRefused as refused:
                raise DomainFailed(f"domain `{domain.name}`: {refused}") from None
            return _items(found, function.name, options)

        return one_by_one(domain, function, arguments, ask)


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _items(found: object, function: str, options: Mapping[str, str]) -> Iterable[object]:
    for part in filter(None, options.get("items", "").split(".")):
        found = found.get(part) if isinstance(found, dict) else None
    if not isinstance(found, list):
        raise DomainFailed(
            f"`{function}` did not answer with a list", "say with `items:` where in the answer the list is"
        )
    return found


def _by_arguments(rows: Iterable[tuple[Any, ...]], width: int) -> Mapping[Row, Answer]:
    """Rows that begin with the arguments they answer."""
    found: dict[Row, list[object]] = defaultdict(list)
    for row in rows:
        found[tuple(row[:width])].append(tuple(row[width:]))
    return found


BUILTIN: Mapping[str, Provider] = {"files": Files(), "sqlite": Sqlite(), "spark": SparkReader(), "http": Http()}
