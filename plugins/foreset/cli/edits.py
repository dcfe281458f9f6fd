"""`foreset edit` and `foreset edits`: corrections of views against what their rules say."""

from __future__ import annotations

from typing import Annotated

import typer

from foreset.cli.completing import view_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.cli.reading import Group

View = Annotated[str, typer.Argument(metavar="GROUP.VIEW", autocompletion=view_names, help="The view.")]
Delete = Annotated[str, typer.Option("--delete", metavar="REGION", help="Remove these rows, such as 'X = 6'.")]
Insert = Annotated[str, typer.Option("--insert", metavar="REGION", help="Add these rows, such as 'X = 6, Y = \"a\"'.")]
Undo = Annotated[str, typer.Option("--undo", metavar="N|last", help="Undo an edit; `foreset edits` lists them.")]
Who = Annotated[str, typer.Option("--who", help="Who decides; default: the user of this process.")]
Why = Annotated[str, typer.Option("--why", help="The reason.")]
All = Annotated[bool, typer.Option("--all", help="List also those that were undone.")]


def edit(
    view: View,
    *,
    delete: Delete = "",
    insert: Insert = "",
    undo: Undo = "",
    who: Who = "",
    why: Why = "",
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Correct a view; every later refresh keeps the correction.

    Sources are never written.

    `foreset edits GROUP` lists the corrections with their numbers, `--undo N` undoes one.

    If the spec changes later so that a correction no longer fits its view (a column is renamed or has another type), a
    refresh stops and names it; `foreset check --against-warehouse` says so before. Undo it, and make it again.
    """
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.cli.refresh import summary
    from foreset.errors import UsageError

    if undo and undo != "last" and not undo.isdecimal():
        raise UsageError(f"there is no edit {undo!r}", "give a number or `last`; `foreset edits` lists the edits")
    number = None if not undo else 0 if undo == "last" else int(undo)
    wh = opened(warehouse, specs)
    result = wh.edit(view, delete=delete, insert=insert, undo=number, who=who, why=why)
    if json:
        say_json(result.as_dict())
    else:
        say(summary(result))


def edits(
    group: Group = "",
    *,
    every: All = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """List the corrections in force, oldest first."""
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.render import visible

    found = opened(warehouse, specs).edits(group or None, undone=every)
    if json:
        say_json(found)
        return
    lines = []
    for one in found:
        evidence = ", ".join(filter(None, (one["who"], one["at"], one["why"])))
        undone = f"; undone: {one['undone']}" if one["undone"] else ""
        lines.append(
            visible(f"{one['group']}.{one['view']} {one['id']}: {one['kind']} {one['region']} ({evidence}){undone}")
        )
    say(lines or ["no edits"])
