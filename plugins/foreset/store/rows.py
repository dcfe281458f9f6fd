"""A row of the manifest: what one committed refresh published, and on what it rests."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foreset.records.versioned import FORMAT, KEY, checked
from foreset.store.protocol import Entry


@dataclass(frozen=True, slots=True)
class SourcePin:
    """The range of one source that the refresh took in: changes of `(from_version, to_version]`."""

    table: str
    table_id: str
    from_version: int | None  # None: taken whole
    to_version: int
    extra: Mapping[str, Any] = field(default_factory=dict)


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
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StatePin:
    """The version of a table that helps to maintain a view."""

    path: str
    table_id: str
    version: int
    extra: Mapping[str, Any] = field(default_factory=dict)


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
    verification: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> Entry:
        """What decisions need of it."""
        return Entry(self.seq, self.refresh_id, self.attempt_id, self.epoch)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as `wh.manifest()` gives it."""
        return dataclasses.asdict(self)


PLAIN = {
    "seq": "bigint", "refresh_id": "string", "attempt_id": "string", "epoch": "bigint", "prev_seq": "bigint",
    "spec_hash": "string", "engine_version": "string", "mode": "string", "committed_at": "string",
}  # fmt: skip
JSON_COLUMNS = ("fingerprints", "sources", "views", "state", "verification", "quality", "extra")
COLUMNS = {**PLAIN, **dict.fromkeys(JSON_COLUMNS, "string")}
_PINS = {"sources": SourcePin, "views": ViewPin, "state": StatePin}


def encode(row: ManifestRow) -> dict[str, Any]:
    """As the Delta table keeps it: plain columns, and JSON text for what has structure."""
    data = row.as_dict()
    # Keys keep their order: the order of columns and views is the declared one.
    data["extra"] = {KEY: FORMAT, **data["extra"]}
    return {name: json.dumps(data[name]) if name in JSON_COLUMNS else data[name] for name in COLUMNS}


def decode(data: Mapping[str, Any]) -> ManifestRow:
    """Back from the Delta table; fields of later releases are left aside, unless their format is another one."""
    values = {name: data[name] for name in PLAIN}
    extra = checked(json.loads(data.get("extra") or "{}"), f"refresh {data['seq']} in the manifest")
    for name in JSON_COLUMNS:
        content = extra if name == "extra" else json.loads(data.get(name) or "{}")
        if (kind := _PINS.get(name)) is not None:
            content = {key: _built(kind, item) for key, item in content.items()}
        values[name] = content
    return ManifestRow(**values)


def _built(kind: type, item: Mapping[str, Any]) -> Any:  # noqa: ANN401 - one of the pin classes
    known = {f.name for f in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in item.items() if name in known})


def now() -> str:
    """The time for `committed_at`."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
