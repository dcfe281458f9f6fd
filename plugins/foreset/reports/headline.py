"""The first line of a report: can I trust this morning's numbers?

Numbers that nobody refreshes any more are old, however right they once were.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo

from foreset.reports import words
from foreset.reports.model import Moment, OnHold, Published, Run, State

GRACE = datetime.timedelta(hours=1)  # a scheduler may be busy


@dataclass(frozen=True, slots=True)
class Headline:
    """An answer in a word or two, a sentence that gives the reason, and a tone for the eye."""

    answer: str
    sentence: str
    tone: str  # good | caution | bad | wait | past


def headline(run: Run) -> Headline:
    """The answer for one refresh, seen from now: what readers see may be newer."""
    match run.state:
        case State.COMMITTED:
            return _committed(run)
        case State.UNCHANGED:
            return _unchanged(run)
        case State.FAILED | State.SILENT:
            return _failed(run)
        case State.FENCED:
            return _fenced(run)
        case State.TRIAL:
            return Headline("Nothing published", f"This was a dry run. {_seen(run)}.", "past")
        case State.RUNNING:
            return Headline("Not yet", f"The refresh still runs: {_where(run)}. {_until(run)}", "wait")
        case State.UNOPENED:
            return _unopened(run)


def group_headline(latest: Run | None, now: Moment | None = None) -> Headline:
    """The answer for a group: that of its latest refresh, if the next one is not overdue."""
    if latest is None:
        return Headline("Not yet", "This group was never refreshed: there are no numbers to trust.", "wait")
    if latest.on_hold is not None and latest.newest is not None:
        return _held(latest.on_hold, latest.newest)
    due = _overdue(latest, now or datetime.datetime.now(datetime.UTC))
    if due is not None and latest.newest is not None and latest.state in (State.COMMITTED, State.UNCHANGED):
        late = f"The refresh that was due on {words.moment(due)} has not started"
        return Headline("Not up to date", f"{late}. Readers see {named(latest.newest)}.", "caution")
    return headline(latest)


def _held(found: OnHold, newest: Published) -> Headline:
    """Readers see what somebody chose for them, and no refresh changes it."""
    seen = f"readers see {named(newest)}, with the numbers of refresh {found.contents_of}"
    why = f", because: {words.clipped(found.why)}" if found.why else ""
    since = f"Somebody put this group on hold on {words.moment(found.since)}{why}; {seen}."
    return Headline("On hold", f"{since} To allow refreshes again, run: {found.release}", "caution")


def _overdue(latest: Run, now: Moment) -> Moment | None:
    return overdue(latest.schedule, latest.timezone, latest.when, now) if latest.when else None


def named(published: Published | None) -> str:
    """`refresh 11 of 17 Nov 2026, 02:01 UTC`."""
    return f"refresh {published.seq} of {words.moment(published.at)}" if published else "no refresh"


def _committed(run: Run) -> Headline:
    if run.newest is not None and run.newest.seq != run.seq:
        since = f" until {words.moment(run.after.at)}, when refresh {run.after.seq} replaced it" if run.after else ""
        shown = f"Readers saw refresh {run.seq} from {words.moment(run.committed_at)}{since}."
        return Headline("Replaced", f"{shown} {_checks(run)}", "past")
    shown = f"Readers see refresh {run.seq}, published on {words.moment(run.committed_at)}."
    if run.rolled_back_to is not None:
        back = f"Somebody rolled back to refresh {run.rolled_back_to}: readers have seen its numbers since"
        return Headline("With care", f"{back} {words.moment(run.committed_at)}.", "caution")
    warnings = len(run.warnings) + (len(run.quality.broken) if run.quality else 0)
    if warnings:
        return Headline(f"Yes, with {words.counted(warnings, 'warning')}", f"{shown} {_checks(run)}", "caution")
    if run.quality and run.quality.lingering:
        known = words.counted(sum(one.known or 0 for one in run.quality.lingering), "known violation")
        return Headline(f"Yes, with {known}", f"{shown} {_checks(run)}", "caution")
    if run.unverified:
        return Headline("Yes, but unverified", f"{shown} {_checks(run)}", "caution")
    return Headline("Yes", f"{shown} {_checks(run)}", "good")


def _checks(run: Run) -> str:
    """What verification and expectations said, in one sentence."""
    if run.rolled_back_to is not None:
        return f"It rolled back to the numbers of refresh {run.rolled_back_to}."
    found = run.verification
    if found is None or found.verdict == "not checked":
        first = "No row was recomputed to check it"
    elif not found.rows:
        first = "There was nothing to recompute"
    else:
        first = f"{words.counted(found.rows, 'row')} recomputed from the sources agree{'s' if found.rows == 1 else ''}"
    held = _expectations(run)
    return f"{first}{', and ' + held if held else ''}."


def _expectations(run: Run) -> str:
    if run.quality is None or not run.quality.expectations:
        return ""
    count, broken = len(run.quality.expectations), len(run.quality.broken)
    old = words.known_rows(run.quality)
    if broken:
        found = f"{broken} of {words.counted(count, 'expectation')} {'does' if broken == 1 else 'do'} not hold"
        return f"{found}; {old}" if old else found
    if old:
        return f"there are no new violations; {old}"
    return "the one expectation holds" if count == 1 else f"all {count} expectations hold"


def _unchanged(run: Run) -> Headline:
    if run.newest and run.before and run.newest.seq != run.before.seq:
        return Headline("Replaced", f"No source had changed, so {named(run.before)} stayed. {_since(run)}", "past")
    return Headline("Yes", f"No source has changed, so {named(run.before)} is still exact.", "good")


def _failed(run: Run) -> Headline:
    reason = why(run)
    if _made_good(run):
        return Headline("Not by this one", f"It published nothing, because {reason}. {_since(run)}", "past")
    if run.newest is None:
        return Headline("No", f"There are no numbers yet, because {reason}.", "bad")
    return Headline("No", f"Readers still see the numbers of {named(run.newest)}, because {reason}.", "bad")


def _fenced(run: Run) -> Headline:
    if _made_good(run):
        return Headline("Not by this one", f"Another refresh came first, so this one stopped. {_since(run)}", "past")
    return Headline("Not by this one", f"Another refresh took over, so this one stopped. {_seen(run)}.", "wait")


def _unopened(run: Run) -> Headline:
    if run.scheduler == "success" and run.on_hold and run.newest:
        return _held(run.on_hold, run.newest)
    if run.scheduler == "success":
        return Headline("Nothing done", f"This run of the DAG refreshed nothing. {_seen(run)}.", "past")
    return Headline("Not yet", f"This run has not started its refresh. {_until(run)}", "wait")


def why(run: Run) -> str:  # noqa: PLR0911 - one return per kind of failure reads best
    """Why nothing was published: a clause that follows `because`."""
    failure = run.failure
    if run.state is State.SILENT:
        return f"this refresh has shown no sign of life for {words.duration(run.silent_for)}"
    if failure is None:
        return "the run failed before the refresh started; the log of the first failed task says why"
    said = words.clipped(failure.message)
    match failure.error:
        case "VerificationFailed":
            return said
        case "QualityFailed":
            return _broken(run) or said
        case "SpecError":
            return f"its spec has an error: {said}"
        case "SourceError":
            return f"a source cannot be read as the spec says: {said}"
        case "EvaluationError":
            return f"a rule failed on the data: {said}"
        case "EnvironmentFault":
            return f"the machine was not ready: {said}"
        case "Refused" | "Interrupted" | "UsageError":
            return said
        case _:
            return f"it failed while {words.phase(failure.phase)}: {failure.error}: {said}"


def _broken(run: Run) -> str:
    critical = [e for e in run.quality.broken if e.severity == "critical"] if run.quality else []
    if not critical:
        return ""
    views = words.listed(sorted({e.view for e in critical}))
    what = words.counted(len(critical), "critical expectation")
    return f"{what} on {views} {'does' if len(critical) == 1 else 'do'} not hold"


def _made_good(run: Run) -> bool:
    """Whether something newer than what this refresh started from has been published."""
    return run.newest is not None and run.newest.seq != (run.before.seq if run.before else 0)


def _since(run: Run) -> str:
    return f"Readers now see {named(run.newest)}."


def _seen(run: Run) -> str:
    return f"Readers see {named(run.newest)}" if run.newest else "There is nothing to read yet"


def _until(run: Run) -> str:
    if run.newest is None:
        return "There is nothing to read until it ends."
    return f"Until it ends, readers see {named(run.newest)}."


def _where(run: Run) -> str:
    done = [step for step in run.steps if step.state == "done"]
    if len(done) == len(run.steps):
        return "it is about to finish"
    return f"{len(done)} of {len(run.steps)} steps are done"


def overdue(
    schedule: str | None, timezone: str, last: datetime.datetime, now: datetime.datetime
) -> datetime.datetime | None:
    """The scheduled time that passed without a refresh; None while there is none, or none can be told."""
    if not schedule or not (times := _cron()):
        return None
    try:
        local = now.astimezone(ZoneInfo(timezone)) - GRACE
        due: datetime.datetime = times(schedule, local).get_prev(datetime.datetime)
    except (ValueError, KeyError, OSError):  # a preset without a time, such as @once
        return None
    return due.astimezone(datetime.UTC) if last < due else None


def _cron() -> Any:  # noqa: ANN401 - a library without types
    """The reader of cron that comes with Airflow; without it nothing is said to be overdue."""
    return import_module("croniter").croniter if find_spec("croniter") else None
