"""Verify the staged result before it is published: a sample by bound recomputation, or all of it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing

from foreset.analyse.needs import needs_of
from foreset.errors import VerificationFailed
from foreset.ir.rules import owner
from foreset.ir.versions import Version
from foreset.plan import marks
from foreset.plan.frozen import sample_size
from foreset.records.checks import Verification
from foreset.records.events import NotVerified
from foreset.refresh.capturing import captured_of
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.located import copied, located
from foreset.refresh.recounting import differences
from foreset.relations.arrow import table_of, view_of
from foreset.relations.files import Plain, Rows, entries, one_part, plain
from foreset.relations.located import Located, SourceAt
from foreset.store.delta import SparkOnly
from foreset.store.files import delete_tree
from foreset.verify.facts import SourceFacts
from foreset.verify.judge import Ground, compare
from foreset.verify.sample import Staged
from foreset.verify.verdict import Mismatch, Verdict

COPIES = "verified"  # of sources that only Spark can read, below the run's folder while rows are checked
MOST_VIEW_ROWS = 5_000_000  # of a view of another group, which is taken into memory
DRAWN_ROWS = 2_000_000  # of a larger source that changed, only the changed rows are drawn from


def verify(context: Context) -> Verification:
    """Check the staged result as the plan says; raises `VerificationFailed`, which publishes nothing."""
    done = context.mark(marks.VERIFY)
    if done is not None:
        return done
    watch = Stopwatch()
    mode = context.plan.verify
    if mode == "off":
        return context.finish(marks.VERIFY, Verification("off", "not checked"))
    verdict = _verdict(context, mode, watch)
    record = verdict.record()
    if not verdict.ok:
        context.listen(NotVerified(record, _differing(context, verdict)))
        raise VerificationFailed(
            f"{len(verdict.mismatches)} of {verdict.rows} checked rows differ from recomputation:\n  "
            + "\n  ".join(str(found) for found in verdict.mismatches[:5]),
            f"nothing was published; {_advice(context, verdict.mismatches)}",
        )
    return context.finish(marks.VERIFY, record)


def _verdict(context: Context, mode: str, watch: Stopwatch) -> Verdict:
    if mode == "full":
        checked, mismatches = _fully(context)
        return Verdict(mode, checked, mismatches, watch.seconds)
    staged = {name: _staged(context, name) for name in _maintained(context)}
    checked, mismatches = _sampled(context, staged, sample_size(mode))
    return Verdict(mode, checked, mismatches, watch.seconds, {name: staged[name].totals for name in checked})


def _differing(context: Context, verdict: Verdict) -> tuple[str, ...]:
    """The views in which something differs; what stands behind a view counts as the view."""
    found = {mismatch.view for mismatch in verdict.mismatches}
    return tuple(sorted({owner(rule) for name in found for rule in context.view(name).rules}))


def _advice(context: Context, mismatches: Sequence[Mismatch]) -> str:
    """What to do: an expression of the spec may be wrong, or Foreset is."""
    made = [context.view(found.view).aggregation for found in mismatches]
    own = {name for one in made if one for name in one.own}
    if own:
        named = ", ".join(f"`{name}`" for name in sorted(own))
        wrong = f"`remove` or `merge` of {named} is wrong: computing the group again gives another result"
        return f"{wrong}; correct it, or leave it out"
    return "run the refresh with `--mode recompute`; if it fails again, report this run directory"


def _maintained(context: Context) -> list[str]:
    """The views that are checked."""
    ran = (view.name for view in context.program.views if _ran(context, view.name))
    maintained = [name for name in ran if not _own_way(context, name)]
    return maintained + [name for name in _asks(context) if name not in maintained]


def _sampled(
    context: Context, staged: Mapping[str, Staged], size: int
) -> tuple[dict[str, dict[str, int]], list[Mismatch]]:
    copying = threading.Lock()

    @functools.cache
    def copies(name: str) -> Located:
        return copied(context, located(context, name, Version.NEW), context.path(COPIES, name))

    @functools.cache
    def opener(name: str) -> Plain:
        """A source, what a domain answered in this refresh, or rows that edits give."""
        given = None if name in context.run.sources else context.view(name).given
        if given is not None:
            return table_of(given, context.view(name).columns)
        one = located(context, name, Version.NEW)
        try:
            _check_size(one)
            return plain(one, context.opened)
        except SparkOnly:
            with copying:  # views are drawn from side by side
                return plain(copies(name), context.opened)

    def nearby(name: str) -> Sequence[Rows]:
        """What came to a source and what went, and if it is not too large to draw from, all of it; else a file."""
        taken = captured_of(context, name)
        versions = () if taken.taken_whole else (Version.PLUS, Version.MINUS)
        told = (located(context, name, version) for version in versions)
        changes = [plain(one) for one in told if not one.empty]
        small = taken.rows is not None and taken.rows <= DRAWN_ROWS
        if small:
            return [*changes, opener(name)]
        return changes or [one_part(opener(name), context.run.seq)]

    keyed = [source for source in context.program.sources if source.key and captured_of(context, source.name).single]
    single = {source.name: source.key_places for source in keyed}
    try:
        with closing(SourceFacts(context.program.columns_of(), opener, single)) as facts:
            ground = Ground(facts, nearby, _sizes(context), needs_of(context.program.views))
            return compare(staged, *context.judge(), ground, size, context.run.seq)
    finally:
        delete_tree(context.path(COPIES))


def _check_size(one: Located) -> None:
    """A view of another group is read as it is now, in memory: a large one is left to Spark."""
    if isinstance(one.place, SourceAt) and one.place.source.view is not None:
        rows = view_of(one.place)[1].rows
        if rows > MOST_VIEW_ROWS:
            raise SparkOnly(f"{one.relation} has {rows:,} rows")


def _fully(context: Context) -> tuple[dict[str, dict[str, int]], list[Mismatch]]:
    checked: dict[str, dict[str, int]] = {}
    found: list[Mismatch] = []
    for name, rows, missing, extra in differences(context):
        checked[name] = {"all": rows}
        found += [Mismatch(name, row, claimed=False, kind="missing") for row in missing]
        found += [Mismatch(name, row, claimed=True, kind="extra") for row in extra]
    return checked, found


def _own_way(context: Context, view: str) -> bool:
    """What domains answered is the truth of a refresh, and constraints are no rows."""
    return bool(context.layering.of(view).own_way)


def _asks(context: Context) -> list[str]:
    """The views of what is asked: others may need what they lack, also when nothing in them has changed."""
    return [need.asks for need in needs_of(context.program.views)]


def _ran(context: Context, view: str) -> bool:
    record = context.mark(marks.stratum(context.layering.of(view).number))
    return record is None or not record.skipped


def _sizes(context: Context) -> dict[str, int]:
    """How many rows each view will have."""
    return {view.name: located(context, view.name, Version.NEW).rows or 0 for view in context.program.views}


def _staged(context: Context, view: str) -> Staged:
    versions = [located(context, view, version) for version in (Version.OLD, Version.PLUS, Version.MINUS)]
    old, plus, minus = (entries(one, context.opened) for one in versions)
    before, came, went = (one.rows or 0 for one in versions)
    made = context.view(view).aggregation
    own = made.groups if made and made.own else None
    return Staged(context.view(view).columns, old, plus, minus, own, came + went, before - went)
