"""What a machine asks, answered by Spark.

What is built and then read once is a plan that nobody runs before its reader does. Every other derivation is one
action, which counts its rows on the way (two where what it leaves out is large); emptiness tests and merges cost none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from foreset.analyse.order import can_fail
from foreset.backends.spark import aggregates
from foreset.backends.spark.compile import derive, expected, finds_copies
from foreset.backends.spark.counters import CounterFrames
from foreset.backends.spark.frames import Frames, Piece, from_arrow, union
from foreset.backends.spark.support_lookup import follow
from foreset.backends.spark.trace_failure import Suspects, computed_places, explain_failure
from foreset.ir.reads import read_by
from foreset.ir.rules import Rule
from foreset.ir.sizes import summed
from foreset.ir.steps import (
    Aggregate,
    Circles,
    Count,
    Counter,
    Derivation,
    Follow,
    Group,
    Pick,
    Ref,
    Spread,
    Step,
)
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.backend import Backend, Work
from foreset.machine.cycle_nodes import on_circles
from foreset.plan import giving_up
from foreset.store.arrow_values import to_arrow
from foreset.store.spark_values import collected
from foreset.store.types import column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NEAR_ROWS = 1_000_000  # of a stored input that a loop keeps in memory
MOST_EDGES = 200_000  # of a graph that comes to the driver, to look for circles
MANY_PIECES = 16  # a version in more pieces is put together, or its unions grow without end


@dataclass(slots=True)
class SparkBackend(Backend[Piece, CounterFrames]):
    """The frames of one stratum."""

    versions: Frames
    counters: dict[str, CounterFrames] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    once: AbstractSet[Ref] = frozenset()  # what the steps build for one reader
    halves: dict[tuple[Ref, Ref], Piece] = field(default_factory=dict)  # of differences, what nobody has asked for yet
    tallied: dict[str, Piece] = field(default_factory=dict)  # rows whose counters are plans of the same
    suspects: Suspects = field(default_factory=Suspects)

    @property
    def patience(self) -> giving_up.Patience:
        return giving_up.OF_SPARK

    def foresee(self, once: Callable[[], AbstractSet[Ref]]) -> None:
        self.once = once()

    def derive(self, part: Derivation) -> Sequence[Piece]:
        """One action for all rules, or none."""
        found = [frame for rule in part.rules if (frame := derive(rule, self.versions, part.within)) is not None]
        if not found:
            return ()
        if part.target in self.once:
            self.suspects.rules += part.rules
            raw = union(found)
            single = part.single and not any(finds_copies(rule, self.versions) for rule in part.rules)
            return [Piece(raw if single else raw.distinct(), raw=raw, fragile=computed_places(part.rules))]
        if part.target.version is Version.HELD and _cannot_fail(part.rules):
            return [Piece(union(found))]  # read once, by the very next step, whose action computes it
        most = expected(part.rules, self.versions, part.within)
        return [self._cut_without(union(found).distinct(), part.without, most, part.rules)]

    def _cut_without(
        self, frame: DataFrame, refs: Sequence[Ref], most: int | None, rules: tuple[Rule, ...] = ()
    ) -> Piece:
        """`frame - refs`: in one action where `refs` are few rows, else its own rows first, to look for those alone."""
        if all(self.versions.few(ref) for ref in refs):
            return self._cut(self.versions.less(frame, refs), most, rules)
        candidates = self._cut(frame, most, rules)
        if not candidates.rows:
            return candidates
        return self._cut(self.versions.without(candidates, refs), candidates.rows)

    def merge(self, target: Ref, source: Ref) -> None:
        pieces = (*self.versions.stored(target), *self.versions.parts(source))
        if len(pieces) > MANY_PIECES:
            pieces = (self._cut(union([piece.frame for piece in pieces]), summed(piece.rows for piece in pieces)),)
        self.versions.put(target, *pieces)

    def subtract(self, source: Ref, less: Sequence[Ref]) -> Sequence[Piece]:
        """The pieces as they are where nothing is taken away."""
        if not less:
            return self.versions.parts(source)
        if len(less) == 1 and Version.FULL in (source.version, less[0].version):
            return self._half(source, less[0])
        rows = self.versions.read(source)
        return [self._cut(self.versions.without(rows, less), rows.rows)]

    def _half(self, source: Ref, less: Ref) -> Sequence[Piece]:
        """Rows of one state and not of the other, both ways in one action: old and new meet where they are equal."""
        if (found := self.halves.pop((source, less), None)) is None:
            width = len(self.versions.schemas[source.relation])
            united = union(
                [
                    piece.with_copies.select("*", F.lit(mine).alias("mine"), F.lit(not mine).alias("other"))
                    for ref, mine in ((source, True), (less, False))
                    for piece in self.versions.parts(ref)
                ]
            )
            names = column_names(width)
            sides = united.groupBy(*names).agg(F.bool_or("mine").alias("mine"), F.bool_or("other").alias("other"))
            most = summed(map(self.versions.count, (source, less)))
            both = self._cut(sides.where(F.col("mine") != F.col("other")), most)
            found, rest = (
                Piece(both.frame.where(side).select(*names)) if both.rows else Piece(both.frame, 0)
                for side in ("mine", "other")
            )
            self.halves[less, source] = rest
        return [found]

    def tally(self, relation: str, counts: Sequence[Count]) -> Sequence[Piece]:
        """One action for all rules of the relation."""
        frames = [frame for part in counts for frame in self._signed(part)]
        if not frames:
            return ()
        names = column_names(len(self.versions.schemas[relation]))
        sums = [F.sum(name).alias(name) for name in ("base", "recursive")]
        rules = tuple(rule for part in counts for rule in part.rules)
        found = union(frames).groupBy(*names).agg(*sums)
        if Ref(relation, Version.TOUCHED) in self.once:
            self.suspects.rules += rules
            self.counters_of(relation).changes.append(Piece(found))
            self.tallied[relation] = Piece(found.select(*names))
            return [self.tallied[relation]]
        piece = self._cut(found, expected(rules, self.versions), rules)
        if piece.rows:
            self.counters_of(relation).changes.append(piece)
        return [Piece(piece.frame.select(*names), piece.rows)]

    def _signed(self, part: Count) -> list[DataFrame]:
        sign, none = F.lit(part.sign).cast("bigint"), F.lit(0).cast("bigint")
        base, recursive = (sign, none) if part.counter is Counter.BASE else (none, sign)
        found = [frame for rule in part.rules if (frame := derive(rule, self.versions)) is not None]
        return [frame.withColumn("base", base).withColumn("recursive", recursive) for frame in found]

    def pick(self, step: Pick) -> Sequence[Piece]:
        """Looked up in the stored counters and in this run's changes."""
        rows = self.versions.read(step.source)
        standing = self.counters_of(step.source.relation).standing(rows, step.standing)
        return [self._cut_without(standing, step.without, rows.rows)]

    def uncounted(self, relation: str) -> CounterFrames:
        return CounterFrames(len(self.versions.schemas[relation]))

    def impossible(self, relation: str) -> Row | None:
        wrong = self.counters_of(relation).impossible()
        kinds = self.versions.schemas[relation]
        rows = collected(wrong.select(*column_names(len(kinds))).limit(1), kinds) if wrong is not None else []
        return rows[0] if rows else None

    def group(self, step: Group) -> Sequence[Piece]:
        groups = aggregates.groups_of(step, self.versions)
        self.suspects.groups += (step,)
        return [Piece(groups) if step.target in self.once else self._cut(groups, self.versions.count(step.source))]

    def aggregate(self, step: Aggregate) -> tuple[Sequence[Piece], Sequence[Piece]]:
        return aggregates.aggregate(step, self.versions)

    def circles(self, step: Circles) -> Sequence[Piece]:
        """Few edges are looked at here; of many, every node counts as on a circle, which is exact too."""
        edges, kinds = self.versions.read(step.source), self.versions.schemas[step.target.relation]
        if edges.rows is None or edges.rows > MOST_EDGES:
            return [self._cut(edges.frame.select(*column_names(len(kinds))).distinct(), edges.rows)]
        nodes = sorted(on_circles(collected(edges.frame, (*kinds, *kinds))), key=repr)
        arrow = to_arrow(nodes, kinds, column_names(len(kinds)))
        return [from_arrow(self.versions.spark, arrow, kinds)] if nodes else ()

    def spread(self, step: Spread) -> tuple[Sequence[Piece], Sequence[Piece]]:
        from foreset.bitsets.spread import spread

        frames, check = self.versions, partial(giving_up.check_moved, step.relation)
        take = partial(from_arrow, frames.spark, kinds=frames.schemas[step.relation])
        return spread(step, lambda ref: frames.read(ref).frame.toArrow(), take, check)

    def follow(self, step: Follow) -> Sequence[Piece]:
        rows = follow(step, self.versions)
        return () if rows is None else [self._cut(rows, self.versions.count(step.source))]

    def keep_near(self, body: Sequence[Step]) -> None:
        """Compute the stored inputs of a loop once: in each round, Delta would look for their files anew."""
        for ref in {stored for named in read_by(body) for stored in self.versions.stored_for(named)}:
            pieces = self.versions.stored(ref)
            self.versions.put(ref, *(self._near(piece) for piece in pieces))

    def _near(self, piece: Piece) -> Piece:
        return self._cut(piece.frame, piece.rows) if _worth_keeping(piece) else piece

    def after_step(self) -> None:
        changes = (piece for counted in self.counters.values() for piece in counted.changes)
        self.versions.kept.sweep(chain(self.versions.opened, changes, self.halves.values(), self.tallied.values()))

    def _cut(self, frame: DataFrame, most: int | None, rules: tuple[Rule, ...] = ()) -> Piece:
        """Compute a frame once; `most`: how many rows it has at most, or is expected to have."""
        with self.explaining(rules):
            return self.versions.kept.keep(frame, most)

    @contextmanager
    def explaining(self, rules: tuple[Rule, ...] = ()) -> Iterator[None]:
        """Say which of these rules, or of those whose plans nobody has run, fails here, and on which row."""
        try:
            yield
        except PySparkException as error:
            raise explain_failure(error, self.suspects.with_rules(rules), self.versions) from error


def _worth_keeping(piece: Piece) -> bool:
    return not piece.computed and piece.rows is not None and piece.rows <= NEAR_ROWS


def _cannot_fail(rules: tuple[Rule, ...]) -> bool:
    """True when no expression is evaluated that a failure would have to be traced to."""
    return not any(can_fail(literal) for rule in rules for literal in rule.body)
