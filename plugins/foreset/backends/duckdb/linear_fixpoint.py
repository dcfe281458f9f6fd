"""`Spread` in DuckDB's memory: both helper relations go to the bits as Arrow, and what moved comes back so."""

from __future__ import annotations

from foreset.backends.duckdb.tables import Part, Tables
from foreset.ir.steps import Ref, Spread
from foreset.ir.versions import Version


def spread(step: Spread, tables: Tables) -> tuple[list[Part], list[Part]]:
    """What came to the relation and what went."""
    from foreset.bitsets import change

    old, new = (
        change.Tables(*(tables.arrow(tables.whole(Ref(name, version))) for name in (step.base, step.needs)))
        for version in (Version.OLD, Version.FULL)
    )
    plus, minus = list[Part](), list[Part]()
    for portion in change.changes(old, new, step.key):
        (plus if portion.came else minus).append(Part(tables.take_arrow(portion.rows)))
    return plus, minus
