"""Commands that read a warehouse and need no Spark: status, show, changes."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreset.cli.completing import group_names, view_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from foreset.questions.status import Standing, Unrefreshed
    from foreset.store.attempts import FailedAttempt
    from foreset.store.holds import Hold


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


View = Annotated[str, typer.Argument(metavar="GROUP.VIEW", autocompletion=view_names, help="The view.")]
Group = Annotated[
    str, typer.Argument(metavar="[GROUP]", autocompletion=group_names, help="One group; default: all.")
]
At = Annotated[int | None, typer.Option("--at", metavar="SEQ", help="An earlier refresh; default: the newest.")]
Seq = Annotated[int | None, typer.Option("--seq", metavar="N", help="The refresh; default: the newest.")]
Limit = Annotated[int, typer.Option("--limit", help="The number of rows in a table; 0 for all.")]
CONSTRAINT = "_constraint"
Where = Annotated[
    str, typer.Option("--where", metavar="REGION", help="Only rows that satisfy this, such as 'X = 3, Y > 2'.")
]
Instances = Annotated[bool, typer.Option("--instances", help="The rows that the constraints mean, if finite.")]
Shape = Annotated[Format, typer.Option("--format", help="How to write the rows.")]


def show(
    view: View,
    *,
    at: At = None,
    format: Shape = Format.TABLE,  # noqa: A002 - the name of the option
    limit: Limit = 100,
    where: Where = "",
    instances: Instances = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Show the rows of a view as they were published.

    For a view of constraints it shows the entries.
    """
    from foreset.cli.opening import opened
    from foreset.constraints.errors import Infinite

    wh = opened(warehouse, specs)
    try:
        rows = wh.rows(view, where, at) if where or instances else wh.read(view, at)
    except Infinite:
        if instances:
            raise
        _write_regions(wh.regions(view, where, at), Format.JSON if json else format)
        return
    _write(rows, Format.JSON if json else format, limit)


