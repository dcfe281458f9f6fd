"""A refresh from open to publish in one process: what the command line and `wh.refresh` run."""

from __future__ import annotations

import datetime
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foreset.ir.hidden import in_words
from foreset.ir.program import Program, is_hidden
from foreset.plan import marks
from foreset.plan.frozen import Request
from foreset.plan.stages import Status
from foreset.records import codec
from foreset.records.captures import CaptureRecord
from foreset.records.checks import QualityRecord, Verification
from foreset.records.events import Listener
from foreset.records.strata import Asked, StratumRecord
from foreset.refresh.capturing import captures_of
from foreset.refresh.committing import told_of_domains
from foreset.refresh.context import Context, Stopwatch, read_spec
from foreset.refresh.editing import only_edits
from foreset.refresh.machine_faults import plain_words
from foreset.refresh.opening import open_refresh
from foreset.refresh.record_failure import attempt_told
from foreset.refresh.runner import through
from foreset.render import html_table, visible
from foreset.store.epochs import close_run
from foreset.store.layout import Layout
from foreset.store.manifest import AlreadyCommitted, at
from foreset.store.rows import ManifestRow, ViewPin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ViewResult:
    """What one refresh did to one view."""

    inserted: int = 0
    deleted: int = 0
    strategy: str = "skip"
    reason: str = ""
    seconds: float = 0.0
    rounds: int = 0
    rows_read: Mapping[str, int] = field(default_factory=dict)
    engine: str = ""  # spark | in process; empty where nothing ran
    engine_reason: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class RefreshResult:
    """What one refresh did."""

    group: str
    seq: int
    status: str  # committed | unchanged | dry-run
    seconds: float
    verified: Verification | None
    views: Mapping[str, ViewResult]
    refresh_id: str = ""
    captured: Mapping[str, CaptureRecord] = field(default_factory=dict)
    checked: QualityRecord | None = None
    asked: Mapping[str, Asked] = field(default_factory=dict)  # by `domain:function`
    warnings: tuple[str, ...] = ()  # what was published all the same, and should be known

    @property
    def verification(self) -> dict[str, Any]:
        """What recomputation said, as plain data."""
        return codec.to_plain(self.verified)

    @property
    def sources(self) -> dict[str, Any]:
        """How each source was taken in, as plain data."""
        return {name: codec.to_plain(record) for name, record in self.captured.items()}

    @property
    def quality(self) -> dict[str, Any]:
        """What the expectations said, as plain data."""
        return codec.to_plain(self.checked)

    @property
    def domains(self) -> dict[str, Any]:
        """What was asked and answered, as plain data."""
        return {name: codec.to_plain(record) for name, record in self.asked.items()}

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as `--json` prints it."""
        views = {name: codec.to_plain(view) for name, view in self.views.items()}
        return {"group": self.group, "seq": self.seq, "status": self.status, "seconds": self.seconds,
                "verification": self.verification, "views": views, "refresh_id": self.refresh_id,
                "sources": self.sources, "quality": self.quality, "domains": self.domains,
                "warnings": list(self.warnings)}  # fmt: skip

    @property
    def title(self) -> str:
        """The outcome in a line."""
        done = {"unchanged": f"nothing has changed since seq {self.seq}", "dry-run": "nothing published (dry run)"}
        return f"{self.group}: {done.get(self.status, f'seq {self.seq} {self.status}')} in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        lines = [f"  {name} +{one.inserted:,} -{one.deleted:,} {one.strategy}" for name, one in self.views.items()]
        return visible("\n".join([f"<RefreshResult {self.title}>", *lines]))

    def _repr_html_(self) -> str:
        head = ("view", "came", "went", "strategy", "reason")
        rows = [(name, f"+{one.inserted:,}", f"-{one.deleted:,}", one.strategy, one.reason)
                for name, one in self.views.items()]  # fmt: skip
        return html_table(self.title, head, rows)


def new_refresh_id() -> str:
    """An id for a refresh that nobody named: sortable by time."""
    now = datetime.datetime.now(datetime.UTC)
    return f"r{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def refresh(
    spark: SparkSession,
    layout: Layout,
    spec: tuple[str, str],
    request: Request,
    listen: Listener = lambda _: None,
) -> RefreshResult:
    """Run one refresh; with a `refresh_id` of an earlier attempt it goes on where that one stopped."""
    named = request if request.refresh_id else replace(request, refresh_id=new_refresh_id())
    named.check()  # what was never a refresh is no failed one
    with attempt_told(layout, named):
        return _refreshed(spark, layout, spec, named, listen)


def _refreshed(
    spark: SparkSession, layout: Layout, spec: tuple[str, str], named: Request, listen: Listener
) -> RefreshResult:
    watch = Stopwatch()
    with plain_words(f"the opening of a refresh of group {layout.group}"):
        if named.edit and (row := only_edits(layout, read_spec(*spec)[0], named)) is not None:
            return _result_of(layout.group, row, watch.seconds)
        opened = open_refresh(spark, layout, spec, named, listen)
    if isinstance(opened, AlreadyCommitted):
        row = at(layout.root, layout.group, opened.seq)
        assert row is not None
        return _result_of(layout.group, row, watch.seconds)
    try:
        status = through(opened, named)
        return _result(opened, status, watch)
    except BaseException:
        with suppress(OSError):  # a disk that is full must not hide what it has done
            close_run(opened.run, "failed")
        raise


def _result(context: Context, status: Status, watch: Stopwatch) -> RefreshResult:
    committed = context.mark(marks.COMMIT) if status is Status.COMMITTED else None
    seq = committed.seq if committed else context.run.prev_seq
    views = {}
    for stratum in context.layering.strata:
        record = context.mark(marks.stratum(stratum.number))
        for name in stratum.names:
            views[name] = _view_result(record, name) if record else ViewResult(reason="no source has changed")
    order = {view.name: _with_auxiliaries(context.program, view.name, views) for view in context.program.shown}
    asked, warnings = told_of_domains(context)
    return RefreshResult(
        group=context.layout.group,
        seq=seq,
        status=status.value,
        seconds=watch.seconds,
        verified=context.mark(marks.VERIFY),
        views=order,
        refresh_id=context.run.refresh_id,
        captured=captures_of(context),
        checked=context.mark(marks.QUALITY),
        asked=asked,
        warnings=warnings,
    )


def _view_result(record: StratumRecord, view: str) -> ViewResult:
    staged = record.views[view]
    return ViewResult(
        inserted=staged.plus.rows,
        deleted=staged.minus.rows,
        strategy=record.strategy,
        reason=record.reason,
        seconds=record.seconds,
        rounds=record.rounds,
        rows_read=record.rows_read,
        engine=record.engine,
        engine_reason=record.engine_reason,
    )


def _with_auxiliaries(program: Program, name: str, views: Mapping[str, ViewResult]) -> ViewResult:
    """What was done for a view. Work on its hidden views counts as its own: nothing else reads them."""
    found = views[name]
    below = [views[hidden] for hidden in program.auxiliaries[name]]
    read = Counter[str]()
    for one in (found, *below):
        read.update(_in_words(one.rows_read))
    return replace(found, rows_read=dict(read), seconds=round(found.seconds + sum(one.seconds for one in below), 3))


def _in_words(read: Mapping[str, int]) -> dict[str, int]:
    """Rows that were read, by relations as people call them."""
    found = Counter[str]()
    for relation, rows in read.items():
        found[in_words(relation)] += rows
    return dict(found)


def _result_of(group: str, row: ManifestRow, seconds: float) -> RefreshResult:
    """What a committed refresh did, from its manifest row."""
    return RefreshResult(
        group=group,
        seq=row.seq,
        status="committed",
        seconds=seconds,
        verified=row.verification,
        views={name: _published(row, name, pin) for name, pin in row.views.items() if not is_hidden(name)},
        refresh_id=row.refresh_id,
        checked=row.quality,
        asked=row.extra.domains,
        warnings=row.extra.warnings,
    )


def _published(row: ManifestRow, view: str, pin: ViewPin) -> ViewResult:
    done = row.extra.stratum_of(view)
    assert done is not None, f"refresh {row.seq} does not say how `{view}` came about"
    return ViewResult(
        inserted=pin.inserted,
        deleted=pin.deleted,
        strategy=pin.strategy,
        reason=pin.reason,
        seconds=done.seconds,
        rounds=done.rounds,
        rows_read=_in_words(done.rows_read),
        engine=done.engine or "",
        engine_reason=done.engine_reason or "",
    )
