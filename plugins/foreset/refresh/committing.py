"""Commit: write each changed view once, then the one manifest row that makes all of it visible; then tell who waits."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from foreset.ir.program import Column, View
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.plan import marks
from foreset.plan.layout import laid_out
from foreset.records.captures import CaptureSummary
from foreset.records.commits import CommitRecord, Details, PublishRecord
from foreset.records.strata import Asked, StagedFile, StagedView, StratumSummary
from foreset.refresh.choosing import size_of
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.located import located, pin_of, record_of, staged_of
from foreset.relations.arrow import table, table_of
from foreset.relations.frames import frame
from foreset.relations.located import COUNTERS, Located, declared, staged
from foreset.rewrite.edit_views import with_command, without_view
from foreset.store import counters, exports, manifest, signed, write_once
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.epochs import close_run
from foreset.store.layout import is_local
from foreset.store.rows import ManifestRow, StatePin, ViewPin
from foreset.store.types import rough_width
from foreset.store.write_once import Read, Rows, Txn, Written

P = TypeVar("P", ViewPin, StatePin)
COPIES = 6  # of rows in memory, while a table is written anew in this process; beyond, Spark does it
WRITERS = 2  # tables that are written side by side: delta-rs and Spark leave Python alone meanwhile


def commit(context: Context) -> manifest.Committed | manifest.AlreadyCommitted:
    """Publish the refresh; raises `Fenced` when another came first."""
    watch = Stopwatch()
    pool = ThreadPoolExecutor(WRITERS, thread_name_prefix="write")
    try:
        views = {view.name: pool.submit(_write_view, context, view) for view in context.program.views}
        state = {
            name: pool.submit(_write_counters, context, name, *change)
            for name, change in _changes_of_counters(context).items()
        }
        row = _row(context, _ended(views), _ended(state), watch)
    finally:
        pool.shutdown(cancel_futures=True)  # after a fault no other write begins
    outcome = manifest.commit(context.layout, row)
    close_run(context.run, "committed")
    context.finish(marks.COMMIT, CommitRecord(outcome.seq, watch.seconds))
    return outcome


def _write_view(context: Context, view: View) -> ViewPin:
    change, previous = staged_of(context, view.name), pin_of(context, view.name)
    if previous is not None and not change.changed:
        written = Written(context.layout.resolve(previous.path), previous.version, previous.table_id, previous.token)
        return _pin(context, view, written, previous.rows, change)
    rows = located(context, view.name, Version.NEW).rows or 0
    return _pin(context, view, _written(context, view, previous), rows, change)


def _written(context: Context, view: View, previous: ViewPin | None) -> Written:
    path, seq, run = context.layout.view(view.name), context.run.seq, context.run
    order = _order(context, view)
    plus, minus = (located(context, view.name, version) for version in (Version.PLUS, Version.MINUS))
    if view.given is not None:
        return _written_whole(context, view, view.given, previous)
    if previous is None:
        signed.create(path, declared(view.columns))

        def load(txn: Txn) -> None:
            (rows,) = _rows(context, order, plus)
            signed.load(path, rows, seq, txn)

        return write_once.write_once(run, path, None, load, absolute=True)
    path = context.layout.resolve(previous.path)
    extent = signed.describe(path, previous.version, context.opened)
    if signed.Threshold().passed(extent, plus.rows or 0, minus.rows or 0, _files(plus, minus)):

        def rebase(txn: Txn) -> None:
            here = _fits(context, view.columns, previous.rows, plus.rows, minus.rows)
            came, went = (None if one.empty else _read(context, one, here=here) for one in (plus, minus))
            signed.rebase(path, previous.version, came, went, seq, txn, order)

        return write_once.write_once(run, path, previous.version, rebase, absolute=True)

    def append(txn: Txn) -> None:
        came, went = _rows(context, order, plus, minus)
        signed.append(path, came, went, seq, txn)

    return write_once.write_once(run, path, previous.version, append)


def _written_whole(context: Context, view: View, given: Collection[Row], previous: ViewPin | None) -> Written:
    """Rows that edits give are few, and all at hand: written anew they are one file, however often they change."""
    rows, run = table_of(given, view.columns), context.run
    path = context.layout.resolve(previous.path) if previous else context.layout.view(view.name)
    if previous is None:
        signed.create(path, declared(view.columns))

    def load(txn: Txn) -> None:
        signed.load(path, rows, run.seq, txn)

    return write_once.write_once(run, path, previous.version if previous else None, load, absolute=True)


def _order(context: Context, view: View) -> tuple[str, ...]:
    """By which columns rows of a view are stored side by side."""
    return tuple(view.columns[place].name for place in laid_out(view.name, context.layering))


def _rows(context: Context, order: Sequence[str], *changes: Located) -> tuple[Rows, ...]:
    """What is to be written: files that lie as the table is to have them, or what earlier releases staged, read."""
    laid = [one.laid for one in changes]
    if None not in laid:
        return tuple(one for one in laid if one is not None)
    here = _fits(context, changes[0].columns, *(one.rows for one in changes))
    return tuple(signed.ordered(_read(context, one, here=here), order) for one in changes)


def _files(*changes: Located) -> int:
    """How many files a commit of these adds to a table."""
    return sum(1 if one.laid is None else one.laid.files for one in changes if not one.empty)


def _read(context: Context, one: Located, *, here: bool) -> Read:
    """Rows that are to be written anew, in this process or in Spark."""
    return table(one) if here else frame(context.spark, one)


def _changes_of_counters(context: Context) -> dict[str, tuple[StatePin | None, StagedFile]]:
    """By view, the counters before and what changes; those of a stratum maintained without them are no longer true."""
    found: dict[str, tuple[StatePin | None, StagedFile]] = {}
    for stratum in context.layering.strata:
        record = record_of(context, stratum)
        for view in stratum.names:
            before = context.previous.state.get(view) if context.previous else None
            if view in record.counted:
                assert record.counters is not None, "what is counted has counters"
                found[view] = None if record.forgotten else before, record.counters[view]
            elif record.skipped and before is not None:
                found[view] = before, StagedFile()
    return found


def _ended(writing: Mapping[str, Future[P]]) -> dict[str, P]:
    """The pins of what is written, in order; raises the first fault."""
    return {name: future.result() for name, future in writing.items()}


def _write_counters(context: Context, view: str, before: StatePin | None, changes: StagedFile) -> StatePin:
    columns = context.view(view).columns
    seq, run = context.run.seq, context.run
    if before is not None and not changes.rows:
        return before
    change = staged(view, Version.CURRENT, (*columns, *COUNTERS), changes)
    order = _order(context, context.view(view))
    path = context.layout.state(view) if before is None else context.layout.resolve(before.path)

    def load(txn: Txn) -> None:
        (rows,) = _rows(context, order, change)
        counters.load(path, rows, seq, txn)

    def append(txn: Txn) -> None:
        (rows,) = _rows(context, order, change)
        counters.append(path, rows, seq, txn)

    if before is None:
        counters.create(path, declared(columns))
        written = write_once.write_once(run, path, None, load, absolute=True)
    elif (extent := counters.describe(path, before.version, context.opened)).passed(changes.rows, _files(change)):

        def rebase(txn: Txn) -> None:
            here = _fits(context, change.columns, extent.rows, change.rows)
            counters.rebase(path, before.version, _read(context, change, here=here), seq, txn, order)

        written = write_once.write_once(run, path, before.version, rebase, absolute=True)
    else:
        written = write_once.write_once(run, path, before.version, append)
    return StatePin(context.layout.relative(written.path), written.table_id, written.version)


def _row(context: Context, views: dict[str, ViewPin], state: dict[str, StatePin], watch: Stopwatch) -> ManifestRow:
    run, plan = context.run, context.plan
    domains, warnings = told_of_domains(context)
    sources = {}
    for name, pin in run.sources.items():
        before = context.previous.sources.get(name) if context.previous else None
        taken = RecordedPin.from_manifest(pin)
        sources[name] = taken.to_manifest(pin.table, before.to_version if before else None)
    return ManifestRow(
        seq=run.seq,
        refresh_id=run.refresh_id,
        attempt_id=run.attempt_id,
        epoch=run.epoch,
        prev_seq=run.prev_seq,
        spec_hash=plan.spec_hash,
        engine_version=engine_version(),
        mode=plan.mode,
        fingerprints=plan.fingerprints,
        sources=sources,
        views=views,
        state=state,
        verification=context.mark(marks.VERIFY),
        quality=context.mark(marks.QUALITY),
        extra=Details(
            strata=tuple(_summary(context, stratum) for stratum in context.layering.strata),
            captures={name: _captured(context, name) for name in run.sources},
            domains=domains,
            warnings=warnings,
            edits=plan.edits,
            note=plan.note,
            writing_seconds=watch.seconds,
            run=run.run_id,
        ),
    )


def told_of_domains(context: Context) -> tuple[dict[str, Asked], tuple[str, ...]]:
    """What was asked and answered, by `domain:function`, and all warnings of the refresh."""
    asked: dict[str, Asked] = {}
    warnings: list[str] = []
    records = (context.mark(marks.stratum(stratum.number)) for stratum in context.layering.strata)
    for record in filter(None, records):
        asked |= record.asked or {}
        warnings += record.warnings or ()
    return asked, (*warnings, *_edits_of_nothing(context))


def _edits_of_nothing(context: Context) -> list[str]:
    """Edits whose views the spec has no more: a person should know of them."""
    found = without_view(context.program, context.plan.edits) if context.plan.edits else ()
    return [with_command(context.layout.group, one) for one in found]


def _summary(context: Context, stratum: Stratum) -> StratumSummary:
    sizes = [size_of(context, name) for name in stratum.reads]
    changed, below = sum(size.changed for size in sizes), sum(size.most for size in sizes)
    earlier = context.past.carried(stratum.names)
    return record_of(context, stratum).summary(stratum.number, stratum.names, changed, below, earlier)


def _captured(context: Context, source: str) -> CaptureSummary:
    record = context.mark(marks.capture(source))
    return record.summary if record else CaptureSummary()


def _pin(context: Context, view: View, written: Written, rows: int, staged: StagedView) -> ViewPin:
    sides = (staged.plus, staged.minus)
    plus_ref, minus_ref = (file.path and context.layout.relative(file.path) for file in sides)
    record = record_of(context, context.layering.of(view.name))
    return ViewPin(
        path=context.layout.relative(written.path),
        table_id=written.table_id,
        version=written.version,
        columns=declared(view.columns),
        token=written.token,
        rows=rows,
        inserted=staged.plus.rows,
        deleted=staged.minus.rows,
        strategy=record.strategy,
        reason=record.reason,
        plus_ref=plus_ref,
        minus_ref=minus_ref,
    )


def _fits(context: Context, columns: Sequence[Column], *rows: int | None) -> bool:
    """Whether so many rows may be taken into memory, to be written without a Spark job."""
    width = rough_width([column.type for column in columns])
    held = COPIES * width * sum(count or 0 for count in rows)
    return is_local(context.layout.root) and held <= context.memory.lent


@functools.cache
def engine_version() -> str:
    """Foreset's own version."""
    try:
        return version("foreset")
    except PackageNotFoundError:
        return "unknown"


def publish(context: Context) -> PublishRecord:
    """Tell those who wait, once the manifest says it; so far: exports, for tools that cannot resolve.

    They are brought up to the newest seq; may be repeated, and never changes what was committed.
    """
    done = context.mark(marks.PUBLISH)
    if done is not None:
        return done
    watch = Stopwatch()
    views = [view.name for view in context.program.views if view.export]
    named = context.layout.root, context.layout.group, context.run.refresh_id
    row = manifest.find_refresh(*named) if views else None
    shown = exports.bring_up(context.layout, views, row) if row is not None else {}
    return context.finish(marks.PUBLISH, PublishRecord(shown, watch.seconds))
