"""The marks that finished stages leave in a run directory: the name of each, and the record that it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from foreset.plan import stages
from foreset.records.captures import CaptureRecord
from foreset.records.checks import QualityRecord, Verification
from foreset.records.commits import CommitRecord, PublishRecord
from foreset.records.strata import ChoiceRecord, DeletionRecord, StratumRecord

R = TypeVar("R")
REMEMBERED = 1024  # marks: a refresh asks for each some ten times


@dataclass(frozen=True, slots=True)
class Mark(Generic[R]):
    """A mark by its name, and the type of what it says."""

    name: str
    kind: type[R]


@lru_cache(REMEMBERED)
def capture(source: str) -> Mark[CaptureRecord]:
    """That a source is captured."""
    return Mark(stages.mark(stages.CAPTURE, source), CaptureRecord)


@lru_cache(REMEMBERED)
def stratum(number: int) -> Mark[StratumRecord]:
    """That a stratum is up to date."""
    return Mark(stages.mark(stages.STRATA, number), StratumRecord)


@lru_cache(REMEMBERED)
def deletion(number: int) -> Mark[DeletionRecord]:
    """That all phases of a stratum but the last are done."""
    return Mark(f"{stratum(number).name}-delete", DeletionRecord)


@lru_cache(REMEMBERED)
def choice(number: int) -> Mark[ChoiceRecord]:
    """Which strategy a stratum takes in this refresh."""
    return Mark(f"{stratum(number).name}-choice", ChoiceRecord)


VERIFY = Mark(stages.VERIFY.name, Verification)
QUALITY = Mark(stages.QUALITY.name, QualityRecord)
COMMIT = Mark(stages.COMMIT.name, CommitRecord)
PUBLISH = Mark(stages.PUBLISH.name, PublishRecord)
