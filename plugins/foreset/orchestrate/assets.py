"""Assets: one for each source table and each view, the same object for every group that names it.

A loader says "this table has changed" by an event on the table's asset, with the version that it
wrote in `extra`. The asset of a view gets its event from `publish`, so whoever waits for it never
sees half a refresh.
"""

from __future__ import annotations

from urllib.parse import quote

from airflow.sdk import Asset

from foreset.ir.program import Program, Source

GROUP = "foreset"


def source_asset(source: Source) -> Asset:
    """The asset whose events refresh those who read `source`."""
    if source.view is not None:
        return view_asset(*source.group_and_view)
    return table_asset(str(source.table))


def table_asset(table: str) -> Asset:
    """The asset of a Delta table, by the name that specs give it."""
    return Asset(name=table, uri=f"foreset://table/{quote(table, safe='/')}", group=GROUP)


def view_asset(group: str, view: str) -> Asset:
    """The asset of a view."""
    return Asset(name=f"{group}.{view}", uri=f"foreset://view/{group}/{view}", group=GROUP)


def sources_of(program: Program) -> list[Asset]:
    """What a group listens to, each once, in the order of the file."""
    found = {asset.name: asset for asset in map(source_asset, program.sources)}
    return list(found.values())


def views_of(program: Program) -> list[Asset]:
    """What a group publishes."""
    return [view_asset(program.group, view.name) for view in program.shown]
