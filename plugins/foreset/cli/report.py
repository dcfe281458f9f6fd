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
Site = Annotated[
    Path | None, typer.Option("--site", metavar="DIR", help="Write a folder of pages: report, history, each view.")
]
All = Annotated[bool, typer.Option("--history", help="All refreshes of the group instead of one.")]


def report(
    group: Group,
    *,
    run: RunId = None,
    seq: Seq = None,
    history: All = False,
    output: Output = None,
    site: Site = None,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Say whether the numbers of a group can be trusted, and why.

    The report is about the refresh that started last, or the one that you name.
    """
    from foreset.cli.opening import opened
    from foreset.cli.output import plain, say, say_json
    from foreset.reports import pages, reading
    from foreset.reports.headline import group_headline, headline

    if sum((run is not None, seq is not None, history)) > 1:
        raise UsageError("--run, --seq and --history cannot be used together", "give one of them")
    layout = opened(warehouse, specs).existing(group)
    one = None if history else reading.one_run(layout, run, seq)
    if one is None:
        found = reading.read_history(layout)
        latest = reading.latest_run(layout, found)
        page, first, data = pages.history_page(found, latest), group_headline(latest), plain(found)
    else:
        page, data = pages.run_page(one), plain(one)
        first = headline(one) if run or seq else group_headline(one)
    written = [*_file(page, output), *_site(layout, one, site, specs)]
    if json:
        say_json({"answer": first.answer, "sentence": first.sentence, "report": data})
        return
    said = [f"written: {target}" for target in written]
    say([f"{group}: {first.answer}. {first.sentence}", *(_lines(one) if one else ()), *said])


def _file(page: str, target: Path | None) -> list[Path]:
    if target is None:
        return []
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    return [target]


def _site(layout: Layout, run: Run | None, folder: Path | None, specs: Path) -> list[Path]:
    from foreset.reports.site import write_site

    return [] if folder is None else write_site(layout, folder, specs, run)[:1]


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
