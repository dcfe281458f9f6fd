"""`foreset verify`: check what is published now, without a refresh and without Spark."""

from __future__ import annotations

import functools
from contextlib import closing

from foreset.analyse.needs import needs_of
from foreset.errors import SourceError, UsageError
from foreset.refresh.context import Stopwatch, read_as_written, read_spec
from foreset.refresh.editing import edits_of
from foreset.relations import arrow
from foreset.relations.files import Plain, entries, plain
from foreset.relations.located import fits, pinned, published
from foreset.store import manifest
from foreset.store.delta import SparkOnly
from foreset.store.layout import Layout
from foreset.verify.facts import SourceFacts
from foreset.verify.judge import Ground, compare
from foreset.verify.sample import Staged
from foreset.verify.verdict import Verdict


def audit(layout: Layout, spec: tuple[str, str], size: int) -> Verdict:
    """Recompute `size` rows of the newest refresh from the source versions that it pinned."""
    watch = Stopwatch()
    row = manifest.newest(layout.root, layout.group)
    if row is None:
        hint = f"run `foreset refresh {layout.group}` first"
        raise UsageError(f"group {layout.group} has no committed refresh", hint)
    program, layering = read_spec(*spec, edits=edits_of(row))
    judge = read_as_written(*spec, edits=edits_of(row))
    staged = {}
    for view in program.views:
        pin = row.views.get(view.name)
        if pin is not None and not fits(pin, view.columns):
            hint = f"run `foreset refresh {layout.group}`: it builds and verifies the view again"
            raise UsageError(f"`{view.name}` was published with other columns than the spec has now", hint)
        if pin is not None and not layering.of(view.name).own_way:
            staged[view.name] = Staged(
                view.columns, entries(published(layout, view.name, pin)), None, None, unchanged=pin.rows
            )

    @functools.cache
    def opener(name: str) -> Plain:
        if name in row.views:  # what a domain answered
            return arrow.table(published(layout, name, row.views[name]))
        source = next(source for source in program.sources if source.name == name)
        try:
            return plain(pinned(layout, source, row.sources[name]))
        except SparkOnly as error:
            fact = f"source `{name}` has a table feature that only Spark reads"
            raise SourceError(fact, "use `foreset refresh --verify`, which can use Spark") from error

    sizes = {name: pin.rows for name, pin in row.views.items()}
    with closing(SourceFacts(program.columns_of(), opener)) as facts:
        ground = Ground(facts, lambda name: (opener(name),), sizes, needs_of(program.views))
        checked, mismatches = compare(staged, *judge, ground, size, row.seq)
    return Verdict(str(size), checked, mismatches, watch.seconds, {name: staged[name].totals for name in checked})
