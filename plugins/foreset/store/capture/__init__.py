"""From source versions to exact set differentials: what changed since the last committed refresh.

`capture` is the entry; `current_pin` records where a refresh stops reading; `read_source` and
`read_before` give the states around the differential. docs/sources.md says it for users.
"""

from foreset.store.capture.plan import Feed, Reload, SnapshotDiff, Unchanged
from foreset.store.capture.source import read_before, read_source
from foreset.store.capture.source_pin import PinnedColumn, RecordedPin
from foreset.store.capture.stage import Counts, Differential, staged
from foreset.store.capture.take import Captured, capture, current_pin

__all__ = [
    "Captured",
    "Counts",
    "Differential",
    "Feed",
    "PinnedColumn",
    "RecordedPin",
    "Reload",
    "SnapshotDiff",
    "Unchanged",
    "capture",
    "current_pin",
    "read_before",
    "read_source",
    "staged",
]
