"""From what phases noted to lines of a report; a note of an older or newer version may lack or add things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from foreset.ir.hidden import all_in_words
from foreset.ir.program import is_hidden
from foreset.ir.rules import owner
from foreset.plan import marks
from foreset.plan.stages import CAPTURE, COMMIT, QUALITY, STRATA, TO_COMMIT, VERIFY, EachStratum, mark, marks_of
from foreset.records import checks
from foreset.records.captures import CaptureSummary
from foreset.records.events import Logged
from foreset.records.strata import StratumSummary
from foreset.reports.directory import Directory, moment
from foreset.reports.model import Expectation, Failure, Quality, SourceLine, Step, Verification, ViewLine
from foreset.store.attempts import FailedAttempt
from foreset.store.rows import ManifestRow, SourcePin


def verification(record: checks.Verification | None) -> Verification | None:
    """The outcome of the verify phase; None while there is none."""
    if record is None:
        return None
    return Verification(
        mode=record.mode,
        verdict=record.verdict,
        rows=record.rows,
        checked=record.checked or {},
        bounds=record.error_rate_below or {},
        confidence=0.95 if record.confidence is None else record.confidence,
        mismatches=record.mismatches or (),
        seconds=record.seconds,
        of=record.of or {},
    )


def quality(record: checks.QualityRecord | None) -> Quality | None:
    """The outcome of the quality phase; None while there is none."""
    if record is None:
        return None
    found = [_of_view(view, one) for view, ones in record.views.items() for one in ones]
    return Quality(record.status, tuple(found), record.seconds, record.docs)


def _of_view(view: str, outcome: checks.ExpectationOutcome) -> Expectation:
    return Expectation(view=view, **_fields(outcome))


def failures(directory: Directory) -> tuple[Failure, ...]:
    """Every failure that the run noted, oldest first."""
    return tuple(map(failure, directory.all("failed")))


def at_work(directory: Directory, phase: str) -> tuple[str, ...]:
    """The views on which a phase is at work, or that it refuses; what stands behind a view counts as the view."""
    if phase == "verify":
        event = directory.last("verification")
        return event.differing if event else ()
    strata = directory.layering.strata if directory.layering else ()
    rules = (
        rule
        for stratum in strata
        if phase == mark(STRATA, stratum.number)
        for view in stratum.views
        for rule in view.rules
    )
    return tuple(dict.fromkeys(map(owner, rules)))


def failure(found: FailedAttempt | Logged) -> Failure:
    """A failure as an event of a run tells it, or the group's last attempt."""
    return Failure(found.phase, found.error, found.message, found.hint, moment(found.at), found.next)


def sources(pins: Mapping[str, SourcePin], captures: Mapping[str, CaptureSummary]) -> tuple[SourceLine, ...]:
    """The sources: `pins` as run.json or the manifest has them, `captures` by source."""
    return tuple(_source(name, pin, captures.get(name, CaptureSummary())) for name, pin in pins.items())


def _source(name: str, pin: SourcePin, seen: CaptureSummary) -> SourceLine:
    return SourceLine(name=name, table=pin.table, before=pin.from_version, after=pin.to_version, **_fields(seen))


def _fields(record: CaptureSummary | checks.ExpectationOutcome) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def captures_of(directory: Directory | None) -> dict[str, CaptureSummary]:
    """What each capture noted, by source."""
    if directory is None:
        return {}
    prefix = mark(CAPTURE, "")
    names = [name.removeprefix(prefix) for name in directory.finished if name.startswith(prefix)]
    found = {name: directory.mark(marks.capture(name)) for name in names}
    return {name: record.summary if record else CaptureSummary() for name, record in found.items()}


def views_of_row(row: ManifestRow) -> tuple[ViewLine, ...]:
    """The views of a committed refresh."""
    return tuple(
        replace(
            _view(name, row.extra.stratum_of(name)),
            inserted=pin.inserted, deleted=pin.deleted, rows=pin.rows, strategy=pin.strategy, reason=pin.reason,
        )
        for name, pin in row.views.items()
        if not is_hidden(name)
    )  # fmt: skip


