"""What to say when Spark stops because an expression failed on the data.

Spark's message names neither rule nor row. So the rules of the step are run once
more without the expressions that can fail, and plain Python looks for a binding on
which one does: slow, but only on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foreset.backends.spark.compile import derive
from foreset.backends.spark.frames import Frames
from foreset.errors import EvaluationError, ForesetError
from foreset.ir.functions import fallible
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables, owner
from foreset.ir.terms import Row, Term, Var
from foreset.store.spark_values import collected
from foreset.values.functions import Failure
from foreset.values.terms import read_term

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

LOOKED_AT = 100_000  # bindings of one rule that are searched for the culprit
ARITHMETIC = (
    "DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_", "INVALID_",
    "NUMERIC_", "DECIMAL_PRECISION", "DATETIME_", "USER_RAISED_EXCEPTION",
)  # fmt: skip


def explain_failure(error: PySparkException, rules: Sequence[Rule], frames: Frames) -> ForesetError:
    """The error to raise: with rule, view and a sample row where a rule is to blame."""
    condition = error.getCondition() or ""
    first_line = str(error).strip().splitlines()[0] if str(error).strip() else condition
    suspects = [rule for rule in rules if any(fallible(term) for literal in rule.body for term in _terms(literal))]
    for rule in suspects:
        found = _culprit(rule, frames)
        if found:
            return EvaluationError(f"rule {rule.name} of view {owner(rule)}: {found}")
    if suspects and any(condition.startswith(kind) for kind in ARITHMETIC):
        names = ", ".join(dict.fromkeys(rule.name for rule in suspects))
        return EvaluationError(f"an expression of {names} failed: {first_line}")
    return EvaluationError(f"Spark stopped: {first_line}", "the run directory keeps the whole message")


def _terms(literal: Literal) -> tuple[Term, ...]:
    match literal:
        case Let(term=term):
            return (term,)
        case Comparison(left=left, right=right):
            return (left, right)
        case Test(call=call):
            return (call,)
        case Atom() | Negation():
            return ()


def _culprit(rule: Rule, frames: Frames) -> str:
    """Why and where an expression of `rule` fails; empty when no binding shows it."""
    risky = [literal for literal in rule.body if any(fallible(term) for term in _terms(literal))]
    given: set[str] = {literal.var.name for literal in risky if isinstance(literal, Let)}
    safe = [literal for literal in rule.body if literal not in risky and not _needs(literal, given)]
    bound = {arg.name for literal in safe if isinstance(literal, Atom) for arg in literal.args if isinstance(arg, Var)}
    names = sorted(bound | {literal.var.name for literal in safe if isinstance(literal, Let)})
    probe = f"{rule.head.relation}~probe"
    frames.schemas[probe] = tuple(rule.types[name] for name in names)
    frame = derive(replace(rule, head=Atom(probe, tuple(Var(name) for name in names)), body=tuple(safe)), frames)
    if frame is None:
        return ""
    slots = {name: i for i, name in enumerate(names)}
    for row in collected(frame.limit(LOOKED_AT), frames.schemas[probe]):
        failure = _failure(rule, risky, slots, row)
        if failure:
            shown = ", ".join(f"{name} = {value!r}" for name, value in zip(names, row, strict=True))
            return f"{failure}, at {shown}"
    return ""


def _needs(literal: Literal, given: set[str]) -> bool:
    return any(v.name in given for v in literal_variables(literal))


def _failure(rule: Rule, risky: Sequence[Literal], slots: dict[str, int], row: Row) -> str:
    for literal in risky:
        for term in _terms(literal):
            try:
                read_term(term, slots, rule.types)(row)
            except Failure as failure:
                return str(failure)
            except KeyError:  # reads what another failing expression would give
                continue
    return ""
