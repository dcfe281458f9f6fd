"""Verify the staged result before it is published: a sample by bound recomputation, or all of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
from pyarrow.dataset import Dataset

from foreset.analyse.needs import needs_of
from foreset.errors import VerificationFailed
from foreset.ir.program import Source
from foreset.ir.rules import owner
from foreset.plan import marks
from foreset.plan.frozen import sample_size
from foreset.plan.marks import VERIFY
from foreset.records import codec
from foreset.records.checks import Verification
from foreset.refresh.captured import captured_of
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.domain_phase import table_now, table_of
from foreset.refresh.fits import pin_of
from foreset.refresh.inputs import source_at, staged_of
from foreset.refresh.recounting import differences
from foreset.store import arrow, delta, manifest
from foreset.store.capture.stage import folder
from foreset.store.layout import Layout, is_local, table_path
from foreset.store.rows import ViewPin
from foreset.verify.entries import Plain, Rows, SignedFiles, holds
from foreset.verify.facts import SourceFacts
from foreset.verify.judge import Ground, compare
from foreset.verify.sample import Staged
from foreset.verify.verdict import Mismatch, Verdict

if TYPE_CHECKING:
    from deltalake import DeltaTable

DRAWN_ROWS = 2_000_000  # of a larger source that changed, only the changed rows are drawn from


def verify(context: Context) -> Verification:
    """Check the staged result as the plan says; raises `VerificationFailed`, which publishes nothing."""
    done = context.mark(VERIFY)
    if done is not None:
        return done
    watch = Stopwatch()
    mode = context.plan.verify
    if mode == "off":
        return context.finish(VERIFY, Verification("off", "not checked"))
    verdict = _verdict(context, mode, watch)
    record = verdict.record()
    if not verdict.ok:
        told = {**codec.to_plain(record), "differing": _differing(context, verdict)}
        context.listen({"event": "verification", **told})
        raise VerificationFailed(
            f"{len(verdict.mismatches)} of {verdict.rows} checked rows differ from recomputation:\n  "
            + "\n  ".join(str(found) for found in verdict.mismatches[:5]),
            f"nothing was published; {_advice(context, verdict.mismatches)}",
        )
    return context.finish(VERIFY, record)


def _verdict(context: Context, mode: str, watch: Stopwatch) -> Verdict:
    if mode == "full":
        checked, mismatches = _fully(context)
        return Verdict(mode, checked, mismatches, watch.seconds)
    staged = {name: _staged(context, name) for name in _maintained(context)}
    checked, mismatches = _sampled(context, staged, sample_size(mode))
    return Verdict(mode, checked, mismatches, watch.seconds, {name: staged[name].totals for name in checked})


def _differing(context: Context, verdict: Verdict) -> list[str]:
    """The views in which something differs; what stands behind a view counts as the view."""
    found = {mismatch.view for mismatch in verdict.mismatches}
    return sorted({owner(rule) for name in found for rule in context.view(name).rules})


def _advice(context: Context, mismatches: Sequence[Mismatch]) -> str:
    """What to do: an expression of the spec may be wrong, or Foreset is."""
    made = [context.view(found.view).aggregation for found in mismatches]
    own = {name for one in made if one for name in one.own}
    if own:
        named = ", ".join(f"`{name}`" for name in sorted(own))
        return f"`remove` or `merge` of {named} is not what gathering anew gives: correct it, or leave it out"
    return "refresh with `--mode recompute` and report this run directory"


def _maintained(context: Context) -> list[str]:
    """The views that are checked."""
    ran = (view.name for view in context.program.views if _ran(context, view.name))
    maintained = [name for name in ran if not _own_way(context, name)]
    return maintained + [name for name in _asks(context) if name not in maintained]


def _sampled(
    context: Context, staged: Mapping[str, Staged], size: int
) -> tuple[dict[str, dict[str, int]], list[Mismatch]]:
    @functools.cache
    def opener(name: str) -> Plain:
        pin = context.run.sources.get(name)
        if pin is None:
            return open_rows(context, name)
        rows = open_quickly(context.layout.root, context.source(name), pin.to_version, context.opened)
        return open_rows(context, name) if rows is None else rows

    def nearby(name: str) -> Sequence[Rows]:
        """What came to a source and what went, and if it is not too large to draw from, all of it."""
        taken = captured_of(context, name)
        signs = [sign for sign, rows in ((1, taken.inserted), (-1, taken.deleted)) if rows]
        changes = [] if taken.taken_whole else [_folder(folder(taken.staged, sign)) for sign in signs]
        small = taken.rows is not None and taken.rows <= DRAWN_ROWS
        return [*changes, opener(name)] if small or not changes else changes

    keyed = [source for source in context.program.sources if source.key and captured_of(context, source.name).single]
    single = {source.name: source.key_places for source in keyed}
    with closing(SourceFacts(context.program.columns_of(), opener, single)) as facts:
        ground = Ground(facts, nearby, _sizes(context), needs_of(context.program.views))
        return compare(staged, *context.judge(), ground, size, context.run.seq)


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
    found = {}
    for view in context.program.views:
        change, pin = staged_of(context, view.name), pin_of(context, view.name)
        found[view.name] = (pin.rows if pin else 0) + change.plus.rows - change.minus.rows
    return found


def _staged(context: Context, view: str) -> Staged:
    change, columns = staged_of(context, view), context.view(view).columns
    pin = pin_of(context, view)
    old = published(context.layout, pin, context.opened) if pin is not None else None
    plus, minus = (_folder(file.path) for file in (change.plus, change.minus))
    made = context.view(view).aggregation
    stay = pin.rows - change.minus.rows if pin is not None else 0
    return Staged(columns, old, plus, minus, made.groups if made and made.own else None, change.changed, stay)


def published(layout: Layout, pin: ViewPin, open_at: delta.OpenAt = delta.open_table) -> Rows:
    """The rows of a view as a manifest pins them: in their files, where DuckDB can open those."""
    path = layout.resolve(pin.path)
    with delta.reading(path):
        table = open_at(path, pin.version)
    if table is not None:
        listed = delta.listed_files(table)
        files = delta.on_this_disk(path, listed)
        if files is not None:
            signs = [one[f"partition.{delta.SIGN}"] for one in listed]
            pairs = list(zip(files, signs, strict=True))
            return SignedFiles(tuple(f for f, sign in pairs if sign == 1), tuple(f for f, sign in pairs if sign == -1))
    return arrow.read(path, pin.version, list(pin.columns))


def _folder(path: str | None) -> Rows:
    """A staged differential."""
    if path is None:
        return None
    if is_local(path):
        return tuple(sorted(str(file) for file in Path(path).rglob("*.parquet")))
    return arrow_dataset.dataset(path, format="parquet")


def open_rows(context: Context, name: str) -> Dataset | pa.Table:
    """A source, or what a domain answered in this refresh."""
    if name not in context.run.sources:
        view = context.view(name)
        return table_now(context, name) if view.given is None else table_of(view.given, view.columns)
    source, version = context.source(name), context.run.sources[name].to_version
    found = open_without_spark(context.layout.root, source, version)
    if found is None:
        names = [column.name for column in source.columns]
        return source_at(context, name, version, distinct=True).toDF(*names).toArrow()
    return found


def open_without_spark(root: str, source: Source, version: int) -> Dataset | pa.Table | None:
    """A source's rows at a version; None for a table feature that only Spark reads."""
    if source.view is not None:
        group, _, view = source.view.partition(".")
        layout = Layout(root, group)
        row = manifest.at(layout.root, group, version)
        assert row is not None, f"{source.view} was pinned at seq {version}"
        pin = row.views[view]
        return arrow.read(layout.resolve(pin.path), pin.version, [column.name for column in source.columns])
    found = _by_delta_rs(table_path(root, str(source.table)), version)
    return found[1] if found is not None else None


def open_quickly(root: str, source: Source, version: int, open_at: delta.OpenAt = delta.open_table) -> Plain | None:
    """The same rows, but by their files where DuckDB reads those as they are: that takes a fraction of the time."""
    if source.view is not None:
        return open_without_spark(root, source, version)
    path = table_path(root, str(source.table))
    found = _by_delta_rs(path, version, open_at)
    if found is None:
        return None
    table, rows = found
    files = None if table.metadata().partition_columns else delta.on_this_disk(path, delta.listed_files(table))
    return tuple(files) if files and holds(files, [column.name for column in source.columns]) else rows


def _by_delta_rs(
    path: str, version: int, open_at: delta.OpenAt = delta.open_table
) -> tuple[DeltaTable, Dataset] | None:
    """A table with its rows; None where delta-rs does not find it or cannot read it."""
    try:
        with delta.reading(path):
            table = open_at(path, version)
            return None if table is None else (table, table.to_pyarrow_dataset())
    except delta.SparkOnly:
        return None
