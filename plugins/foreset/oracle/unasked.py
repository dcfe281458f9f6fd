"""Over the contents of everything: what domains ought to have been asked, and were not (analyse/needs.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foreset.analyse.needs import Need
from foreset.analyse.strata import layering
from foreset.ir.program import Program
from foreset.ir.terms import Row
from foreset.oracle.naive import evaluate


def unasked(
    program: Program, contents: Mapping[str, frozenset[Row]], needs: Sequence[Need]
) -> Iterator[tuple[str, frozenset[Row]]]:
    """For each need the arguments that ought to have been asked, over the contents of everything."""
    columns = program.columns_of()
    for need in needs:
        view = need.view
        known = {**columns, view.name: view.columns}
        kinds = {name: tuple(column.type for column in relation) for name, relation in known.items()}
        strata = layering((view,), columns).strata
        found = evaluate(strata, contents, kinds, 1)[view.name]
        wanted = (row[len(need.seeds) :] for row in found)
        lacking = frozenset(row for row in wanted if None not in row) - contents[need.asks]  # NULL is never asked
        if lacking:
            yield need.asks, lacking
