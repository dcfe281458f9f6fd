"""Was all asked that the rules need to know? A sample of rows, followed through the rules that use the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from foreset.analyse.needs import Need
from foreset.ir.program import Column, View
from foreset.ir.terms import Row, Var
from foreset.relations.files import Rows
from foreset.values.widen import widened
from foreset.verify.binding_order import Asked
from foreset.verify.entries import Draw, present, sampled
from foreset.verify.sample import Staged

Answers = Callable[[View, Asked, set[Row]], Iterable[Row]]  # rows of a view that no stratum has, by some columns


def lacking(
    needs: Sequence[Need],
    columns: Mapping[str, tuple[Column, ...]],
    parts: Callable[[str], Sequence[Rows]],
    asks: Mapping[str, Staged],
    answers: Answers,
    size: int,
    seed: int,
) -> Iterator[tuple[str, int, set[Row]]]:
    """For each need how many arguments were looked at, and those that nobody asked for.

    `parts` are the rows of a relation to draw from; what is asked is `asks`.
    """
    for need in needs:
        if need.asks not in asks:
            continue
        view, width = need.view, len(need.seeds)
        keys = _keys(need, columns, parts, size, seed)
        staged = asks[need.asks]
        kinds = [column.type for column in staged.columns]
        found = answers(view, tuple(range(width)), keys) if keys else ()
        whole = {tuple(map(widened, row[width:], kinds)) for row in found if None not in row[width:]}
        wanted = sorted(whole, key=repr)[:size]
        before, came, gone = present((staged.old, staged.plus, staged.minus), staged.columns, wanted)
        yield need.asks, len(wanted), set(wanted) - ((before - gone) | came)


def _keys(
    need: Need,
    columns: Mapping[str, tuple[Column, ...]],
    parts: Callable[[str], Sequence[Rows]],
    size: int,
    seed: int,
) -> set[Row]:
    """Values of the seed's variables, from rows that it may have."""
    if need.seed is None:
        return {()}
    places = [need.seed.args.index(Var(name)) for name in need.seeds]
    kinds = [need.rule.types[name] for name in need.seeds]
    drawn = sampled([Draw(part, size, seed) for part in parts(need.seed.relation)], columns[need.seed.relation])
    keys = {tuple(widened(row[place], kind) for place, kind in zip(places, kinds, strict=True))
            for rows in drawn for row in rows}  # fmt: skip
    return {key for key in keys if None not in key}
