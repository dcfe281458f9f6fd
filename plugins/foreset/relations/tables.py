"""Located relations as tables of DuckDB, and as versions for the steps that run there.

Tables of others and states are bound where they lie, and not before somebody asks for them. Differentials are few rows,
and are taken into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.counters import CounterTables
from foreset.backends.duckdb.tables import Near, Part, Table, Tables
from foreset.ir.program import Column
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, parse_type
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.records.strata import StagedFile
from foreset.relations.arrow import view_of
from foreset.relations.bind_files import Stored, bind_arrow, bind_folder, bind_table, signed_parts, stored
from foreset.relations.far import FarRelations
from foreset.relations.located import AtHand, Composed, CountersAt, Folder, Located, SignedAt, SourceAt, by_row
from foreset.relations.staged import stage
from foreset.store import arrow
from foreset.store.clustered import LEADING, MANY_ROWS
from foreset.store.layout import table_path
from foreset.store.types import column_names

EAGER = (Folder, AtHand)  # few rows, or here already: taken in at once
NearBy = Callable[[Located], Callable[[int], Near | None]]  # what others have looked up in a source already


@dataclass(frozen=True, slots=True)
class DuckDBPort:
    """Tables take relations in and give rows out."""

    backend: DuckDBBackend
    near: NearBy | None = None
    far: FarRelations | None = None  # None: this process reads everything

    @property
    def tables(self) -> Tables:
        """What the backend works on."""
        return self.backend.versions

    def put(self, versions: Sequence[Located], reads: Reads) -> None:
        """Nothing is opened before it is asked for, but what came or went in columns that nobody asks for."""
        near = None if reads.building else self.near
        for located in versions:
            make = partial(parts, self.tables, located, distinct=reads.tallying, near=near, far=self.far)
            if located.empty:
                self.tables.put(located.ref)
            elif isinstance(located.place, EAGER):
                self.tables.put(located.ref, *make())
            else:
                self.tables.put_later(located.ref, make)
        if any(located.hidden for located in versions):
            _cancel(self.tables, *(Ref(versions[0].relation, version) for version in (Version.PLUS, Version.MINUS)))

    def count(self, view: str, stored: Located | None) -> None:
        """Entries are looked up by the rows in question."""
        names = column_names(len(self.tables.schemas[view]))
        entries = bound(self.tables, stored, far=self.far) if stored is not None else None

        def lookup(rows: Table) -> Table:
            assert entries is not None
            return self.tables.look(entries, rows, [(name, f"r.{name}", True) for name in names])

        found = lookup if entries is not None and entries.rows else None
        self.backend.counters[view] = CounterTables(self.tables, view, found, single=stored is None)

    def rows(self, ref: Ref, most: int | None = None) -> list[Row]:
        """As canonical values."""
        table = self.tables.whole(ref)
        return self.tables.fetch(table, self.tables.schemas[ref.relation], most)

    def changes(self, view: str) -> Mapping[Row, tuple[int, int]]:
        """As canonical values."""
        change, kinds = self._change(view), (*self.tables.schemas[view], BIGINT, BIGINT)
        return by_row([] if change is None else self.tables.fetch(change, kinds))

    def stage(self, ref: Ref, columns: tuple[Column, ...], path: str, order: Sequence[int] = ()) -> StagedFile:
        """Write a version as a folder of parquet files, in the order of the columns at these places."""
        return self._staged(self.tables.whole(ref), columns, path, order)

    def stage_changes(self, view: str, columns: tuple[Column, ...], path: str, order: Sequence[int] = ()) -> StagedFile:
        """The same for how counters have changed."""
        return self._staged(self._change(view), columns, path, order)

    def _staged(
        self, table: Table | None, columns: tuple[Column, ...], path: str, order: Sequence[int]
    ) -> StagedFile:
        if table is None or not table.rows:
            return StagedFile()
        if table.rows < MANY_ROWS:
            return stage((self.tables.arrow(table),), columns, path)
        leading = [place for place in order if columns[place].type.element is None][:LEADING]
        return stage(self.tables.batches(table, leading), columns, path)

    def _change(self, view: str) -> Table | None:
        return self.backend.counters[view].current() if view in self.backend.counters else None


def parts(
    tables: Tables,
    located: Located,
    *,
    distinct: bool = False,
    near: NearBy | None = None,
    far: FarRelations | None = None,
) -> tuple[Part, ...]:
    """The rows as disjoint parts of a version; `distinct`: a row of which a source has copies stands there once."""
    place = located.place
    match place:
        case None:
            return ()
        case SourceAt():
            table = bound(tables, located, far=far)
            table.bag = distinct and located.key is None
            if near is not None:
                table.near = near(located)
            return (Part(table),)
        case SignedAt() if far is not None and far.keeps(located):
            return (Part(far.table(tables, located, _as_declared(located))),)
        case SignedAt(path, version):
            return signed_parts(tables, located.relation, path, version, _as_declared(located))
        case CountersAt():
            return (Part(bound(tables, located)),)
        case Folder(path):
            return (Part(bind_folder(tables, path, _as_declared(located))),)
        case AtHand(rows):
            kinds = [column.type for column in located.columns]
            return (Part(tables.bring(list(rows), kinds, column_names(len(kinds)))),)
        case Composed(base, less, more):
            return tuple(_composed(tables, base.ref, less.ref, more.ref))
        case _:
            assert_never(place)


def bound(tables: Tables, located: Located, places: Sequence[int] = (), far: FarRelations | None = None) -> Table:
    """What lies in files, bound there: every copy of every row of a source, or the entries of counters.

    Of the columns at `places` alone, if there are any; what is large stays `far`.
    """
    place, name = located.place, located.relation
    if far is not None and isinstance(place, SourceAt | CountersAt):
        columns = _as_pinned(located, place) if isinstance(place, SourceAt) else _counted(_as_declared(located))
        return far.table(tables, located, columns, lambda: bound(tables, located))
    match place:
        case SourceAt(source, root, pin):
            every = _as_pinned(located, place)
            columns = tuple(every[i] for i in places) if places else every
            if source.view is None:
                return bind_table(tables, name, table_path(root, str(source.table)), pin.version, columns)
            path, there = view_of(place)
            tables.budget.take(there.rows)
            return bind_arrow(tables, name, arrow.read(path, there.version, [c.name for c in columns]), columns)
        case CountersAt(path, version):
            return bind_table(tables, name, path, version, _counted(_as_declared(located)))
        case AtHand(rows):  # counters
            labels = [column.label for column in _counted(_as_declared(located))]
            return tables.lasting(tables.bring(list(rows), [column.type for column in located.columns], labels))
        case _:
            raise AssertionError(f"{name} is not bound where it lies")


def _composed(tables: Tables, base: Ref, less: Ref, more: Ref) -> Iterator[Part]:
    """By the versions that are there already: nothing is opened twice."""
    gone = tuple(part.table for part in tables.stored(less))
    yield from (Part(part.table, (*part.less, *gone)) for part in tables.stored(base))
    yield from tables.stored(more)


def _cancel(tables: Tables, one: Ref, other: Ref) -> None:
    """Rows that come and go in what is read of them do neither."""
    if tables.empty(one) or tables.empty(other):
        return
    left, right = (tables.whole(ref) for ref in (one, other))
    kept = [tables.make(tables.without(*pair)) for pair in ((left, [other]), (right, [one]))]
    for ref, table in zip((one, other), kept, strict=True):
        tables.put(ref, Part(table))


# ---------------------------------------------------------------- columns
def _hidden(located: Located, columns: Sequence[Stored]) -> tuple[Stored, ...]:
    """Columns of which some are not read."""
    return tuple(replace(column, hidden=place in located.hidden) for place, column in enumerate(columns))


def _as_declared(located: Located) -> tuple[Stored, ...]:
    """Columns of what Foreset wrote: their files have the declared names and types."""
    return _hidden(located, stored(located.names, [column.type for column in located.columns]))


def _counted(columns: tuple[Stored, ...]) -> tuple[Stored, ...]:
    """Columns of counters under the labels that they have in tables."""
    *row, base, recursive = columns
    return (*row, replace(base, label="base"), replace(recursive, label="recursive"))


def _as_pinned(located: Located, place: SourceAt) -> tuple[Stored, ...]:
    """The declared columns as the table has them."""
    kinds = [parse_type(column.type) for column in place.pin.columns]
    if None in kinds or len(kinds) != len(located.columns):
        raise OutOfBounds(f"the columns of source {located.relation} were not recorded")
    every = (
        Stored(at.name, kind, declared.type, label)
        for at, kind, declared, label in zip(
            place.pin.columns, kinds, located.columns, column_names(len(kinds)), strict=True
        )
        if kind is not None
    )
    return _hidden(located, tuple(every))
