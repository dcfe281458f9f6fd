"""Gather a report: the manifest says what was published, the run directory what else happened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foreset.errors import UsageError
from foreset.explain.graph import Graph, graph_of
from foreset.ir.program import Program
from foreset.plan import marks
from foreset.records.events import Logged
from foreset.reports import directory, facts
from foreset.reports.directory import Directory, moment
from foreset.reports.model import Failure, History, OnHold, Published, Quality, Run, State
from foreset.store import files, manifest
from foreset.store.attempts import FailedAttempt, last_failure
from foreset.store.epochs import PATIENCE, last_sign, outcome
from foreset.store.holds import held, release_command
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow

RUNS_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Ledger:
    """The manifest as reports ask it: single rows are looked up, unless all of them are at hand."""

    layout: Layout
    newest: ManifestRow | None  # what readers see
    epoch: int
    rows: Sequence[ManifestRow] | None = None  # oldest first
    failed: FailedAttempt | None = None  # the last attempt, where it failed

    def at(self, seq: int | None) -> ManifestRow | None:
        """The row of `seq`."""
        if not seq:
            return None
        if self.rows is None:
            return manifest.at(self.layout.root, self.layout.group, seq)
        return next((row for row in self.rows if row.seq == seq), None)

    def of(self, refresh_id: str) -> ManifestRow | None:
        """The row that a refresh committed."""
        return manifest.find_refresh(self.layout.root, self.layout.group, refresh_id)


def open_ledger(layout: Layout) -> Ledger:
    """Read the manifest once; an empty ledger for a group that was never refreshed."""
    snapshot = manifest.read(layout)
    failed = last_failure(layout, snapshot.newest.seq if snapshot and snapshot.newest else 0)
    if snapshot is None:
        return Ledger(layout, None, 0, (), failed)
    return Ledger(layout, snapshot.newest, snapshot.reading.epoch, failed=failed)


def read_run(layout: Layout, refresh_id: str, scheduler: str = "") -> Run:
    """The report of one refresh, whatever became of it; `scheduler` is what Airflow says of its run."""
    ledger = open_ledger(layout)
    row = ledger.of(refresh_id)
    return _committed(ledger, row) if row else _unpublished(ledger, refresh_id, scheduler)


def read_seq(layout: Layout, seq: int | None = None) -> Run:
    """The report of a published refresh; without `seq`, of the newest."""
    ledger = open_ledger(layout)
    row = ledger.newest if seq is None else ledger.at(seq)
    if row is None:
        newest = f"its newest is seq {ledger.newest.seq}" if ledger.newest else "it was never refreshed"
        wanted = "no committed refresh" if seq is None else f"no seq {seq}"
        raise UsageError(f"group {layout.group} has {wanted}", newest)
    return _committed(ledger, row)


def latest_run(layout: Layout, history: History | None = None) -> Run | None:
    """The refresh that was begun last, published or not, and whether the group is on hold; None for a new group."""
    runs = (history or read_history(layout, limit=1)).runs
    return replace(read_run(layout, runs[0].refresh_id), on_hold=_on_hold(layout)) if runs else None


def _on_hold(layout: Layout) -> OnHold | None:
    found = held(layout)
    if found is None:
        return None
    return OnHold(moment(found.at), found.contents_of, found.why, release_command(layout.group))


def read_history(layout: Layout, limit: int = RUNS_SHOWN) -> History:
    """The last refreshes of a group, newest first: published ones, and those that left only a directory."""
    rows = manifest.history(layout.root, layout.group)
    ledger = replace(open_ledger(layout), rows=rows)
    published = [_committed(ledger, row, brief=True) for row in rows]
    known = {row.refresh_id for row in rows}
    others = _directories(layout, known)
    runs = [*published, *(replace(_of_directory(ledger, one), graph=None) for one in others)]
    if ledger.failed and ledger.failed.refresh_id not in {run.refresh_id for run in runs}:
        runs.append(_unpublished(ledger, ledger.failed.refresh_id, ""))
    runs.sort(key=lambda run: (run.when is not None, run.when or 0, run.seq or 0), reverse=True)
    described = next((run for run in runs if run.description), None) or _described(ledger)
    return History(
        group=layout.group,
        newest=_published(ledger.newest),
        runs=runs[:limit],
        more=max(0, len(runs) - limit),
        description=described.description if described else "",
        owner=described.owner if described else "",
    )


def _directories(layout: Layout, known: set[str]) -> list[Directory]:
    """The newest directory of each refresh that has not committed."""
    found: dict[str, Directory] = {}
    for name in files.list_folders(layout.runs):
        if name.split("~")[0] in known or name in known:
            continue
        one = directory.newest_of(layout, name)
        if one is not None and one.refresh_id not in known:
            found[one.refresh_id] = one
    return list(found.values())


def _described(ledger: Ledger) -> Run | None:
    """The newest published refresh with its directory, for what its spec says of the group."""
    return _committed(ledger, ledger.newest) if ledger.newest else None


def _committed(ledger: Ledger, row: ManifestRow, *, brief: bool = False) -> Run:
    """A published refresh; `brief` leaves its run directory unread."""
    run_id = row.extra.run or row.refresh_id
    found = None if brief else directory.read(ledger.layout, run_id)
    captures = {**row.extra.captures, **facts.captures_of(found)}
    opened = found.all("opened") if found else []
    committed_at = moment(row.committed_at)
    return Run(
        group=ledger.layout.group,
        refresh_id=row.refresh_id,
        state=State.COMMITTED,
        newest=_published(ledger.newest),
        before=_published(ledger.at(row.prev_seq)),
        after=_published(ledger.at(row.seq + 1)),
        seq=row.seq,
        committed_at=committed_at,
        opened_at=moment(opened[0].at) if opened else committed_at,
        ended_at=committed_at,
        attempts=max(1, len(opened)),
        mode=row.mode,
        note=row.extra.note,
        rolled_back_to=row.extra.rolled_back_to if row.mode == "rollback" else None,
        engine_version=row.engine_version,
        spec_hash=row.spec_hash,
        run_id=run_id,
        sources=facts.sources(row.sources, captures),
        views=facts.views_of_row(row),
        steps=() if row.mode == "rollback" else facts.steps_of_row(row, captures),
        verification=facts.verification(row.verification) if row.mode != "rollback" else None,
        quality=_quality(row, found),
        warnings=row.extra.warnings if row.mode != "rollback" else (),
        failures=facts.failures(found) if found else (),
        description=_spoken(found).description,
        owner=_spoken(found).owner,
        schedule=_spoken(found).schedule,
        timezone=_spoken(found).timezone,
        graph=_graph(found),
    )


def _quality(row: ManifestRow, found: Directory | None) -> Quality | None:
    told = facts.quality(row.quality) if row.mode != "rollback" else None
    return told if told is None or found is not None else replace(told, docs=None)  # they go with the directory


def _unpublished(ledger: Ledger, refresh_id: str, scheduler: str) -> Run:
    found = directory.newest_of(ledger.layout, refresh_id)
    if found is None:
        told = _last_attempt(ledger, refresh_id)
        state = State.FAILED if told or scheduler == "failed" else State.UNOPENED
        newest, at = _published(ledger.newest), told[-1].at if told else None
        return Run(
            ledger.layout.group, refresh_id, state, newest=newest, before=newest, scheduler=scheduler,
            opened_at=at, ended_at=at, failures=told, on_hold=_on_hold(ledger.layout),
        )  # fmt: skip
    return _of_directory(ledger, found, scheduler)


def _last_attempt(ledger: Ledger, refresh_id: str) -> tuple[Failure, ...]:
    """Why this refresh failed, as the group's record of its last attempt tells it; empty for other refreshes."""
    failed = ledger.failed
    return (facts.failure(failed),) if failed and failed.refresh_id == refresh_id else ()


