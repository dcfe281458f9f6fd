"""What a refresh remembers of a source, so that the next one knows where to go on.

A pin is written into the manifest by the commit of one refresh and read by `plan` in the
next. Ranges are `(pin.version, new pin.version]`: they touch and never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from foreset.store.rows import Seen, SourcePin


@dataclass(frozen=True, slots=True)
class PinnedColumn:
    """A referenced column as the table had it."""

    name: str  # as the table spells it; Delta does not tell upper from lower case
    type: str
    stored: str  # its name in the files: a renamed column keeps it, a column added anew does not


@dataclass(frozen=True, slots=True)
class RecordedPin:
    """A source at one version; of a view source, `version` is the seq of the other group."""

    table_id: str
    version: int
    columns: tuple[PinnedColumn, ...] = ()  # in the order of the spec
    feed: bool = False  # whether the table recorded changes when this version was current
    commit: str = ""  # marks the commit of `version`: a table put back from a copy has another one there
    single: int | None = None  # rows of the source, if it is known that no two of them agree on its key

    def to_manifest(self, table: str, after: int | None) -> SourcePin:
        """As a manifest row keeps it; `after` is the version of the pin before, None if the source was taken whole."""
        seen = Seen(tuple((c.name, c.type, c.stored) for c in self.columns), self.feed, self.commit)
        return SourcePin(table, self.table_id, after, self.version, seen)

    @classmethod
    def from_manifest(cls, pin: SourcePin) -> RecordedPin:
        """Where the refresh that wrote `pin` stopped reading."""
        seen = pin.extra
        columns = tuple(PinnedColumn(name, kind, stored) for name, kind, stored in seen.columns)
        return cls(pin.table_id, pin.to_version, columns, seen.feed, seen.commit)
