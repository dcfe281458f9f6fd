"""The step language: what a stratum does, with no word on how.

Written by `maintain/`, read by `backends/` and `explain/`. Each reader matches every step and
ends in `assert_never`, so a new step does not type-check until all of them know it.

A `Ref` names one stored version of one relation. Before the first step, OLD of
every relation, PLUS and MINUS of the lower ones, and the stored counters are
there; every other stored version is empty. After the last step PLUS and MINUS
of the stratum's views are the result. Sets throughout; NULL equals NULL in
`within`, `without`, merge and subtract, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from foreset.ir.aggregates import Aggregation
from foreset.ir.program import Helper
from foreset.ir.rules import Rule
from foreset.ir.types import Type
from foreset.ir.versions import Version


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """One version of one relation."""

    relation: str
    version: Version


@dataclass(frozen=True, slots=True)
class Derivation:
    """`target := heads of rules, those within `within`, except those in any of `without``.

    Each rule's head names the target's relation. `single`: from rows that stand once each, no head comes twice.
    """

    target: Ref
    rules: tuple[Rule, ...]
    within: Ref | None = None
    without: tuple[Ref, ...] = ()
    single: bool = False


@dataclass(frozen=True, slots=True)
class Derive:
    """Compute all parts from the state before the step, then assign them all."""

    parts: tuple[Derivation, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """`target := target + source`, which are disjoint: whoever writes steps sees to it."""

    target: Ref
    source: Ref


@dataclass(frozen=True, slots=True)
class Subtract:
    """`target := source - less...`; virtual versions may be read."""

    target: Ref
    source: Ref
    less: tuple[Ref, ...] = ()


class Counter(StrEnum):
    """Where a derivation comes from: rules without the head's own stratum in the body, or with it."""

    BASE = "base"
    RECURSIVE = "recursive"


@dataclass(frozen=True, slots=True)
class Count:
    """`sign` for each way in which a rule's body holds, on `counter` of the head's row."""

    relation: str
    counter: Counter
    sign: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """Change the counters; TOUCHED of each relation := the rows named by any part, even if they cancel."""

    parts: tuple[Count, ...]


class Standing(StrEnum):
    """What the counters say of a row: `before` are the stored ones, `now` those with all tallies."""

    APPEARED = "appeared"  # none before, some now
    VANISHED = "vanished"  # some before, none now
    UNFOUNDED = "unfounded"  # no base derivation now, whatever the recursive ones
    STANDING = "standing"  # some derivation now
    GONE = "gone"  # no derivation now


@dataclass(frozen=True, slots=True)
class Pick:
    """`target := rows of source whose counters are in `standing`, except those in any of `without``."""

    target: Ref
    source: Ref
    standing: Standing
    without: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Forget:
    """Take the stored counters of `relation` for nothing: tallies start from zero."""

    relation: str


@dataclass(frozen=True, slots=True)
class AssertCounts:
    """No counter of a touched row is below zero: otherwise the state is not what it should be."""

    relation: str


@dataclass(frozen=True, slots=True)
class Group:
    """`target := one row for each group of source`, as `aggregation` says; `rule` is named where an element fails."""

    target: Ref
    source: Ref
    aggregation: Aggregation
    rule: Rule


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Fold PLUS and MINUS of the members into the OLD rows of `relation`: its PLUS and MINUS.

    Only groups that these name are touched. NEW of the members is read for those groups
    alone that cannot be folded (`Upkeep`). Fewer members than none: the state is wrong.
    """

    relation: str
    aggregation: Aggregation
    rule: Rule


@dataclass(frozen=True, slots=True)
class Circles:
    """`target := nodes of source that lie on a circle`: a row of source is an edge, half its columns are one node.

    A reader may put more nodes there: whoever writes steps stays exact if it does.
    """

    target: Ref
    source: Ref


@dataclass(frozen=True)
class Spread:
    """PLUS and MINUS of `relation` := how the fixpoint of two other relations differs, FULL against OLD.

    The fixpoint holds the rows of `base`, and with each row those in which the columns `key` are replaced by a key
    that needs the row's: a row of `needs` is a key, then one that it needs. A needed key with a NULL equals none.
    """

    relation: str
    base: str
    needs: str
    key: tuple[int, ...]

    @cached_property
    def reads(self) -> tuple[Ref, ...]:
        """Both relations in both states."""
        names = dict.fromkeys((self.base, self.needs))
        return tuple(Ref(name, version) for version in (Version.OLD, Version.FULL) for name in names)

    @cached_property
    def writes(self) -> tuple[Ref, Ref]:
        """The differential."""
        return Ref(self.relation, Version.PLUS), Ref(self.relation, Version.MINUS)


@dataclass(frozen=True, slots=True)
class Follow:
    """`target := rows of source that agree with a row of one of `links``, each a rule with one body atom.

    The head of a link names the columns of source; columns and arguments of one name must be equal, and NULL
    equals NULL: no partner is looked for, but the very row on which a support stands, or which it supports.
    """

    target: Ref
    source: Ref
    links: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run `body` until no ref in `until_empty` holds a row; test before each round.

    More than the program's `max_rounds` rounds is an error.
    """

    body: tuple[Step, ...]
    until_empty: tuple[Ref, ...]


Step = (
    Derive | Merge | Subtract | Tally | Pick | Forget | AssertCounts | Group | Aggregate
    | Circles | Spread | Follow | Repeat
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a procedure that a task can run on its own: `delete`, `insert`, `build`."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Procedure:
    """A strategy's translation of one stratum; it equals itself alone, as the stratum does."""

    strategy: str
    views: tuple[str, ...]
    phases: tuple[Phase, ...]
    helpers: tuple[Helper, ...] = ()
    counted: tuple[str, ...] = ()  # views whose counters are up to date afterwards

    @cached_property
    def helper_types(self) -> dict[str, tuple[Type, ...]]:
        """The column types of the relations of its own."""
        return {helper.name: tuple(column.type for column in helper.columns) for helper in self.helpers}

    @cached_property
    def circles(self) -> Ref | None:
        """Where it puts the circles that it finds in the data, if it looks for them."""
        return next((step.target for step in self.steps if isinstance(step, Circles)), None)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps in order."""
        return tuple(step for phase in self.phases for step in phase.steps)
