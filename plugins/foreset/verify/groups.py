"""Views of groups as facts: a group is asked for by its key, and its members are evaluated for that key alone.

Groups must be complete before they are read, so their members are solved by an evaluation
of their own, over lower strata only; what asks for groups sees them as it sees a source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from foreset.ir.program import View, member_columns
from foreset.ir.rules import Rule
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.values.aggregates import gathered, groups_of
from foreset.values.errors import Failure
from foreset.verify.binding_order import Asked
from foreset.verify.value_numbering import Codes, Numbers


class Facts(Protocol):
    """Rows of sources on demand."""

    def rows(self, relation: str, known: Asked, keys: Iterable[Row]) -> Mapping[Row, Iterable[Row]]:
        """The rows whose columns `known` are one of `keys`, by key; complete for these keys. NULL is NULL here."""
        ...

    def whole(self, relation: str, codes: Codes) -> Numbers | None:
        """All rows; None where they are too many for that, or nobody can say."""
        ...

    def fanout(self, relation: str, known: Asked) -> float | None:
        """How many rows there are, about, for one key of these columns; None where nobody knows."""
        ...

    def grouped(self, view: View, rules: Sequence[Rule], asked: Asked, keys: Iterable[Row]) -> list[Row] | None:
        """The groups of a view, with their accumulators, whose columns `asked` are one of `keys`, from the rules of
        their members, which read nothing but sources; None where that takes an evaluation goal by goal."""
        ...


Members = Callable[[View, Asked, set[Row]], Iterable[Row]]
RulesOf = Callable[[View], Sequence[Rule] | None]  # of the members; None if they read more than sources


@dataclass(slots=True)
class GroupFacts:
    """Facts with the views of groups on top."""

    below: Facts
    groups: Mapping[str, View]
    members: Members
    rules_of: RulesOf
    _known: dict[tuple[str, Asked], dict[Row, list[Row]]] = field(default_factory=dict)  # by the group's own columns
    _expected: dict[tuple[str, Asked], set[Row]] = field(default_factory=dict)

    def expect(self, relation: str, known: Asked, keys: Iterable[Row]) -> None:
        """Note keys that will be asked for: the first look at these groups fetches them, too."""
        asked, wanted = _by_group(self.groups[relation], known, keys)
        self._expected.setdefault((relation, asked), set()).update(wanted)

    def rows(self, relation: str, known: Asked, keys: Iterable[Row]) -> Mapping[Row, Iterable[Row]]:
        """The rows whose columns `known` are one of `keys`, by key."""
        view = self.groups.get(relation)
        if view is None or view.aggregation is None:
            return self.below.rows(relation, known, keys)
        asked, wanted = _by_group(view, known, keys)
        found: dict[Row, list[Row]] = defaultdict(list)
        cached = self._gathered(view, asked, wanted)
        for key in wanted:
            for row in cached[key]:
                found[tuple(row[position] for position in known)].append(row)
        return found

    def whole(self, relation: str, codes: Codes) -> Numbers | None:
        """All rows of what lies below; groups are made for the keys that are asked for."""
        return None if relation in self.groups else self.below.whole(relation, codes)

    def fanout(self, relation: str, known: Asked) -> float | None:
        """Of a group asked for by all it is grouped by there is one row."""
        view = self.groups.get(relation)
        if view is None or view.aggregation is None:
            return self.below.fanout(relation, known)
        return 1.0 if set(range(view.aggregation.groups)) <= set(known) else None

    def _gathered(self, view: View, asked: Asked, keys: set[Row]) -> Mapping[Row, list[Row]]:
        cache = self._known.setdefault((view.name, asked), {})
        missing = {key for key in keys if key not in cache}
        if missing:
            missing |= self._expected.pop((view.name, asked), set()) - cache.keys()
            cache |= {key: [] for key in missing}
            for row in self._groups(view, asked, missing):
                cache.get(tuple(row[position] for position in asked), []).append(row)
        return cache

    def _groups(self, view: View, asked: Asked, keys: set[Row]) -> Iterable[Row]:
        rules = self.rules_of(view)
        at_once = self.below.grouped(view, rules, asked, keys) if rules is not None else None
        if at_once is not None:
            return at_once
        assert view.aggregation is not None
        found = []
        members_of = chain.from_iterable(self.members(view, *part) for part in _without_null(asked, keys))
        for group, members in groups_of(dict.fromkeys(members_of), view.aggregation).items():
            try:
                found.append((*group, *gathered(members, view.aggregation)))
            except Failure:  # the refresh itself would have stopped
                continue
        return found

    def grouped(self, view: View, rules: Sequence[Rule], asked: Asked, keys: Iterable[Row]) -> list[Row] | None:
        """As what lies below has it."""
        return self.below.grouped(view, rules, asked, keys)


def _by_group(view: View, known: Asked, keys: Iterable[Row]) -> tuple[Asked, set[Row]]:
    """Of the columns that are given those by which is grouped, and the keys without the others."""
    assert view.aggregation is not None
    inside = [i for i, position in enumerate(known) if position < view.aggregation.groups]
    return tuple(known[i] for i in inside), {tuple(key[i] for i in inside) for key in keys}


def _without_null(asked: Asked, keys: set[Row]) -> list[tuple[Asked, set[Row]]]:
    """The keys by the columns in which they have a value: no goal asks for a NULL, which joins with nothing."""
    found: dict[Asked, set[Row]] = defaultdict(set)
    for key in keys:
        kept = [i for i, value in enumerate(key) if value is not None]
        found[tuple(asked[i] for i in kept)].add(tuple(key[i] for i in kept))
    return list(found.items())


def member_schemas(views: Iterable[View]) -> dict[str, tuple[Type, ...]]:
    """The columns of what the views gather, also where no view holds it."""
    return {
        view.aggregation.members: tuple(column.type for column in member_columns(view))
        for view in views
        if view.aggregation
    }
