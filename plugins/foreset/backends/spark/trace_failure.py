"""What to say when Spark stops because an expression failed on the data.

Spark's message names neither rule nor row. So the rules of the step are run once
more without the expressions that can fail, and plain Python looks for a binding on
which one does: slow, but only on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from foreset.analyse.order import can_fail
from foreset.backends.spark.aggregates import failing
from foreset.backends.spark.compile import derive
from foreset.backends.spark.frames import Frames
from foreset.errors import EvaluationError, ForesetError
from foreset.ir.rules import Atom, Let, Negation, Rule, literal_variables
from foreset.ir.steps import Group
from foreset.ir.terms import Var, names_in
from foreset.machine.bindings import Bindings
from foreset.store.spark_values import collected
from foreset.values.groups import where

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

LOOKED_AT = 100_000  # bindings of one rule that are searched for the culprit
ARITHMETIC = (
    "DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_", "INVALID_",
    "NUMERIC_", "DECIMAL_PRECISION", "DATETIME_", "USER_RAISED_EXCEPTION",
)  # fmt: skip


@dataclass(slots=True)
class Suspects:
    """What fails when a plan of theirs fails that nobody has run before."""

    rules: tuple[Rule, ...] = ()
    groups: tuple[Group, ...] = ()

    def with_rules(self, rules: tuple[Rule, ...]) -> Suspects:
        """These too."""
        return replace(self, rules=tuple(dict.fromkeys((*self.rules, *rules))))


def explain_failure(error: PySparkException, given: Suspects, frames: Frames) -> ForesetError:
    """The error to raise: with rule, view and a sample row where a rule is to blame, or with the group."""
    condition = error.getCondition() or ""
    first_line = str(error).strip().splitlines()[0] if str(error).strip() else condition
    suspects = [rule for rule in given.rules if any(map(can_fail, rule.body))]
    guilty = (
        *(partial(_culprit, rule, frames) for rule in suspects),
        *(partial(failing, g, frames) for g in given.groups),
    )
    for find in guilty:
        if (found := find()) is not None:
            return found
    if given.groups:
        return EvaluationError(f"{where(given.groups[-1].rule, ())}: Spark stopped: {first_line}")
    if suspects and any(condition.startswith(kind) for kind in ARITHMETIC):
        names = ", ".join(dict.fromkeys(rule.name for rule in suspects))
        return EvaluationError(f"an expression of {names} failed: {first_line}")
    return EvaluationError(f"Spark stopped: {first_line}", "the run directory keeps the whole message")


def computed_places(rules: Sequence[Rule]) -> frozenset[int]:
    """The columns of heads that come of an expression that can fail."""
    return frozenset(
        place
        for rule in rules
        for place, arg in enumerate(rule.head.args)
        if isinstance(arg, Var) and arg.name in _fragile(rule)
    )


def _fragile(rule: Rule) -> AbstractSet[str]:
    """The variables that an expression gives which can fail, or which takes such a one."""
    found = set[str]()
    for literal in rule.body:
        if isinstance(literal, Let) and (can_fail(literal) or names_in(literal.term) & found):
            found.add(literal.var.name)
    return found


def _culprit(rule: Rule, frames: Frames) -> EvaluationError | None:
    """Why and where an expression of `rule` fails; None when no binding shows it."""
    given = {literal.var.name for literal in rule.body if isinstance(literal, Let) and can_fail(literal)}
    late = [one for one in rule.body if can_fail(one) or any(v.name in given for v in literal_variables(one))]
    safe = tuple(literal for literal in rule.body if literal not in late)
    names = sorted({v.name for literal in safe if isinstance(literal, Atom | Let) for v in literal_variables(literal)})
    probe = f"{rule.head.relation}~probe"
    frames.schemas[probe] = tuple(rule.types[name] for name in names)
    frame = derive(replace(rule, head=Atom(probe, tuple(Var(name) for name in names)), body=safe), frames)
    rows = [] if frame is None else collected(frame.limit(LOOKED_AT), frames.schemas[probe])
    bindings = Bindings(rule, {name: i for i, name in enumerate(names)}, rows)
    try:
        for literal in late:
            if not isinstance(literal, Atom | Negation):
                bindings.apply(literal)
    except EvaluationError as found:
        return found
    return None
