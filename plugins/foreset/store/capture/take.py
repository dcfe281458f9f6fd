"""Take in one source: decide the way, go it, and go the next best one when it is barred.

What a log says and what a disk still has can differ: a feed may be vacuumed between the
decision and the reading. So each way that fails for lost history hands over to the next, with the
reason; every way that is gone to its end is exact.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from foreset.ir.program import Source
from foreset.store.capture import errors
from foreset.store.capture.by_key import known_alone
from foreset.store.capture.feed import difference
from foreset.store.capture.here import stage_here
from foreset.store.capture.origins import Origin, open_origin
from foreset.store.capture.plan import Feed, Refuse, Reload, SnapshotDiff, Unchanged, Way, decide, next_best
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.capture.stage import Counts, Inconsistent, stage, stage_net

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Captured:
    """What one refresh takes in from one source.

    `counts` is None when the source must be taken whole (`way` is `Reload`): then the caller recomputes what depends on
    it and compares with what was published. The rows lie in `layout.change_folder(directory, sign)`.
    """

    source: str
    recorded: RecordedPin | None
    pin: RecordedPin
    way: Unchanged | Feed | SnapshotDiff | Reload
    counts: Counts | None
    old_lost: str = ""  # why the recorded version cannot be read; "" when it can

    @property
    def reason(self) -> str:
        """Why this way; for reports."""
        return self.way.reason

    @property
    def degraded(self) -> bool:
        """Whether a setting of the source made this dearer than it need be: worth a warning."""
        return self.recorded is not None and isinstance(self.way, (SnapshotDiff, Reload))


def current_pin(spark: SparkSession, source: Source, root: str, used_by: tuple[str, ...] = ()) -> RecordedPin:
    """The newest version: recorded once when a refresh opens, and passed to `capture` by every retry."""
    return open_origin(spark, source, root, None, used_by).pin()


def capture(
    spark: SparkSession,
    source: Source,
    recorded: RecordedPin | None,
    root: str,
    directory: str,
    *,
    to: RecordedPin | None = None,
    used_by: tuple[str, ...] = (),
) -> Captured:
    """The exact set differential of `source` from `recorded` to `to` (default: now), staged in `directory`."""
    origin = open_origin(spark, source, root, to.version if to else None, used_by)
    facts = origin.facts(recorded)
    way = decide(recorded, facts)
    if isinstance(way, Refuse):
        raise way.error
    pin = origin.pin()
    if to is not None and (pin.table_id, pin.commit) != (to.table_id, to.commit):
        raise errors.replaced_meanwhile(source.name, origin.place, to.version)
    found: Counts | None = None
    while not isinstance(way, Reload):
        try:
            found = _go(spark, source, origin, way, directory, recorded)
            break
        except Inconsistent as error:
            way = next_best(way, str(error), facts)
        except Exception as error:
            if not errors.of_spark(error):
                raise
            if not errors.history_is_lost(error):
                raise errors.unreadable(source.name, origin.place, errors.first_line(error)) from error
            way = next_best(way, errors.describe(error), facts)
    assert not isinstance(way, Refuse)
    captured = Captured(source.name, recorded, pin, way, found, facts.old_lost)
    if captured.degraded:
        log.warning("source %s (%s): %s", source.name, origin.place, captured.reason)
    return captured


def _go(
    spark: SparkSession, source: Source, origin: Origin, way: Way, directory: str, recorded: RecordedPin | None
) -> Counts:
    single = recorded.single if recorded else None
    match way:
        case Unchanged():
            return Counts()
        case Feed() | SnapshotDiff() if (counts := stage_here(origin, way, source, directory, single)) is not None:
            return counts
        case Feed(after, upto):
            key = known_alone(origin, source, single, upto)
            return stage_net(spark, origin.feed(after, upto), origin.at(upto), source.columns, directory, key)
        case SnapshotDiff(after, upto):
            return stage(difference(origin.at(after), origin.at(upto), source.columns), directory)
        case Refuse(error):
            raise error
        case Reload():
            raise AssertionError("a reload reads nothing here")
        case _:
            assert_never(way)
