"""Groups of rows and their accumulators; failures name rule, view and group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from foreset.errors import EvaluationError
from foreset.ir.aggregates import Aggregation
from foreset.ir.rules import Rule, owner
from foreset.ir.terms import Row, Var
from foreset.ir.text import print_value
from foreset.values.aggregates import gathered, groups_of
from foreset.values.errors import Failure


def gather_all(rows: Iterable[Row], aggregation: Aggregation, rule: Rule) -> dict[Row, Row]:
    """The accumulators of each group."""
    found: dict[Row, Row] = {}
    for group, members in groups_of(rows, aggregation).items():
        with named(rule, group):
            found[group] = gathered(members, aggregation)
    return found


@contextmanager
def named(rule: Rule, group: Row) -> Iterator[None]:
    """What fails inside is said with the rule and the group."""
    try:
        yield
    except Failure as failure:
        raise EvaluationError(f"{where(rule, group)}: {failure}") from failure


def where(rule: Rule, group: Row) -> str:
    """The rule, the view and the group, for messages."""
    return f"rule {rule.name} of view {owner(rule)}, group {shown(rule, group)}"


def shown(rule: Rule, group: Row) -> str:
    """The group as `(V = "yoda", L = "dagobah")`."""
    names: Mapping[int, str] = {i: arg.name for i, arg in enumerate(rule.head.args) if isinstance(arg, Var)}
    return f"({', '.join(f'{names.get(i, i)} = {print_value(value)}' for i, value in enumerate(group))})"
