"""`foreset source add`: a table of the warehouse as a source of a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from foreset.spec.adding import NewSource

Table = Annotated[str, typer.Argument(metavar="TABLE", help="Its path below the warehouse, such as sales/orders.")]
Group = Annotated[str, typer.Option("--group", metavar="G", help="The group; if it has no spec, one is made.")]
File = Annotated[Path | None, typer.Option("--file", metavar="SPEC", help="The spec's file, instead of the group.")]
Name = Annotated[str, typer.Option("--name", metavar="N", help="Its name in rules; default: the table's name.")]
Print = Annotated[bool, typer.Option("--print", help="Print the lines, and write nothing.")]


def add(
    table: Table,
    *,
    group: Group = "",
    file: File = None,
    name: Name = "",
    only_print: Print = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Add a table to a spec as a source, with its columns.

    Comments and layout of the spec stay. If there is no spec, it is made, with a first view.
    """
    from foreset.cli.output import say, say_json
    from foreset.intake.sources import added, source_of, spec_of
    from foreset.render import visible
    from foreset.session.locations import absolute_warehouse

    new = source_of(absolute_warehouse(warehouse), table, name)
    if only_print:
        _told(new, json=json)
        return
    place, made = spec_of(specs, group, file)
    text = added(place, new, made=made)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode("utf-8"))
    if json:
        say_json({"file": place, "made": made, **_facts(new)})
        return
    shown = text if made else "\n".join(f"  {line}" for line in new.lines())
    head = f"made {place}:" if made else f"added to `sources:` of {place}:"
    say(visible("\n".join([head, "", shown.rstrip("\n"), "", "Next:", *(f"  {line}" for line in _next(place, specs))])))


def _next(place: Path, specs: Path) -> list[str]:
    where = "" if specs == SPECS else f" --specs {specs}"
    return [f"foreset check --against-warehouse{where}", f"foreset refresh {place.stem}{where}"]


def _told(new: NewSource, *, json: bool) -> None:
    from foreset.cli.output import say, say_json
    from foreset.render import visible

    if json:
        say_json({"file": None, "made": False, **_facts(new)})
    else:
        say(visible("\n".join(["sources:", *(f"  {line}" for line in new.lines())])))


def _facts(new: NewSource) -> dict[str, object]:
    columns = {name: str(kind) for name, kind in new.columns.items()}
    return {"source": new.name, "table": new.table, "columns": columns, "key": new.key, "left_out": new.left_out}
