"""Conditions and computed values of a rule in Python: of rows in memory, and where a database has no words for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from foreset.errors import EvaluationError
from foreset.ir.rules import Comparison, Let, Rule, Test, owner
from foreset.ir.terms import Row, Value
from foreset.values.functions import Failure
from foreset.values.terms import Condition, compile_comparison, compile_test, equal, read_as


@dataclass(slots=True)
class Bindings:
    """Rows of values so far; `slots` says where each variable's value stands in them."""

    rule: Rule
    slots: dict[str, int]
    rows: list[Row]

    def apply(self, literal: Comparison | Test | Let) -> None:
        """Keep the rows for which a condition holds, or give them one more value."""
        types = self.rule.types
        match literal:
            case Let(var=var, term=term):
                read = read_as(term, types[var.name], self.slots, types)
                if (slot := self.slots.get(var.name)) is not None:  # bound by a changed negation too: a join
                    self.keep(lambda row: (value := read(row)) is not None and equal(value, row[slot]))
                    return
                self.rows = [(*row, value) for row, value in self._guarded(read)]
                self.slots[var.name] = len(self.slots)
            case Comparison():
                self.keep(compile_comparison(literal, self.slots, types))
            case Test():
                self.keep(compile_test(literal, self.slots, types))
            case _:
                assert_never(literal)

    def keep(self, condition: Condition) -> None:
        """The rows for which `condition` holds."""
        self.rows = [row for row, holds in self._guarded(condition) if holds]

    def _guarded(self, function: Callable[[Row], Value]) -> Iterator[tuple[Row, Value]]:
        """Call a function on each row; a failure names the rule and shows the values."""
        for row in self.rows:
            try:
                yield row, function(row)
            except Failure as failure:
                shown = ", ".join(f"{name} = {row[slot]!r}" for name, slot in self._named(row))
                where = f"rule {self.rule.name} of view {owner(self.rule)}"
                raise EvaluationError(f"{where}: {failure}, at {shown}") from failure

    def _named(self, row: Row) -> Iterator[tuple[str, int]]:
        """The variables of the rule that have a value so far."""
        return ((name, slot) for name, slot in self.slots.items() if slot < len(row) and name in self.rule.types)
