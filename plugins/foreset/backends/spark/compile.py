"""One rule as a DataFrame of the rows that it derives, one for each way in which its body holds.

A NULL joins with nothing, since joins use plain equality; only the rows of `within` meet the head by null-safe
equality, because they are the same rows, not partners.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.frames import Frames, Piece, semi, sent
from foreset.backends.spark.terms import comparison, literal_column, term_column, truth
from foreset.ir.rules import Atom, Comparison, Let, Rule, Test, atoms, atoms_of, null_safe
from foreset.ir.sizes import summed
from foreset.ir.steps import Ref
from foreset.ir.terms import Const, Var
from foreset.ir.versions import Version
from foreset.machine.literals import Condition, heads_of, places_of
from foreset.store.types import column_names, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FANOUT = 10  # partners that a row is expected to find: only a guess
CHANGES = {Version.PLUS, Version.MINUS, Version.DEL_NEXT, Version.RED_NEXT, Version.INS_NEXT, Version.FULL_NEXT}


def derive(rule: Rule, frames: Frames, within: Ref | None = None) -> DataFrame | None:
    """The rows of the head, of those in `within` alone; None when an atom that must hold is known to be empty."""
    return heads_of(rule, frames, SparkJoin(rule, frames, within), within)


def finds_copies(rule: Rule, frames: Frames) -> bool:
    """Whether an atom may find a row more than once."""
    found = (Ref(atom.relation, atom.version) for atom, negated in atoms(rule) if not negated)
    return any(piece.copies for ref in found for stored in frames.stored_in(ref) for piece in frames.stored(stored))


def expected(rules: Sequence[Rule], frames: Frames, within: Ref | None = None) -> int | None:
    """How many rows rules may derive: those of `within` at most, else a guess from what has changed; None: many."""
    if within is not None:
        return frames.count(within)
    fewest = summed(_fewest(rule, frames) for rule in rules)
    return None if fewest is None else FANOUT * fewest


def _fewest(rule: Rule, frames: Frames) -> int | None:
    """Rows of the smallest change in a body. Whole states say nothing: every row may meet the one that a small has."""
    changes = (atom for atom, negated in atoms_of(rule.body) if not negated and atom.version in CHANGES)
    known = (frames.count(Ref(atom.relation, atom.version)) for atom in changes)
    return min((rows for rows in known if rows is not None), default=None)


@dataclass(frozen=True, slots=True)
class _Side:
    """An atom's rows under column names of their own, its new variables, and the pairs to join on."""

    frame: DataFrame
    fresh: dict[str, str]
    keys: list[tuple[str, str]]  # bound column, own column
    groups: list[tuple[str, str]]  # the same, where a NULL meets a NULL
    hints: list[tuple[str, str]]  # wanted column, own column
    met: AbstractSet[str]  # variables that had a value before
    safe: AbstractSet[str]  # of them, those for which NULL equals NULL


