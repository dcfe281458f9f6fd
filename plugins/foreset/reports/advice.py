"""What to do about a refresh that failed: which source, whose, which versions, and the exact command.

Sentences in the order in which to act; backticks mark code. They are made of the lines of the report, so an old
report says what was right then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreset.reports import words
from foreset.reports.model import Expectation, Failure, Run, SourceLine, State
from foreset.reports.tonight import failed_names

MOST = 3  # expectations, sources
FROM_DATA = ("SourceError", "EvaluationError", "VerificationFailed")
EVERY_TIME = "nothing was published; "  # the page has said so


def advice(run: Run) -> tuple[str, ...]:
    """The steps; none for a refresh that did not fail."""
    if run.state is not State.FAILED or run.failure is None:
        return ()
    return tuple(_steps(run, run.failure))


def _steps(run: Run, failure: Failure) -> Iterator[str]:
    again = f"foreset refresh {run.group}"
    phase = failure.phase.partition("-")[0]
    match failure.error:
        case "QualityFailed":
            yield from _quality(run)
        case "VerificationFailed" if "--mode recompute" in failure.hint:
            yield f"Rebuild the {_views(run)}: `{again} --mode recompute`."
            yield f"If that fails in the same way, it is a bug in Foreset: please report it, with `{_folder(run)}`."
            return
        case _:
            if failure.hint:
                yield _sentence(failure.hint.removeprefix(EVERY_TIME))
            if failure.error in FROM_DATA:
                yield from _where(run, phase)
    if failure.next and failure.next not in (again, f"foreset report {run.group}"):
        yield f"Run `{failure.next}`: it says what is still wrong."
    trigger = f", or trigger the DAG `foreset_{run.group}` in Airflow" if run.scheduler else ""
    yield f"Then refresh again: `{again}`{trigger}."


def _where(run: Run, phase: str) -> Iterator[str]:
    """The sources from which the fault came."""
    if phase == "capture":
        yield from (_source(line, run) for line in run.sources if line.name in failed_names(run))
    elif phase in ("stratum", "verify"):
        yield from _moved(run, failed_names(run), f"the {_views(run)}")


def _quality(run: Run) -> Iterator[str]:
    critical = [one for one in (run.quality.broken if run.quality else ()) if one.severity == "critical"]
    for view in list(dict.fromkeys(one.view for one in critical))[:MOST]:
        yield from _moved(run, {view}, f"the view `{view}`")
    owner = f" Owner of this group: {run.owner}." if run.owner else ""
    yield f"Correct the wrong rows in their source table.{owner}"
    yield from (_place(one) for one in critical[:MOST] if one.origin)


def _place(one: Expectation) -> str:
    said = f"If such rows are allowed, change the expectation of `{one.view}` at `{one.origin}`"
    return f"{said}: with `severity: warning` it is reported and stops nothing."


def _moved(run: Run, views: Sequence[str] | set[str] | frozenset[str], what: str) -> Iterator[str]:
    """The sources below some views that brought something new."""
    below = {name for view in views for name in run.graph.below(view)} if run.graph else set()
    lines = [line for line in run.sources if (line.name in below or not below) and _news(line)][:MOST]
    if lines:
        yield f"Look at what changed in the sources of {what}: {words.listed([_told(line) for line in lines], MOST)}."


def _news(line: SourceLine) -> bool:
    return bool(line.inserted or line.deleted or line.whole)


def _source(line: SourceLine, run: Run) -> str:
    owner = f" Owner of this group: {run.owner}." if run.owner else ""
    return f"Look at {_told(line)}.{owner}"


def _told(line: SourceLine) -> str:
    """A source with its table, its versions and what came and went."""
    if line.before is None or line.before == line.after:
        versions = f"version {line.after}" if line.after is not None else "no version yet"
    else:
        versions = f"versions {line.before} to {line.after}"
    counts = f": {words.both(line.inserted, line.deleted)}" if _counted(line) else ""
    return f"source `{line.name}` (table `{line.table}`, {versions}{counts})"


def _counted(line: SourceLine) -> bool:
    return not line.whole and bool(line.inserted or line.deleted)


def _views(run: Run) -> str:
    names = sorted(failed_names(run))
    return f"view{'s' if len(names) > 1 else ''} {words.listed([f'`{name}`' for name in names])}" if names else "views"


def _folder(run: Run) -> str:
    return f"_foreset/{run.group}/runs/{run.run_id or run.refresh_id}"


def _sentence(text: str) -> str:
    """With a capital letter and a full stop; `code` at the beginning stays as it is."""
    clean = text.strip().rstrip(".")
    return f"{clean[:1].upper()}{clean[1:]}."
