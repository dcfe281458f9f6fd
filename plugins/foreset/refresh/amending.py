"""Publish a list of edits and nothing else: an edit is taken back while others still do not fit their views.

No view can be refreshed then: what readers see stays as it was published. The view has no fingerprint any more, and
the rows that its edits gave have no pin, so the first refresh that can run builds it anew, whatever its columns are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from foreset.ir.edits import Edit
from foreset.ir.program import Program
from foreset.plan.frozen import Request
from foreset.records.strata import StratumSummary
from foreset.refresh.editing import edited, edits_of, misfits
from foreset.rewrite.edit_relations import corrected_by
from foreset.store import epochs, manifest
from foreset.store.layout import Layout
from foreset.store.protocol import AlreadyCommitted
from foreset.store.rows import ManifestRow

REASON = "only the list of edits has changed"


def only_edits(layout: Layout, program: Program, request: Request) -> ManifestRow | None:
    """The row that takes an edit back and leaves all views; None where an ordinary refresh can do it."""
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
