"""What capture has found: read by everybody, written by `capturing.py` alone."""

from __future__ import annotations

from foreset.errors import EnvironmentFault
from foreset.plan import marks
from foreset.records.captures import CaptureRecord
from foreset.refresh.context import Context
from foreset.refresh.editing import edits_of


def captured_of(context: Context, source: str) -> CaptureRecord:
    """What the capture of a source noted; an error before it has done so."""
    found = context.mark(marks.capture(source))
    if found is None:
        what = f"source {source} is not captured in refresh {context.run.refresh_id}"
        raise EnvironmentFault(what, "run its capture task first", worth_retrying=False)
    return found


def captures_of(context: Context) -> dict[str, CaptureRecord]:
    """The same of every source, by name."""
    return {source.name: captured_of(context, source.name) for source in context.program.sources}


def nothing_moved(context: Context) -> bool:
    """True when no source moved, and no definition and no edit changed: the refresh ends here."""
    # only domains know whether they have news
    asks = any(stratum.called or stratum.asks for stratum in context.layering.strata)
    return not asks and all_stands(context)


def all_stands(context: Context) -> bool:
    """True when sources, definitions and edits are known to be as the refresh before took them in."""
    before = context.previous
    if before is None or context.plan.rebuild or context.plan.edits != edits_of(before):
        return False
    if set(before.views) != {view.name for view in context.program.views}:
        return False
    records = [context.mark(marks.capture(source.name)) for source in context.program.sources]
    return all(one is not None and not (one.moved or one.taken_whole) for one in records)
