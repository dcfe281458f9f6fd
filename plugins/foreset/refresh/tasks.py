"""One stage of a refresh in a process of its own: what Airflow's tasks and the jobs in spark_jobs/ run.

A first try finds the run as `open` left it. A later try (a retry, a cleared task) opens the same
run again: that raises the epoch, so whatever is left of the try before can publish nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from foreset.errors import EnvironmentFault, Fenced, Held
from foreset.ir.program import is_hidden
from foreset.plan import stages
from foreset.plan.frozen import Request
from foreset.plan.place import deployed
from foreset.plan.stages import EachStratum, Ending, Frame, Opening, Retry, Stage, Status, Working
from foreset.plan.unreached import unreached
from foreset.records.captures import CaptureRecord
from foreset.records.checks import QualityRecord, Verification
from foreset.records.commits import PublishRecord
from foreset.records.events import Listener
from foreset.records.results import (
    Ended,
    ExpectationsChecked,
    Published,
    RunOpened,
    SourceChange,
    SourcesCaptured,
    SparkFound,
    StageResult,
    StratumMaintained,
    ViewChange,
)
from foreset.records.strata import StratumRecord
from foreset.refresh.context import Context
from foreset.refresh.machine_faults import plain_words
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh, reopen, resume
from foreset.refresh.record_failure import attempt_told, failures_told
from foreset.refresh.runner import DOES, HOLDS, ending_of, one_stratum
from foreset.session.embedded import inspect_server
from foreset.session.jars import verified_jars
from foreset.session.lazy import lazy_session
from foreset.session.locations import absolute_warehouse
from foreset.session.open import open_session
from foreset.store import epochs, manifest
from foreset.store.holds import held
from foreset.store.layout import Layout
from foreset.store.manifest import AlreadyCommitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEARTBEAT_S = 60.0
NO_SPARK: SparkSession = cast("SparkSession", None)  # for stages that start none
OPENING_S = 5.0  # how long another try of a task next to this one may take to open the run again


@dataclass(frozen=True, slots=True)
class Job:
    """Which stage of which refresh."""

    stage: Stage
    warehouse: str
    group: str
    request: Request  # its id names the refresh; the rest is read by `open` alone, but for `dry_run`
    stratum: int = 0
    spec: str = ""  # the spec file, for `open`
    spark: str | None = None  # as FORESET_SPARK
    again: bool = False  # not the first try

    @property
    def name(self) -> str:
        """The stage as reports name it."""
        return stages.name_of(self.stage, self.stratum)


def perform(job: Job, listen: Listener = lambda _: None) -> StageResult:
    """Do one stage, or say again what an earlier try did."""
    layout = Layout(absolute_warehouse(job.warehouse), job.group)
    if job.stage == stages.CLOSE:
        return _close(layout, job.request.refresh_id)
    with attempt_told(layout, job.request, job.name):
        if isinstance(job.stage, Frame):
            return _session(job)
        spark_for = lazy_session(job.spark, job.warehouse) if job.stage.spark else nullcontext(NO_SPARK)
        with spark_for as spark:
            if isinstance(job.stage, Opening):
                with plain_words(f"the opening of a refresh of group {layout.group}"):
                    return _open(spark, layout, job, listen)
            context = _context(spark, layout, job, listen)
            return _close(layout, job.request.refresh_id) if context is None else _worked(context, job.stage, job)


def _worked(context: Context, stage: Working, job: Job) -> StageResult:
    """What a stage did, or that the refresh has ended before it: somebody may have cleared its task."""
    for ending in stages.endings_before(stage):
        if HOLDS[ending](context, job.request):
            return _closed(context, ending)
    with _beating(context), failures_told(context, stage):
        if isinstance(stage, EachStratum):
            return _maintained(one_stratum(context, stage, job.stratum, in_parts=True))
        done = DOES[stage](context)
        told = TELLS[stage](context, done) if stage in TELLS else Ended("done")
        if (after := ending_of(context, job.request, stage)) is not None:
            ended = _closed(context, after)
            if not isinstance(told, SourcesCaptured | ExpectationsChecked):
                return ended
            return replace(told, status=ended.status, seq=ended.seq, because=ended.because)
        return replace(told, idle=tuple(_idle(context, done))) if isinstance(told, SourcesCaptured) else told


def _closed(context: Context, ending: Ending) -> Ended:
    epochs.close_run(context.run, ending.status)
    return Ended(ending.status.value, context.run.prev_seq, ending.because)


# ---------------------------------------------------------------- around the run
def _session(job: Job) -> SparkFound:
    """Find the Spark of the tasks: one elsewhere must answer now, the warehouse's own starts when it is needed."""
    named = job.spark if job.spark is not None else os.environ.get("FORESET_SPARK", "")
    if named not in ("", "embedded"):
        with open_session(named, job.warehouse) as handle:
            return SparkFound(handle.kind.value, handle.spark.version)
    try:
        verified_jars()
    except EnvironmentFault as fault:
        if deployed().engine == "spark":
            raise
        return SparkFound("none", fault.message)  # all may be small; a stratum that is not says what to do
    report = inspect_server(job.warehouse)
    return SparkFound("embedded", report.fit.value if report.fit else "not running")


def _open(spark: SparkSession, layout: Layout, job: Job, listen: Listener) -> RunOpened | Ended:
    spec = Path(job.spec).read_text(encoding="utf-8"), job.spec
    try:
        opened = open_refresh(spark, layout, spec, job.request, listen)
    except Held as held:  # somebody wants it so: no failure, and no alarm each night
        return Ended(Status.HELD.value, reason=held.message, hint=held.hint)
    if isinstance(opened, AlreadyCommitted):
        return Ended(Status.COMMITTED.value, opened.seq)
    versions = {name: pin.to_version for name, pin in opened.run.sources.items()}
    return RunOpened(
        status="open",
        epoch=opened.run.epoch,
        seq=opened.run.seq,
        run=opened.run.run_id,
        spec=opened.plan.spec_hash,
        sources=versions,
        rebuild=opened.plan.rebuild,
    )


