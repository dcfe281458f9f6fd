"""The Python interface: open a warehouse, refresh its groups, read its views.

`docs/python.md` shows it. Only `refresh` needs Spark; everything else reads the
manifest and the tables directly.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from foreset.diagnostics import did_you_mean
from foreset.errors import SpecError, UsageError, keywords_named
from foreset.render import Shown, html_table, visible

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from foreset.diagnostics import Diagnostic
    from foreset.questions.forecast import Forecast
    from foreset.questions.proofs import Proof
    from foreset.questions.why_not import Miss
    from foreset.refresh.whole import RefreshResult
    from foreset.spec.load import Loaded
    from foreset.store.gc import Collected
    from foreset.store.layout import Layout
    from foreset.verify.verdict import Verdict

W = TypeVar("W")
NO_SPECS = "`foreset init` makes one; if you have one, give it with `specs=`"
Listener = Callable[[dict[str, Any]], None]
RowLike = str | Sequence[object] | Mapping[str, object]


class More(TypedDict, total=False):
    """What else a refresh may be told."""

    refresh_id: str
    note: str
    dry_run: bool
    force: bool


@dataclass(frozen=True, slots=True)
class Report:
    """Whether the numbers of a group can be trusted: the answer, a sentence, and the whole page."""

    group: str
    answer: str
    sentence: str
    page: str = field(repr=False)

    def save(self, file: str | Path) -> None:
        """Write the page, which needs no other file."""
        Path(file).write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.group)}: {escape(self.answer)}.</b> {escape(self.sentence)}"


def _keywords_named(made: type[W]) -> type[W]:
    """The class, whose methods name a keyword that they do not have."""
    for name, function in list(vars(made).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            more = tuple(More.__annotations__) if "more" in inspect.signature(function).parameters else ()
            setattr(made, name, keywords_named(more)(function))
    return made


@_keywords_named
class Warehouse:
    """A root folder with tables and views, and the specs that say what the views are."""

    def __init__(self, warehouse: str, specs: str, spark: SparkSession | str | None, no_specs: str = NO_SPECS) -> None:
        self.root, self.specs, self._spark, self._no_specs = warehouse, specs, spark, no_specs

    def __repr__(self) -> str:
        told = [f"  {group}: {f'seq {seq}' if seq else 'never refreshed'}" for group, seq, _ in self._overview()]
        return visible("\n".join([f"<Warehouse {self.root}, specs in {self.specs}>", *told]))

    def _repr_html_(self) -> str:
        rows = [(group, seq or "never refreshed", views) for group, seq, views in self._overview()]
        return html_table(f"{self.root}, specs in {self.specs}", ("group", "seq", "views"), rows)

    def _overview(self) -> list[tuple[str, int | None, str]]:
        """Each group with its newest seq and its views; nothing where there is no folder of specs."""
        from foreset.store import manifest

        loaded = self._loaded() if Path(self.specs).is_dir() else ()
        found = []
        for one in loaded:
            row = manifest.newest(self.layout(one.group).root, one.group)
            views = ", ".join(view.name for view in one.program.shown) if one.program else "its spec has errors"
            found.append((one.group, row.seq if row else None, views))
        return found

    def refresh(
        self,
        group: str,
        mode: str = "auto",
        verify: int | str = 200,
        *,
        listen: Listener | None = None,
        **more: Unpack[More],
    ) -> RefreshResult:
        """Bring all views of `group` from what was committed last to what is true now, and publish them at once.

        The same `refresh_id` twice is one refresh: it goes on where it stopped, or says what it committed.
        """
        from foreset.plan.frozen import Request
        from foreset.records.events import told
        from foreset.refresh.record_failure import note_failure
        from foreset.refresh.whole import refresh

        request = Request(mode=mode, verify=str(verify), **more)
        try:
            spec = self.spec(group)
        except SpecError as refused:
            note_failure(self.layout(group), request, "open", refused)
            raise
        with self._session() as spark:
            return refresh(spark, self.layout(group), spec, request, lambda event: (listen or _silent)(told(event)))

    def edit(
        self,
        view: str,
        *,
        delete: str = "",
        insert: str = "",
        undo: int | None = None,
        who: str = "",
        why: str = "",
        **more: Unpack[More],
    ) -> RefreshResult:
        """Correct `group.view` against what its rules say: take out a region of rows, put one in, or undo an edit.

        A region is text as `X = 6` or `age >= 18, city = "Rome"`. It is published at once, with the sources as they
        were read last, and outlasts every later refresh; sources are never written.
        """
        from foreset.plan.frozen import Request
        from foreset.refresh.editing import asked
        from foreset.refresh.whole import refresh

        group, name = split(view)
        spec, layout = self.spec(group), self.layout(group)
        found = asked(layout, name, delete=delete, insert=insert, undo=undo, who=who, why=why)
        with self._session() as spark:
            return refresh(spark, layout, spec, Request(edit=found, **more))

    def edits(self, group: str | None = None, *, undone: bool = False) -> list[dict[str, Any]]:
        """The edits that hold in `group`, or in all groups, oldest first; with `undone` those taken back too."""
        from foreset.records import codec
        from foreset.refresh.editing import edits_of
        from foreset.store import manifest

        layouts = [self.existing(group)] if group else [self.layout(name) for name in self.groups()]
        rows = [(one.group, manifest.newest(one.root, one.group)) for one in layouts]
        found = [(name, edit) for name, row in rows for edit in edits_of(row) if undone or not edit.undone]
        return [{"group": name, **codec.to_plain(edit)} for name, edit in found]

    def rows(self, view: str, where: str = "", at: int | None = None) -> pa.Table:
        """All rows of `group.view` that `where` allows, as `X = 3, Y > 2`: those of constraints too.

        Raises `EvaluationError` where there is no end to them. Views that ask when they are read ask now.
        """
        from foreset.questions.query_view import rows

        group, name = split(view)
        return rows(self.layout(group), self.spec(group), name, where, at)

    def regions(self, view: str, where: str = "", at: int | None = None) -> list[str]:
        """The same as constraints, where there may be no end to the rows: `["age >= 18, age != 40"]`."""
        from foreset.questions.query_view import regions

        group, name = split(view)
        return regions(self.layout(group), self.spec(group), name, where, at)

    def holds(self, view: str, where: str, at: int | None = None) -> bool:
        """Whether any row of `group.view` satisfies `where`."""
        from foreset.questions.query_view import holds

        group, name = split(view)
        return holds(self.layout(group), self.spec(group), name, where, at)

    def read(self, view: str, at: int | None = None) -> pa.Table:
        """The rows of `group.view` in the newest refresh, or in seq `at`."""
        from foreset.store.snapshots import open_snapshot

        group, name = split(view)
        with open_snapshot(self.existing(group).root, group, at, lease=False) as snapshot:
            return snapshot.arrow(name)

    def changes(self, view: str, seq: int | None = None) -> tuple[pa.Table, pa.Table]:
        """The exact differential of `group.view` in one refresh (default: the newest): what came, what went."""
        from foreset.store import differentials

        group, name = split(view)
        return differentials.read(self.existing(group), name, seq)

    def why(self, view: str, row: RowLike, *, limit: int = 10, depth: int = 10, at: int | None = None) -> Proof:
        """How a row of `group.view` follows, down to rows of sources; a row is a sequence, a dict, or text."""
        from foreset.questions.why import published, why
        from foreset.refresh.written_rows import row_of

        group, name = split(view)
        found = published(self.layout(group), self.spec(group), name, at)
        return why(found, row_of(found.view, row), limit=limit, depth=depth)

    def why_not(self, view: str, row: RowLike, *, at: int | None = None) -> tuple[Miss, ...]:
        """What each rule of `group.view` lacks for a row that is not there, the closest rule first."""
        from foreset.questions.why import missing, published
        from foreset.refresh.written_rows import row_of

        group, name = split(view)
        found = published(self.layout(group), self.spec(group), name, at)
        return missing(found, row_of(found.view, row))

    def status(self, group: str | None = None) -> list[dict[str, Any]]:
        """What each group, or this one, has committed, and which sources have moved since."""
        from foreset.questions.status import standing
        from foreset.records import codec

        layouts = [self.existing(group)] if group else [self.layout(name) for name in self.groups()]
        return [codec.to_plain(standing(layout)) for layout in layouts]

    def report(self, group: str, run: str | None = None, seq: int | None = None) -> Report:
        """Whether the numbers of `group` can be trusted, and why: after the last refresh, or after the one named."""
        from foreset.reports import pages, reading
        from foreset.reports.headline import group_headline, headline

        if run is not None and seq is not None:
            raise UsageError("`run` and `seq` cannot be used together", "give one of them")
        one = reading.one_run(self.existing(group), run, seq)
        first = headline(one) if run or seq else group_headline(one)
        return Report(group, first.answer, first.sentence, pages.run_page(one))

    def verify(self, group: str, sample: int = 200) -> Verdict:
        """Recompute rows of what is published now from the sources that it rests on; `.ok` says whether all agree."""
        from foreset.questions.audit import audit

        return audit(self.existing(group), self.spec(group), sample)

    def rollback(self, group: str, seq: int, *, hold: bool = False, why: str = "") -> int:
        """Publish the contents of an earlier refresh as a new one; its seq. With `hold`, no refresh begins after it."""
        from foreset.refresh.committing import engine_version
        from foreset.refresh.whole import new_refresh_id
        from foreset.store.rollback import roll_back

        held = why if hold else None
        return roll_back(self.existing(group), seq, new_refresh_id(), engine_version=engine_version(), hold=held).seq

    def release(self, group: str) -> bool:
        """Let refreshes of `group` go on after a rollback with `hold`; whether it was on hold."""
        from foreset.store import holds

        return holds.release(self.existing(group))

    def explain(self, group: str) -> Shown:
        """How the views of a group, or `group.view`, are kept up to date, and why so."""
        from foreset.explain.chosen import explained
        from foreset.questions.status import engines_of
        from foreset.refresh.context import read_spec

        name, _, view = group.partition(".")
        return Shown("\n".join(explained(*read_spec(*self.spec(name)), view, engines_of(self.root, name))))

    def gc(self, group: str, keep: int = 10, *, dry_run: bool = False) -> Collected:
        """Delete what no kept or leased refresh needs; with `dry_run` say what would go."""
        from foreset.store.gc import Policy, collect

        return collect(self.existing(group), Policy(last=keep), dry_run=dry_run)

    def manifest(self, group: str) -> list[dict[str, Any]]:
        """Every committed refresh of `group`, newest last."""
        from foreset.store import manifest

        return [row.as_dict() for row in manifest.history(self.existing(group).root, group)]

    def check(self) -> list[Diagnostic]:
        """All faults and warnings of all specs."""
        from foreset.understand import understand_all

        return [fault for one in understand_all(self._loaded()) for fault in one.diagnostics]

    def forecast(self, group: str) -> Forecast:
        """What the next refresh of `group` would rebuild, add or remove for its definitions, and at what cost."""
        from foreset.questions.forecast import forecast
        from foreset.refresh.context import read_spec

        program, layering = read_spec(*self.spec(group))
        return forecast(self.layout(group), program, layering)

    def groups(self) -> list[str]:
        """The groups that have a spec; a file whose spec has errors and whose name can be no group is none."""
        from foreset.spec.shapes import NAME

        return [name for name in dict.fromkeys(one.group for one in self._loaded()) if NAME.fullmatch(name)]

    def layout(self, group: str) -> Layout:
        """The paths of one group."""
        from foreset.session.locations import absolute_warehouse
        from foreset.store.layout import Layout

        try:
            return Layout(absolute_warehouse(self.root), group)
        except ValueError:
            raise UsageError(f"`{group}` cannot be the name of a group", "write it as in its spec") from None

    def _loaded(self) -> tuple[Loaded, ...]:
        from foreset.spec.load import load_folder

        if not Path(self.specs).is_dir():
            raise UsageError(f"there is no folder {self.specs}", self._no_specs)
        return load_folder(self.specs)

    def spec(self, group: str) -> tuple[str, str]:
        """The text of the group's spec and its file; a refused spec is refused here, with all its faults."""
        loaded = self._loaded()
        mine = [one for one in loaded if one.group == group]
        faults = [fault for one in mine if one.program is None for fault in one.report.errors]
        if faults:
            raise SpecError(faults)
        if mine:
            return mine[0].source, mine[0].file
        raise self._unknown(group, [one.group for one in loaded])

    def existing(self, group: str) -> Layout:
        """The paths of a group that has a spec here, or a refresh in the warehouse; any other name is refused."""
        from foreset.store import manifest

        layout = self.layout(group)
        if manifest.newest(layout.root, group) is None:
            names = [one.group for one in self._loaded()] if Path(self.specs).is_dir() else []
            if group not in names:
                raise self._unknown(group, [*names, *manifest.groups(layout.root)])
        return layout

    def _unknown(self, group: str, known: Sequence[str]) -> UsageError:
        listed = ", ".join(sorted(set(known)))
        hint = did_you_mean(group, known, f"groups here: {listed}" if listed else "`foreset init` writes a first one")
        return UsageError(f"there is no group `{group}` in {self.specs}", hint)

    @contextmanager
    def _session(self) -> Iterator[SparkSession]:
        from foreset.session.lazy import lazy_session

        with lazy_session(self._spark, self.root) as spark:
            yield spark


@keywords_named(name="open")
def open_warehouse(
    warehouse: str = "warehouse", specs: str = "view_specs", spark: SparkSession | str | None = None
) -> Warehouse:
    """Open a warehouse; `spark` is a session, a URL or name as in FORESET_SPARK, or None to read that."""
    return Warehouse(str(warehouse), str(specs), spark)


def split(view: str) -> tuple[str, str]:
    """`group.view` in its two parts."""
    group, dot, name = view.partition(".")
    if not dot or not group or not name:
        raise UsageError(f"`{view}` does not name a view", "write group.view, such as reach.closure")
    return group, name


def _silent(_: dict[str, Any]) -> None:
    return
