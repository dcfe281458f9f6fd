"""`foreset check`: every fault of every spec, without data and without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from foreset.cli.groups import Group


class Format(StrEnum):
    """How faults are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE|GROUP", help="Spec files or groups; all without one.", show_default=False),
]
Written = Annotated[Format, typer.Option("--format", help="For people, for programs, or as annotations of GitHub.")]


def check(
    targets: Targets = None,
    *,
    format: Written = Format.TEXT,  # noqa: A002 - the name of the option
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,  # noqa: ARG001 - accepted everywhere; this command reads no table
) -> None:
    """Check specs: every fault, with its place and a hint.

    Syntax, names, types, safety, stratification; no data, no Spark. Warnings alone end with 0.
    """
    from foreset.cli.exits import Exit
    from foreset.cli.groups import groups
    from foreset.cli.output import say
    from foreset.render import render_github, render_json

    found = groups(specs, targets or ())
    faults = [fault for group in found for fault in group.diagnostics]
    if json or format is Format.JSON:
        say(render_json(faults))
    elif format is Format.GITHUB:
        say(render_github(faults))
    else:
        say(_text(found))
    if any(group.errors for group in found):
        raise typer.Exit(Exit.BAD_SPEC)


def _text(found: Sequence[Group]) -> str:
    from foreset.render import render_text, summary

    faults = [fault for group in found for fault in group.diagnostics]
    text = render_text(faults, {group.file: group.source for group in found})
    ok = "" if any(group.errors for group in found) else "ok"
    verdict = ", ".join(filter(None, (ok, summary(faults) if faults else "")))
    return f"{text}{_amount(found)}: {verdict}"


def _amount(found: Sequence[Group]) -> str:
    """How much was read; views and rules only of specs that are sound enough to count them."""
    views = [view for group in found if group.program for view in group.program.views]
    parts = [(len(found), "group")]
    if views:
        parts += [(len(views), "view"), (sum(len(view.rules) for view in views), "rule")]
    return ", ".join(f"{number:,} {word}{'' if number == 1 else 's'}" for number, word in parts)
