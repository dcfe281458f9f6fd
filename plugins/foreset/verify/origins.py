"""Where the values of a view's columns come from: which columns of which sources.

An absent row is best looked for near what changed: a view that lost its only row with
some value shows that value nowhere else, but the row of a source that brought it does.
"""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from foreset.ir.program import View
from foreset.ir.rules import Atom, Let, Rule
from foreset.ir.strata import Layering
from foreset.ir.terms import Row, Value, Var, names_in
from foreset.ir.types import Type
from foreset.verify.binding_order import Asked, Schemas
from foreset.verify.value_numbering import alike

KEYS = 16  # by which a view is asked for whole rows
REMEMBERED = 16  # specs: whoever refreshes again mostly does by the same
Place = tuple[str, int]  # a relation and a column of it
Pairs = tuple[tuple[int, int], ...]  # a column of a view, and one of a source
Hint = tuple[tuple[int, Value], ...]  # columns of a view, and what one row of a source says of them


def origins(layering: Layering, schemas: Schemas) -> Mapping[str, Mapping[str, Pairs]]:
    """Of each view and source: a view's column with each column of the source whose values may reach it as they are."""
    return _origins(layering, tuple(schemas.items()))


@functools.lru_cache(REMEMBERED)
def _origins(layering: Layering, columns: tuple[tuple[str, Sequence[Type]], ...]) -> dict[str, dict[str, Pairs]]:
    schemas = dict(columns)
    above: dict[Place, set[Place]] = defaultdict(set)
    defined = set[str]()
    for stratum in layering.strata:
        for view in stratum.views:
            defined.add(view.name)
            for rule in view.rules:
                for lower, upper in _steps(view, rule):
                    above[lower].add(upper)
    found: dict[str, dict[str, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    sources = [place for place in above if place[0] not in defined and place[0] in schemas]  # not what domains answer
    for source, column in sources:
        for view_name, position in _reached((source, column), above):
            if alike(schemas[view_name][position], schemas[source][column]):
                found[view_name][source].add((position, column))
    return {view: {source: tuple(sorted(pairs)) for source, pairs in by.items()} for view, by in found.items()}


def _steps(view: View, rule: Rule) -> Iterator[tuple[Place, Place]]:
    """From columns of the body to those columns of the view that take their values as they are."""
    kept = view.aggregation.groups if view.aggregation else len(rule.head.args)
    heads = [(i, arg.name) for i, arg in enumerate(rule.head.args[:kept]) if isinstance(arg, Var)]
    for literal in rule.body:
        if isinstance(literal, Atom):
            for j, arg in enumerate(literal.args):
                if isinstance(arg, Var):
                    yield from (((literal.relation, j), (view.name, i)) for i, name in heads if name == arg.name)


def _reached(start: Place, above: Mapping[Place, set[Place]]) -> set[Place]:
    """Every place to which values of `start` can rise."""
    found, ahead = set[Place](), [start]
    while ahead:
        for upper in above.get(ahead.pop(), ()):
            if upper not in found:
                found.add(upper)
                ahead.append(upper)
    return found


def hints(pairs: Pairs, rows: Iterable[Row | Mapping[int, Value]]) -> list[Hint]:
    """What each row of a source says of a view's columns."""
    return [tuple((position, row[column]) for position, column in pairs) for row in rows]


def _few(rule: Rule, asked: Asked, groups: Collection[str]) -> bool:
    """Whether a key gives few rows: each value of the head that the key does not give comes from a group."""
    lets = {literal.var.name: literal.term for literal in rule.body if isinstance(literal, Let)}
    known = names_in(*(rule.head.args[position] for position in asked))
    todo, seen = [name for name in names_in(*rule.head.args) if name not in known], set(known)
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            todo += names_in(lets[name]) if name in lets else ()
    atoms = (literal for literal in rule.body if isinstance(literal, Atom) and literal.relation not in groups)
    return not any(name in seen - known for atom in atoms for name in names_in(*atom.args))


def near_goals(
    views: Iterable[str],
    layering: Layering,
    reaching: Mapping[str, Mapping[str, Pairs]],
    near: Callable[[str], Sequence[Hint]],
    seed: int,
) -> dict[tuple[str, Asked], set[Row]]:
    """For views with values that are computed, which nobody can guess: keys by which to ask for whole rows.

    A key is what one row of a source says of the view. Views of one source are asked by its columns, others by those
    of the source that says most; recursive ones, those that nobody declared, and those of which a key may have many
    rows are not asked.
    """
    groups = {stratum.names[0] for stratum in layering.strata if stratum.aggregation}
    found: dict[tuple[str, Asked], set[Row]] = {}
    for name in views:
        stratum = layering.of(name)
        view = next(view for view in stratum.views if view.name == name)
        known = {position for pairs in reaching.get(name, {}).values() for position, _ in pairs}
        if view.hidden or stratum.recursive or stratum.own_way or not 0 < len(known) < len(view.columns):
            continue
        rows = [dict(hint) for hint in near(name)]
        widest = max((tuple(sorted(row)) for row in rows), key=len, default=())
        keys = sorted({tuple(row[p] for p in widest) for row in rows if row.keys() == {*widest}}, key=repr)
        random.Random(seed).shuffle(keys)  # noqa: S311 - a sample must be repeatable, not secret
        if widest and keys and all(_few(rule, widest, groups) for rule in view.rules):
            found[name, widest] = set(keys[:KEYS])
    return found
