"""`Spread` in DuckDB's memory: both helper relations go to the bits as Arrow, and what moved comes back so."""

from __future__ import annotations

from foreset.backends.duckdb.tables import Part, Tables
from foreset.ir.steps import Ref, Spread
from foreset.ir.versions import Version
from foreset.plan import giving_up


def spread(step: Spread, tables: Tables) -> None:
    """Set the differential of the relation."""
    from foreset.bitsets import change

    giving_up.check_spread(step.relation, sum(tables.count(ref) for ref in step.reads))
    old, new = (
        change.Tables(*(tables.arrow(tables.whole(Ref(name, version))) for name in (step.base, step.needs)))
        for version in (Version.OLD, Version.FULL)
    )
    plus, minus = list[Part](), list[Part]()
    for portion in change.changes(old, new, step.key):
        (plus if portion.came else minus).append(Part(tables.take_arrow(portion.rows)))
    for ref, parts in zip(step.writes, (plus, minus), strict=True):
        tables.put(ref, *parts)
