"""Open a refresh: freeze the plan, allocate the epoch, record the versions of all sources once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from foreset.diagnostics import Report
from foreset.errors import EnvironmentFault, Held, SpecError
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.plan.frozen import RefreshPlan, Request
from foreset.plan.history import REMEMBERED
from foreset.plan.rebuild import rebuilt
from foreset.records.events import KINDS, Event, Listener, facts_of
from foreset.refresh.context import Context, read_fingerprints, read_spec, understood
from foreset.refresh.editing import edited, edits_of, reasons
from foreset.refresh.record_failure import described
from foreset.spec.suites import suite_files
from foreset.store import events, files, manifest
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.capture.take import current_pin
from foreset.store.epochs import Run, close_run, load_run, open_run
from foreset.store.holds import refuse_if_held
from foreset.store.layout import Layout, join
from foreset.store.manifest import AlreadyCommitted, history
from foreset.store.rows import ManifestRow, SourcePin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = "plan.json"


def open_refresh(
    spark: SparkSession,
    layout: Layout,
    spec: tuple[str, str],
    request: Request,
    listen: Listener = lambda _: None,
) -> Context | AlreadyCommitted:
    """Begin, or begin again, a refresh; `spec` is the text and its file name."""
    request.check()
    text, file = spec
    suites = _suites(file, layout.group)
    program, layering = read_spec(text, file, suites)

    def vector(last: ManifestRow | None) -> Mapping[str, SourcePin]:
        if request.edit and last and all(source.name in last.sources for source in program.sources):
            return {source.name: last.sources[source.name] for source in program.sources}  # a correction, and no more
        return {source.name: _pin(spark, layout, program, layering, source.name, last) for source in program.sources}

    publishes_news = not (request.edit or request.dry_run)
    standing = manifest.read(layout, request.refresh_id)
    if standing is None or standing.reading.same_refresh is None:  # refused before anything is opened
        if publishes_news:
            refuse_if_held(layout)
        before = edits_of(standing.newest if standing else None)
        read_spec(text, file, suites, edited(before, request.edit, layout.group, program))
    run = open_run(layout, request.refresh_id, vector, force=request.force)
    if isinstance(run, AlreadyCommitted):
        return run
    if publishes_news:
        _still_released(run)
    try:
        return _planned(spark, run, (text, file), suites, request, listen)
    except BaseException as error:
        with suppress(OSError):  # a disk that is full must not hide what it has done
            events.emit(run.directory, "failed", phase="open", **described(error, layout.group))
            close_run(run, "failed")
        raise


def _planned(
    spark: SparkSession,
    run: Run,
    spec: tuple[str, str],
    suites: Mapping[str, str],
    request: Request,
    listen: Listener,
) -> Context:
    """Freeze the plan of a run that is open."""
    text, file = spec
    program, layering = read_spec(text, file, suites)
    past = _past(run)
    previous = past[-1] if past else None
    marks = read_fingerprints(text, file, suites)
    before = {name: previous.fingerprints.get(name, "") for name in previous.views} if previous else None
    edits = edits_of(previous)
    group = run.layout.group
    now = edited(edits, request.edit, group, program)
    rebuild = {
        **reasons(spec, suites, edits, now, previous.views if previous else {}),
        **rebuilt(layering, marks, before),
    }
    plan = RefreshPlan(group, file, text, request.mode, request.verify, request.note, marks, rebuild, suites, now)
    files.write_once(join(run.directory, PLAN), plan.to_json())
    return _context(spark, run, past, listen)


def _still_released(run: Run) -> None:
    """A hold may have come, with its rollback, before the epoch of this run was opened."""
    try:
        refuse_if_held(run.layout)
    except Held:
        close_run(run, "held")
        raise


def resume(spark: SparkSession, run: Run, listen: Listener = lambda _: None) -> Context:
    """The context of an open run, from what its directory says: for a later task or a retry."""
    return _context(spark, run, _past(run), listen)


def _past(run: Run) -> list[ManifestRow]:
    """The refreshes before: not up to the newest, since a retry may find its own commit there."""
    return history(run.layout.root, run.layout.group, upto=run.prev_seq, last=REMEMBERED)


def _context(spark: SparkSession, run: Run, past: Sequence[ManifestRow], listen: Listener) -> Context:
    text = files.read_once(join(run.directory, PLAN))
    if text is None:
        raise EnvironmentFault(f"run {run.run_id} has no plan", "run its `open` task again")
    plan = RefreshPlan.from_json(text)
    program, layering = understood(plan)
    previous = past[-1] if past else None
    costs = [row.extra.strata for row in past]

    one_at_a_time = Lock()

    def told(event: Event) -> None:
        """Every event is kept in the run directory, whoever else listens; strata may speak at the same time."""
        with one_at_a_time:
            events.emit(run.directory, KINDS[type(event)], **facts_of(event))
            listen(event)

    return Context(spark, run, plan, program, layering, previous, told, costs)


def reopen(spark: SparkSession, layout: Layout, refresh_id: str, listen: Listener = lambda _: None) -> Context:
    """Like `resume`, for a process that knows only the refresh's id."""
    return resume(spark, load_run(layout, refresh_id), listen)


def _suites(file: str, group: str) -> Mapping[str, str]:
    """The suite files of the group; one that cannot be read refuses the refresh, as a fault in it does."""
    report = Report()
    found = suite_files(file, group, report)
    if not report.ok:
        raise SpecError(report.errors)
    return found


def _pin(
    spark: SparkSession, layout: Layout, program: Program, layering: Layering, name: str, last: ManifestRow | None
) -> SourcePin:
    source = next(source for source in program.sources if source.name == name)
    used_by = tuple(view for stratum in layering.strata if name in stratum.reads for view in stratum.names)
    before = last.sources.get(name) if last else None
    pin: RecordedPin = current_pin(spark, source, layout.root, used_by)
    return pin.to_manifest(source.table or source.view or name, before.to_version if before else None)