def _of_directory(ledger: Ledger, found: Directory, scheduler: str = "") -> Run:
    previous = ledger.at(found.prev_seq)
    opened = found.all("opened")
    times = [moment(event.at) for event in found.events]
    silent = _silence(ledger.layout, opened[-1].epoch if opened else None)
    state = _state(ledger, found, silent, scheduler)
    told = facts.failures(found) or _last_attempt(ledger, found.refresh_id)
    failure = told[-1] if told else None
    return Run(
        group=ledger.layout.group,
        refresh_id=found.refresh_id,
        state=state,
        newest=_published(ledger.newest),
        before=_published(previous),
        opened_at=times[0] if times else None,
        ended_at=times[-1] if times else None,
        attempts=max(1, len(opened)),
        mode=found.plan.mode if found.plan else "",
        note=found.plan.note if found.plan else "",
        spec_hash=found.plan.spec_hash if found.plan else "",
        run_id=found.run_id,
        sources=facts.sources(found.record.sources, facts.captures_of(found)),
        views=facts.views_of_run(found, previous),
        steps=facts.steps_of_run(found, failure.phase if failure and state is State.FAILED else ""),
        verification=facts.verification(found.verification),
        quality=facts.quality(directory.quality_of(ledger.layout, found)),
        warnings=found.warnings,
        failures=told,
        silent_for=silent,
        scheduler=scheduler,
        description=_spoken(found).description,
        owner=_spoken(found).owner,
        schedule=_spoken(found).schedule,
        timezone=_spoken(found).timezone,
        at_work=facts.at_work(found, failure.phase) if failure else (),
        graph=_graph(found),
    )