@dataclass(slots=True)
class SparkJoin:
    """The join so far: `bound` says which column holds each variable, `wanted` which one its wanted value.

    `rows`: at most so many; None where nobody can say. `alone`: variables by which no two rows agree.
    """

    rule: Rule
    frames: Frames
    within: Ref | None
    frame: DataFrame | None = None
    rows: int | None = None
    bound: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    used: int = 0
    alone: AbstractSet[str] | None = None

    def _fresh_name(self) -> str:
        self.used += 1
        return f"x{self.used}"

    @property
    def empty(self) -> bool:
        """Nothing is known before it is run."""
        return False

    def begin(self) -> None:
        """Their columns are `w0`, `w1` ..., each variable's the first one."""
        assert self.within is not None
        places, wanted = places_of(self.rule.head), self.frames.read(self.within)
        names = [f"w{i}" for i in range(len(self.rule.head.args))]
        frame, self.wanted = wanted.frame.toDF(*names), {name: names[place] for name, place in places.first.items()}
        for place, value in places.constants:
            frame = frame.where(F.col(names[place]) == literal_column(value))
        for place, name in places.again:
            frame = frame.where(F.col(names[place]).eqNullSafe(F.col(self.wanted[name])))
        self.frame, self.rows = frame, wanted.rows

    def join(self, atom: Atom, needed: AbstractSet[str]) -> None:  # noqa: ARG002 - Spark drops what nobody reads
        piece = self.frames.read(Ref(atom.relation, atom.version))
        side = self._atom_side(atom, piece.frame)
        if self.frame is None:
            self.frame, self.rows, self.alone = side.frame, piece.rows, _alone(atom, piece)
        else:
            left, right = self._sent(side, atom, piece)
            conditions = [F.col(a) == F.col(b) for a, b in side.keys]
            conditions += [F.col(a).eqNullSafe(F.col(b)) for a, b in (*side.groups, *side.hints)]
            joined = left.join(right, reduce(lambda a, b: a & b, conditions)) if conditions else left.crossJoin(right)
            dropped = (own for _, own in (*side.keys, *side.groups))
            self.frame = joined.drop(*dropped, *(wanted for wanted, _ in side.hints))
            self._bound_rows({name for name in side.met if name not in side.safe}, atom, piece)
        self.bound |= side.fresh
        for name in side.fresh:
            self.wanted.pop(name, None)

    def _sent(self, side: _Side, atom: Atom, piece: Piece) -> tuple[DataFrame, DataFrame]:
        """Both sides; the smaller one goes to every executor if it is counted and has few bytes, else Spark decides."""
        assert self.frame is not None
        types = self.rule.types
        theirs = [types[arg.name] for arg in atom.args if isinstance(arg, Var)]
        send_right = sent(piece.rows, theirs)
        send_left = sent(self.rows, [types[name] for name in self.bound])
        if send_left and not (send_right and (piece.rows or 0) <= (self.rows or 0)):
            return F.broadcast(self.frame), side.frame
        return self.frame, F.broadcast(side.frame) if send_right else side.frame

    def _bound_rows(self, met: AbstractSet[str], atom: Atom, piece: Piece) -> None:
        """How many rows there are at most when an atom is joined, and what tells them apart."""
        ours, theirs = self.alone, _alone(atom, piece)
        one_partner, one_of_ours = (alone is not None and alone <= met for alone in (theirs, ours))
        every = self.rows * piece.rows if self.rows is not None and piece.rows is not None else None
        bounds = (every, self.rows if one_partner else None, piece.rows if one_of_ours else None)
        self.rows = min((bound for bound in bounds if bound is not None), default=None)
        self.alone = ours if one_partner else theirs if one_of_ours else None

    def _atom_side(self, atom: Atom, frame: DataFrame) -> _Side:
        places, labels = places_of(atom), column_names(len(atom.args))
        kinds = {name: spark_type(self.rule.types[name]) for name in places.first}
        first = {name: F.col(labels[place]).cast(kinds[name]) for name, place in places.first.items()}
        conditions = [F.col(labels[place]) == literal_column(value) for place, value in places.constants]
        conditions += [first[name] == F.col(labels[place]) for place, name in places.again]
        selected = frame.where(reduce(lambda a, b: a & b, conditions)) if conditions else frame
        names = {name: self._fresh_name() for name in first}
        columns = [column.alias(names[name]) for name, column in first.items()]
        side = selected.select(*(columns or [F.lit(True).alias(self._fresh_name())]))
        fresh = {name: own for name, own in names.items() if name not in self.bound}
        met = {name: (self.bound[name], own) for name, own in names.items() if name in self.bound}
        safe = {name for name, place in places.first.items() if place in null_safe(atom, self.rule)}
        keys, groups = ([pair for name, pair in met.items() if (name in safe) is alike] for alike in (False, True))
        hints = [(self.wanted[name], own) for name, own in fresh.items() if name in self.wanted]
        return _Side(side, fresh, keys, groups, hints, met.keys(), safe)

    def keep(self, conditions: Sequence[Condition]) -> Sequence[Condition]:
        """As filters, which Spark puts where they cost least."""
        for condition in conditions:
            self.settle(condition)
        return ()

    @property
    def begun(self) -> DataFrame:
        """The rows so far; one where nothing was joined."""
        return self.frames.spark.range(1) if self.frame is None else self.frame

    def settle(self, literal: Condition | Let) -> None:
        """A filter, or a new column."""
        types, bound = self.rule.types, self.bound
        match literal:
            case Comparison():
                self.frame = self.begun.where(comparison(literal, bound, types))
            case Test():
                self.frame = self.begun.where(truth(literal, bound, types))
            case Let(var=var, term=term):
                own = self._fresh_name()
                frame = self.begun.withColumn(own, term_column(term, bound, types).cast(spark_type(types[var.name])))
                if var.name in bound:  # by the flip of a negation, which stands for an atom: the values must meet
                    frame = frame.where(F.col(bound[var.name]) == F.col(own))
                bound.setdefault(var.name, own)
                self.frame = frame

    def exclude(self, atom: Atom) -> None:
        """NOT EXISTS as an anti-join; a NULL on either side never excludes."""
        ref = Ref(atom.relation, atom.version)
        if self.frames.empty(ref):
            return
        piece = self.frames.read(ref)
        side = self._atom_side(atom, piece.frame)
        conditions = [F.col(a) == F.col(b) for a, b in side.keys]
        on = reduce(lambda a, b: a & b, conditions) if conditions else F.lit(True)
        right = side.frame.select(*(own for _, own in side.keys)) if side.keys else side.frame.limit(1)
        few = sent(piece.rows, [self.rule.types[arg.name] for arg in atom.args if isinstance(arg, Var)])
        self.frame = self.begun.join(F.broadcast(right) if few else right, on, "left_anti")

    def heads(self, *, restricted: bool) -> DataFrame:
        """The head's columns; what is wanted of them and was not met on the way is compared now."""
        head, frame = self.rule.head, self.begun
        schema = self.frames.schemas[head.relation]
        columns = []
        for label, kind, arg in zip(column_names(len(schema)), schema, head.args, strict=True):
            match arg:
                case Const():
                    column = literal_column(arg)
                case Var(name=name):
                    column = F.col(self.bound[name])
                    if name in self.wanted:
                        frame = frame.where(F.col(self.wanted[name]).eqNullSafe(column.cast(spark_type(kind))))
                case _:
                    raise AssertionError(f"{head} is not in normal form")
            columns.append(column.cast(spark_type(kind)).alias(label))
        found = frame.select(*columns)
        if not restricted or self.within is None:
            return found
        return semi(found, self.frames.hinted(self.frames.read(self.within), head.relation), len(schema))


def _alone(atom: Atom, piece: Piece) -> AbstractSet[str] | None:
    """The variables by which no two rows of an atom agree, if any are known."""
    if piece.key is None:
        return None
    return {arg.name for place in piece.key if isinstance(arg := atom.args[place], Var)}
