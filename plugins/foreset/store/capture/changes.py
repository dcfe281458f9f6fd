"""What changed in a source, read in this process: copies of rows with a sign, to be netted.

From the change feed; where a table has none, from the files that only one of the two versions has, which are all that
can differ: so it costs what was written since, and not what the table holds. From the published differentials of a
view of another group; where those are gone, from its two states.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.ir.program import Column
from foreset.store import arrow, delta
from foreset.store.capture.origins import Origin, TableOrigin, ViewOrigin
from foreset.store.capture.plan import SMALL, Feed, SnapshotDiff
from foreset.store.capture.tables import ArrowLog

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset
    from deltalake import DeltaTable

    from foreset.store.rows import ViewPin

MOST_BYTES = 1 << 30  # of a table, whose copies are counted: more is work for Spark
MOST_BYTES_BY_KEY = 256 << 30  # of one in which no two rows agree on the key: a few keys are looked for, no copies
MOST_ROWS = 1_000_000  # of the feed, or of the files that differ
MOST_VIEW_ROWS = 5_000_000  # of a view, whose state is taken into memory
ARRIVES = ("insert", "update_postimage")
NET = "net"
READABLE = frozenset(("timestampNtz", "vacuumProtocolCheck"))  # features of a table whose files say all of its rows


@dataclass(frozen=True, slots=True)
class Changes:
    """Copies that came and went, under the declared names with their sign in `NET`, and the rows there are now."""

    signed: pa.Table
    now: pa.dataset.Dataset
    names: tuple[str, ...]  # of the columns in `now`
    rows: int | None  # in `now`, where that is known


def changes_of(
    origin: Origin, way: Feed | SnapshotDiff, columns: tuple[Column, ...], most_bytes: int = MOST_BYTES
) -> Changes | None:
    """None for what is too large for here, and for what delta-rs does not read."""
    if isinstance(origin, TableOrigin):
        return _of_table(origin, way, columns) if _small(origin, way, most_bytes) else None
    return _of_view(origin, way, columns) if isinstance(origin, ViewOrigin) else None


def may_be_counted(origin: Origin) -> bool:
    """Whether the copies of rows may be counted here, for which columns of the whole table are read."""
    return not isinstance(origin, TableOrigin) or (origin.table.bytes or 0) <= MOST_BYTES


def _signed(rows: pa.Table, columns: tuple[Column, ...], sign: int) -> pa.Table:
    import pyarrow as pa

    return declared(rows, columns).append_column(NET, pa.repeat(pa.scalar(sign, pa.int64()), rows.num_rows))


def declared(rows: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    """Rows under the declared names, in the declared types, canonical."""
    schema = arrow.schema_of({column.name: str(column.type) for column in columns})
    return arrow.canonical_table(rows.rename_columns(schema.names).cast(schema))


# ---------------------------------------------------------------- tables
def _small(origin: TableOrigin, way: Feed | SnapshotDiff, most_bytes: int) -> bool:
    """Decided from the log alone; how much differs between two versions is seen from their files."""
    table = origin.table
    if not isinstance(table.files, ArrowLog) or table.bytes is None or table.bytes > most_bytes:
        return False
    return isinstance(way, SnapshotDiff) or sum(commit.feed_bytes for commit in table.commits(way.after)) <= SMALL


def _of_table(origin: TableOrigin, way: Feed | SnapshotDiff, columns: tuple[Column, ...]) -> Changes | None:
    names = tuple(column.name for column in origin.pin().columns)  # as the table writes them
    table = origin.opened(origin.table.path, way.upto)
    if table is None or not _readable(table):
        return None
    if isinstance(way, Feed):
        signed = _feed(table, way, names, columns)
    else:
        old = origin.opened(origin.table.path, way.after)
        signed = None if old is None else _differing(old, table, names, columns)
    if signed is None:
        return None
    return Changes(signed, table.to_pyarrow_dataset(), names, delta.rows_in(delta.listed_files(table)))


def _readable(table: DeltaTable) -> bool:
    """Whether the files of a table are its rows: no deletion vectors, no mapped columns and the like."""
    protocol = table.protocol()
    plain = protocol.min_reader_version == 3 and set(protocol.reader_features or ()) <= READABLE
    return plain or protocol.min_reader_version <= 1


def _feed(table: DeltaTable, way: Feed, names: Sequence[str], columns: tuple[Column, ...]) -> pa.Table | None:
    """The changes of the range as copies of canonical rows with their sign."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = "_change_type"
    feed = pa.table(table.load_cdf(way.after + 1, way.upto, columns=[*names, kind]))
    if feed.num_rows > MOST_ROWS:
        return None
    arrives = pc.is_in(feed[kind].cast(pa.string()), pa.array(ARRIVES))
    signs = pc.if_else(arrives, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    return declared(feed.select(names), columns).append_column(NET, signs)


def _differing(old: DeltaTable, new: DeltaTable, names: Sequence[str], columns: tuple[Column, ...]) -> pa.Table | None:
    """The rows of files that only one of two versions has."""
    import pyarrow as pa

    if not _readable(old):
        return None
    datasets = old.to_pyarrow_dataset(), new.to_pyarrow_dataset()
    paths = [{fragment.path for fragment in one.get_fragments()} for one in datasets]
    gone, came = (_without(one, paths[1 - i]) for i, one in enumerate(datasets))
    if gone.count_rows() + came.count_rows() > MOST_ROWS:
        return None
    return pa.concat_tables([_signed(columns_of(rows, names), columns, sign) for rows, sign in ((gone, -1), (came, 1))])


def _without(dataset: pa.dataset.FileSystemDataset, paths: Collection[str]) -> pa.dataset.FileSystemDataset:
    import pyarrow.dataset as ds

    own = [fragment for fragment in dataset.get_fragments() if fragment.path not in paths]
    return ds.FileSystemDataset(own, dataset.schema, dataset.format, dataset.filesystem)


def columns_of(rows: pa.dataset.Dataset, names: Sequence[str]) -> pa.Table:
    """The rows in these columns; one that the version did not have yet is NULL."""
    wanted = {name.lower() for name in names}
    return _in_columns(rows.to_table([name for name in rows.schema.names if name.lower() in wanted]), names)


def _in_columns(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    present = {name.lower(): name for name in rows.schema.names}
    arrays = [rows[present[name.lower()]] if name.lower() in present else pa.nulls(len(rows)) for name in names]
    return pa.table(arrays, names=list(names))


# ---------------------------------------------------------------- views of other groups
def _of_view(origin: ViewOrigin, way: Feed | SnapshotDiff, columns: tuple[Column, ...]) -> Changes | None:
    import pyarrow as pa
    import pyarrow.dataset as ds

    pins = {seq: origin.rows[seq].views[origin.view] for seq in range(way.after, way.upto + 1) if seq in origin.rows}
    names = tuple(column.name for column in columns)
    passed = [pins[seq] for seq in range(way.after + 1, way.upto + 1)]
    many = sum(pin.inserted + pin.deleted for pin in passed) if isinstance(way, Feed) else pins[way.after].rows
    if many > MOST_ROWS or pins[way.upto].rows > MOST_VIEW_ROWS:
        return None
    now = _state(origin, pins[way.upto], names)
    if isinstance(way, Feed):
        told = [(_published(origin, pin, sign, names), sign) for pin in passed for sign in (1, -1)]
    else:
        told = [(_state(origin, pins[way.after], names), -1), (now, 1)]
    signed = pa.concat_tables([_signed(rows, columns, sign) for rows, sign in told])
    return Changes(signed, ds.dataset(now), names, now.num_rows)


def _state(origin: ViewOrigin, pin: ViewPin, names: Sequence[str]) -> pa.Table:
    """The rows of a view as a refresh left them; a column that it did not have yet is NULL."""
    return _in_columns(arrow.read(origin.layout.resolve(pin.path), pin.version, list(pin.columns)), names)


def _published(origin: ViewOrigin, pin: ViewPin, sign: int, names: Sequence[str]) -> pa.Table:
    """What a refresh published as come or gone."""
    reference = pin.plus_ref if sign == 1 else pin.minus_ref
    return _in_columns(arrow.read_reference(origin.layout, reference, arrow.schema_of(pin.columns)), names)
