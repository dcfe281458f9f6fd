"""What a commit leaves for people and for the refreshes after it, and what commit and publish noted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreset.ir.edits import Edit
from foreset.records.captures import CaptureSummary
from foreset.records.codec import LEFT_OUT
from foreset.records.strata import Asked, StratumSummary


@dataclass(frozen=True, slots=True)
class Details:
    """How a refresh came about: kept by the manifest, longer than run directories live."""

    strata: tuple[StratumSummary, ...] = ()
    captures: Mapping[str, CaptureSummary] = field(default_factory=dict)
    domains: Mapping[str, Asked] = field(default_factory=dict)  # by `domain:function`
    warnings: tuple[str, ...] = ()  # what was published all the same, and should be known
    edits: tuple[Edit, ...] = ()  # corrections of views, those that were undone too
    note: str = ""
    writing_seconds: float | None = None
    run: str = ""  # the name of its directory
    rolled_back_to: int | None = field(default=None, metadata=LEFT_OUT)

    def stratum_of(self, view: str) -> StratumSummary | None:
        """The work on the stratum of a view."""
        return next((one for one in self.strata if view in one.views), None)


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """That the manifest has the row."""

    seq: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PublishRecord:
    """That those who wait were told."""

    exports: Mapping[str, int] = field(default_factory=dict)  # view -> the seq that its export shows
    seconds: float = 0.0
