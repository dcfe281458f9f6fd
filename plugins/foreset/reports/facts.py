"""From what phases noted to lines of a report; a note of an older or newer version may lack or add things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foreset.ir.hidden import all_in_words
from foreset.ir.program import is_hidden
from foreset.ir.rules import owner
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
        if phase == f"stratum-{stratum.number}"
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
    return {name.removeprefix("capture-"): facts for name, facts in marks.items() if name.startswith("capture-")}


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
        facts = directory.marks.get(f"stratum-{number}", {})
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
    """The phases of a committed refresh: all are done."""
    found = [Step("capture", "done", _sum(captures.values()))] if captures else []
    found += [
        Step(f"stratum-{record['number']}", "done", record.get("seconds"), ", ".join(_shown(record["views"])))
        for record in row.extra.get("strata", ())
    ]
    for name, facts in (("verify", row.verification), ("quality", row.quality)):
        found += [Step(name, "done", facts.get("seconds"))] if facts else []
    return (*found, Step("commit", "done", row.extra.get("writing_seconds")))


def _shown(names: Sequence[str]) -> Sequence[str]:
    """A stratum by the views that users know, if it has any."""
    return [name for name in names if not is_hidden(name)] or all_in_words(names)


def steps_of_run(directory: Directory, failed: str) -> tuple[Step, ...]:
    """The phases of a run that has not committed; `failed` is the one that failed, if one did."""
    marks = directory.marks
    captured = captures_of(directory)
    wanted = [source.name for source in directory.program.sources] if directory.program else []
    whole = bool(wanted) and set(wanted) <= set(captured)
    found = [Step("capture", "done" if whole else _open("capture", failed), _sum(captured.values()))]
    strata = directory.layering.strata if directory.layering else ()
    found += [_step(marks, f"stratum-{stratum.number}", failed, ", ".join(stratum.shown)) for stratum in strata]
    return (*found, *(_step(marks, name, failed) for name in ("verify", "quality", "commit")))


def _step(marks: Mapping[str, Facts], name: str, failed: str, detail: str = "") -> Step:
    facts = marks.get(name)
    if facts is None:
        return Step(name, _open(name, failed), None, detail)
    return Step(name, "done", facts.get("seconds"), detail)


def _open(name: str, failed: str) -> str:
    return "failed" if failed == name or failed.startswith(f"{name}-") else "open"


def _sum(facts: Iterable[Facts]) -> float | None:
    seconds: Sequence[Any] = [one["seconds"] for one in facts if one.get("seconds") is not None]
    return sum(seconds) if seconds else None
