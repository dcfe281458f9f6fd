"""Capture: what each source gained and lost since the refresh before, netted and staged; and what of it others ask."""

from __future__ import annotations

from dataclasses import replace

from foreset.errors import EnvironmentFault
from foreset.ir.program import Source
from foreset.plan import marks
from foreset.records.captures import CaptureRecord
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.editing import edits_of
from foreset.refresh.key_check import check_key, pins_of
from foreset.relations.files import held_in_log
from foreset.store.capture.plan import Unchanged
from foreset.store.capture.stage import Counts
from foreset.store.capture.take import Captured, capture


def captured_of(context: Context, source: str) -> CaptureRecord:
    """What the capture of a source noted; an error before it has done so."""
    found = context.mark(marks.capture(source))
    if found is None:
        what = f"source {source} is not captured in refresh {context.run.refresh_id}"
        raise EnvironmentFault(what, "run its capture task first", worth_retrying=False)
    return found


def captures_of(context: Context) -> dict[str, CaptureRecord]:
    """The same of every source, by name."""
    return {source.name: captured_of(context, source.name) for source in context.program.sources}


def nothing_moved(context: Context) -> bool:
    """True when no source moved, and no definition and no edit changed: the refresh ends here."""
    # only domains know whether they have news
    asks = any(stratum.called or stratum.asks for stratum in context.layering.strata)
    return not asks and all_stands(context)


def all_stands(context: Context) -> bool:
    """True when sources, definitions and edits are known to be as the refresh before took them in."""
    before = context.previous
    if before is None or context.plan.rebuild or context.plan.edits != edits_of(before):
        return False
    if set(before.views) != {view.name for view in context.program.views}:
        return False
    records = [context.mark(marks.capture(source.name)) for source in context.program.sources]
    return all(one is not None and not (one.moved or one.taken_whole) for one in records)


def capture_sources(context: Context) -> dict[str, CaptureRecord]:
    """Capture every source that is not captured yet; records by source."""
    return {
        source.name: context.mark(marks.capture(source.name)) or _capture(context, source)
        for source in context.program.sources
    }


def _capture(context: Context, source: Source) -> CaptureRecord:
    watch = Stopwatch()
    before, now = pins_of(context, source)
    used_by = context.users_of(source.name)
    captured = capture(
        context.spark, source, before, context.layout.root, _folder(context, source), to=now, used_by=used_by
    )
    record = _record(context, source, captured)
    single = check_key(context, source, record)
    return context.finish(marks.capture(source.name), replace(record, single=single, seconds=watch.seconds))


def _record(context: Context, source: Source, captured: Captured) -> CaptureRecord:
    counts = captured.counts or Counts()
    held = held_in_log(context.layout.root, source, captured.pin.version, context.opened)
    return CaptureRecord(
        way=type(captured.way).__name__,
        reason=captured.reason,
        inserted=counts.inserted,
        deleted=counts.deleted,
        rows=held.rows,
        stored=held.stored,
        taken_whole=captured.counts is None,
        moved=not isinstance(captured.way, Unchanged),
        degraded=captured.degraded,
        old_lost=captured.old_lost,
        single=counts.single,
        key=source.key,
        staged=_folder(context, source),
    )


def _folder(context: Context, source: Source) -> str:
    return context.path("capture", source.name, context.run.attempt_id)
