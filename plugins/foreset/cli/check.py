"""`foreset check`: every fault of every spec, without data and without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.completing import group_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from foreset.questions.forecast import Forecast
    from foreset.understand import Understood


class Format(StrEnum):
    """How faults are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|GROUP",
        autocompletion=group_names,
        help="Spec files or groups; default: all.",
        show_default=False,
    ),
]
Written = Annotated[Format, typer.Option("--format", help="For people, for programs, or for GitHub annotations.")]
Against = Annotated[
    bool, typer.Option("--against-warehouse", help="Compare sources with their tables; say what would be rebuilt.")
]


def check(
    targets: Targets = None,
    *,
    format: Written = Format.TEXT,  # noqa: A002 - the name of the option
    against_warehouse: Against = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Check specs: show every error with its place and a hint.

    It checks syntax, names, types and meaning; it needs no data and no Spark. Warnings do not fail.
    """
    from foreset.cli.exits import Exit
    from foreset.cli.groups import groups
    from foreset.cli.output import say, say_json
    from foreset.render import as_mapping, render_github, render_json

    found = groups(specs, targets or ())
    if against_warehouse:
        found = tuple(_held_to_tables(group, warehouse) for group in found)
    faults = [fault for group in found for fault in group.diagnostics]
    ahead = _ahead(found, warehouse) if against_warehouse else []
    if against_warehouse and (json or format is Format.JSON):
        told = [forecast.as_dict() for forecast in ahead]
        say_json({"diagnostics": [as_mapping(fault) for fault in faults], "warehouse": told})
    elif json or format is Format.JSON:
        say(render_json(faults))
    elif format is Format.GITHUB:
        say(render_github(faults))
    else:
        say("\n".join([_text(found), *(line for forecast in ahead for line in forecast_lines(forecast))]))
    if any(group.errors for group in found) or any(forecast.refused for forecast in ahead):
        raise typer.Exit(Exit.BAD_SPEC)


def _held_to_tables(group: Understood, warehouse: str) -> Understood:
    """The group with the faults of its sources, as tables are now; those of its rules may be there as well."""
    from dataclasses import replace

    from foreset.questions.source_faults import source_faults
    from foreset.session.locations import absolute_warehouse
    from foreset.spec.load import load_text

    written = group.written or load_text(group.source, group.file).program
    if written is None:
        return group
    found = (*group.diagnostics, *source_faults(absolute_warehouse(warehouse), written))
    return replace(group, diagnostics=tuple(sorted(found, key=lambda one: one.span)))


def _ahead(found: Sequence[Understood], warehouse: str) -> list[Forecast]:
    """What would be rebuilt in each group that can run."""
    from foreset.questions.forecast import forecast
    from foreset.session.locations import absolute_warehouse
    from foreset.store.layout import Layout

    root = absolute_warehouse(warehouse)
    return [
        forecast(Layout(root, group.name), group.program, group.layering)
        for group in found
        if group.program and group.layering and not group.errors
    ]


def forecast_lines(found: Forecast) -> list[str]:
    """A forecast for people: a line for each view, what is read to build, and the sum."""
    width = max((len(one.view) for one in found.views), default=0)
    since = "never refreshed" if found.seq is None else f"against seq {found.seq}"
    lines = [f"{found.group}: {since}"]
    lines += [f"  {one.view:<{width}}  {one.action:<7}  {one.reason} ({one.rows:,} rows now)" for one in found.views]
    for one in found.building:
        read = ", ".join(f"{name} {'?' if rows is None else f'{rows:,}'}" for name, rows in one.reads.items())
        time = "" if one.seconds is None else f"; {_time(one.seconds)} ({one.basis})"
        lines.append(f"  to build {', '.join(one.views)}: rows of {read}{time}")
    lines += [f"  refused: {why}" for why in found.refused]
    lines += [f"  warning: {why}" for why in found.idle_edits]
    if found.building:
        return [*lines, f"  in all: {found.rows:,} rows to read, {_time(found.seconds)}"]
    return [*lines, "  nothing is rebuilt"]


def _time(seconds: float | None) -> str:
    return "time not known: nothing was built here yet" if seconds is None else f"about {seconds:,.1f} s"


def _text(found: Sequence[Understood]) -> str:
    from foreset.render import render_text, summary

    faults = [fault for group in found for fault in group.diagnostics]
    text = render_text(faults, {group.file: group.source for group in found})
    ok = "" if any(group.errors for group in found) else "ok"
    verdict = ", ".join(filter(None, (ok, summary(faults) if faults else "")))
    return f"{text}{_amount(found)}: {verdict}"


def _amount(found: Sequence[Understood]) -> str:
    """How much was read; views and rules only of specs that are sound enough to count them."""
    views = [view for group in found if group.program for view in group.program.shown]
    parts = [(len(found), "group")]
    if views:
        parts += [(len(views), "view"), (sum(len(view.rules) for view in views), "rule")]
    return ", ".join(f"{number:,} {word}{'' if number == 1 else 's'}" for number, word in parts)
