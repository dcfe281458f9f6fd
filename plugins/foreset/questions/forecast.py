"""What the next refresh would rebuild, add and remove because definitions changed, and what that costs.

It compares fingerprints and reads logs: no Spark, no row of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foreset.ir.hidden import all_in_words, in_words
from foreset.ir.program import Program, is_hidden
from foreset.ir.sizes import summed
from foreset.ir.strata import Layering, Stratum
from foreset.plan.cost import DUCKDB, SPARK
from foreset.plan.fingerprint import fingerprints
from foreset.plan.history import REMEMBERED, Past
from foreset.plan.rebuild import rebuilt
from foreset.records.strata import StratumSummary
from foreset.refresh.editing import edits_of, misfits
from foreset.relations.files import held_in_log
from foreset.rewrite.edit_views import with_command, without_view
from foreset.store import manifest
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow


class Action(StrEnum):
    """What becomes of a view."""

    KEEP = "keep"  # maintained from the state that readers have
    ADD = "add"
    REBUILD = "rebuild"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the next refresh does to one view for the sake of its definition."""

    view: str
    action: Action
    reason: str
    rows: int = 0  # that readers see now


@dataclass(frozen=True, slots=True)
class Building:
    """The cost of building the views of one stratum."""

    views: tuple[str, ...]
    reads: Mapping[str, int | None]  # rows of each relation that must be read; None where its log does not say
    seconds: float | None
    basis: str  # where the seconds come from


@dataclass(frozen=True, slots=True)
class Forecast:
    """The views of one group against what is committed."""

    group: str
    seq: int | None  # None: never refreshed
    views: tuple[Outlook, ...]
    building: tuple[Building, ...]
    refused: tuple[str, ...] = ()  # why the refresh would be: edits that do not fit their views any more
    idle_edits: tuple[str, ...] = ()  # of views that the spec has no more

    @property
    def rows(self) -> int:
        """Rows that must be read, as far as they are known."""
        return sum(count or 0 for one in self.building for count in one.reads.values())

    @property
    def seconds(self) -> float | None:
        """All of it; None when a part is not known."""
        parts = [one.seconds for one in self.building]
        return None if None in parts else round(sum(part for part in parts if part is not None), 1)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the sums."""
        return {"group": self.group, "seq": self.seq, "views": self.views, "building": self.building,
                "rows": self.rows, "seconds": self.seconds, "refused": self.refused,
                "idle_edits": self.idle_edits}  # fmt: skip


def forecast(layout: Layout, program: Program, layering: Layering) -> Forecast:
    """Look ahead; `program` is in normal form."""
    past = manifest.history(layout.root, layout.group, last=REMEMBERED)
    last = past[-1] if past else None
    before = {name: last.fingerprints.get(name, "") for name in last.views} if last else None
    reasons = rebuilt(layering, fingerprints(program, layering), before)
    costs = [row.extra.strata for row in past]
    shown = [view.name for view in program.views if not view.hidden]
    views = (*(_outlook(name, reasons, last) for name in shown), *_removed(program, last))
    building = [
        _building(layout, program, stratum, last, costs)
        for stratum in layering.strata
        if any(name in reasons for name in stratum.names)
    ]
    edits = edits_of(last)
    return Forecast(
        group=layout.group,
        seq=last.seq if last else None,
        views=views,
        building=tuple(building),
        refused=tuple(with_command(layout.group, one) for one in misfits(program, edits)),
        idle_edits=tuple(with_command(layout.group, one) for one in without_view(program, edits)),
    )


def _outlook(view: str, reasons: Mapping[str, str], last: ManifestRow | None) -> Outlook:
    pin = last.views.get(view) if last else None
    if view not in reasons:
        return Outlook(view, Action.KEEP, "its definition has not changed", pin.rows if pin else 0)
    return Outlook(view, Action.REBUILD if pin else Action.ADD, reasons[view], pin.rows if pin else 0)


def _removed(program: Program, last: ManifestRow | None) -> Iterable[Outlook]:
    names = {view.name for view in program.views}
    for name, pin in (last.views if last else {}).items():
        if name not in names and not is_hidden(name):
            yield Outlook(name, Action.REMOVE, "it is not in the spec; `foreset gc` deletes its table", pin.rows)


def _building(
    layout: Layout, program: Program, stratum: Stratum, last: ManifestRow | None,
    costs: Sequence[Sequence[StratumSummary]],
) -> Building:  # fmt: skip
    sources = {source.name: source for source in program.sources}
    pins = last.views if last else {}
    reads: dict[str, int | None] = {}
    for name in (*stratum.reads, *(own for own in stratum.names if own in pins)):  # its own old rows: to compare
        if name in sources:
            reads[name] = held_in_log(layout.root, sources[name]).rows
        else:
            reads[name] = pins[name].rows if name in pins else None
    seconds, basis = _seconds(stratum, sum(rows or 0 for rows in reads.values()), costs)
    return Building(all_in_words(stratum.names), _told(reads), seconds, basis)


def _told(reads: Mapping[str, int | None]) -> dict[str, int | None]:
    """The relations as people call them; those of one name as one."""
    told: dict[str, int | None] = {}
    for name, rows in reads.items():
        words = in_words(name)
        told[words] = summed((told.get(words, 0), rows))
    return told


def _seconds(stratum: Stratum, rows: int, costs: Sequence[Sequence[StratumSummary]]) -> tuple[float | None, str]:
    took = Past.of(costs).cost(stratum.names).estimate("recompute", (DUCKDB, SPARK), 0)
    if took is not None:
        return round(took.seconds, 3), "its last build took that"
    built = [one for row in costs[-REMEMBERED:] for one in row if one.strategy == "recompute"]
    read = sum(sum(one.rows_read.values()) for one in built)
    if not read:
        return None, "nothing was built here yet"
    rate = read / max(sum(one.seconds for one in built), 0.001)
    return round(rows / rate, 3), f"at the {rate:,.0f} rows a second of earlier builds here"
