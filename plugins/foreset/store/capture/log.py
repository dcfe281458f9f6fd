"""The Delta log, read as what it is: small JSON files, one per version.

Metadata and history come from here without starting a Spark job. Reading the commits of a range tells
exactly what no history listing does: whether each version recorded its changes, how big
the feed is, which files it needs, and whether anything but bookkeeping happened at all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote

FEED_PROPERTY = "delta.enableChangeDataFeed"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?(?:\.[0-9a-f-]{36})?\.(?:parquet|json)")


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's identity, shape and settings."""

    table_id: str
    schema: str  # Delta's JSON
    properties: Mapping[str, str]

    @property
    def feed(self) -> bool:
        """Whether changes are recorded."""
        return self.properties.get(FEED_PROPERTY, "false").lower() == "true"

    @classmethod
    def of_action(cls, action: Mapping[str, Any]) -> Metadata:
        """Read a `metaData` action of a commit or a checkpoint."""
        configuration = action.get("configuration") or {}
        pairs = configuration.items() if isinstance(configuration, Mapping) else configuration
        return cls(str(action["id"]), str(action["schemaString"]), {str(k): str(v) for k, v in pairs})


@dataclass(frozen=True, slots=True)
class Commit:
    """One version, as far as capture cares."""

    version: int
    operation: str = ""
    changes_data: bool = False  # false for OPTIMIZE, properties, and other bookkeeping
    metadata: Metadata | None = None  # only where this version sets it
    feed_files: tuple[str, ...] = ()  # what reading the feed of this version opens
    feed_bytes: int = 0
    removed: tuple[str, ...] = ()  # files that only versions before this one need
    mark: str = field(default="", compare=False)


class LogFiles(Protocol):
    """Where the bytes come from: Python, or Spark where only the cluster reaches the storage."""

    def names(self) -> Collection[str]:
        """The files in `_delta_log`."""
        ...

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """The text of those that are there."""
        ...

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """The first of these data files that is gone; None also when that cannot be told cheaply."""
        ...


def commit_name(version: int) -> str:
    """The file of one version."""
    return f"{version:020d}.json"


def commit_versions(names: Iterable[str]) -> list[int]:
    """The versions whose commit is still there, in order."""
    return sorted(int(m[1]) for name in names if (m := _COMMIT.fullmatch(name)))


def checkpoints(names: Iterable[str]) -> dict[int, list[str]]:
    """Complete checkpoints: version to files."""
    parts: dict[int, list[str]] = {}
    wanted: dict[int, int] = {}
    for name in names:
        if m := _CHECKPOINT.fullmatch(name):
            parts.setdefault(int(m[1]), []).append(name)
            wanted[int(m[1])] = int(m[3] or 1)
    return {version: files for version, files in parts.items() if len(files) >= wanted[version]}


def can_rebuild(names: Collection[str], version: int) -> bool:
    """Whether the log still says what the table was at `version`: a checkpoint, and all commits since."""
    present = set(commit_versions(names))
    starts = [v for v in checkpoints(names) if v <= version]
    first = max(starts) + 1 if starts else 0
    return all(v in present for v in range(first, version + 1))


def parse_commit(version: int, text: str) -> Commit:
    """Read one commit file; raises ValueError on anything that is not one."""
    actions: dict[str, list[dict[str, Any]]] = {}
    for line in text.splitlines():
        if line.strip():
            for kind, action in json.loads(line).items():
                actions.setdefault(kind, []).append(action)
    info = (actions.get("commitInfo") or [{}])[0]
    added = [a for a in actions.get("add", ()) if a.get("dataChange")]
    gone = [a for a in actions.get("remove", ()) if a.get("dataChange")]
    recorded = actions.get("cdc") or [*added, *gone]
    metadata = actions.get("metaData")
    stays = {str(a["path"]) for a in actions.get("add", ())}  # a new deletion vector removes and adds one file
    return Commit(
        version,
        str(info.get("operation", "")),
        bool(added or gone or actions.get("cdc")),
        Metadata.of_action(metadata[-1]) if metadata else None,
        tuple(dict.fromkeys(unquote(str(a["path"])) for a in recorded)),
        sum(int(a.get("size") or 0) for a in recorded),
        tuple(unquote(str(a["path"])) for a in actions.get("remove", ()) if str(a["path"]) not in stays),
        mark_of(text),
    )


def mark_of(text: str) -> str:
    """What tells this commit from another one with the same number."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_commits(files: LogFiles, after: int, upto: int) -> tuple[Commit, ...]:
    """The commits of `(after, upto]` that are still there."""
    texts = files.read([commit_name(v) for v in range(after + 1, upto + 1)])
    return tuple(parse_commit(int(name[:20]), text) for name, text in sorted(texts.items()))
