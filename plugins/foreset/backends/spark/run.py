"""A reader of steps that runs them in Spark.

Every derivation is one action, which counts its rows on the way (two where what it
leaves out is large); emptiness tests and merges cost none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, assert_never

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from foreset.backends.sets.interpret import miscounted
from foreset.backends.spark import aggregates
from foreset.backends.spark.compile import derive
from foreset.backends.spark.counters import CounterFrames
from foreset.backends.spark.cutting import cut
from foreset.backends.spark.cycle_nodes import MOST_EDGES, circling
from foreset.backends.spark.frames import Frames, Piece
from foreset.backends.spark.linear_fixpoint import spread
from foreset.backends.spark.support_lookup import follow
from foreset.backends.spark.trace_failure import explain_failure
from foreset.errors import EvaluationError
from foreset.ir.reads import read_by
from foreset.ir.rules import Atom, Negation, Rule
from foreset.ir.steps import (
    Aggregate,
    AssertCounts,
    Circles,
    Count,
    Counter,
    Derivation,
    Derive,
    Follow,
    Forget,
    Group,
    Merge,
    Phase,
    Pick,
    Ref,
    Repeat,
    Spread,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.versions import Version
from foreset.plan import giving_up
from foreset.store.spark_values import collected
from foreset.store.types import column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SETTLED = 3  # rounds, after which a loop is expected to go on for some more
NEAR_ROWS = 1_000_000  # of a stored input that such a loop keeps in memory
MANY_PIECES = 16  # a version in more pieces is put together, or its unions grow without end
Listener = Callable[[dict[str, Any]], None]


@dataclass(slots=True)
class Engine:
    """Runs the phases of one stratum over its frames."""

    frames: Frames
    max_rounds: int
    counters: dict[str, CounterFrames] = field(default_factory=dict)
    listen: Listener = lambda _: None
    may_give_up: bool = False  # raise `GivenUp` rather than go on
    rounds: int = 0

    def run(self, phase: Phase) -> None:
        """Run one phase; its results are in the frames."""
        for step in phase.steps:
            self._step(step)
        self.listen({"event": "work", "phase": phase.name, **self.frames.overdeleted()})

    def _step(self, step: Step) -> None:  # noqa: C901, PLR0912 - one branch per step
        match step:
            case Derive(parts=parts):
                found = [(part.target, self._derived(part)) for part in parts]
                for target, piece in found:
                    self.frames.put(target, piece)
            case Merge(target=target, source=source):
                self._merge(target, source)
            case Subtract(target=target, source=source, less=less):
                self._subtract(target, source, less)
            case Tally(parts=counts):
                self._tally(counts)
            case Pick():
                self._pick(step)
            case Forget(relation=relation):
                self.counters[relation] = CounterFrames(len(self.frames.schemas[relation]))
            case AssertCounts(relation=relation):
                self._assert_counts(relation)
            case Group():
                aggregates.group(step, self.frames)
            case Aggregate():
                aggregates.aggregate(step, self.frames)
            case Circles(target=target, source=source):
                self._circles(target, source)
            case Spread():
                spread(step, self.frames)
            case Follow(target=target):
                rows = follow(step, self.frames)
                self.frames.put(target, self._nothing(target) if rows is None else self._cut(rows))
            case Repeat(body=body, until_empty=until_empty):
                self._repeat(body, until_empty)
            case _:
                assert_never(step)

    def _derived(self, part: Derivation) -> Piece:
        within = None
        if part.within is not None:
            within = self.frames.read(part.within)
            if within.rows == 0:
                return self._nothing(part.target)
        found = [frame for rule in part.rules if (frame := derive(rule, self.frames, within)) is not None]
        if not found:
            return self._nothing(part.target)
        if part.target.version is Version.HELD and _cannot_fail(part.rules):
            return Piece(union(found))  # read once, by the very next step, whose action computes it
        return self._cut_without(union(found).distinct(), part.without, part.rules)

    def _cut_without(self, frame: DataFrame, refs: Sequence[Ref], rules: tuple[Rule, ...] = ()) -> Piece:
        """`frame - refs`: in one action where `refs` are few rows, else its own rows first, to look for those alone."""
        if all(self.frames.few(ref) for ref in refs):
            return self._cut(self.frames.less(frame, refs), rules)
        candidates = self._cut(frame, rules)
        return self._cut(self.frames.without(candidates, refs)) if candidates.rows else candidates

    def _merge(self, target: Ref, source: Ref) -> None:
        pieces = (*self.frames.pieces(target), *self.frames.pieces(source))
        if len(pieces) > MANY_PIECES:
            pieces = (self._cut(union([piece.frame for piece in pieces])),)
        self.frames.put(target, *pieces)
        if self.may_give_up and target.version is Version.DEL:
            old = self.frames.count(Ref(target.relation, Version.OLD))
            giving_up.OF_SPARK.check(target.relation, self.frames.count(target), old)

    def _subtract(self, target: Ref, source: Ref, less: Sequence[Ref]) -> None:
        rows = self.frames.read(source)
        if rows.rows == 0 or all(self.frames.empty(ref) for ref in less):
            self.frames.put(target, *self.frames.pieces(source))
            return
        self.frames.put(target, self._cut(self.frames.without(rows, less)))

    def _tally(self, counts: Sequence[Count]) -> None:
        relations = dict.fromkeys(part.relation for part in counts)
        for relation in (*relations, *(name for name in self.counters if name not in relations)):
            frames = [frame for part in counts if part.relation == relation for frame in self._signed(part)]
            touched = Ref(relation, Version.TOUCHED)
            if not frames:
                self.frames.put(touched)
                continue
            names = column_names(len(self.frames.schemas[relation]))
            sums = [F.sum(name).alias(name) for name in ("base", "recursive")]
            rules = tuple(rule for part in counts for rule in part.rules)
            piece = self._cut(union(frames).groupBy(*names).agg(*sums), rules)
            if piece.rows:
                self._counters(relation).changes.append(piece)
            self.frames.put(touched, Piece(piece.frame.select(*names), piece.rows))

    def _signed(self, part: Count) -> list[DataFrame]:
        sign, none = F.lit(part.sign).cast("bigint"), F.lit(0).cast("bigint")
        base, recursive = (sign, none) if part.counter is Counter.BASE else (none, sign)
        found = [frame for rule in part.rules if (frame := derive(rule, self.frames)) is not None]
        return [frame.withColumn("base", base).withColumn("recursive", recursive) for frame in found]

    def _counters(self, relation: str) -> CounterFrames:
        return self.counters.setdefault(relation, CounterFrames(len(self.frames.schemas[relation])))

    def _pick(self, step: Pick) -> None:
        rows = self.frames.read(step.source)
        if rows.rows == 0:
            self.frames.put(step.target)
            return
        standing = self._counters(step.source.relation).standing(rows, step.standing)
        self.frames.put(step.target, self._cut_without(standing, step.without))

    def _assert_counts(self, relation: str) -> None:
        wrong = self._counters(relation).impossible()
        kinds = self.frames.schemas[relation]
        rows = collected(wrong.select(*column_names(len(kinds))).limit(1), kinds) if wrong is not None else []
        if rows:
            raise EvaluationError(*miscounted(relation, rows[0]))

    def _circles(self, target: Ref, source: Ref) -> None:
        """Few edges are looked at here; of many, every node counts as on a circle, which is exact too."""
        edges = self.frames.read(source)
        nodes = edges.frame.select(*column_names(len(self.frames.schemas[target.relation])))
        if edges.rows == 0:
            self.frames.put(target)
        elif edges.rows is not None and edges.rows <= MOST_EDGES:
            self.frames.put(target, circling(edges.frame, nodes, self.frames.schemas[target.relation]))
        else:
            self.frames.put(target, self._cut(nodes.distinct()))

    def _repeat(self, body: tuple[Step, ...], until_empty: tuple[Ref, ...]) -> None:
        rounds = 0
        while not all(self.frames.empty(ref) for ref in until_empty):
            rounds += 1
            found = {ref.relation: self.frames.count(ref) for ref in until_empty}
            self.listen({"event": "round", "round": rounds, "rows": found})
            if rounds > self.max_rounds:
                raise EvaluationError(*giving_up.endless(sorted(found), self.max_rounds))
            if rounds == SETTLED:
                self._bring_near(body)
            for step in body:
                self._step(step)
        self.rounds += rounds

    def _bring_near(self, body: tuple[Step, ...]) -> None:
        """Compute the stored inputs of a loop once: in each round, Delta would look for their files anew."""
        for ref in {stored for named in read_by(body) for stored in self.frames.stored_of(named)}:
            pieces = self.frames.pieces(ref)
            self.frames.put(ref, *(self._cut(piece.frame) if _worth_keeping(piece) else piece for piece in pieces))

    def _nothing(self, ref: Ref) -> Piece:
        return Piece(self.frames.nothing(ref.relation), 0)

    def _cut(self, frame: DataFrame, rules: tuple[Rule, ...] = ()) -> Piece:
        try:
            return cut(frame)
        except PySparkException as error:
            raise explain_failure(error, rules, self.frames) from error


def _worth_keeping(piece: Piece) -> bool:
    return not piece.computed and piece.rows is not None and piece.rows <= NEAR_ROWS


def _cannot_fail(rules: tuple[Rule, ...]) -> bool:
    """True when no expression is evaluated that a failure would have to be traced to."""
    return all(isinstance(literal, Atom | Negation) for rule in rules for literal in rule.body)


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of all frames."""
    return reduce(lambda a, b: a.unionAll(b), frames)
