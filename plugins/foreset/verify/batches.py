"""Many bindings of one rule at once: a column of numbers for each variable."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foreset.ir.rules import Comparison, Let, Literal, Rule, Test, literal_variables, nullable
from foreset.ir.terms import Const, Row, Value, Var
from foreset.ir.types import Type
from foreset.values.errors import Failure
from foreset.values.terms import compile_comparison, compile_test, equal, read_as
from foreset.values.widen import widened
from foreset.verify.binding_order import Passage, Schemas, Stage, Use
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

    def keys(self, stage: Stage, batch: Batch) -> tuple[Numbers, Numbers]:
        """What an atom is asked with: places in the batch, and the values; NULL joins with nothing, but where safe."""
        looked_up = [place for place in stage.places if place.use is Use.LOOKED_UP]
        columns = [
            np.full(len(batch), self._number(place.arg), dtype=np.int64)
            if isinstance(place.arg, Const)
            else batch.column(place.arg.name)
            for place in looked_up
        ]
        keys = stacked(columns, len(batch))
        never_null = [i for i, place in enumerate(looked_up) if place.position not in stage.safe]
        places = np.flatnonzero(without_null(keys[:, never_null]))
        return places, keys[places]

    def met(self, stage: Stage, batch: Batch, at: Numbers, rows: Numbers, rule: Rule) -> tuple[Batch, Numbers]:
        """The bindings at the places `at` with what `rows` add, where the two meet; and the places of those."""
        columns = {name: batch.rows[at, i] for i, name in enumerate(batch.names)}
        mask = np.ones(len(at), dtype=np.bool_)
        for place in stage.places:
            if place.use is Use.LOOKED_UP:
                continue
            if isinstance(place.arg, Const):
                mask &= self._is(rows[:, place.position], place.kind, place.arg)
                continue
            name = place.arg.name
            values = self.codes.widened(rows[:, place.position], place.kind, rule.types[name])
            if place.use is Use.GIVES:
                columns[name] = values
            else:
                mask &= columns[name] == values
                mask &= (values != NULL) | (place.position in stage.safe)
        found = Batch(tuple(columns), stacked(list(columns.values()), len(at)))
        return found.where(mask), at[mask]

    def without(self, batch: Batch, places: Numbers) -> Batch:
        """The bindings but those at some places."""
        mask = np.ones(len(batch), dtype=np.bool_)
        mask[places] = False
        return batch.where(mask)

    def holding(self, literal: Literal, batch: Batch, rule: Rule) -> Batch:
        """The bindings under which a condition holds, or with the value that it gives; each case is tried once."""
        if isinstance(literal, Comparison) and (kept := self._compared(literal, batch, rule)) is not None:
            return batch.where(kept)
        own = {variable.name for variable in literal_variables(literal)}
        names = tuple(name for name in batch.names if name in own)
        cases = stacked([batch.column(name) for name in names], len(batch))
        _, first, back = np.unique(told_apart(cases), return_index=True, return_inverse=True)
        found = list(map(told(literal, names, rule), self.codes.tuples(cases[first])))
        mask = np.array([holds for holds, _ in found], dtype=np.bool_)[back]
        if not isinstance(literal, Let):
            return batch.where(mask)
        name, kind = literal.var.name, rule.types[literal.var.name]
        values = self.codes.column((value for _, value in found), kind)[back]
        if name in batch.names:
            return batch.where(mask & (values == batch.column(name)))
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


def told(literal: Literal, names: Sequence[str], rule: Rule) -> Callable[[Row], tuple[bool, Value]]:
    """Whether a condition holds of the values of these variables, or the value that it gives."""
    slots = {name: place for place, name in enumerate(names)}
    read: Callable[[Row], Value]
    match literal:
        case Let(var=var, term=term):
            read = read_as(term, rule.types[var.name], slots, rule.types)
        case Comparison():
            read = compile_comparison(literal, slots, rule.types)
        case Test():
            read = compile_test(literal, slots, rule.types)
        case _:
            raise AssertionError(f"{literal} is no condition")

    def tried(values: Row) -> tuple[bool, Value]:
        try:
            found = read(values)
        except Failure:  # the refresh itself would have stopped, had this binding met all other literals
            return False, None
        return isinstance(literal, Let) or found is True, found

    return tried
