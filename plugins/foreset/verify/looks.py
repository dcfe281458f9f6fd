"""Facts as numbers: what was looked up stays, and a relation of few rows is taken whole once it is asked often."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreset.verify.codes import Codes, Distinct, Grown, Indexed, Numbers, nothing
from foreset.verify.groups import Facts
from foreset.verify.passing import Asked, Schemas

FEW_LOOKS, FEW_KEYS = 2, 500  # of one kind; beyond either, all rows are asked for ...
ROWS_A_LOOK = 25_000  # ... but by one more look for so many rows: to take them takes as long


@dataclass(slots=True)
class _Looked:
    """What was asked by some columns, and what came of it."""

    rows: Grown
    asked: Distinct = field(default_factory=Distinct)
    looks: int = 0


@dataclass(slots=True)
class Looks:
    """Rows of facts by key."""

    facts: Facts
    codes: Codes
    schemas: Schemas
    _whole: dict[str, Numbers | None] = field(default_factory=dict)  # None: too many rows for that
    _indexes: dict[tuple[str, Asked], Indexed] = field(default_factory=dict)
    _looked: dict[tuple[str, Asked], _Looked] = field(default_factory=dict)

    def meet(self, relation: str, known: Asked, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Pairs of a place in `keys` and a row whose columns `known` are that key."""
        packed = self.codes.packed(keys)
        looked = self._looked.setdefault((relation, known), _Looked(Grown(len(self.schemas[relation]))))
        fresh = looked.asked.add(packed)
        if len(fresh):
            looked.looks += 1
        index = self._indexed(relation, known) if self._often(relation, looked) else None
        if index is not None:
            return index.meet(packed)
        self._fetch(relation, known, keys[fresh], looked.rows)
        return looked.rows.meet(packed)

    def _often(self, relation: str, looked: _Looked) -> bool:
        if len(looked.asked) > FEW_KEYS:
            return True
        more = looked.looks - FEW_LOOKS  # the size is only asked for after the first looks
        return more > 0 and more > (self.facts.fanout(relation, ()) or 0.0) / ROWS_A_LOOK

    def _indexed(self, relation: str, known: Asked) -> Indexed | None:
        if relation not in self._whole:
            self._whole[relation] = self.facts.whole(relation, self.codes)
        rows = self._whole[relation]
        if rows is None:
            return None
        if (relation, known) not in self._indexes:
            self._indexes[relation, known] = Indexed.of(self.codes.packed(rows[:, list(known)]), rows)
        return self._indexes[relation, known]

    def _fetch(self, relation: str, known: Asked, keys: Numbers, into: Grown) -> None:
        asked = self.codes.tuples(keys)
        if not asked:
            return
        found = self.facts.rows(relation, known, asked)
        rows = [row for key in asked for row in found.get(key, ())]
        coded = self.codes.rows(rows, self.schemas[relation]) if rows else nothing(into.width)
        into.add(self.codes.packed(coded[:, list(known)]), coded)
