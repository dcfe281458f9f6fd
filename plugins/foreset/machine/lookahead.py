"""What is built and then read once: whoever computes it may leave that to the reader, so that both are one plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from foreset.ir.reads import read_by, written_by
from foreset.ir.steps import Group, Merge, Ref, Step, Subtract, Tally
from foreset.ir.versions import Version

BUILT = (Version.FULL, Version.FULL_NEXT, Version.TOUCHED)  # what is built from nothing


class _Reader(StrEnum):
    """Who reads the rows of a version."""

    RESULT = "result"  # whoever stages what came of the steps
    GROUP = "group"
    DIFFERENCE = "difference"  # both ways, against one other version
    OTHER = "other"


def read_once(steps: Sequence[Step], results: Sequence[Ref], empty: Callable[[Ref], bool]) -> frozenset[Ref]:
    """The versions built by `steps` that one reader needs at most, which reads them as they are and not in a loop.

    `results` are read in the end. The counters of what was tallied are staged beside it, so unless its rows are a
    result, these are two.
    """
    flow = _Flow(steps, frozenset(results), Counter(ref for step in steps for ref in written_by(step)), empty)
    tallied = {ref for step in steps if isinstance(step, Tally) for ref in written_by(step)}
    return frozenset(
        ref
        for ref, times in flow.written.items()
        if times == 1 and ref.version in BUILT and flow.passes(ref, counted=ref in tallied)
    )


@dataclass(frozen=True, slots=True)
class _Flow:
    """The way of rows through steps; a merge, or a subtraction of nothing, only hands them on."""

    steps: Sequence[Step]
    results: frozenset[Ref]
    written: Counter[Ref]
    empty: Callable[[Ref], bool]  # before the first step

    def passes(self, ref: Ref, *, counted: bool) -> bool:
        """Whether one reader has the rows, or nobody."""
        readers = set(self._readers(ref))
        kinds = {kind for kind, _ in readers}
        return len(readers) <= 1 and kinds <= ({_Reader.RESULT} if counted else set(_Reader) - {_Reader.OTHER})

    def _readers(self, ref: Ref) -> Iterator[tuple[_Reader, object]]:
        if ref in self.results:
            yield _Reader.RESULT, ref
        for number, step in enumerate(self.steps):
            match step:
                case Merge(target=target, source=source) if ref in (target, source):
                    yield from self._readers(target) if ref == source else ()
                case Subtract(target=target, source=source, less=less) if ref in (source, *less):
                    left = [one for one in less if not self._stays_empty(one)]
                    if left and not self._stays_empty(source):
                        yield _Reader.DIFFERENCE, frozenset((source, *left))
                    elif ref == source:
                        yield from self._readers(target)
                case Group(source=source) if ref == source:
                    yield _Reader.GROUP, number
                case _ if ref in read_by((step,)):
                    yield _Reader.OTHER, number

    def _stays_empty(self, ref: Ref) -> bool:
        return ref not in self.written and self.empty(ref)
