"""A rule's join as it grows: what holds the rows so far, and which of its columns holds which variable."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreset.backends.duckdb.tables import Sql, Table, Tables
from foreset.ir.rules import Comparison, Let, Rule, Test
from foreset.ir.terms import Const, Value
from foreset.ir.types import Type, widen
from foreset.store.types import duck_type
from foreset.values.widen import widened


@dataclass(slots=True)
class Plan:
    """The join so far: which column holds each variable, and which one the wanted value of a head variable."""

    rule: Rule
    tables: Tables
    within: Table | None = None  # the wanted rows of the head
    current: Sql | Table | None = None
    bound: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, tuple[str, Type]] = field(default_factory=dict)
    used: int = 0
    plain: bool = True  # the join so far is a scan of a small table: cheap to say twice
    computed: dict[str, tuple[Let, str]] = field(default_factory=dict)  # columns to be made, by variable
    called: list[Comparison | Test | Let] = field(default_factory=list)  # what is to be done in Python, in this order

    def column(self) -> str:
        """A column name that nothing else has."""
        self.used += 1
        return f"x{self.used}"

    @property
    def columns(self) -> list[str]:
        """All columns of the join so far."""
        return [*self.bound.values(), *(column for column, _ in self.wanted.values())]

    def materialised(self) -> Table:
        """The join so far as a table."""
        if not isinstance(self.current, Table):
            self.current = self.tables.make(self.current or Sql("SELECT 1 AS one"))
        return self.current


def source(plan: Plan, values: dict[str, Value]) -> str:
    """The join so far as something to select from; its constants go to `values`."""
    if isinstance(plan.current, Table):
        return plan.current.name
    current = plan.current or Sql("SELECT 1 AS one")
    values |= current.values
    return f"({current.text})"


def constant(tables: Tables, const: Const, kind: Type) -> tuple[str, dict[str, Value]]:
    """A bound constant in the type in which it meets a column of type `kind`."""
    common = widen(const.type, kind) or kind
    name = tables.fresh("p")
    return f"CAST(${name} AS {duck_type(common)})", {name: widened(const.value, common)}
