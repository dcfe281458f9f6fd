"""Corrections of views: which there are, what a new or an undone one changes, and what must be built again for it."""

from __future__ import annotations

import datetime
import getpass
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.ir.edits import Edit, EditRequest, active
from foreset.ir.program import Program
from foreset.plan.fingerprint import own_marks
from foreset.plan.frozen import Request
from foreset.plan.rebuild import reedited
from foreset.records.strata import StratumSummary
from foreset.refresh.context import read_spec
from foreset.relations.located import fits
from foreset.rewrite.edit_relations import corrected_by
from foreset.rewrite.edit_views import Unfit, check_edit, unfit
from foreset.store import epochs, manifest
from foreset.store.layout import Layout
from foreset.store.protocol import AlreadyCommitted
from foreset.store.rows import ManifestRow, ViewPin

Edits = tuple[Edit, ...]
Pins = Mapping[str, ViewPin]
KINDS = ("delete", "insert")
REASON = "only the list of edits has changed"


def edits_of(row: ManifestRow | None) -> Edits:
    """The edits with which a refresh was committed, those that were undone too."""
    return row.extra.edits if row else ()


def correcting(previous: ManifestRow | None, edits: Edits) -> bool:
    """Whether a refresh with these edits is itself a correction: it publishes that and nothing else."""
    return previous is not None and edits_of(previous) != edits


def edited(edits: Edits, request: EditRequest | None, group: str, program: Program) -> Edits:
    """The edits after `request`; UsageError where it cannot be."""
    if request is None:
        return edits
    if request.undo is not None:
        return _undone(edits, request.undo, request, group)
    number = 1 + max((edit.id for edit in edits), default=0)
    new = Edit(number, request.view, request.kind, request.region, request.who, request.why, request.at)
    _check(new, program)
    return (*edits, new)


def _check(edit: Edit, program: Program) -> None:
    views = {view.name: view for view in program.shown}
    if edit.view not in views:
        hint = did_you_mean(edit.view, views, f"it has: {', '.join(views)}")
        raise UsageError(f"group {program.group} has no view `{edit.view}`", hint)
    if edit.kind not in KINDS:
        raise UsageError(f"an edit cannot `{edit.kind}`", "use `delete` or `insert`")
    check_edit(edit, views[edit.view], constrained=views[edit.view].constrained)


def _undone(edits: Edits, number: int, request: EditRequest, group: str) -> Edits:
    known = [edit.id for edit in active(edits)]
    if number not in known:
        told = ", ".join(map(str, known))
        raise UsageError(f"group {group} has no edit {number}", f"there are: {told}" if known else "there are none")
    told = " ".join(filter(None, (request.who, request.at, request.why)))
    return tuple(replace(edit, undone=told or "yes") if edit.id == number else edit for edit in edits)


def misfits(program: Program, edits: Iterable[Edit]) -> tuple[Unfit, ...]:
    """The edits that do not fit their views any more; `program` is in normal form."""
    return unfit(program, edits, {view.name for view in program.views if view.constrained})


def reasons(
    spec: tuple[str, str], suites: Mapping[str, str], before: Sequence[Edit], now: Sequence[Edit], pinned: Pins
) -> dict[str, str]:
    """Which views must be built again because edits came or went, and why.

    Rows that edits give are few and compared as a whole. A view is only built again where its rules have changed, or
    where the rows that were given before are not there to be compared with.
    """
    if not before and not now:
        return {}
    written, _ = read_spec(*spec, suites)
    lost = {one.edit for one in misfits(written, before)}
    held = [edit for edit in before if edit not in lost]  # columns of their views have changed: those are rebuilt
    (old, _), (program, layering) = read_spec(*spec, suites, held, now), read_spec(*spec, suites, now)
    was = {view.name: view for view in old.views if view.given is not None}
    given = [view for view in program.views if view.given is not None]
    unseen = [view for view in given if view.name not in pinned or not fits(pinned[view.name], view.columns)]
    unknown = {corrected_by(view.name) for view in unseen if was[view.name].given}
    moved = {view.name for view in given if view in unseen or set(was[view.name].given or ()) != set(view.given or ())}
    edited = {edit.view for edit in {*active(before)} ^ {*active(now)}} & {view.name for view in program.views}
    by_hand = {view.name for view in program.views if view.constrained and view.name in edited}
    return reedited(layering, own_marks(old), own_marks(program), {*unknown, *moved, *by_hand}, edited or unknown)


