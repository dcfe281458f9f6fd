"""Netting a small change in this process: Arrow reads it (`changes.py`), DuckDB sums, and no Spark job runs.

The meaning is that of `feed.py`: sum signs per row, then count the copies of what is left in the
new version. Where the source has a key, mostly its columns alone are read for that; and where no two rows had the
same key before, those only that the feed does not show under a key that was there.
Spark pays seconds for what are milliseconds here, and most nights change little.
Whatever is not plainly for here (a big change or table, files that delta-rs does not read) is left to Spark:
`difference_here` then says None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault
from foreset.ir.program import Column, Source
from foreset.store import scratch
from foreset.store.capture.changes import (
    MOST_BYTES,
    MOST_BYTES_BY_KEY,
    NET,
    Changes,
    changes_of,
    declared,
    may_be_counted,
)
from foreset.store.capture.origins import Origin
from foreset.store.capture.plan import Feed, SnapshotDiff
from foreset.store.capture.stage import Counts, Inconsistent
from foreset.store.layout import change_folder, is_local, join
from foreset.store.types import column_names

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.dataset

ROW = "row"


@dataclass(frozen=True, slots=True)
class Found:
    """The rows that entered the set, and those that left it; `single` as in `Counts`."""

    plus: pa.Table
    minus: pa.Table
    single: bool = False


def stage_here(
    origin: Origin, way: Feed | SnapshotDiff, source: Source, directory: str, single: int | None = None
) -> Counts | None:
    """Stage the differential where `stage.staged` looks for it; None when Spark should do it."""
    found = difference_here(origin, way, source, single) if is_local(directory) else None
    if found is None:
        return None
    for sign, rows in ((1, found.plus), (-1, found.minus)):
        if rows.num_rows:
            _write(rows, change_folder(directory, sign))
    return Counts(found.plus.num_rows, found.minus.num_rows, found.single)


def difference_here(
    origin: Origin, way: Feed | SnapshotDiff, source: Source, single: int | None = None
) -> Found | None:
    """The rows that came and went, or None for what is not for here.

    With `single`, the source had so many rows before, and no two of them agreed on its key.
    """
    import duckdb
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    try:
        most_bytes = MOST_BYTES if single is None else MOST_BYTES_BY_KEY
        changes = changes_of(origin, way, source.columns, most_bytes)
        if changes is None:
            return None
        touched = _netted(changes.signed)
        alone = _alone(changes, touched, source, single) if single is not None else None
        if alone is None and not may_be_counted(origin):
            return None
        copies = _copies(changes, touched, source) if alone is None else alone
    except (DeltaError, EnvironmentFault, pa.ArrowException, duckdb.Error, OSError, ValueError, NotImplementedError):
        return None  # Spark reads it, or says why not
    return Found(*_crossings(touched, copies), alone is not None)


def _netted(changes: pa.Table) -> pa.Table:
    """One row for each row whose number of copies has changed, with the difference."""
    width = changes.num_columns - 1
    keys = column_names(width)  # positions as names: nothing of the columns gets into the text
    with scratch.cursor() as connection:
        connection.register("t", _numbered(changes, [*keys, NET]))
        query = f"select min({ROW}) r, sum({NET})::bigint n from t group by {', '.join(keys)} having sum({NET}) <> 0"  # noqa: S608 - our own names only
        found = connection.sql(f"select * from ({query}) order by r").to_arrow_table()  # noqa: S608
    return changes.take(found["r"]).drop_columns([NET]).append_column(NET, found["n"])


def _copies(changes: Changes, touched: pa.Table, source: Source) -> np.ndarray:
    """How often each touched row stands in the table.

    With a key, its columns tell most of it without the others: where no row has the key of a touched one, that one
    is gone, and where one has, it is the one that came. The key itself is not trusted here: what it leaves open
    is looked for as whole rows.
    """
    import numpy as np

    rows = touched.drop_columns([NET])
    if len(source.key_places) == len(source.columns):
        return _standing(changes, range(len(source.columns)), rows, source.columns)
    places = source.key_places
    keys, columns = rows.select(places), tuple(source.columns[place] for place in places)
    alike = _standing(changes, places, keys, columns)
    net = touched[NET].to_numpy()
    replaced = _per_key(keys, net, "max") > 0
    open_ = (alike > 1) | ((alike == 1) & ~replaced)
    copies = np.where(net > 0, alike, 0)
    copies[open_] = _standing(changes, range(len(source.columns)), rows.filter(open_), source.columns)
    return copies


def _alone(changes: Changes, touched: pa.Table, source: Source, single: int) -> np.ndarray | None:
    """How often each touched row stands in the table, if no two rows agreed on the key before, nor do now; else None.

    Then a row that goes was the only one of its key, and one that comes in its place is. Others are looked for by
    their keys, which are mostly beyond all that were there before, so that few files are opened. That feed
    and table belong together is seen from the number of rows.
    """
    import numpy as np
    import pyarrow as pa

    net, places = touched[NET].to_numpy(), source.key_places
    if changes.rows != single + int(net.sum()):
        return None
    keys, columns = touched.select(places), tuple(source.columns[place] for place in places)
    came, went = (_per_key(keys, np.maximum(sign * net, 0), "sum") for sign in (1, -1))
    if (came > 1).any() or (went > 1).any():
        return None
    stand = _standing(changes, places, keys.filter(pa.array(went == 0)), columns)
    return None if (stand != 1).any() else np.where(net > 0, 1, 0)


def _per_key(keys: pa.Table, net: np.ndarray, function: str) -> np.ndarray:
    """For each row, what a function gives of the changes of copies of all rows with the same key."""
    import pyarrow as pa

    labels = column_names(keys.num_columns)
    with scratch.cursor() as connection:
        connection.register("t", _numbered(keys.append_column(NET, pa.array(net)), [*labels, NET]))
        query = (
            f"select cast({function}({NET}) over (partition by {', '.join(labels)}) as bigint) n from t order by {ROW}"  # noqa: S608 - our own names only
        )
        found: np.ndarray = connection.sql(query).to_arrow_table()["n"].to_numpy()
    return found


def _standing(changes: Changes, places: Sequence[int], keys: pa.Table, columns: tuple[Column, ...]) -> np.ndarray:
    """How often each of `keys` stands in these columns, which are read only between their least and greatest values."""
    import pyarrow as pa

    dataset, names = changes.now, [changes.names[place] for place in places]
    kinds = [dataset.schema.field(name).type for name in names]
    same = [field.type.equals(kind) for field, kind in zip(keys.schema, kinds, strict=True)]
    bounds = [_between(name, keys[i]) for i, name in enumerate(names) if same[i]]
    within = [bound for bound in bounds if bound is not None]
    try:
        return _counted(dataset.scanner(list(names), filter=reduce(and_, within) if within else None), keys, columns)
    except pa.ArrowNotImplementedError:  # files of a delta-rs DELETE hold string views, which Arrow does not compare
        return _counted(dataset.scanner(list(names)), keys, columns)


def _counted(scanner: pyarrow.dataset.Scanner, keys: pa.Table, columns: tuple[Column, ...]) -> np.ndarray:
    import numpy as np
    import pyarrow as pa

    counts = np.zeros(keys.num_rows, dtype=np.int64)
    if not keys.num_rows:
        return counts
    labels = column_names(len(columns))
    on = " and ".join(f"t.{label} is not distinct from k.{label}" for label in labels)
    with scratch.cursor() as connection:
        connection.register("k", _numbered(keys, labels))
        for batch in scanner.to_batches():
            if batch.num_rows:
                rows = declared(pa.table(batch), columns).rename_columns(labels)
                connection.register("t", rows)
                query = f"select k.{ROW} r, count(*) n from t join k on {on} group by k.{ROW}"  # noqa: S608
                found = connection.sql(query).to_arrow_table()
                counts[found["r"].to_numpy()] += found["n"].to_numpy()
    return counts


def _between(name: str, values: pa.ChunkedArray) -> pyarrow.dataset.Expression | None:
    """What holds of a column for every wanted row; None where order says nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    kind, field = values.type, ds.field(name)
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date(kind)):
        return None
    if values.null_count == len(values):
        return field.is_null()
    ends = pc.min_max(values)
    between = (field >= ends["min"]) & (field <= ends["max"])
    return between | field.is_null() if values.null_count else between


def _crossings(touched: pa.Table, copies: np.ndarray) -> tuple[pa.Table, pa.Table]:
    """The rows that entered the set, and those that left it."""
    import pyarrow as pa

    before = copies - touched[NET].to_numpy()
    if wrong := int((before < 0).sum()):
        raise Inconsistent(wrong)
    rows = touched.drop_columns([NET])
    came, went = (before == 0) & (copies > 0), (before > 0) & (copies == 0)
    return rows.filter(pa.array(came)), rows.filter(pa.array(went))


def _numbered(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows under other names, with their places."""
    import numpy as np
    import pyarrow as pa

    return rows.rename_columns(list(names)).append_column(ROW, pa.array(np.arange(rows.num_rows)))


def _write(rows: pa.Table, folder: str) -> None:
    """One parquet file, in place of what an earlier try left."""
    import pyarrow.parquet as pq

    Path(folder).mkdir(parents=True, exist_ok=True)
    for old in Path(folder).glob("*.parquet"):
        old.unlink()
    pq.write_table(rows, join(folder, "part-0.parquet"))
