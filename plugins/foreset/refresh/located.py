"""Where the rows of every relation of a run lie, in each version: the one place that knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.plan import marks
from foreset.plan.translate import counts_itself
from foreset.records.strata import StagedView, StratumRecord
from foreset.refresh.capturing import captured_of
from foreset.refresh.context import Context
from foreset.refresh.key_check import pins_of
from foreset.relations.frames import frame
from foreset.relations.located import (
    COUNTERS,
    Composed,
    CountersAt,
    Folder,
    Located,
    asked,
    fits,
    of_source,
    published,
    staged,
)
from foreset.store.delta import OpenAt, SparkOnly
from foreset.store.rows import ViewPin

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


def located(context: Context, name: str, version: Version) -> Located:
    """The state before (OLD) or after (NEW) this refresh, or what came (PLUS) or went (MINUS)."""
    return (_source if name in context.run.sources else _view)(context, name, version)


def record_of(context: Context, stratum: Stratum) -> StratumRecord:
    """What a finished stratum noted."""
    record = context.mark(marks.stratum(stratum.number))
    assert record is not None, f"stratum {stratum.number} is read before it is maintained"
    return record


def staged_of(context: Context, view: str) -> StagedView:
    """What the finished stratum of `view` staged for it."""
    return record_of(context, context.layering.of(view)).views[view]


def pin_of(context: Context, view: str) -> ViewPin | None:
    """The pin of a view whose rows fit the view as it is now defined."""
    pin = context.previous.views.get(view) if context.previous else None
    return pin if pin is not None and fits(pin, context.view(view).columns) else None


def _view(context: Context, name: str, version: Version) -> Located:
    columns = context.view(name).columns
    match version:
        case Version.OLD:
            pin = pin_of(context, name)
            there = published(context.layout, name, pin) if pin else Located(name, version, columns, rows=0)
            return replace(there, columns=columns)
        case Version.PLUS:
            return staged(name, version, columns, staged_of(context, name).plus)
        case Version.MINUS:
            return staged(name, version, columns, staged_of(context, name).minus)
        case _:
            old, minus, plus = (_view(context, name, part) for part in (Version.OLD, Version.MINUS, Version.PLUS))
            rows = (old.rows or 0) - (minus.rows or 0) + (plus.rows or 0)
            return Located(name, Version.NEW, columns, Composed(old, minus, plus), rows)


def _source(context: Context, name: str, version: Version) -> Located:
    source = context.source(name)
    pins = pins_of(context, source)
    return of_source(context.layout.root, source, version, captured_of(context, name), *pins)


def here(context: Context, one: Located, read: Callable[[Located, OpenAt], T], most: int) -> T | pa.Table:
    """What this process reads by itself; where only Spark can, Spark brings it here, each row once: up to `most`, and
    one more where there are more.
    """
    try:
        return read(one, context.opened)
    except SparkOnly:
        return frame(context.spark, one, distinct=True).limit(most + 1).toArrow()


def copied(context: Context, one: Located, folder: str) -> Located:
    """Rows that only Spark can read, as files that anyone can: its tasks write them, and none comes by way of here."""
    frame(context.spark, one, distinct=True).write.mode("overwrite").parquet(folder)
    return replace(one, place=Folder(folder))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the strata of a run find when they begin."""

    context: Context

    def below(self, relation: str, *, building: bool, read: AbstractSet[int] | None) -> Sequence[Located]:
        """A view below is read by its state before and its differential, a source by its table as well."""
        is_source = relation in self.context.run.sources
        states = (Version.NEW,) if is_source else ()
        before = () if is_source and building else (Version.OLD, Version.PLUS, Version.MINUS)
        return asked([located(self.context, relation, version) for version in (*states, *before)], read)

    def before(self, view: str) -> Sequence[Located]:
        """The state that readers have."""
        return [located(self.context, view, Version.OLD)]

    def counters(self, view: str) -> Located | None:
        """Those of the refresh before."""
        if counts_itself(self.context.layering.of(view)):
            return None
        assert self.context.previous is not None
        pin = self.context.previous.state[view]
        place = CountersAt(self.context.layout.resolve(pin.path), pin.version)
        return Located(view, Version.OLD, (*self.context.view(view).columns, *COUNTERS), place)
