"""Where the rows of a relation lie, as plain data: nothing is opened to say it.

`refresh/located.py` says it of every relation of a run. The modules beside this one open it, each for one reader:
`frames.py` for Spark, `tables.py` for DuckDB, `arrow.py` and `files.py` for this process. A new kind of place is a
class here and a case in each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeAlias

from foreset.ir.program import Column, Source
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, parse_type
from foreset.ir.versions import Version
from foreset.records.captures import CaptureRecord
from foreset.records.strata import StagedFile
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.laid import Laid, Part
from foreset.store.layout import Layout, change_folder
from foreset.store.rows import SourcePin, ViewPin


@dataclass(frozen=True, slots=True)
class SourceAt:
    """A source as it is pinned, a table or a view of another group: every copy of every row."""

    source: Source
    root: str  # of the warehouse
    pin: RecordedPin


@dataclass(frozen=True, slots=True)
class SignedAt:
    """The state of a view: a signed table (store/signed.py) at a version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class CountersAt:
    """The derivation counters of a view (store/counters.py) at a version: entries, to be summed by row."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Folder:
    """Parquet files under the declared names: what was staged, or captured."""

    path: str
    laid: bool = False  # in canonical form and in the order of the view's table (store/laid.py)


@dataclass(frozen=True, slots=True)
class AtHand:
    """Rows that are here."""

    rows: Collection[Row]


@dataclass(frozen=True, slots=True)
class Composed:
    """`base - less + more`, other versions of the same relation; `itself`: where it can be read without them."""

    base: Located
    less: Located
    more: Located
    itself: Located | None = None


# Behind the columns of a view, those of its counters: under names that a view of users cannot have.
COUNTERS = (Column("_base", BIGINT), Column("_recursive", BIGINT))
Place: TypeAlias = SourceAt | SignedAt | CountersAt | Folder | AtHand | Composed


@dataclass(frozen=True, slots=True)
class Located:
    """One version of a relation."""

    relation: str
    version: Version
    columns: tuple[Column, ...]  # as declared
    place: Place | None = None  # None: it has no rows
    rows: int | None = None  # at most; None: nobody has counted them
    key: tuple[int, ...] | None = None  # columns on which no two rows agree, copies included, if any are known
    hidden: frozenset[int] = frozenset()  # places of columns for which nobody asks: a reader may leave them NULL

    @property
    def ref(self) -> Ref:
        """What steps call it."""
        return Ref(self.relation, self.version)

    @property
    def empty(self) -> bool:
        """Known without looking."""
        return self.place is None or self.rows == 0

    @property
    def copies(self) -> bool:
        """Whether a row may stand there more than once: the table of a source has every copy."""
        base = self.place.base if isinstance(self.place, Composed) else self
        return self.key is None and isinstance(base.place, SourceAt)

    @property
    def laid(self) -> Laid | None:
        """Its files, where they lie as a table of these columns has them."""
        kinds = declared(self.columns)
        if self.empty:
            return Laid((), kinds)
        if isinstance(self.place, Folder) and self.place.laid:
            return Laid((Part(self.place.path, self.rows or 0),), kinds)
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """The declared names."""
        return tuple(column.name for column in self.columns)


def declared(columns: Sequence[Column]) -> dict[str, str]:
    """Names and types, as tables and the manifest have them."""
    return {column.name: str(column.type) for column in columns}


def fits(pin: ViewPin, columns: Sequence[Column]) -> bool:
    """Whether the rows under a pin are rows of a view with these columns.

    A view is its columns by name and type. Their order is a matter of the spec alone: rows are read by names. Where a
    column has come, gone, or is of another name or type, it is another view to its readers: they see it in full, and
    nothing of the old rows is compared with the new ones.
    """
    return dict(pin.columns) == declared(columns)


def published(layout: Layout, view: str, pin: ViewPin) -> Located:
    """A view as a manifest row pins it, with the columns that it had then."""
    place = SignedAt(layout.resolve(pin.path), pin.version)
    return Located(view, Version.OLD, _columns(pin.columns), place, pin.rows)


def pinned(layout: Layout, source: Source, pin: SourcePin) -> Located:
    """A source as a manifest row pins it."""
    place = SourceAt(source, layout.root, RecordedPin.from_manifest(pin))
    return Located(source.name, Version.NEW, source.columns, place)


def of_source(
    root: str, source: Source, version: Version, taken: CaptureRecord, old: RecordedPin | None, new: RecordedPin
) -> Located:
    """A source that was captured. Its new state is a table; its old one follows from that and what came and went, and
    is a table too while its version can be read."""
    before = source.key_places if old is not None and old.single is not None else None
    now = source.key_places if taken.single else None
    if version is Version.NEW:
        return Located(source.name, version, source.columns, SourceAt(source, root, new), taken.rows, now)
    assert old is not None, "without an earlier refresh every source is taken whole"
    assert not taken.taken_whole, "a source that was taken whole is only read to build"
    if version is Version.OLD:
        parts = (Version.NEW, Version.PLUS, Version.MINUS)
        after, plus, minus = (of_source(root, source, part, taken, old, new) for part in parts)
        itself = Located(source.name, version, source.columns, SourceAt(source, root, old))
        # At most: the log says how many there are now, and a table that has lost all its rows was not empty before.
        rows = None if taken.rows is None else taken.rows + taken.deleted
        place = Composed(after, plus, minus, None if taken.old_lost else itself)
        return Located(source.name, version, source.columns, place, rows, before)
    sign, count, key = (1, taken.inserted, now) if version is Version.PLUS else (-1, taken.deleted, before)
    there = Folder(change_folder(taken.staged, sign)) if count else None
    return Located(source.name, version, source.columns, there, count, key)


def staged(relation: str, version: Version, columns: tuple[Column, ...], file: StagedFile) -> Located:
    """What was staged in the folder of the run."""
    place = None if file.path is None else Folder(file.path, file.laid)
    return Located(relation, version, columns, place, file.rows)


def _columns(kinds: Mapping[str, str]) -> tuple[Column, ...]:
    parsed = ((name, parse_type(kind)) for name, kind in kinds.items())
    return tuple(Column(name, kind) for name, kind in parsed if kind is not None)


def asked(versions: Sequence[Located], read: AbstractSet[int] | None) -> list[Located]:
    """Versions of one relation of which rules read some columns only, with the others hidden.

    Not where rows may differ in those alone: then they would be one row that stands twice.
    """
    if read is None or not all(located.key is not None for located in versions):
        return list(versions)
    return [replace(one, hidden=frozenset(range(len(one.columns))) - read - set(one.key or ())) for one in versions]


def by_row(entries: Iterable[Row]) -> dict[Row, tuple[int, int]]:
    """Entries of counters, one for each row, by that row."""
    found = {}
    for *row, base, recursive in entries:
        assert isinstance(base, int)
        assert isinstance(recursive, int)
        found[tuple(row)] = (base, recursive)
    return found
