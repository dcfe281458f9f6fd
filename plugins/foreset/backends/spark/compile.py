"""One rule as a DataFrame of the rows that it derives, one for each way in which its body holds.

The join starts from the smallest atom, which is the change in every maintenance
rule, and follows shared variables. A NULL joins with nothing, since joins use
plain equality; only the rows of `within` meet the head by null-safe equality,
because they are the same rows, not partners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.frames import BROADCAST_ROWS, Frames, Piece
from foreset.backends.spark.terms import comparison, literal_column, term_column, truth
from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables, null_safe
from foreset.ir.steps import Ref
from foreset.ir.terms import Const, Term, Var
from foreset.plan.joining import cost
from foreset.store.types import column_names, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FANOUT = 10  # partners that a row is expected to find: only a guess for broadcasts


@dataclass(slots=True)
class _Plan:
    """The join so far: `bound` says which column holds each variable, `wanted` which one its wanted value."""

    rule: Rule
    frames: Frames
    frame: DataFrame | None = None
    rows: int | None = None
    bound: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    used: int = 0

    def fresh_name(self) -> str:
        """A column name that nothing else has."""
        self.used += 1
        return f"x{self.used}"


def derive(rule: Rule, frames: Frames, within: Piece | None = None) -> DataFrame | None:
    """The rows of the head; None when an atom that must hold is known to be empty."""
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    if any(frames.empty(Ref(atom.relation, atom.version)) for atom in atoms):
        return None
    plan = _Plan(rule, frames)
    if within is not None:
        _start_from(plan, within)
    waiting: list[Literal] = [literal for literal in rule.body if not isinstance(literal, Atom)]
    while atoms:
        atom = min(atoms, key=lambda a: _cost(plan, a))
        atoms.remove(atom)
        _join(plan, atom)
        waiting = _filter_early(plan, waiting)
    for literal in waiting:
        _apply(plan, literal)
    return _head(plan)


def _start_from(plan: _Plan, within: Piece) -> None:
    names = [f"w{i}" for i in range(len(plan.rule.head.args))]
    frame = within.frame.toDF(*names)
    for name, arg in zip(names, plan.rule.head.args, strict=True):
        if isinstance(arg, Const):
            frame = frame.where(F.col(name) == literal_column(arg))
        elif isinstance(arg, Var):
            if arg.name in plan.wanted:
                frame = frame.where(F.col(name).eqNullSafe(F.col(plan.wanted[arg.name])))
            plan.wanted.setdefault(arg.name, name)
    plan.frame, plan.rows = frame, within.rows


def _cost(plan: _Plan, atom: Atom) -> float:
    count = plan.frames.count(Ref(atom.relation, atom.version))
    rows = 1e9 if count is None else count
    return cost(atom, rows, None if plan.frame is None else plan.bound.keys() | plan.wanted.keys())


def _join(plan: _Plan, atom: Atom) -> None:
    """Join the atom's rows on what is bound; wanted head values restrict it null-safely."""
    piece = plan.frames.read(Ref(atom.relation, atom.version))
    side = _atom_side(plan, atom, piece.frame)
    if plan.frame is None:
        plan.frame, plan.rows = side.frame, piece.rows
    else:
        left, right = plan.frame, side.frame
        if plan.rows is not None and plan.rows <= BROADCAST_ROWS and not piece.small:
            left = F.broadcast(left)
        elif piece.small:
            right = F.broadcast(right)
        conditions = [F.col(a) == F.col(b) for a, b in side.keys]
        conditions += [F.col(a).eqNullSafe(F.col(b)) for a, b in (*side.groups, *side.hints)]
        joined = left.join(right, reduce(lambda a, b: a & b, conditions)) if conditions else left.crossJoin(right)
        dropped = (own for _, own in (*side.keys, *side.groups))
        plan.frame = joined.drop(*dropped, *(wanted for wanted, _ in side.hints))
        plan.rows = None if plan.rows is None else plan.rows * FANOUT
    plan.bound |= side.fresh
    for name in side.fresh:
        plan.wanted.pop(name, None)


@dataclass(frozen=True, slots=True)
class _Side:
    """An atom's rows under column names of their own, its new variables, and the pairs to join on."""

    frame: DataFrame
    fresh: dict[str, str]
    keys: list[tuple[str, str]]  # bound column, own column
    groups: list[tuple[str, str]]  # the same, where a NULL meets a NULL
    hints: list[tuple[str, str]]  # wanted column, own column