def views_of_run(directory: Directory, previous: ManifestRow | None) -> tuple[ViewLine, ...]:
    """The views of a run that has not committed: those that are done, and those that never came."""
    if directory.program is None or directory.layering is None:
        return ()
    lines = []
    for view in directory.program.shown:
        number = directory.layering.of(view.name).number
        pin = previous.views.get(view.name) if previous else None
        before = pin.rows if pin else 0
        record = directory.mark(marks.stratum(number))
        staged = record.views.get(view.name) if record else None
        if record is None or staged is None:
            lines.append(ViewLine(view.name, number, rows=pin.rows if pin else None))
            continue
        plus, minus = staged.plus.rows, staged.minus.rows
        line = _view(view.name, record.summary(number, (), 0))
        lines.append(replace(line, inserted=plus, deleted=minus, rows=before + plus - minus))
    return tuple(lines)


def _view(name: str, done: StratumSummary | None) -> ViewLine:
    if done is None:
        return ViewLine(name, 0, done=True)
    return ViewLine(
        name=name,
        stratum=done.number,
        done=True,
        strategy=done.strategy,
        reason=done.reason,
        engine=done.engine or "",
        engine_reason=done.engine_reason or "",
        rounds=done.rounds,
        seconds=done.seconds,
        rows_read=done.rows_read,
    )


def steps_of_row(row: ManifestRow, captures: Mapping[str, CaptureSummary]) -> tuple[Step, ...]:
    """The stages of a committed refresh: all are done."""
    strata = {mark(STRATA, record.number): record for record in row.extra.strata}
    seconds = {
        **{mark(CAPTURE, name): record.seconds for name, record in captures.items()},
        **{name: record.seconds for name, record in strata.items()},
        **{stage.name: done.seconds for stage, done in ((VERIFY, row.verification), (QUALITY, row.quality)) if done},
        COMMIT.name: row.extra.writing_seconds,
    }
    details = {name: ", ".join(_shown(record.views)) for name, record in strata.items()}
    steps = _steps(seconds, captures, [record.number for record in strata.values()], details)
    return tuple(step for step in steps if step.state == "done")


def _shown(names: Sequence[str]) -> Sequence[str]:
    """A stratum by the views that users know, if it has any."""
    return [name for name in names if not is_hidden(name)] or all_in_words(names)


def steps_of_run(directory: Directory, failed: str) -> tuple[Step, ...]:
    """The stages of a run that has not committed; `failed` is where it failed, if it did."""
    sources = [source.name for source in directory.program.sources] if directory.program else []
    strata = directory.layering.strata if directory.layering else ()
    details = {mark(STRATA, stratum.number): ", ".join(stratum.shown) for stratum in strata}
    return tuple(_steps(directory.seconds, sources, [stratum.number for stratum in strata], details, failed))


def _steps(
    seconds: Mapping[str, float | None],
    sources: Iterable[str],
    strata: Iterable[int],
    details: Mapping[str, str],
    failed: str = "",
) -> Iterator[Step]:
    """One for each stage up to the commit, and for each stratum; `seconds` has the marks that are there."""
    for stage in TO_COMMIT:
        names = marks_of(stage, sources, strata)
        if isinstance(stage, EachStratum):
            yield from (_step(name, (name,), seconds, failed, details[name]) for name in names)
        else:
            yield _step(stage.name, names, seconds, failed)


def _step(
    name: str, marks: Sequence[str], seconds: Mapping[str, float | None], failed: str, detail: str = ""
) -> Step:
    """A step is done when all of its marks are there; seconds are those of the marks so far."""
    took = [one for mark in marks if (one := seconds.get(mark)) is not None]
    state = "failed" if failed == name or failed.startswith(f"{name}-") else "open"
    done = bool(marks) and all(mark in seconds for mark in marks)
    return Step(name, "done" if done else state, sum(took) if took else None, detail)
