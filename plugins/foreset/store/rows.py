"""A row of the manifest: what one committed refresh published, and on what it rests."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foreset.records import codec
from foreset.records.checks import QualityRecord, Verification
from foreset.records.codec import EMPTY
from foreset.records.commits import Details
from foreset.records.versioned import FORMAT, KEY, checked
from foreset.store.protocol import Entry


@dataclass(frozen=True, slots=True)
class Seen:
    """What a table was like at the pinned version."""

    columns: tuple[tuple[str, ...], ...] = ()  # name, type and name in the files of each that is read, as the spec has
    feed: bool = False  # it recorded its changes
    commit: str = ""  # marks the commit of the version: a table put back from a copy has another one there


@dataclass(frozen=True, slots=True)
class SourcePin:
    """The range of one source that the refresh took in: changes of `(from_version, to_version]`."""

    table: str
    table_id: str
    from_version: int | None  # None: taken whole
    to_version: int
    extra: Seen = Seen()


@dataclass(frozen=True, slots=True)
class ViewPin:
    """The version of one view that readers of this seq see, and how it came about."""

    path: str  # relative to the warehouse
    table_id: str
    version: int
    columns: Mapping[str, str]  # name -> Spark SQL type, in the declared order
    rows: int = 0
    inserted: int = 0
    deleted: int = 0
    strategy: str = ""
    reason: str = ""
    plus_ref: str | None = None  # parquet in the run directory, relative to the warehouse; None: no rows
    minus_ref: str | None = None
    token: str = ""  # of the commit that wrote the version: a replaced log entry is detected by it
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatePin:
    """The version of a table that helps to maintain a view."""

    path: str
    table_id: str
    version: int
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One committed refresh of a group."""

    seq: int
    refresh_id: str
    attempt_id: str
    epoch: int
    prev_seq: int
    spec_hash: str = ""
    engine_version: str = ""
    mode: str = "auto"
    committed_at: str = ""  # ISO, UTC; for people, nothing is decided by it
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, SourcePin] = field(default_factory=dict)
    views: Mapping[str, ViewPin] = field(default_factory=dict)
    state: Mapping[str, StatePin] = field(default_factory=dict)
    verification: Verification | None = field(default=None, metadata=EMPTY)
    quality: QualityRecord | None = field(default=None, metadata=EMPTY)
    extra: Details = field(default_factory=Details)

    @property
    def entry(self) -> Entry:
        """What decisions need of it."""
        return Entry(self.seq, self.refresh_id, self.attempt_id, self.epoch)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as `wh.manifest()` gives it."""
        return codec.to_plain(self)


PLAIN = {
    "seq": "bigint", "refresh_id": "string", "attempt_id": "string", "epoch": "bigint", "prev_seq": "bigint",
    "spec_hash": "string", "engine_version": "string", "mode": "string", "committed_at": "string",
}  # fmt: skip
JSON_COLUMNS = ("fingerprints", "sources", "views", "state", "verification", "quality", "extra")
COLUMNS = {**PLAIN, **dict.fromkeys(JSON_COLUMNS, "string")}


def encode(row: ManifestRow) -> dict[str, Any]:
    """As the Delta table keeps it: plain columns, and JSON text for what has structure."""
    data = row.as_dict()
    # Keys keep their order: the order of columns and views is the declared one.
    data["extra"] = {KEY: FORMAT, **data["extra"]}
    return {name: json.dumps(data[name]) if name in JSON_COLUMNS else data[name] for name in COLUMNS}


def decode(data: Mapping[str, Any]) -> ManifestRow:
    """Back from the Delta table; fields of later releases are left aside, unless their format is another one."""
    what = f"refresh {data['seq']} in the manifest"
    values = {name: data[name] for name in PLAIN}
    values |= {name: json.loads(data.get(name) or "{}") for name in JSON_COLUMNS}
    checked(values["extra"], what)
    return codec.from_plain(ManifestRow, values, what)


def now() -> str:
    """The time for `committed_at`."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
