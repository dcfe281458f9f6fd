"""Capture: what each source gained and lost since the refresh before, netted and staged."""

from __future__ import annotations

from dataclasses import replace

from foreset.plan import marks
from foreset.records.captures import CaptureRecord
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.editing import edits_of
from foreset.refresh.key_check import check_key, single_rows
from foreset.refresh.sizes import rows_of
from foreset.store.capture import Captured, Counts, RecordedPin, Unchanged, capture, staged
from foreset.store.capture.stage import Differential


def capture_all(context: Context) -> dict[str, CaptureRecord]:
    """Capture every source that was not captured yet; records by source."""
    return {source.name: capture_one(context, source.name) for source in context.program.sources}


def capture_one(context: Context, name: str) -> CaptureRecord:
    """Capture one source, or say again what an earlier attempt found."""
    done = context.mark(marks.capture(name))
    if done is not None:
        return done
    watch = Stopwatch()
    source, pin = context.source(name), context.run.sources[name]
    before = context.previous.sources.get(name) if context.previous else None
    captured = capture(
        context.spark,
        source,
        replace(RecordedPin.from_manifest(before), single=single_rows(context, source)) if before else None,
        context.layout.root,
        context.path("capture", name, context.run.attempt_id),
        to=RecordedPin.from_manifest(pin),
        used_by=context.users_of(name),
    )
    record = _record(context, captured)
    single = check_key(context, source, record)
    return context.finish(marks.capture(name), replace(record, single=single, seconds=watch.seconds))


def _record(context: Context, captured: Captured) -> CaptureRecord:
    source = context.source(captured.source)
    return CaptureRecord(
        way=type(captured.way).__name__,
        reason=captured.reason,
        inserted=captured.counts.inserted,
        deleted=captured.counts.deleted,
        rows=rows_of(context.layout.root, source, captured.pin.version),
        taken_whole=captured.differential is None,
        moved=not isinstance(captured.way, Unchanged),
        degraded=captured.degraded,
        old_lost=captured.old_lost,
        single=captured.counts.single,
        key=source.key,
        staged=context.path("capture", captured.source, context.run.attempt_id),
    )


def differential(context: Context, name: str) -> Differential | None:
    """The staged differential of a captured source; None when it was taken whole."""
    record = capture_one(context, name)
    if record.taken_whole:
        return None
    counts = Counts(record.inserted, record.deleted)
    return staged(context.spark, context.source(name).columns, record.staged, counts)


def nothing_moved(context: Context) -> bool:
    """True when no source moved, and no definition and no edit changed: the refresh ends here."""
    # only domains know whether they have news
    asks = any(stratum.called or stratum.asks for stratum in context.layering.strata)
    return not asks and all_stands(context)


def all_stands(context: Context) -> bool:
    """True when sources, definitions and edits are as the refresh before took them in."""
    before = context.previous
    if before is None or context.plan.rebuild or context.plan.edits != edits_of(before):
        return False
    if set(before.views) != {view.name for view in context.program.views}:
        return False
    return not any(found.moved or found.taken_whole for found in capture_all(context).values())
