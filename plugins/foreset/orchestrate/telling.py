"""What a task says in its log: events while it works, and facts when it is done, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foreset.ir.hidden import in_words
from foreset.plan.stages import CLOSE, COMMIT, OPEN, Stage, Status

Facts = Mapping[str, Any]


def progress(event: Facts) -> str:
    """An event in words; empty for what the log need not have."""
    match event:
        case {"event": "stratum", "stratum": number, "views": views, "strategy": strategy}:
            return f"stratum {number} ({', '.join(views)}): {strategy}"
        case {"event": "warning", "message": message}:
            return f"warning: {message}"
        case {"event": "engine", "stratum": number, "engine": engine, "reason": reason}:
            return f"stratum {number}: {'in Spark' if engine == 'spark' else engine}, {reason}"
        case {"event": "phase", "stratum": number, "phase": phase}:
            return f"stratum {number}: {phase}"
        case {"event": "round", "stratum": number, "round": done, "rows": rows}:
            known = sum(count for count in rows.values() if count is not None)
            return f"stratum {number}: round {done}, {known:,} new rows"
        case _:
            return ""


def sentences(stage: Stage, facts: Facts) -> Iterator[str]:
    """The outcome of a stage."""
    status = facts.get("status")
    if stage not in (CLOSE, COMMIT) and status == Status.COMMITTED:
        yield f"this refresh was committed before, as seq {facts['seq']}: there is nothing more to do"
        return
    if status == Status.HELD:
        yield f"{facts['reason']}: nothing to do; {facts['hint']}" if stage == OPEN else "the group is on hold"
        return
    if "because" in facts and status not in {ending.status for ending in stage.ends}:
        yield f"{facts['because']}: there is nothing to do"
        return
    match stage.name:
        case "session":
            starts = "; it starts when a change is too big for the task itself" if facts["spark"] == "embedded" else ""
            yield f"Spark ({facts['spark']}): {facts['answers']}{starts}"
        case "open":
            yield f"opened for seq {facts['seq']} (epoch {facts['epoch']}); the plan is frozen in {facts['run']}"
            yield from (f"{view} is rebuilt: {why}" for view, why in facts["rebuild"].items())
        case "capture":
            yield from _captured(facts)
        case "stratum":
            yield from _maintained(facts)
        case "verify":
            yield _verified(facts)
        case "quality":
            yield _checked(facts)
        case "commit":
            yield f"seq {facts['seq']} is committed: readers see it now"
        case "publish":
            yield from (
                f"{view}: +{counts['inserted']:,} -{counts['deleted']:,}, {counts['rows']:,} rows"
                for view, counts in facts["views"].items()
            )
        case _:
            yield f"{stage.name}: {status or 'done'}"


def _captured(facts: Facts) -> Iterator[str]:
    for name, one in facts["sources"].items():
        rows = "" if one["rows"] is None else f" of {one['rows']:,} rows"
        counts = f"read as a whole{rows}" if one["taken_whole"] else f"+{one['inserted']:,} -{one['deleted']:,}{rows}"
        yield f"{name}: {counts}" + (f" ({one['reason']})" if one["reason"] else "")
    if facts["status"] == Status.UNCHANGED:
        yield f"no source has changed since seq {facts['seq']}: the refresh ends here"
        return
    if facts["idle"]:
        yield f"no change reaches the strata {', '.join(map(str, facts['idle']))}: they are skipped"


def _maintained(facts: Facts) -> Iterator[str]:
    yield f"{facts['strategy']}: {facts['reason']}"
    for view, counts in facts.get("views", {}).items():
        yield f"{in_words(view)}: +{counts['inserted']:,} -{counts['deleted']:,}"
    if facts.get("rounds"):
        yield f"{facts['rounds']} rounds in {facts['seconds']:.1f} s"


def _verified(facts: Facts) -> str:
    if not facts.get("rows"):
        return f"verification: {facts.get('verdict', 'nothing to check')}"
    return f"{facts['rows']:,} rows recomputed from the sources: {facts['verdict']}"


def _checked(facts: Facts) -> str:
    verdict = facts.get("verdict", facts.get("status"))
    if not facts.get("checked"):
        return "no view has expectations"
    return f"{facts['checked']} expectations: {verdict}, {facts['warned']} with a warning"
