"""What a machine asks of whoever holds the rows: how to join, take away, count, group and look up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol, TypeVar

from foreset.ir.steps import Aggregate, Circles, Count, Derivation, Follow, Group, Pick, Ref, Spread, Step
from foreset.ir.terms import Row
from foreset.machine.versions import P, Versions
from foreset.plan.giving_up import Patience

C = TypeVar("C")  # what counts the derivations of one relation


@dataclass(slots=True)
class Work:
    """What a run did: deterministic, so that tests and benchmarks can compare it."""

    rounds: int = 0
    derivations: int = 0  # rule instances that fired, where they are counted
    overdeleted: int = 0
    rederived: int = 0
    groups: int = 0  # that a change touched
    gathered: int = 0  # members that were read because their groups could not be folded


class Backend(Protocol[P, C]):
    """Rows of one stratum, and its counters.

    Every answer is disjoint pieces of different rows. They may be plans that nobody has run yet: the machine only
    asks `versions` whether something is known to be empty, before a step that would do nothing and before each round
    of a loop.
    """

    versions: Versions[P]
    counters: dict[str, C]  # of derivations, by relation
    work: Work

    @property
    def patience(self) -> Patience:
        """How much a deletion may take before it is given up."""

    def foresee(self, once: Callable[[], AbstractSet[Ref]]) -> None:  # noqa: ARG002 - some compute everything at once
        """What the next steps build in some versions has one reader, which may compute it; `once` says in which."""
        return

    def derive(self, part: Derivation) -> Sequence[P]:
        """The heads of rules, those within `within` alone, except those in `without`; from the state as it is."""

    def merge(self, target: Ref, source: Ref) -> None:
        """Add the rows of `source` to `target`, which holds none of them."""

    def subtract(self, source: Ref, less: Sequence[Ref]) -> Sequence[P]:
        """The rows of `source` in none of `less`; these are not empty, if there are any."""

    def tally(self, relation: str, counts: Sequence[Count]) -> Sequence[P]:
        """Change the counters of `relation` as `counts` say; the rows that any of them names."""

    def pick(self, step: Pick) -> Sequence[P]:
        """The rows whose counters are in a standing."""

    def uncounted(self, relation: str, /) -> C:
        """Counters of which nothing is stored."""

    def counters_of(self, relation: str) -> C:
        """The counters of a relation, begun where there are none."""
        return self.counters.setdefault(relation, self.uncounted(relation))

    def impossible(self, relation: str) -> Row | None:
        """A row with fewer derivations than none, if there is one."""

    def group(self, step: Group) -> Sequence[P]:
        """One row for each group."""

    def aggregate(self, step: Aggregate) -> tuple[Sequence[P], Sequence[P]]:
        """PLUS and MINUS of a view of groups whose members have changed."""

    def circles(self, step: Circles) -> Sequence[P]:
        """The nodes that lie on a circle, or some more."""

    def spread(self, step: Spread) -> tuple[Sequence[P], Sequence[P]]:
        """PLUS and MINUS of a fixpoint of two other relations."""

    def follow(self, step: Follow) -> Sequence[P]:
        """The rows that agree with a row of some link."""

    def keep_near(self, body: Sequence[Step]) -> None:  # noqa: ARG002 - some need not
        """A loop will go on for some more rounds: what it reads each time may be made cheap to read."""
        return

    def after_step(self) -> None:
        """Forget what no version needs any longer."""
        return
