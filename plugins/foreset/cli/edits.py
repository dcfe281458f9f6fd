"""`foreset edit` and `foreset edits`: corrections of views against what their rules say."""

from __future__ import annotations

from typing import Annotated

import typer

from foreset.cli.completing import view_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.cli.reading import Group

View = Annotated[str, typer.Argument(metavar="GROUP.VIEW", autocompletion=view_names, help="The view.")]
Delete = Annotated[str, typer.Option("--delete", metavar="REGION", help="Take these rows out, as 'X = 6' or 'X >= 5'.")]
Insert = Annotated[str, typer.Option("--insert", metavar="REGION", help="Put these rows in, as 'X = 6, Y = \"a\"'.")]
Undo = Annotated[str, typer.Option("--undo", metavar="N|last", help="Take an edit back; `foreset edits` lists them.")]
Who = Annotated[str, typer.Option("--who", help="Who says so; the user of this process without it.")]
Why = Annotated[str, typer.Option("--why", help="The evidence.")]
All = Annotated[bool, typer.Option("--all", help="Those that were undone, too.")]


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
    """Correct a view; the correction outlasts every refresh.

    Sources are never written.

    `foreset edits GROUP` lists the corrections with their numbers, `--undo N` takes one back.

    Where the spec changes later so that a correction does not fit its view (a column renamed or retyped), a refresh is
    refused and names it; `foreset check --against-warehouse` says so before. Undo it, and make it again.
    """
    from foreset.cli.opening import opened
    from foreset.cli.output import say, say_json
    from foreset.cli.refresh import summary
    from foreset.errors import UsageError

    if undo and undo != "last" and not undo.isdecimal():
        raise UsageError(f"--undo {undo!r} is no edit", "give its number, or `last`; `foreset edits` lists them")
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
    """List the corrections that hold, oldest first."""
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
