"""Ask domains: what rules want to know is known by now, the answers are pinned, and their change is a differential.

Arguments are those of the stratum before. Each is asked once in a refresh, also those that are not new: an
answer may have changed although nothing here did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from foreset.domains.answers import digest
from foreset.domains.asking import HELD, Calls, held_back, recorded
from foreset.domains.provider import Access
from foreset.ir.asked import held_name, member_of
from foreset.ir.program import View
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.ir.values import sort_key
from foreset.ir.versions import Version
from foreset.mediated.from_rules import members
from foreset.plan import marks
from foreset.plan.choose import Choice
from foreset.records.events import Warned
from foreset.records.strata import Asked, StagedFile, StagedView, StratumRecord
from foreset.refresh.capturing import all_stands
from foreset.refresh.context import Context
from foreset.refresh.editing import correcting
from foreset.refresh.located import located
from foreset.relations import arrow
from foreset.relations.staged import stage
from foreset.rewrite.held_back import held_rows

if TYPE_CHECKING:
    from foreset.ir.domains import Domain, DomainFunction


def ask(context: Context, stratum: Stratum, choice: Choice, folder: tuple[str, ...]) -> StratumRecord:
    """Ask the function of `stratum` all that rules want to know, and stage what came and went."""
    (view,) = stratum.views
    if (member := member_of(view.called)) is not None:
        return _members(context, stratum, choice, member, folder)
    domain, function = context.program.function(view.called)
    if view.name == held_name(view.called):
        held = held_rows(function, held_back(context.run.directory, domain, function))
        return _record(context, choice, view, held, folder, {view.name: len(held)})
    wanted = [row for name in stratum.reads for row in rows_now(context, name)] if function.args else [()]
    calls = calls_of(context)
    answers = calls.answers(domain, function, wanted)
    new = {(*args, *row) for args, rows in answers.items() for row in rows}
    for warning in calls.warnings:
        context.listen(Warned(stratum.number, warning))
    record = _record(context, choice, view, new, folder, {view.name: len(new)})
    asked = {view.called: _asked(context, domain, function, answers)}
    return replace(record, warnings=tuple(calls.warnings), asked=asked)


def give(context: Context, stratum: Stratum, choice: Choice, folder: tuple[str, ...]) -> StratumRecord:
    """Stage what edits have changed of the rows that they give."""
    (view,) = stratum.views
    return _record(context, choice, view, frozenset(view.given or ()), folder, {})


def _record(
    context: Context, choice: Choice, view: View, new: Set[Row], folder: tuple[str, ...], rows_read: Mapping[str, int]
) -> StratumRecord:
    """The record of a stratum with one view that holds `new` by now."""
    staged = stage_change(context, view, new, folder)
    views = {view.name: staged}
    return StratumRecord(choice.strategy, choice.reason, views=views, rows=staged.changed, rows_read=rows_read)


def stage_change(context: Context, view: View, new: Set[Row], folder: tuple[str, ...]) -> StagedView:
    """Stage what came to a view and what went, now that it holds `new`."""
    old = set(arrow.rows(located(context, view.name, Version.OLD), context.opened))

    def staged(side: str, rows: Set[Row]) -> StagedFile:
        return stage((arrow.table_of(rows, view.columns),), view.columns, context.path(*folder, view.name, side))

    return StagedView(staged("plus", new - old), staged("minus", old - new))


def _members(
    context: Context, stratum: Stratum, choice: Choice, member: tuple[str, tuple[int, ...]], folder: tuple[str, ...]
) -> StratumRecord:
    """Which of the rows that rules want to know of are in a view that is kept by constraints."""
    (view,) = stratum.views
    kept, places = member
    wanted = rows_now(context, next(name for name in stratum.reads if name != kept))
    domains = {domain.name: domain for domain in context.program.domains}
    calls = calls_of(context)
    columns = context.view(kept).columns
    new = members(rows_now(context, kept), columns, places, wanted, calls.for_constraints(domains))
    record = _record(context, choice, view, new, folder, {kept: len(wanted)})
    return replace(record, warnings=tuple(calls.warnings))


def calls_of(context: Context) -> Calls:
    """The calls of this refresh; what the last one was told serves where a declaration allows it."""
    last = context.previous.extra.run if context.previous else None
    access = Access(context.layout.root, spark=lambda: context.spark)
    older = context.layout.run(last) if last else None
    return Calls(context.run.directory, older, access, correcting=correcting(context.previous, context.plan.edits))


def _asked(context: Context, domain: Domain, function: DomainFunction, answers: Mapping[Row, Sequence[Row]]) -> Asked:
    """How many arguments were asked, where the answers come from, and a digest of them all."""
    found = recorded(context.run.directory, domain, function)
    kinds = [found[args].status for args in answers if args in found]
    all_rows = sorted(((*args, *row) for args, rows in answers.items() for row in rows), key=sort_key)
    fresh, cached, kept, held = (kinds.count(kind) for kind in ("fresh", "cached", "kept", HELD))
    return Asked(len(answers), fresh, cached, kept, held, len(all_rows), digest(all_rows))


def nothing_new(context: Context) -> bool:
    """True when sources, definitions and answers are all as they were: then there is nothing to publish."""
    if not all_stands(context):
        return False
    records = (context.mark(marks.stratum(stratum.number)) for stratum in context.layering.strata)
    return all(record is not None and not record.rows for record in records)


def rows_now(context: Context, name: str) -> list[Row]:
    """The rows of a view as this refresh leaves them."""
    return arrow.rows(located(context, name, Version.NEW), context.opened)
