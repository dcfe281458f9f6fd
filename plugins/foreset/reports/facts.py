"""From what phases noted to lines of a report; a note of an older or newer version may lack or add things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from foreset.ir.hidden import all_in_words
from foreset.ir.program import is_hidden
from foreset.ir.rules import owner
from foreset.plan.stages import CAPTURE, COMMIT, QUALITY, STRATA, TO_COMMIT, VERIFY, EachStratum, mark, marks_of
from foreset.reports.directory import Directory, Facts, moment
from foreset.reports.model import Expectation, Failure, Quality, SourceLine, Step, Verification, ViewLine
from foreset.store.attempts import FailedAttempt
from foreset.store.rows import ManifestRow


def verification(facts: Facts | None) -> Verification | None:
    """The outcome of the verify phase; None while there is none."""
    if not facts:
        return None
    return Verification(
        mode=str(facts.get("mode", "")),
        verdict=str(facts.get("verdict", "")),
        rows=facts.get("rows", 0),
        checked=facts.get("checked", {}),
        bounds=facts.get("error_rate_below", {}),
        confidence=facts.get("confidence", 0.95),
        mismatches=tuple(facts.get("mismatches", ())),
        seconds=facts.get("seconds"),
        of=facts.get("of", {}),
    )


def quality(facts: Facts | None) -> Quality | None:
    """The outcome of the quality phase; None while there is none."""
    if not facts:
        return None
    found = [_expectation(view, one) for view, ones in facts.get("views", {}).items() for one in ones]
    return Quality(str(facts.get("status", "")), tuple(found), facts.get("seconds"), facts.get("docs"))


def _expectation(view: str, facts: Facts) -> Expectation:
    return Expectation(
        view=view,
        name=str(facts.get("expectation", "")),
        text=str(facts.get("text", "")),
        severity=str(facts.get("severity", "")),
        on=str(facts.get("on", "")),
        success=bool(facts.get("success")),
        rows=facts.get("rows"),
        unexpected=facts.get("unexpected"),
        columns=tuple(facts.get("columns") or ()),
        examples=tuple(tuple(row) for row in facts.get("examples") or ()),
        origin=str(facts.get("origin") or ""),
        note=str(facts.get("note") or ""),
        observed=str(facts.get("observed") or ""),
        error=str(facts.get("error") or ""),
        known=facts.get("known"),
    )


def failures(directory: Directory) -> tuple[Failure, ...]:
    """Every failure that the run noted, oldest first."""
    return tuple(
        Failure(
            phase=str(event.get("phase", "")),
            error=str(event.get("error", "")),
            message=str(event.get("message", "")),
            hint=str(event.get("hint", "")),
            at=moment(event.get("at")),
            next=str(event.get("next", "")),
        )
        for event in directory.all("failed")
    )


def at_work(directory: Directory, phase: str) -> tuple[str, ...]:
    """The views on which a phase is at work, or that it refuses; what stands behind a view counts as the view."""
    if phase == "verify":
        return tuple((directory.last("verification") or {}).get("differing", ()))
    strata = directory.layering.strata if directory.layering else ()
    rules = (
        rule
        for stratum in strata
        if phase == mark(STRATA, stratum.number)
        for view in stratum.views
        for rule in view.rules
    )
    return tuple(dict.fromkeys(map(owner, rules)))


def last_attempt(found: FailedAttempt) -> Failure:
    """The group's last attempt, where it failed."""
    return Failure(found.phase, found.error, found.message, found.hint, moment(found.at), found.next)


def sources(pins: Mapping[str, Facts], captures: Mapping[str, Facts]) -> tuple[SourceLine, ...]:
    """The sources: `pins` as run.json or the manifest has them, `captures` by source."""
    return tuple(_source(name, pin, captures.get(name, {})) for name, pin in pins.items())


def _source(name: str, pin: Facts, seen: Facts) -> SourceLine:
    return SourceLine(
        name=name,
        table=str(pin.get("table", name)),
        before=pin.get("from_version"),
        after=pin.get("to_version"),
        way=str(seen.get("way", "")),
        reason=str(seen.get("reason", "")),
        inserted=seen.get("inserted", 0),
        deleted=seen.get("deleted", 0),
        rows=seen.get("rows"),
        degraded=bool(seen.get("degraded")),
        seconds=seen.get("seconds"),
        key=tuple(seen.get("key", ())),
    )