def _close(layout: Layout, refresh_id: str) -> Ended:
    """How the refresh ended; one that ended without a word has failed, and must keep nobody waiting."""
    row = manifest.find_refresh(layout.root, layout.group, refresh_id)
    if row is not None:
        return Ended(Status.COMMITTED.value, row.seq)
    holder = epochs.holder(layout)
    if holder is None or holder.refresh_id != refresh_id:
        fenced = Status.HELD.value if held(layout) else "fenced"
        return Ended("never opened" if holder is None else fenced)
    if not holder.closed:
        epochs.close_epoch(layout, holder.epoch, Status.FAILED)
    last = manifest.newest(layout.root, layout.group)
    return Ended(epochs.outcome(layout, holder.epoch), last.seq if last else 0)


# ---------------------------------------------------------------- what tasks tell
def _captured(_: Context, sources: Mapping[str, CaptureRecord]) -> SourcesCaptured:
    return SourcesCaptured("moved", {name: _change(record) for name, record in sources.items()})


def _change(record: CaptureRecord) -> SourceChange:
    return SourceChange(
        record.inserted, record.deleted, record.rows, record.taken_whole, record.reason, record.seconds
    )


def _idle(context: Context, sources: Mapping[str, CaptureRecord]) -> list[int]:
    """Do what no task is there for: strata of edits, of which no DAG knows, and those that no change reaches."""
    still = {name for name, record in sources.items() if not (record.changed or record.taken_whole)}
    ruled = []
    for stratum in context.layering.strata:
        if stratum.given is None:
            ruled.append(stratum)
        elif not maintain(context, stratum.number).rows:
            still.update(stratum.names)
    idle = [stratum.number for stratum in unreached(ruled, still, context.plan.rebuild.keys())]
    for number in idle:
        maintain(context, number)  # decides to skip, from marks alone
    return idle


def _maintained(record: StratumRecord) -> StratumMaintained:
    return StratumMaintained(
        strategy=record.strategy,
        reason=record.reason,
        rounds=record.rounds,
        seconds=record.seconds,
        rows_read=record.rows_read,
        views={name: ViewChange(staged.plus.rows, staged.minus.rows) for name, staged in record.views.items()},
        idle=record.skipped,
    )


def _verified(_: Context, record: Verification) -> Verification:
    return record


def _checked(_: Context, record: QualityRecord) -> ExpectationsChecked:
    return ExpectationsChecked(
        record.status, record.checked, record.failed, record.warned, record.seconds, verdict=record.status
    )


def _committed(_: Context, outcome: manifest.Committed | AlreadyCommitted) -> Ended:
    return Ended(Status.COMMITTED.value, outcome.seq)


def _published(context: Context, record: PublishRecord) -> Published:
    row = manifest.find_refresh(context.layout.root, context.layout.group, context.run.refresh_id)
    if row is None:
        raise EnvironmentFault(f"refresh {context.run.refresh_id} is not committed", "run its `commit` task first")
    shown = {name: pin for name, pin in row.views.items() if not is_hidden(name)}
    views = {name: ViewChange(pin.inserted, pin.deleted, pin.rows) for name, pin in shown.items()}
    return Published(row.seq, views, record.exports, record.seconds)


TELLS: Mapping[Working, Callable[[Context, Any], StageResult]] = {
    stages.CAPTURE: _captured,
    stages.VERIFY: _verified,
    stages.QUALITY: _checked,
    stages.COMMIT: _committed,
    stages.PUBLISH: _published,
}


# ---------------------------------------------------------------- finding the run
def _context(spark: SparkSession, layout: Layout, job: Job, listen: Listener) -> Context | None:
    """The open run; None when its refresh has been committed and nothing is left to do but `publish`."""
    if not job.again:
        return _as_opened(spark, layout, job.request.refresh_id, listen)
    opened = epochs.open_run(layout, job.request.refresh_id, _refuse_to_start)
    if not isinstance(opened, AlreadyCommitted):
        return resume(spark, opened, listen)
    if job.stage.retry is not Retry.AFTER_COMMIT:
        return None
    row = manifest.at(layout.root, layout.group, opened.seq)
    assert row is not None, "a seq that was committed has a row"
    run = epochs.Run(layout, row.extra.run, row.refresh_id, row.attempt_id, row.epoch, row.prev_seq, row.sources)
    return resume(spark, run, listen)


def _as_opened(spark: SparkSession, layout: Layout, refresh_id: str, listen: Listener) -> Context:
    """The run as it stands; a retry of a stratum beside this one may be opening it again just now."""
    deadline = time.monotonic() + OPENING_S
    while True:
        try:
            return reopen(spark, layout, refresh_id, listen)
        except Fenced:
            holder = epochs.holder(layout)
            if holder is None or holder.refresh_id != refresh_id or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def _refuse_to_start(_: object) -> NoReturn:
    raise Fenced(
        "another refresh has been committed since this one was opened",
        "clear its `open` task with all that follows, or start a new run",
    )


@contextmanager
def _beating(context: Context) -> Iterator[None]:
    """Signs of life while a stage is at work, so that nobody takes over from it."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_S):
            epochs.heartbeat(context.run)

    thread = threading.Thread(target=beat, name="foreset-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
