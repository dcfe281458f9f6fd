"""What the capture of one source noted: how, how many rows came and went, and where they are staged."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreset.records.codec import LEFT_OUT


@dataclass(frozen=True, slots=True)
class CaptureSummary:
    """How a source was taken in, as the manifest keeps it."""

    way: str = ""  # Unchanged | Feed | SnapshotDiff | Reload
    reason: str = ""
    inserted: int = 0
    deleted: int = 0
    rows: int | None = None
    degraded: bool = False
    key: tuple[str, ...] = ()
    single: bool | None = field(default=None, metadata=LEFT_OUT)  # None: earlier releases did not look for copies
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    """One source, taken in."""

    way: str = ""  # Unchanged | Feed | SnapshotDiff | Reload
    reason: str = ""
    inserted: int = 0
    deleted: int = 0
    rows: int | None = None  # None where the log does not say it
    taken_whole: bool = False  # what came and went is not known
    moved: bool = False
    degraded: bool = False
    old_lost: str = ""  # why the version of the refresh before cannot be read; empty when it can
    single: bool = False  # no two rows have the same key, copies included
    key: tuple[str, ...] = ()
    staged: str = ""  # the folder of its differential
    stored: int | None = field(default=None, metadata=LEFT_OUT)  # bytes of the declared columns in the table's files
    seconds: float | None = None

    @property
    def changed(self) -> int:
        """Rows that came and went."""
        return self.inserted + self.deleted

    @property
    def summary(self) -> CaptureSummary:
        """What the manifest keeps of it."""
        return CaptureSummary(
            self.way, self.reason, self.inserted, self.deleted, self.rows, self.degraded, self.key, self.single,
            self.seconds,
        )  # fmt: skip