def changes(
    view: View,
    *,
    seq: Seq = None,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Show the rows that one refresh inserted and deleted."""
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json

    plus, minus = opened(warehouse, specs).changes(view, seq)
    if json:
        say_json({"plus": ordered(plus).to_pylist(), "minus": ordered(minus).to_pylist()})
        return
    signed = [(sign, row) for sign, rows in (("-", minus), ("+", plus)) for row in ordered(rows).to_pylist()]
    say([f"{sign} {', '.join(_cell(value) for value in row.values())}" for sign, row in signed] or ["no change"])


def status(group: Group = "", *, json: AsJson = False, specs: Specs = SPECS, warehouse: Warehouse = WAREHOUSE) -> None:
    """Show what each group has published, and what changed since."""
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.questions.status import standing
    from foreset.records import codec
    from foreset.store import manifest

    wh = opened(warehouse, specs)
    names = [wh.existing(group).group] if group else wh.groups()
    found = [standing(wh.layout(name)) for name in names]
    if json:
        say_json([codec.to_plain(one) for one in found])
        return
    lines = [line for one in found for line in (*_status_lines(one), *_spec_lines(one, specs))]
    if names and not manifest.groups(wh.layout(names[0]).root):
        lines.append(f"there is no warehouse at {warehouse} yet: `foreset refresh {names[0]}` makes one; "
                     "for another place use --warehouse or FORESET_WAREHOUSE")  # fmt: skip
    say(lines)


def _hold_lines(group: str, hold: Hold | None) -> list[str]:
    """That refreshes are held, since when, and what ends it."""
    from foreset.render import visible
    from foreset.reports import words
    from foreset.reports.directory import moment
    from foreset.store.holds import release_command

    if hold is None:
        return []
    since = f"on hold since {words.moment(moment(hold.at))}, with the contents of seq {hold.contents_of}"
    why = f" ({hold.why})" if hold.why else ""
    return [visible(f"  {since}{why}: `{release_command(group)}` allows refreshes again")]


def _attempt_lines(attempt: FailedAttempt | None) -> list[str]:
    """The last attempt, where it failed: when, at what, why, and what to run next."""
    from foreset.render import visible
    from foreset.reports import words
    from foreset.reports.directory import moment

    if attempt is None:
        return []
    failed = f"the last attempt failed on {words.moment(moment(attempt.at))}, while {words.phase(attempt.phase)}"
    what = attempt.message.strip().partition("\n")[0]
    told = [f"  {failed}:", f"    {what}", *([f"    hint: {attempt.hint}"] if attempt.hint else [])]
    return [visible(line) for line in (*told, f"    next: {attempt.next}")]


def _status_lines(found: Standing | Unrefreshed) -> list[str]:
    from foreset.cli.refresh import expected
    from foreset.plan.place import told
    from foreset.questions.status import Unrefreshed

    failed = _attempt_lines(found.last_attempt)
    if isinstance(found, Unrefreshed):
        return [f"{found.group}: never refreshed", *failed]
    moved = [f"{name} +{source.behind}" for name, source in found.sources.items() if source.behind]
    stale = f"behind: {', '.join(moved)} versions" if moved else "up to date"
    head = f"{found.group}: seq {found.seq}, {found.committed_at}, {stale}"
    width = max((len(name) for name in found.views), default=0)
    return [head, *_hold_lines(found.group, found.hold), *failed, *(
        f"  {name:<{width}}  {view.rows:>12,} rows  +{view.inserted:,} -{view.deleted:,}  {view.strategy}"
        + (f", {told(view.engine, view.engine_reason)}" if view.engine else "")
        for name, view in found.views.items()
    ), *expected(found.quality)]  # fmt: skip


def _spec_lines(found: Standing | Unrefreshed, specs: Path) -> list[str]:
    """That the spec of a group that was never refreshed has errors."""
    from foreset.cli.groups import ready
    from foreset.errors import SpecError
    from foreset.questions.status import Unrefreshed

    if isinstance(found, Unrefreshed):
        try:
            ready(specs, found.group)
        except SpecError as refused:
            count = len(refused.diagnostics)
            many = "1 error" if count == 1 else f"{count} errors"
            shown = "shows it" if count == 1 else "shows them"
            return [f"  its spec has {many}: `foreset check {found.group}` {shown}"]
    return []


def ordered(rows: pa.Table) -> pa.Table:
    """Rows in an order that does not depend on how they were stored; NULL is last."""
    if not rows.num_rows:
        return rows
    if not any(map(_is_set, rows.schema.types)):
        return rows.sort_by([(name, "ascending") for name in rows.column_names])
    from foreset.ir.values import sort_key

    values = [tuple(map(_as_value, row.values())) for row in rows.to_pylist()]
    keys = [[(value is None, sort_key((value,))) for value in row] for row in values]
    return rows.take(sorted(range(len(keys)), key=keys.__getitem__))


def _is_set(kind: pa.DataType) -> bool:
    """Arrow neither sorts lists nor writes them as CSV."""
    import pyarrow.types

    return bool(pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind))


def _as_value(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    return tuple(map(_as_value, value)) if isinstance(value, list) else value


def _flat(rows: pa.Table) -> pa.Table:
    """Sets as text."""
    import pyarrow

    for place, field in enumerate(rows.schema):
        if _is_set(field.type):
            texts = [None if value is None else _cell(value) for value in rows.column(place).to_pylist()]
            rows = rows.set_column(place, field.name, pyarrow.array(texts, pyarrow.string()))
    return rows


def _write_regions(found: list[str], shape: Format) -> None:
    """Where there is no end to the rows, the constraints stand for them."""
    from foreset.cli.output import say, say_json

    if shape is Format.JSON:
        say_json([{CONSTRAINT: one} for one in found])
    else:
        say([CONSTRAINT, "-" * len(CONSTRAINT), *found])


def _write(rows: pa.Table, shape: Format, limit: int) -> None:
    from foreset.cli.output import say, say_json

    rows = ordered(rows)
    if shape is Format.JSON:
        say_json(rows.to_pylist())
    elif shape is Format.CSV:
        import pyarrow.csv

        sink = sys.stdout.buffer
        pyarrow.csv.write_csv(_flat(rows), sink)
        sink.flush()
    else:
        cut = rows.slice(0, limit) if limit else rows
        more = rows.num_rows - cut.num_rows
        say(table(cut) + ([f"... and {more:,} more rows: --limit 0 shows all"] if more else []))


def table(rows: pa.Table) -> list[str]:
    """Columns under their names, aligned."""
    cells = [[_cell(value) for value in row.values()] for row in rows.to_pylist()]
    widths = [max([len(name), *(len(line[i]) for line in cells)]) for i, name in enumerate(rows.column_names)]

    def joined(line: list[str]) -> str:
        return "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()

    return [joined(list(rows.column_names)), joined(["-" * width for width in widths]), *map(joined, cells)]


def _cell(value: object) -> str:
    from foreset.refresh.written_rows import shown
    from foreset.render import visible

    return visible(shown(value))
