"""How to get from a recorded pin to the present: a pure decision, before anything is read.

Each branch of `decide` is a row of the table in docs/sources.md. Only ways that give the
exact set difference are offered, cheapest first; `Reload` says that the source alone cannot
give it any more and the caller has to recompute and compare with what it published.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foreset.errors import SourceError
from foreset.store.capture.log import FEED_PROPERTY, Commit
from foreset.store.capture.source_pin import PinnedColumn, RecordedPin

SMALL = 32 << 20  # bytes: below this, sizes of files say little about rows, and any way is quick
RETENTION = "`delta.logRetentionDuration` and `delta.deletedFileRetentionDuration`"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """No row of the source can differ; the pin may move on."""

    reason: str = "no new version"


@dataclass(frozen=True, slots=True)
class Feed:
    """Read the change feed of `(after, upto]` and net it."""

    after: int
    upto: int
    reason: str = "change feed"


@dataclass(frozen=True, slots=True)
class SnapshotDiff:
    """Compare the two versions as sets."""

    after: int
    upto: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reload:
    """The differential is lost: recompute what depends on the source."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The source no longer is what the spec says."""

    error: SourceError


Way = Unchanged | Feed | SnapshotDiff | Reload | Refuse


@dataclass(frozen=True, slots=True)
class Facts:
    """The table now, and what its log says of the versions since the pin."""

    table_id: str
    version: int
    columns: tuple[PinnedColumn, ...] | SourceError
    commits: tuple[Commit, ...] = ()  # those of (pin, version] that are still in the log
    same_history: bool = True  # the pinned version is still the one that was read
    old_lost: str = ""  # why the pinned version cannot be read any more; "" when it can
    feed_lost: str = ""  # the first file of the feed that is gone
    bytes: int | None = field(default=None)


def decide(pin: RecordedPin | None, facts: Facts) -> Way:  # noqa: PLR0911 - one return per event reads best
    """The cheapest exact way from `pin` to the present."""
    if isinstance(facts.columns, SourceError):
        return Refuse(facts.columns)
    if pin is None:
        return Reload("never read before")
    if facts.version < pin.version:
        return Reload(f"the table was replaced: it is at version {facts.version}, the last refresh read {pin.version}")
    if not facts.same_history:
        return Reload(f"the table was replaced: version {pin.version} is not the one that the last refresh read")
    if facts.version == pin.version:
        same = facts.table_id == pin.table_id
        return Unchanged() if same else Reload("the table was replaced: its id has changed")
    after, upto = pin.version, facts.version
    complete = len(facts.commits) == upto - after
    moved = _moved_column(pin, facts.columns)
    if facts.table_id != pin.table_id:
        return _by_snapshots(after, upto, "the table was replaced (its id has changed)", facts)
    if complete and not moved and not any(commit.changes_data for commit in facts.commits):
        return Unchanged(f"versions {after + 1} to {upto} change no data")
    if moved:
        return _by_snapshots(after, upto, moved, facts)
    if no_feed := _no_feed(pin, facts, complete=complete):
        return _by_snapshots(after, upto, no_feed, facts)
    size = sum(commit.feed_bytes for commit in facts.commits)
    if facts.bytes is not None and size > max(facts.bytes, SMALL) and not facts.old_lost:
        what = _most_telling(facts.commits)
        return SnapshotDiff(
            after, upto, f"the change feed is bigger than the table{what}: comparing versions is cheaper"
        )
    return Feed(after, upto)


def next_best(way: Way, cause: str, facts: Facts) -> Way:
    """What to try when `way` failed on reading, because of `cause`."""
    match way:
        case Feed(after, upto):
            return _by_snapshots(after, upto, f"the change feed could not be read ({cause})", facts)
        case SnapshotDiff(after, _, reason):
            return Reload(f"{reason}; version {after} could not be read either ({cause}): set a longer {RETENTION}")
        case _:
            return way


def _by_snapshots(after: int, upto: int, reason: str, facts: Facts) -> SnapshotDiff | Reload:
    if facts.old_lost:
        return Reload(f"{reason}; version {after} cannot be read either: {facts.old_lost}; set a longer {RETENTION}")
    return SnapshotDiff(after, upto, reason)


def _moved_column(pin: RecordedPin, now: tuple[PinnedColumn, ...]) -> str:
    """Why the feed cannot be read across a change of a referenced column; "" if none changed."""
    before = {column.name.lower(): column for column in pin.columns}
    for column in now:
        old = before.get(column.name.lower())
        if old is not None and old.stored != column.stored:
            return f"column `{column.name}` was dropped and added again"
        if old is not None and old.type != column.type:
            return f"column `{column.name}` changed from {old.type} to {column.type}"
    return ""


def _no_feed(pin: RecordedPin, facts: Facts, *, complete: bool) -> str:
    """Why there is no feed for the whole range; "" if there is."""
    if not complete:
        present = {commit.version for commit in facts.commits}
        lost = next(v for v in range(pin.version + 1, facts.version + 1) if v not in present)
        return f"the log no longer has version {lost}"
    recorded = pin.feed
    for commit in facts.commits:  # Delta refuses a range with even one version without feed, be it empty
        recorded = commit.metadata.feed if commit.metadata else recorded
        if not recorded:
            return (
                f"version {commit.version} has no change feed: set `{FEED_PROPERTY} = true` on the table; "
                "Delta records only changes after that"
            )
    if facts.feed_lost:
        return f"the change feed was vacuumed ({facts.feed_lost} is gone): set a longer {RETENTION}"
    return ""


def _most_telling(commits: tuple[Commit, ...]) -> str:
    biggest = max(commits, key=lambda commit: commit.feed_bytes)
    return f" (version {biggest.version}: {biggest.operation})" if biggest.operation else ""
