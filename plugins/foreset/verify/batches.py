"""Many bindings of one rule at once: a column of numbers for each variable."""

from __future__ import annotations

import operator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from foreset.ir.rules import Atom, Comparison, Let, Literal, Rule, literal_variables, null_safe, nullable
from foreset.ir.terms import Const, Var
from foreset.ir.types import Type
from foreset.values.terms import equal
from foreset.values.widen import widened
from foreset.verify.binding_order import Asked, Passage, Schemas
from foreset.verify.bindings import tester
from foreset.verify.value_numbering import NULL, Codes, Mask, Numbers, alike, stacked, told_apart, without_null

_COMPARED = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Bindings: rows of numbers, a column for each name."""

    names: tuple[str, ...]
    rows: Numbers

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> Numbers:
        """The values of one variable."""
        return self.rows[:, self.names.index(name)]

    def where(self, mask: Mask) -> Batch:
        """Some of the bindings."""
        return self if mask.all() else Batch(self.names, self.rows[mask])


@dataclass(frozen=True, slots=True)
class Binder:
    """What literals do to bindings."""

    codes: Codes
    schemas: Schemas

    def begin(self, way: Passage, keys: Numbers) -> Batch:
        """What goals say of the variables of a rule's head."""
        columns: dict[str, Numbers] = {}
        mask, may_be_null = np.ones(len(keys), dtype=np.bool_), nullable(way.rule)
        kinds = self.schemas[way.rule.head.relation]
        for position in way.given:
            arg, values = way.rule.head.args[position], keys[:, way.asked.index(position)]
            if isinstance(arg, Const):
                mask &= self._is(values, kinds[position], arg)
            elif isinstance(arg, Var):
                mask &= columns.setdefault(arg.name, values) == values
                mask &= (values != NULL) | (arg.name in may_be_null)
        batch = Batch(tuple(columns), stacked(list(columns.values()), len(keys)))
        return self.distinct(batch.where(mask))

    def distinct(self, batch: Batch) -> Batch:
        """Each binding once."""
        _, first = np.unique(told_apart(batch.rows), return_index=True)
        return batch if len(first) == len(batch) else Batch(batch.names, batch.rows[first])

    def keeping(self, batch: Batch, names: frozenset[str]) -> Batch:
        """Only these variables; bindings that were told apart by others become one."""
        kept = [i for i, name in enumerate(batch.names) if name in names]
        if len(kept) == len(batch.names):
            return batch
        return self.distinct(Batch(tuple(batch.names[i] for i in kept), batch.rows[:, kept]))

    def keys(self, atom: Atom, known: Asked, batch: Batch, safe: AbstractSet[int]) -> tuple[Numbers, Numbers]:
        """What an atom is asked with: places in the batch, and the values; NULL joins with nothing, but at `safe`."""
        columns = []
        for position in known:
            arg = atom.args[position]
            if isinstance(arg, Const):
                columns.append(np.full(len(batch), self._number(arg), dtype=np.int64))
            elif isinstance(arg, Var):
                columns.append(batch.column(arg.name))
        keys = stacked(columns, len(batch))
        never_null = [i for i, position in enumerate(known) if position not in safe]
        places = np.flatnonzero(without_null(keys[:, never_null]))
        return places, keys[places]

    def met(
        self, batch: Batch, places: Numbers, rows: Numbers, atom: Atom, known: Asked, rule: Rule
    ) -> tuple[Batch, Numbers]:
        """The bindings at `places` with what `rows` add, where the two meet; and the places of those."""
        columns = {name: batch.rows[places, i] for i, name in enumerate(batch.names)}
        mask, safe = np.ones(len(places), dtype=np.bool_), null_safe(atom, rule)
        for position, (arg, kind) in enumerate(zip(atom.args, self.schemas[atom.relation], strict=True)):
            if position in known:
                continue
            if isinstance(arg, Const):
                mask &= self._is(rows[:, position], kind, arg)
            elif isinstance(arg, Var):
                values = self.codes.widened(rows[:, position], kind, rule.types[arg.name])
                if arg.name in columns:
                    mask &= columns[arg.name] == values
                    mask &= (values != NULL) | (position in safe)
                else:
                    columns[arg.name] = values
        found = Batch(tuple(columns), stacked(list(columns.values()), len(places)))
        return found.where(mask), places[mask]

    def holding(self, literal: Literal, batch: Batch, rule: Rule) -> Batch:
        """The bindings under which a condition holds, or with the value that it gives; each case is tried once."""
        if isinstance(literal, Comparison) and (kept := self._compared(literal, batch, rule)) is not None:
            return batch.where(kept)
        own = {variable.name for variable in literal_variables(literal)}
        names = tuple(name for name in batch.names if name in own)
        cases = stacked([batch.column(name) for name in names], len(batch))
        _, first, back = np.unique(told_apart(cases), return_index=True, return_inverse=True)
        found = list(map(tester(literal, names, rule), self.codes.tuples(cases[first])))
        mask = np.array([one is not None for one in found], dtype=np.bool_)[back]
        if not isinstance(literal, Let):
            return batch.where(mask)
        name, kind = literal.var.name, rule.types[literal.var.name]
        values = self.codes.column((one[name] if one is not None else None for one in found), kind)[back]
        if name in batch.names:
            return batch.where(mask & (values == batch.column(name)) & (values != NULL))
        return Batch((*batch.names, name), np.column_stack([batch.rows, values])).where(mask)

    def _compared(self, literal: Comparison, batch: Batch, rule: Rule) -> Mask | None:
        """Where a comparison of variables and constants holds, from their numbers; None where it takes the values."""
        sides = [side for side in (literal.left, literal.right) if isinstance(side, (Var, Const))]
        if len(sides) < 2:
            return None
        one, other = (rule.types[side.name] if isinstance(side, Var) else side.type for side in sides)
        if not alike(one, other) or one.is_fractional or one.element:
            return None
        left, right = (
            batch.column(side.name) if isinstance(side, Var) else np.full(len(batch), self._number(side))
            for side in sides
        )
        if literal.op not in ("=", "!="):
            left, right = self.codes.ranks(left, right)
        return np.asarray((left != NULL) & (right != NULL) & _COMPARED[literal.op](left, right), dtype=np.bool_)

    def heads(self, rule: Rule, batch: Batch) -> Numbers:
        """The rows that bindings give."""
        columns = []
        for arg, kind in zip(rule.head.args, self.schemas[rule.head.relation], strict=True):
            if isinstance(arg, Const):
                (number,) = self.codes.column([widened(arg.value, kind)], kind)
                columns.append(np.full(len(batch), number, dtype=np.int64))
            elif isinstance(arg, Var):
                columns.append(self.codes.widened(batch.column(arg.name), rule.types[arg.name], kind))
        return stacked(columns, len(batch))

    def _number(self, const: Const) -> int:
        return int(self.codes.column([const.value], const.type)[0])

    def _is(self, numbers: Numbers, kind: Type, const: Const) -> Mask:
        if alike(kind, const.type):
            return np.asarray(numbers == self._number(const), dtype=np.bool_)
        distinct, back = np.unique(numbers, return_inverse=True)
        same = [equal(value, const.value) for value in self.codes.values(distinct)]
        return np.array(same, dtype=np.bool_)[back]