def asked(
    layout: Layout, view: str, *, delete: str, insert: str, undo: int | None, who: str, why: str
) -> EditRequest:
    """A request to edit, with its evidence; UsageError where it is not one thing."""
    if sum(map(bool, (delete, insert, undo is not None))) != 1:
        raise UsageError("an edit is one of: delete, insert, undo", "for example:  --delete 'x = 6'")
    row = manifest.newest(layout.root, layout.group)
    if row is None:
        raise UsageError(
            f"group {layout.group} has no committed refresh", f"run `foreset refresh {layout.group}` first"
        )
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    request = EditRequest(view, who=who or _user(), why=why, at=when)
    if undo is None:
        return replace(request, kind="delete" if delete else "insert", region=delete or insert)
    mine = [edit.id for edit in active(edits_of(row)) if edit.view == view]
    number = undo or (mine[-1] if mine else 0)  # 0: the last one of the view
    if number not in mine:
        hint = f"there are: {', '.join(map(str, mine))}" if mine else "there are none"
        raise UsageError(f"`{layout.group}.{view}` has no edit {undo or ''}".rstrip(), hint)
    return replace(request, undo=number)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        return "unknown"


def only_edits(layout: Layout, program: Program, request: Request) -> ManifestRow | None:
    """Publish a list of edits and nothing else: an edit is taken back while others still do not fit their views.

    No view can be refreshed then: what readers see stays as it was published. The view has no fingerprint any more,
    and the rows that its edits gave have no pin, so the first refresh that can run builds it anew, whatever its columns
    are. None where an ordinary refresh can do it.
    """
    if request.edit is None or request.edit.undo is None:
        return None
    last = manifest.newest(layout.root, layout.group)
    if last is None or last.refresh_id == request.refresh_id:
        return None
    if not misfits(program, edited(edits_of(last), request.edit, layout.group, program)):
        return None
    run = epochs.open_run(layout, request.refresh_id, lambda row: row.sources if row else {}, force=request.force)
    if isinstance(run, AlreadyCommitted):
        return manifest.at(layout.root, layout.group, run.seq)
    with epochs.closed_after(run):
        before = manifest.at(layout.root, layout.group, run.prev_seq)
        assert before is not None, "there was a refresh before"
        now = edited(edits_of(before), request.edit, layout.group, program)
        done = manifest.commit(layout, _row(run, before, now, request.note))
    return manifest.at(layout.root, layout.group, done.seq)


def _row(run: epochs.Run, before: ManifestRow, edits: tuple[Edit, ...], note: str) -> ManifestRow:
    unchanged = partial(replace, inserted=0, deleted=0, plus_ref=None, minus_ref=None, strategy="skip", reason=REASON)
    strata = (StratumSummary(one.number, one.views, strategy="skip", reason=REASON) for one in before.extra.strata)
    told = replace(before.extra, strata=tuple(strata), captures={}, domains={}, warnings=())
    undone = {edit.view for edit in edits if edit not in edits_of(before)}
    stale = {name for name in before.views if corrected_by(name) in undone}
    return replace(
        run.based_on(before),
        sources={name: replace(pin, from_version=pin.to_version) for name, pin in before.sources.items()},
        fingerprints={name: mark for name, mark in before.fingerprints.items() if name not in undone},
        views={name: unchanged(pin) for name, pin in before.views.items() if name not in stale},
        verification=None,
        quality=None,
        extra=replace(told, edits=edits, note=note, run=run.run_id),
    )
