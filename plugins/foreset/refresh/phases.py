"""One phase of a refresh by its name, in any process: what Airflow's tasks and spark_jobs/ run.

A first try finds the run as `open` left it. A later try (a retry, a cleared task) opens the same
run again: that raises the epoch, so whatever is left of the try before can publish nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from foreset.errors import EnvironmentFault, Fenced, Held
from foreset.ir.program import is_hidden
from foreset.plan.frozen import Request
from foreset.refresh.capturing import capture_all, nothing_moved
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit
from foreset.refresh.context import Context, Listener
from foreset.refresh.domain_phase import nothing_new
from foreset.refresh.machine_faults import plain_words
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh, reopen, resume
from foreset.refresh.publishing import publish
from foreset.refresh.record_failure import attempt_told, failures_told
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

Facts = Mapping[str, Any]
HEARTBEAT_S = 60.0
OPENING_S = 5.0  # how long another try of a task next to this one may take to open the run again


@dataclass(frozen=True, slots=True)
class Job:
    """Which phase of which refresh."""

    phase: str
    warehouse: str
    group: str
    request: Request  # its id names the refresh; the rest is read by `open` alone
    stratum: int = 0
    spec: str = ""  # the spec file, for `open`
    spark: str | None = None  # as FORESET_SPARK
    again: bool = False  # not the first try

    @property
    def name(self) -> str:
        """The phase as reports name it."""
        return f"stratum-{self.stratum}" if self.stratum else self.phase


def perform(job: Job, listen: Listener = lambda _: None) -> Facts:
    """Do one phase, or say again what an earlier try did; facts that JSON can hold."""
    layout = Layout(absolute_warehouse(job.warehouse), job.group)
    if job.phase == "close":
        return _close(layout, job.request.refresh_id)
    with attempt_told(layout, job.request, job.name):
        if job.phase == "session":
            return _session(job)
        with lazy_session(job.spark, job.warehouse) as spark:
            return _performed(spark, layout, job, listen)


def _performed(spark: SparkSession, layout: Layout, job: Job, listen: Listener) -> Facts:
    if job.phase == "open":
        with plain_words(f"the opening of a refresh of group {layout.group}"):
            return _open(spark, layout, job, listen)
    context = _context(spark, layout, job, listen)
    if context is None:
        return _close(layout, job.request.refresh_id)
    if (ended := _ended(context, job)) is not None:
        return ended
    with _beating(context), failures_told(context, job.name):
        return PHASES[job.phase](context, job)


# ---------------------------------------------------------------- the phases
def _session(job: Job) -> Facts:
    """Find the Spark of the tasks: one elsewhere must answer now, the warehouse's own starts when it is needed."""
    named = job.spark if job.spark is not None else os.environ.get("FORESET_SPARK", "")
    if named not in ("", "embedded"):
        with open_session(named, job.warehouse) as handle:
            return {"spark": handle.kind.value, "answers": handle.spark.version}
    verified_jars()
    report = inspect_server(job.warehouse)
    return {"spark": "embedded", "answers": report.fit.value if report.fit else "not running"}


def _open(spark: SparkSession, layout: Layout, job: Job, listen: Listener) -> Facts:
    spec = Path(job.spec).read_text(encoding="utf-8"), job.spec
    try:
        opened = open_refresh(spark, layout, spec, job.request, listen)
    except Held as held:  # somebody wants it so: no failure, and no alarm each night
        return {"status": "held", "reason": held.message, "hint": held.hint}
    if isinstance(opened, AlreadyCommitted):
        return {"status": "committed", "seq": opened.seq}
    versions = {name: pin.to_version for name, pin in opened.run.sources.items()}
    return {"status": "open", "epoch": opened.run.epoch, "seq": opened.run.seq, "run": opened.run.run_id,
            "spec": opened.plan.spec_hash, "sources": versions, "rebuild": dict(opened.plan.rebuild)}  # fmt: skip


def _capture(context: Context, _: Job) -> Facts:
    """Capture all sources; where none moved, the refresh ends here. Strata that no change reaches end here too."""
    sources = capture_all(context)
    told = {name: {key: facts[key] for key in ("inserted", "deleted", "rows", "taken_whole", "reason", "seconds")}
            for name, facts in sources.items()}  # fmt: skip
    if nothing_moved(context):
        epochs.close_run(context.run, "unchanged")
        return {"status": "unchanged", "seq": context.run.prev_seq, "sources": told}
    calm = {name for name, facts in sources.items() if not (facts["inserted"] or facts["deleted"])}
    whole = {name for name, facts in sources.items() if facts["taken_whole"]}
    idle, built = [], []
    for stratum in context.layering.strata:
        if stratum.given is not None:  # no task of a DAG knows of edits
            calm.update(() if maintain(context, stratum.number)["rows"] else stratum.names)
            continue
        if whole.intersection(stratum.reads) or any(name in context.plan.rebuild for name in stratum.names):
            built.append(stratum.number)
        elif calm.issuperset(stratum.reads) and not (stratum.called or stratum.asks):
            maintain(context, stratum.number)  # decides to skip, from marks alone
            calm.update(stratum.names)
            idle.append(stratum.number)
    return {"status": "moved", "sources": told, "idle": idle, "built": built}