def _atom_side(plan: _Plan, atom: Atom, frame: DataFrame) -> _Side:
    types = plan.rule.types
    first: dict[str, Column] = {}
    conditions: list[Column] = []
    for label, arg in zip(column_names(len(atom.args)), atom.args, strict=True):
        match arg:
            case Const():
                conditions.append(F.col(label) == literal_column(arg))
            case Var(name=name) if name in first:
                conditions.append(first[name] == F.col(label))
            case Var(name=name):
                first[name] = F.col(label).cast(spark_type(types[name]))
            case _:
                raise AssertionError(f"{atom} is not in normal form")
    selected = frame.where(reduce(lambda a, b: a & b, conditions)) if conditions else frame
    names = {name: plan.fresh_name() for name in first}
    columns = [column.alias(names[name]) for name, column in first.items()]
    side = selected.select(*(columns or [F.lit(True).alias(plan.fresh_name())]))
    fresh = {name: own for name, own in names.items() if name not in plan.bound}
    met = {name: (plan.bound[name], own) for name, own in names.items() if name in plan.bound}
    safe = {_name(atom.args[place]) for place in null_safe(atom, plan.rule)}
    keys, groups = ([pair for name, pair in met.items() if (name in safe) is alike] for alike in (False, True))
    hints = [(plan.wanted[name], own) for name, own in fresh.items() if name in plan.wanted]
    return _Side(side, fresh, keys, groups, hints)


def _name(arg: Term) -> str:
    assert isinstance(arg, Var), f"{arg} names no group"
    return arg.name


def _filter_early(plan: _Plan, literals: Sequence[Literal]) -> list[Literal]:
    waiting = []
    for literal in literals:
        if isinstance(literal, (Comparison, Test)) and _safe(literal) and _all_bound(plan, literal):
            _apply(plan, literal)
        else:
            waiting.append(literal)
    return waiting


def _safe(literal: Comparison | Test) -> bool:
    terms = (literal.left, literal.right) if isinstance(literal, Comparison) else (literal.call,)
    return not any(fallible(term) for term in terms)


def _all_bound(plan: _Plan, literal: Literal) -> bool:
    return all(v.name in plan.bound for v in literal_variables(literal))


def _apply(plan: _Plan, literal: Literal) -> None:
    if plan.frame is None:
        plan.frame, plan.rows = plan.frames.spark.range(1), 1
    types, bound = plan.rule.types, plan.bound
    match literal:
        case Comparison():
            plan.frame = plan.frame.where(comparison(literal, bound, types))
        case Test():
            plan.frame = plan.frame.where(truth(literal, bound, types))
        case Let(var=var, term=term):
            own = plan.fresh_name()
            value = term_column(term, bound, types).cast(spark_type(types[var.name]))
            plan.frame = plan.frame.withColumn(own, value)
            if var.name in plan.bound:  # by the flip of a negation, which stands for an atom: the values must meet
                plan.frame = plan.frame.where(F.col(plan.bound[var.name]) == F.col(own))
            else:
                plan.bound[var.name] = own
        case Negation(atom=atom):
            _exclude(plan, atom)
        case Atom():
            raise AssertionError("atoms are joined, not applied")


def _exclude(plan: _Plan, atom: Atom) -> None:
    """NOT EXISTS as an anti-join; a NULL on either side never excludes."""
    ref = Ref(atom.relation, atom.version)
    if plan.frames.empty(ref) or plan.frame is None:
        return
    piece = plan.frames.read(ref)
    side = _atom_side(plan, atom, piece.frame)
    conditions = [F.col(a) == F.col(b) for a, b in side.keys]
    on = reduce(lambda a, b: a & b, conditions) if conditions else F.lit(True)
    right = side.frame.select(*(own for _, own in side.keys)) if side.keys else side.frame.limit(1)
    plan.frame = plan.frame.join(F.broadcast(right) if piece.small else right, on, "left_anti")


def _head(plan: _Plan) -> DataFrame:
    if plan.frame is None:
        plan.frame = plan.frames.spark.range(1)
    head = plan.rule.head
    schema = plan.frames.schemas[head.relation]
    frame = plan.frame
    columns = []
    for label, kind, arg in zip(column_names(len(schema)), schema, head.args, strict=True):
        match arg:
            case Const():
                column = literal_column(arg)
            case Var(name=name):
                column = F.col(plan.bound[name])
                if name in plan.wanted:
                    frame = frame.where(F.col(plan.wanted[name]).eqNullSafe(column.cast(spark_type(kind))))
            case _:
                raise AssertionError(f"{head} is not in normal form")
        columns.append(column.cast(spark_type(kind)).alias(label))
    return frame.select(*columns)
