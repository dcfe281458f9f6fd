"""`deny:` evaluated: which bindings of a body hold in the new state, all of them or those that a change has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreset.engine.frames import Frames
from foreset.engine.run import Engine
from foreset.ir.program import Column
from foreset.ir.rules import Rule, atoms
from foreset.ir.steps import Derivation, Derive, Phase, Ref, Step
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.maintain.differentiate import evaluation, insertions
from foreset.refresh.capturing import capture_one
from foreset.refresh.context import Context
from foreset.refresh.inputs import pin_of, put_input, view_facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NONE: frozenset[str] = frozenset()  # no relation is maintained here: all that a body reads is finished


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the new state has to be looked at."""

    changed: int  # rows that came or went in the relations of the body
    known: bool  # every one of them has its differential


@dataclass(frozen=True, slots=True)
class Violations:
    """The offending bindings: how many, some of them in order, and all of them."""

    count: int
    rows: tuple[Row, ...]
    frame: DataFrame


def reach_of(context: Context, rule: Rule) -> Reach:
    """What this refresh changed below a body."""
    changed, known = 0, context.previous is not None
    for name in dict.fromkeys(atom.relation for atom, _ in atoms(rule)):
        if name in context.run.sources:
            facts: Mapping[str, Any] = capture_one(context, name)
            changed += facts["inserted"] + facts["deleted"]
            known = known and not facts["taken_whole"]
        else:
            sides = view_facts(context, name)
            changed += sides["plus"]["rows"] + sides["minus"]["rows"]
            known = known and pin_of(context, name) is not None
    return Reach(changed, known)


def violations(context: Context, rule: Rule, columns: Sequence[Column], limit: int, *, whole: bool) -> Violations:
    """The rows that `rule` derives: all of the new state, or only those with a part that changed.

    A body that no binding matched before can be matched only where one of its literals has
    become true, and those bindings are what `insertions` gives: the same rules as for views.
    """
    found = Ref(rule.head.relation, Version.INS)
    rules: list[Rule] = []
    steps: list[Step] = []
    schemas = {name: tuple(c.type for c in its) for name, its in context.program.columns_of().items()}
    schemas[rule.head.relation] = tuple(column.type for column in columns)
    if whole:
        rules.append(evaluation(rule, _NONE, Version.NEW, Version.INS))
    for variant in () if whole else insertions(rule, _NONE):
        rules.append(variant.rule)
        if variant.flip.helper is not None and variant.flip.relation is not None:
            steps.append(Derive((variant.flip.helper,)))
            schemas[variant.flip.relation.name] = tuple(c.type for c in variant.flip.relation.columns)
    steps.append(Derive((Derivation(found, tuple(rules)),)))
    frames = Frames(context.spark, schemas)
    for name in dict.fromkeys(atom.relation for atom, _ in atoms(rule)):
        put_input(context, frames, name, new_only=whole, distinct=False)
    Engine(frames, context.program.max_rounds).run(Phase("deny", tuple(steps)))
    piece = frames.read(found)
    frame = piece.frame.toDF(*(column.name for column in columns))
    rows = frame.orderBy(*frame.columns).limit(limit).collect() if piece.rows else []
    return Violations(piece.rows or 0, tuple(tuple(row) for row in rows), frame)
