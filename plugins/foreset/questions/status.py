"""What a group has committed, what has moved since, and how its last attempt went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from foreset.ir.program import is_hidden
from foreset.plan.place import told
from foreset.records.checks import QualityRecord, Verification
from foreset.records.codec import EMPTY
from foreset.store import delta, manifest
from foreset.store.attempts import FailedAttempt, last_failure
from foreset.store.holds import Hold, held
from foreset.store.layout import Layout, is_local, normal_root, table_path


@dataclass(frozen=True, slots=True)
class ViewStanding:
    """What readers see of a view, and how it came about."""

    rows: int
    inserted: int
    deleted: int
    strategy: str
    reason: str
    engine: str
    engine_reason: str


@dataclass(frozen=True, slots=True)
class SourceStanding:
    """The version of a source that was read, and the newest one; None where the table is gone."""

    read: int
    now: int | None

    @property
    def behind(self) -> int:
        """By how many versions."""
        return 0 if self.now is None else max(0, self.now - self.read)


@dataclass(frozen=True, slots=True)
class Unrefreshed:
    """A group of which nothing was committed."""

    group: str
    seq: None = None
    last_attempt: FailedAttempt | None = None
    hold: None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A group by its newest refresh, as `foreset status --json` prints it."""

    group: str
    seq: int
    committed_at: str
    views: Mapping[str, ViewStanding]
    sources: Mapping[str, SourceStanding]
    verification: Verification | None = field(metadata=EMPTY)
    quality: QualityRecord | None = field(metadata=EMPTY)
    last_attempt: FailedAttempt | None
    hold: Hold | None


def standing(layout: Layout) -> Standing | Unrefreshed:
    """How a group stands now."""
    row = manifest.newest(layout.root, layout.group)
    failed = last_failure(layout, row.seq if row else 0)
    if row is None:
        return Unrefreshed(layout.group, last_attempt=failed)
    where = {name: (one.engine or "", one.engine_reason or "") for one in row.extra.strata for name in one.views}
    views = {
        name: ViewStanding(pin.rows, pin.inserted, pin.deleted, pin.strategy, pin.reason, *where.get(name, ("", "")))
        for name, pin in row.views.items()
        if not is_hidden(name)
    }
    sources = {name: SourceStanding(pin.to_version, _head(layout.root, pin.table)) for name, pin in row.sources.items()}
    return Standing(
        group=layout.group,
        seq=row.seq,
        committed_at=row.committed_at,
        views=views,
        sources=sources,
        verification=row.verification,
        quality=row.quality,
        last_attempt=failed,
        hold=held(layout),
    )


def engines_of(warehouse: str, group: str) -> dict[str, str]:
    """Where the newest refresh computed each view, hidden ones too, and why; by a look at a warehouse on this disk."""
    root = normal_root(warehouse)
    if not (is_local(root) and Path(root, "_foreset", group).is_dir()):
        return {}
    row = manifest.newest(root, group)
    strata = row.extra.strata if row else ()
    return {
        view: told(one.engine, one.engine_reason or "") for one in strata if one.engine for view in one.views
    }


def _head(root: str, table: str) -> int | None:
    opened = delta.open_table(table_path(root, table))
    return opened.version() if opened else None