def _maintain(context: Context, job: Job) -> Facts:
    facts = maintain(context, job.stratum, "delete" if job.phase == "delete" else "insert")
    told = {key: facts[key] for key in ("strategy", "reason", "rounds", "seconds", "rows_read", "note") if key in facts}
    if job.phase == "delete":
        return {**told, "idle": "saved" not in facts}
    views = {name: {"inserted": sides["plus"]["rows"], "deleted": sides["minus"]["rows"]}
             for name, sides in facts["views"].items()}  # fmt: skip
    return {**told, "views": views, "idle": facts["strategy"] == "skip"}


def _verify(context: Context, _: Job) -> Facts:
    """Check the rows. Where domains had no news and no source moved, the refresh ends here."""
    if nothing_new(context):
        epochs.close_run(context.run, "unchanged")
        return {"status": "unchanged", "seq": context.run.prev_seq}
    return verify(context)


def _quality(context: Context, job: Job) -> Facts:
    """Check expectations; the facts without the rows that they name. A dry run ends here."""
    found: Facts = import_module("foreset.refresh.quality").quality(context)  # Great Expectations is slow to import
    told = {key: found[key] for key in ("status", "checked", "failed", "warned", "seconds") if key in found}
    if job.request.dry_run:
        epochs.close_run(context.run, "dry-run")
        return {**told, "verdict": told.get("status"), "status": "dry-run"}
    return told


def _commit(context: Context, _: Job) -> Facts:
    return {"status": "committed", "seq": commit(context).seq}


def _publish(context: Context, _: Job) -> Facts:
    done = publish(context)
    row = manifest.find_refresh(context.layout.root, context.layout.group, context.run.refresh_id)
    if row is None:
        raise EnvironmentFault(f"refresh {context.run.refresh_id} is not committed", "run its commit task first")
    views = {name: {"inserted": pin.inserted, "deleted": pin.deleted, "rows": pin.rows}
             for name, pin in row.views.items() if not is_hidden(name)}  # fmt: skip
    return {"seq": row.seq, "views": views, **done}


def _close(layout: Layout, refresh_id: str) -> Facts:
    """How the refresh ended; one that ended without a word has failed, and must keep nobody waiting."""
    row = manifest.find_refresh(layout.root, layout.group, refresh_id)
    if row is not None:
        return {"status": "committed", "seq": row.seq}
    holder = epochs.holder(layout)
    if holder is None or holder.refresh_id != refresh_id:
        fenced = "held" if held(layout) else "fenced"
        return {"status": "never opened" if holder is None else fenced}
    if not holder.closed:
        epochs.close_epoch(layout, holder.epoch, "failed")
    last = manifest.newest(layout.root, layout.group)
    return {"status": epochs.outcome(layout, holder.epoch), "seq": last.seq if last else 0}


PHASES: Mapping[str, Callable[[Context, Job], Facts]] = {
    "capture": _capture,
    "delete": _maintain,
    "insert": _maintain,
    "verify": _verify,
    "quality": _quality,
    "commit": _commit,
    "publish": _publish,
}


# ---------------------------------------------------------------- finding the run
def _context(spark: SparkSession, layout: Layout, job: Job, listen: Listener) -> Context | None:
    """The open run; None when its refresh has been committed and nothing is left to do but `publish`."""
    if not job.again:
        return _as_opened(spark, layout, job.request.refresh_id, listen)
    opened = epochs.open_run(layout, job.request.refresh_id, _refuse_to_start)
    if not isinstance(opened, AlreadyCommitted):
        return resume(spark, opened, listen)
    if job.phase != "publish":
        return None
    row = manifest.at(layout.root, layout.group, opened.seq)
    assert row is not None, "a seq that was committed has a row"
    run = epochs.Run(layout, row.extra["run"], row.refresh_id, row.attempt_id, row.epoch, row.prev_seq, row.sources)
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


def _ended(context: Context, job: Job) -> Facts | None:
    """The answer to a task that somebody cleared by hand although the refresh ended before it."""
    if job.request.dry_run and job.phase in ("commit", "publish"):
        return {"status": "dry-run", "seq": context.run.prev_seq}
    captured = all(context.mark(f"capture-{source.name}") for source in context.program.sources)
    if job.phase in ("quality", "commit") and captured and nothing_new(context):
        return {"status": "unchanged", "seq": context.run.prev_seq}
    if job.phase not in ("capture", "publish") and captured and nothing_moved(context):
        return {"status": "unchanged", "seq": context.run.prev_seq}
    return None


@contextmanager
def _beating(context: Context) -> Iterator[None]:
    """Signs of life while a phase is at work, so that nobody takes over from it."""
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
