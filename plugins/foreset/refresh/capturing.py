"""Capture: what each source gained and lost since the refresh before, netted and staged; `captured.py` reads it."""

from __future__ import annotations

from dataclasses import replace

from foreset.ir.program import Source
from foreset.plan import marks
from foreset.records.captures import CaptureRecord
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.key_check import check_key, pins_of
from foreset.relations.files import rows_in_log
from foreset.store.capture.plan import Unchanged
from foreset.store.capture.stage import Counts
from foreset.store.capture.take import Captured, capture


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
    return CaptureRecord(
        way=type(captured.way).__name__,
        reason=captured.reason,
        inserted=counts.inserted,
        deleted=counts.deleted,
        rows=rows_in_log(context.layout.root, source, captured.pin.version),
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
