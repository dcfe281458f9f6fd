"""`foreset report`: what one refresh did and found, as a page in one file, in short, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.completing import group_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreset.reports.model import Run
    from foreset.store.layout import Layout

Group = Annotated[str, typer.Argument(metavar="GROUP", autocompletion=group_names, help="The group.")]
RunId = Annotated[str | None, typer.Option("--run", metavar="ID", help="A refresh by its id, published or not.")]
Seq = Annotated[int | None, typer.Option("--seq", metavar="N", help="A published refresh by its number.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Write a page that needs no other file.")
]
All = Annotated[bool, typer.Option("--history", help="All refreshes of the group instead of one.")]


def report(
    group: Group,
    *,
    run: RunId = None,
    seq: Seq = None,
    history: All = False,
    output: Output = None,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Say whether the numbers of a group can be trusted, and why.

    For the refresh that was begun last, or the one that is named.
    """
    from foreset.cli.output import plain, say, say_json
    from foreset.reports import pages, reading
    from foreset.reports.headline import group_headline, headline
    from foreset.warehouse import open_warehouse

    if sum((run is not None, seq is not None, history)) > 1:
        raise UsageError("--run, --seq and --history exclude each other", "name one refresh, or ask for all of them")
    layout = open_warehouse(warehouse, str(specs)).existing(group)
    if history:
        found = reading.read_history(layout)
        latest = reading.latest_run(layout, found)
        page, first, data, lines = pages.history_page(found, latest), group_headline(latest), plain(found), []
    else:
        one = _refresh(layout, run, seq)
        page, data, lines = pages.run_page(one), plain(one), list(_lines(one))
        first = headline(one) if run or seq else group_headline(one)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(page, encoding="utf-8")
    if json:
        say_json({"answer": first.answer, "sentence": first.sentence, "report": data})
        return
    written = [f"written: {output}"] if output else []
    say([f"{group}: {first.answer}. {first.sentence}", *lines, *written])


def _refresh(layout: Layout, run: str | None, seq: int | None) -> Run:
    from foreset.reports import reading
    from foreset.reports.model import State

    if seq is not None:
        return reading.read_seq(layout, seq)
    found = reading.read_run(layout, run) if run is not None else reading.latest_run(layout)
    if found is None or (run is not None and found.state is State.UNOPENED):
        known = ", ".join(one.refresh_id for one in reading.read_history(layout, limit=3).runs)
        what = f"no refresh `{run}`" if run is not None else "no refresh yet"
        hint = f"its last ones: {known}" if known else f"run `foreset refresh {layout.group}` first"
        raise UsageError(f"group {layout.group} has {what}", hint)
    return found


def _lines(run: Run) -> Iterator[str]:
    """The views in short; the page has the rest."""
    from foreset.reports import words

    width = max((len(view.name) for view in run.views), default=0)
    for view in run.views:
        if view.done:
            counts = f"{words.signed(view.inserted, '+'):>10} {words.signed(view.deleted, '-'):>10}"
            yield f"  {view.name:<{width}}  {counts}  {view.strategy}: {view.reason}"
        else:
            yield f"  {view.name:<{width}}  {'not reached':>21}"
    for sentence in words.verified(run.verification, run.inserted + run.deleted) if run.views else ():
        yield f"  {sentence}"
    yield from (f"  warning: {warning}" for warning in run.warnings)
    for one in run.quality.broken if run.quality else ():
        yield f"  {one.severity}: {one.view}: {one.text or one.name}"
