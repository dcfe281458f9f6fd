"""Views that are kept by constraints: derived in this process from what is staged below, and compared with what was.

They are few by nature. What domains answer is pinned as everywhere; a view that asks when it is read keeps its calls.
"""

from __future__ import annotations

from foreset.errors import EvaluationError
from foreset.ir.asked import functions_of
from foreset.ir.edits import active
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.mediated.fixpoint import MAX_ENTRIES, Limits
from foreset.mediated.from_rules import entries_of
from foreset.mediated.program import Region
from foreset.plan.choose import Choice
from foreset.records.events import EntriesFound
from foreset.records.strata import StratumRecord
from foreset.refresh.context import Context
from foreset.refresh.domain_phase import calls_of, rows_now, stage_change
from foreset.refresh.located import here, located
from foreset.relations import arrow
from foreset.rewrite.edit_views import region_of
from foreset.store.arrow_values import to_rows


def constrain(context: Context, stratum: Stratum, choice: Choice, folder: tuple[str, ...]) -> StratumRecord:
    """Derive the entries of a stratum, and stage what came and went."""
    program = context.program
    inputs = {name: _rows(context, name) for name in stratum.reads}
    calls = calls_of(context)
    domains = {domain.name: domain for domain in program.domains}
    answers = None if _lasting(stratum) else calls.for_constraints(domains)
    entries = entries_of(
        stratum, inputs, program.columns_of(), functions_of(program.domains), answers, regions_of(context, stratum),
        limits_of(context, stratum),
    )  # fmt: skip
    views = {view.name: stage_change(context, view, entries[view.name], folder) for view in stratum.views}
    return StratumRecord(
        choice.strategy, choice.reason, views=views, rows=sum(staged.changed for staged in views.values()),
        rows_read={name: len(found) for name, found in inputs.items()}, warnings=tuple(calls.warnings),
    )  # fmt: skip


def limits_of(context: Context, stratum: Stratum) -> Limits:
    """After how many rounds a recursion is stopped; whoever listens hears how far it is."""

    def told(entries: int) -> None:
        context.listen(EntriesFound(stratum.number, entries))

    return Limits(rounds=context.program.max_rounds, told=told)


def regions_of(context: Context, stratum: Stratum) -> list[tuple[str, Region]]:
    """What was edited in the views of a stratum, in its order."""
    found = (edit for edit in active(context.plan.edits) if edit.view in stratum.names)
    return [(edit.kind, Region(edit.view, region_of(edit, context.view(edit.view).columns))) for edit in found]


def _lasting(stratum: Stratum) -> bool:
    return any(view.evaluate == "on_read" for view in stratum.views)


def _rows(context: Context, name: str) -> list[Row]:
    """What a stratum reads, as values; few, or an error."""
    if name not in context.run.sources:
        return rows_now(context, name)
    source = located(context, name, Version.NEW)
    table = here(context, source, arrow.table, MAX_ENTRIES) if (source.rows or 0) <= MAX_ENTRIES else None
    if table is None or table.num_rows > MAX_ENTRIES:
        hint = "views of constraints are for few rows: select the rows that you need in a view of rows, and read it"
        raise EvaluationError(f"source `{name}` has more than {MAX_ENTRIES:,} rows", hint)
    return list(set(to_rows(table, source.columns)))