def _spoken(found: Directory | None) -> Program:
    """What the spec says of the group; nothing where it is not at hand."""
    return found.program if found and found.program else Program("", (), ())


def _graph(found: Directory | None) -> Graph | None:
    return graph_of(found.written) if found and found.written else None


def _state(ledger: Ledger, found: Directory, silent: float | None, scheduler: str) -> State:
    """What became of a run that has no row in the manifest."""
    last, closed, failed = found.last("opened"), found.last("closed"), found.last("failed")
    begun = found.events.index(last) if last else -1
    if closed is not None and found.events.index(closed) > begun:
        ended = closed.outcome
        if ended in (State.UNCHANGED, State.TRIAL):
            return State(ended)
        return State.FENCED if _was_fenced(failed) or ended == "held" else State.FAILED
    if failed is not None and found.events.index(failed) > begun and not _went_on(found, failed):
        return State.FENCED if _was_fenced(failed) else State.FAILED
    if _nothing_moved(found):
        return State.UNCHANGED
    if scheduler == "failed" or (last and outcome(ledger.layout, last.epoch or 0) == "failed"):
        return State.FAILED
    if (ledger.newest and ledger.newest.seq > found.prev_seq) or (last and (last.epoch or 0) < ledger.epoch):
        return State.FENCED
    return State.SILENT if silent is not None and silent > PATIENCE else State.RUNNING


def _was_fenced(failed: Logged | None) -> bool:
    return failed is not None and failed.error == "Fenced"


def _went_on(found: Directory, failed: Logged) -> bool:
    """Whether the phase that failed was finished afterwards, by a retry."""
    later = found.events[found.events.index(failed) + 1 :]
    return any(event.kind == "finished" and event.phase == failed.phase for event in later)


def _nothing_moved(found: Directory) -> bool:
    """As `refresh.capturing.nothing_moved` decides, from the marks: Airflow skips the tasks after it."""
    if found.program is None or found.plan is None or found.plan.rebuild or not found.prev_seq:
        return False
    captures = [found.mark(marks.capture(source.name)) for source in found.program.sources]
    if None in captures or marks.stratum(1).name in found.finished:
        return False
    return not any(seen and (seen.moved or seen.taken_whole) for seen in captures)


def _silence(layout: Layout, epoch: int | None) -> float | None:
    """Seconds since the last sign of life of an epoch."""
    at = None if epoch is None else last_sign(layout, epoch)
    return None if at is None else max(0.0, time.time() - at)


def _published(row: ManifestRow | None) -> Published | None:
    return Published(row.seq, moment(row.committed_at), row.refresh_id) if row else None


def one_run(layout: Layout, run: str | None = None, seq: int | None = None) -> Run:
    """The refresh that is named, or the one that was begun last; `UsageError` where there is none."""
    if seq is not None:
        return read_seq(layout, seq)
    found = read_run(layout, run) if run is not None else latest_run(layout)
    if found is None or (run is not None and found.state is State.UNOPENED):
        known = ", ".join(one.refresh_id for one in read_history(layout, limit=3).runs)
        what = f"no refresh `{run}`" if run is not None else "no refresh yet"
        hint = f"its last ones: {known}" if known else f"run `foreset refresh {layout.group}` first"
        raise UsageError(f"group {layout.group} has {what}", hint)
    return found
