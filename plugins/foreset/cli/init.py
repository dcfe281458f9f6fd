"""`foreset init`: a project that works at once, offline."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

NEEDED = ("deltalake", "duckdb")  # to make tables; what only concerns definitions works without them
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it is made if it does not exist.")]
NoData = Annotated[bool, typer.Option("--no-data", help="Write only specs, no sample data.")]
Example = Annotated[bool, typer.Option("--example", help="Add a second group: a tour of the language.")]


def init(
    directory: Directory = Path(),
    *,
    example: Example = False,
    no_data: NoData = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Write a first group of views, with tests and sample data.

    It works at once, offline. Nothing that is there already is overwritten.
    """
    from foreset.cli.output import say, say_json
    from foreset.cli.scaffold import make_tables, project, write
    from foreset.errors import EnvironmentFault, UsageError

    if specs.is_absolute() or ".." in specs.parts:
        raise UsageError(f"--specs {specs} is not inside the project", "give a folder relative to DIR")
    try:
        written, kept = write(directory, project(specs.as_posix(), example=example, data=not no_data))
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{error.filename} is a file, not a folder") from error
    except OSError as error:
        raise EnvironmentFault(f"{error.filename} cannot be written: {error.strerror}") from error
    root, made, there = _root(directory, warehouse), dict[str, int](), list[str]()
    able = not no_data and all(map(find_spec, NEEDED))
    if able:
        made, there = make_tables(directory, specs.as_posix(), root, example=example)
    if json:
        say_json({"directory": directory, "written": written, "kept": kept, "tables": made, "tables_kept": there})
        return
    left = ", which exists already"
    say([
        *(f"wrote  {name}" for name in written),
        *(f"kept   {name}{left}" for name in kept),
        *(f"made   table {name} in {Path(root).name}: {rows} row{'s' * (rows != 1)}" for name, rows in made.items()),
        *(f"kept   table {name}{left}" for name in there),
    ])  # fmt: skip
    if not (able or no_data):
        say(f"no tables were made: {' and '.join(NEEDED)} are not installed; pip install \"foreset[refresh]\", "
            "then `foreset init` again")  # fmt: skip
    options = "".join(
        f" --{name} {value}" for name, value, usual in (("specs", specs, SPECS), ("warehouse", warehouse, WAREHOUSE))
        if value != usual
    )  # fmt: skip
    say(["", "Next:", *_next(directory, options, data=able)])


def _root(directory: Path, warehouse: str) -> str:
    """The warehouse of the project, unless another is named."""
    from foreset.session.locations import absolute_warehouse

    return absolute_warehouse(str(directory / "warehouse") if warehouse == WAREHOUSE else warehouse)


def _next(directory: Path, options: str, *, data: bool) -> list[str]:
    """A tour that works line by line."""
    from foreset.cli.scaffold import TOMORROW

    tour = [*([] if directory == Path() else [f"cd {directory}"]), f"foreset check{options}", f"foreset test{options}"]
    if not data:
        return [f"  {line}" for line in (*tour, f"foreset explain reach{options} --rules")]
    tour += [
        f"foreset refresh reach{options}",
        f"foreset show reach.closure{options}",
        f"foreset import {TOMORROW} sales/edge --replace{options}",
        f"foreset refresh reach{options}",
        f"foreset changes reach.closure{options}",
        f"foreset why reach.closure 'rome, venice'{options}",
    ]
    own = "Your own data: `foreset import FILE TABLE`, then `foreset source add TABLE --group NAME`; docs/your-data.md"
    return [*(f"  {line}" for line in tour), "", own]
