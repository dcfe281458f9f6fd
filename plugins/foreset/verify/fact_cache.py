"""Facts as numbers: what was looked up stays, and a relation of few rows is taken whole once it is asked often."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foreset.verify.binding_order import Asked, Schemas
from foreset.verify.groups import Facts
from foreset.verify.value_numbering import Codes, Distinct, Grown, Indexed, Numbers, nothing, told_apart

# The unit of cost is the time to read one value of a relation as a whole. A relation that was looked at often will be
# looked at again, as in a recursion: so it is read whole when its looks have cost this part of reading it.
A_LOOK, A_VALUE_FOUND, PART = 35_000, 6, 0.25
FEW = 16  # rows of one key: so many are compared one by one; where there are more, a second column is indexed
TRIED = 5_000  # rows, to see how well columns tell rows apart


@dataclass(slots=True)
class _Looked:
    """What was asked by some columns, and what came of it."""

    rows: Grown
    asked: Distinct = field(default_factory=Distinct)


@dataclass(slots=True)
class Whole:
    """All rows of a relation, in the order of one or two columns for each index."""

    rows: Numbers
    _tried: Numbers = field(init=False)
    _indexes: dict[Asked, Indexed] = field(default_factory=dict)
    _by: dict[Asked, Asked] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tried = self.rows[:: max(1, len(self.rows) // TRIED)]

    def meet(self, known: Asked, keys: Numbers, codes: Codes) -> tuple[Numbers, Numbers]:
        """Pairs of a place in `keys` and a row whose columns `known` are that key."""
        by = self._by.get(known)
        if by is None:
            by = self._by[known] = self._telling(known)
        if by not in self._indexes:
            self._indexes[by] = Indexed.of(codes.packed(self.rows[:, list(by)]), self.rows)
        places, rows = self._indexes[by].meet(codes.packed(keys[:, [known.index(column) for column in by]]))
        same = np.ones(len(places), dtype=np.bool_)
        for at, column in enumerate(known):
            if column not in by:
                same &= rows[:, column] == keys[places, at]
        return (places, rows) if same.all() else (places[same], rows[same])

    def _telling(self, known: Asked) -> Asked:
        """The one or two columns by which a look finds fewest rows."""
        best = min(((column,) for column in known), key=self._found_by, default=())
        if len(known) < 2 or self._found_by(best) <= FEW:
            return best
        return min(((*best, column) for column in known if column not in best), key=self._found_by)

    def _found_by(self, columns: Asked) -> float:
        """About how many rows a key of these columns finds, told from how often two of the tried rows share one."""
        _, counts = np.unique(told_apart(self._tried[:, list(columns)]), return_counts=True)
        tried = len(self._tried)
        return 1 + len(self.rows) * float((counts * (counts - 1)).sum()) / max(tried * (tried - 1), 1)


@dataclass(slots=True)
class FactCache:
    """Rows of facts by key."""

    facts: Facts
    codes: Codes
    schemas: Schemas
    _whole: dict[str, Whole | None] = field(default_factory=dict)  # None: too many rows for that
    _looked: dict[tuple[str, Asked], _Looked] = field(default_factory=dict)
    _spent: dict[str, int] = field(default_factory=dict)  # on looks, by relation

    def meet(self, relation: str, known: Asked, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Pairs of a place in `keys` and a row whose columns `known` are that key."""
        whole = self._taken(relation)
        if whole is not None:
            return whole.meet(known, keys, self.codes)
        packed = self.codes.packed(keys)
        looked = self._looked.setdefault((relation, known), _Looked(Grown(len(self.schemas[relation]))))
        self._fetch(relation, known, keys[looked.asked.add(packed)], looked.rows)
        return looked.rows.meet(packed)

    def _taken(self, relation: str) -> Whole | None:
        """All rows, once looks have cost enough; None before. To count the rows takes time: the first looks do not."""
        if relation not in self._whole:
            spent = self._spent.get(relation, 0)
            if spent <= 2 * A_LOOK:
                return None
            if spent <= PART * (self.facts.fanout(relation, ()) or 0.0) * len(self.schemas[relation]):
                return None
            rows = self.facts.whole(relation, self.codes)
            self._whole[relation] = None if rows is None else Whole(rows)
        return self._whole[relation]

    def _fetch(self, relation: str, known: Asked, keys: Numbers, into: Grown) -> None:
        asked = self.codes.tuples(keys)
        if not asked:
            return
        found = self.facts.rows(relation, known, asked)
        rows = [row for key in asked for row in found.get(key, ())]
        coded = self.codes.rows(rows, self.schemas[relation]) if rows else nothing(into.width)
        self._spent[relation] = self._spent.get(relation, 0) + A_LOOK + A_VALUE_FOUND * coded.size
        into.add(self.codes.packed(coded[:, list(known)]), coded)
