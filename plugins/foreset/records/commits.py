"""What commit and publish noted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
