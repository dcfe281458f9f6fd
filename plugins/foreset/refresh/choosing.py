"""Choose how a stratum is brought up to date: once in a refresh, by whoever comes first."""

from __future__ import annotations

from collections.abc import Iterable

from foreset.errors import ForesetError
from foreset.ir.sizes import read_width, row_width
from foreset.ir.strata import Stratum
from foreset.plan import marks
from foreset.plan.choose import Choice, Mode, Situation, Size, choose
from foreset.plan.cost import SPARK
from foreset.plan.place import Load, Room, engines, wish
from foreset.plan.translate import counts_itself
from foreset.records.strata import ChoiceRecord
from foreset.refresh.capturing import captured_of
from foreset.refresh.context import Context
from foreset.refresh.located import pin_of, staged_of
from foreset.store.layout import is_local


class Refused(ForesetError):
    """`strict` forbids what this refresh would have to do."""

    exit_code = 3


def chosen(context: Context, stratum: Stratum) -> Choice:
    """The strategy of a stratum, which all parts and retries of this refresh share."""
    known = context.settled(marks.choice(stratum.number))
    if known is None:
        choice = choose(stratum, situation_of(context, stratum), Mode(context.plan.mode))
        if choice.refused:
            raise Refused(f"{stratum.title} would have to be recomputed: {choice.reason}", "refresh with --mode auto")
        known = context.settle(marks.choice(stratum.number), ChoiceRecord(choice.strategy, choice.reason))
    return Choice(known.strategy, known.reason)


def reason_of(choice: Choice, circles: int) -> str:
    """Why a strategy was taken; where data break the promise of `stdel-acyclic`, with how many keys do."""
    return f"{choice.reason}: {circles:,} keys lie on one" if choice.strategy == "stdel" and circles else choice.reason


def situation_of(context: Context, stratum: Stratum) -> Situation:
    """What is known when the stratum's turn comes."""
    columns = context.program.columns_of()
    sizes = {name: size_of(context, name, read_width(stratum, name, columns[name])) for name in stratum.reads}
    rebuild = next((context.plan.rebuild[view] for view in stratum.names if view in context.plan.rebuild), "")
    for name in stratum.reads:
        if not rebuild and name in context.run.sources and captured_of(context, name).taken_whole:
            rebuild = f"source {name} had to be taken whole: {captured_of(context, name).reason}"
    state = context.previous.state if context.previous else {}
    counted = counts_itself(stratum) or all(name in state for name in stratum.names)
    pins = ((view, pin_of(context, view.name)) for view in stratum.views)
    own = sum(pin.rows * row_width(view.columns) for view, pin in pins if pin is not None)
    rows = sum(size.most for size in sizes.values())
    maintained_in, built_in = (_engines(context, stratum, Load(building, sizes, own)) for building in (False, True))
    cost = context.past.cost(stratum.names, rows)
    return Situation(sizes, rebuild, counted, own, cost, maintained_in, built_in)


def _engines(context: Context, stratum: Stratum, load: Load) -> tuple[str, ...]:
    """Where the stratum can run."""
    wanted = wish(stratum.engine).place
    if wanted is not None:
        return (wanted.engine,)
    return (SPARK,) if uncounted(context, load.sizes) else engines(load, room_of(context))


def uncounted(context: Context, names: Iterable[str]) -> list[str]:
    """Sources of which nobody knows how many rows they have."""
    return [name for name in names if name in context.run.sources and captured_of(context, name).rows is None]


def room_of(context: Context) -> Room:
    """What this process has for the work of a refresh."""
    return Room(context.memory.free, is_local(context.layout.root))


def size_of(context: Context, name: str, width: int = 0) -> Size:
    """How many rows a relation had, and how many came and went; `width`: bytes of what is read of a row, if not all."""
    if name in context.run.sources:
        captured, whole = captured_of(context, name), row_width(context.source(name).columns)
        stored = None if captured.stored is None else captured.stored * min(width or whole, whole) // max(whole, 1)
        return Size(captured.inserted, captured.deleted, captured.rows or 0, width or whole, stored)
    staged, pin = staged_of(context, name), pin_of(context, name)
    wide = width or row_width(context.view(name).columns)
    return Size(staged.plus.rows, staged.minus.rows, pin.rows if pin else 0, wide)
