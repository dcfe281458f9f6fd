"""`foreset why` and `why-not`: questions about rows as they were published, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreset.diagnostics import did_you_mean
from foreset.errors import SourceError, UsageError
from foreset.ir.program import Program, View
from foreset.ir.supports import Support, footing, unfolded
from foreset.ir.terms import Row
from foreset.ir.text import print_value
from foreset.questions.bodies import Bodies
from foreset.questions.proofs import Proof, Prover
from foreset.questions.why_not import Miss, why_not
from foreset.refresh.context import read_spec
from foreset.refresh.editing import edits_of
from foreset.relations import arrow, files, located
from foreset.relations.files import Plain
from foreset.store import manifest
from foreset.store.delta import SparkOnly
from foreset.store.layout import Layout
from foreset.verify.facts import SourceFacts

if TYPE_CHECKING:
    from foreset.ir.strata import Layering


@dataclass(frozen=True, slots=True)
class Published:
    """A view in one refresh, and everything that its rows may follow from."""

    program: Program
    view: View
    prover: Prover
    seq: int
    tables: Mapping[str, str]  # where rows of sources lie, and who answered those of domains

    def has(self, row: Row) -> bool:
        """Whether the view holds the row."""
        known = tuple(i for i, value in enumerate(row) if value is not None)
        key = tuple(row[i] for i in known)
        return row in self.prover.bodies.facts.rows(self.view.name, known, {key}).get(key, ())


def why(published: Published, row: Row, *, limit: int = 10, depth: int = 10, every: bool = False) -> Proof:
    """The derivations of a row that is there."""
    if not published.has(row):
        shown = f"{published.view.name}({', '.join(map(print_value, row))})"
        raise UsageError(f"{shown} is not in refresh {published.seq}", "`foreset why-not` shows what it lacks")
    return published.prover.why((published.view.name, row), limit=limit, depth=depth, every=every)


def missing(published: Published, row: Row) -> tuple[Miss, ...]:
    """What each rule lacks for a row that is not there."""
    if published.has(row):
        shown = f"{published.view.name}({', '.join(map(print_value, row))})"
        raise UsageError(f"{shown} is in refresh {published.seq}", "`foreset why` shows how it follows")
    return why_not(published.view, row, published.prover.bodies)


def published(layout: Layout, spec: tuple[str, str], name: str, at: int | None = None) -> Published:
    """Open a view of a refresh for questions."""
    row = manifest.newest(layout.root, layout.group) if at is None else manifest.at(layout.root, layout.group, at)
    if row is None:
        which = "no committed refresh" if at is None else f"no refresh {at}"
        raise UsageError(f"group {layout.group} has {which}", f"`foreset refresh {layout.group}` makes one")
    program, layering = read_spec(*spec, edits=edits_of(row))
    view = next((view for view in program.shown if view.name == name), None)
    if view is None or name not in row.views:
        known = [view.name for view in program.shown if view.name in row.views]
        hint = did_you_mean(name, known, f"its views: {', '.join(known)}")
        raise UsageError(f"refresh {row.seq} of {layout.group} has no view `{name}`", hint)

    def opener(relation: str) -> Plain:
        if relation in row.views:
            return arrow.table(located.published(layout, relation, row.views[relation]))
        source = next((source for source in program.sources if source.name == relation), None)
        if source is None:
            raise UsageError(
                f"refresh {row.seq} has no rows of {relation}", "the spec has changed since then: refresh first"
            )
        try:
            return files.plain(located.pinned(layout, source, row.sources[relation]))
        except SparkOnly as error:
            fact = f"source `{relation}` has a table feature that only Spark reads"
            raise SourceError(fact, "read it with Spark") from error

    whole = replace(program, views=unfolded(program.views))
    plain = next(view for view in whole.views if view.name == name)
    if plain.constrained:
        raise UsageError(
            f"`{name}` is a view of constraints: `why` is for views of rows",
            f"`foreset show {layout.group}.{name}` shows what it holds",
        )
    columns = program.columns_of()
    bodies = Bodies(SourceFacts(columns, opener), columns)
    kept = supports(layering, row.views)
    tables = {source.name: str(source.table or source.view) for source in program.sources}
    tables |= {view.name: view.called for view in program.views if view.called}
    return Published(whole, plain, Prover(whole, bodies, kept), row.seq, tables)


def supports(layering: Layering, there: Iterable[str]) -> dict[str, tuple[Support, ...]]:
    """The supports of each view, where the refresh has kept them."""
    found: dict[str, tuple[Support, ...]] = {}
    names = set(there)
    for stratum in layering.strata:
        standing = footing(stratum) if stratum.supported else None
        for support in standing.supports if standing else ():
            if support.shown is not None and support.name in names:
                view = support.shown.head.relation
                found[view] = (*found.get(view, ()), support)
    return found