def captures_of(directory: Directory | None) -> dict[str, Facts]:
    """What each capture noted, by source."""
    marks = directory.marks if directory else {}
    prefix = mark(CAPTURE, "")
    return {name.removeprefix(prefix): facts for name, facts in marks.items() if name.startswith(prefix)}


def views_of_row(row: ManifestRow) -> tuple[ViewLine, ...]:
    """The views of a committed refresh."""
    strata = {name: record for record in row.extra.get("strata", ()) for name in record["views"]}
    return tuple(
        _view(name, strata.get(name, {}), pin.inserted, pin.deleted, pin.rows, strategy=pin.strategy, reason=pin.reason)
        for name, pin in row.views.items()
        if not is_hidden(name)
    )


def views_of_run(directory: Directory, previous: ManifestRow | None) -> tuple[ViewLine, ...]:
    """The views of a run that has not committed: those that are done, and those that never came."""
    if directory.program is None or directory.layering is None:
        return ()
    lines = []
    for view in directory.program.shown:
        number = directory.layering.of(view.name).number
        pin = previous.views.get(view.name) if previous else None
        before = pin.rows if pin else 0
        facts = directory.marks.get(mark(STRATA, number), {})
        staged = facts.get("views", {}).get(view.name)
        if staged is None:
            lines.append(ViewLine(view.name, number, rows=pin.rows if pin else None))
            continue
        plus, minus = staged["plus"]["rows"], staged["minus"]["rows"]
        told = {"strategy": facts.get("strategy", ""), "reason": facts.get("reason", "")}
        lines.append(_view(view.name, {**facts, "number": number}, plus, minus, before + plus - minus, **told))
    return tuple(lines)


def _view(name: str, facts: Facts, plus: int, minus: int, rows: int | None, **told: str) -> ViewLine:
    return ViewLine(
        name=name,
        stratum=facts.get("number", 0),
        done=True,
        inserted=plus,
        deleted=minus,
        rows=rows,
        engine=str(facts.get("engine") or ""),
        rounds=facts.get("rounds", 0),
        seconds=facts.get("seconds"),
        rows_read=facts.get("rows_read", {}),
        **told,
    )


def steps_of_row(row: ManifestRow, captures: Mapping[str, Facts]) -> tuple[Step, ...]:
    """The stages of a committed refresh: all are done."""
    strata = {mark(STRATA, record["number"]): record for record in row.extra.get("strata", ())}
    marks = {
        **{mark(CAPTURE, name): facts for name, facts in captures.items()},
        **strata,
        **{stage.name: facts for stage, facts in ((VERIFY, row.verification), (QUALITY, row.quality)) if facts},
        COMMIT.name: {"seconds": row.extra.get("writing_seconds")},
    }
    details = {name: ", ".join(_shown(record["views"])) for name, record in strata.items()}
    steps = _steps(marks, captures, [record["number"] for record in strata.values()], details)
    return tuple(step for step in steps if step.state == "done")


def _shown(names: Sequence[str]) -> Sequence[str]:
    """A stratum by the views that users know, if it has any."""
    return [name for name in names if not is_hidden(name)] or all_in_words(names)


def steps_of_run(directory: Directory, failed: str) -> tuple[Step, ...]:
    """The stages of a run that has not committed; `failed` is where it failed, if it did."""
    sources = [source.name for source in directory.program.sources] if directory.program else []
    strata = directory.layering.strata if directory.layering else ()
    details = {mark(STRATA, stratum.number): ", ".join(stratum.shown) for stratum in strata}
    return tuple(_steps(directory.marks, sources, [stratum.number for stratum in strata], details, failed))


def _steps(
    marks: Mapping[str, Facts],
    sources: Iterable[str],
    strata: Iterable[int],
    details: Mapping[str, str],
    failed: str = "",
) -> Iterator[Step]:
    """One for each stage up to the commit, and for each stratum."""
    for stage in TO_COMMIT:
        names = marks_of(stage, sources, strata)
        if isinstance(stage, EachStratum):
            yield from (_step(name, [marks.get(name)], failed, details[name]) for name in names)
        else:
            yield _step(stage.name, [marks.get(name) for name in names], failed)


def _step(name: str, found: Sequence[Facts | None], failed: str, detail: str = "") -> Step:
    """A step is done when all of its marks are there; seconds are those of the marks so far."""
    seconds = [one["seconds"] for one in found if one and one.get("seconds") is not None]
    state = "failed" if failed == name or failed.startswith(f"{name}-") else "open"
    return Step(name, "done" if found and None not in found else state, sum(seconds) if seconds else None, detail)
