"""`foreset init`: a project that works at once, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Where; it is made if need be.")]
Example = Annotated[bool, typer.Option("--example", help="Add a second group: a tour of the language.")]


def init(
    directory: Directory = Path(),
    *,
    example: Example = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,  # noqa: ARG001 - accepted everywhere; a new project has no tables yet
) -> None:
    """Write a first group of views, with tests.

    It works at once, offline. Nothing that is there already is overwritten.
    """
    from foreset.cli.output import say, say_json
    from foreset.cli.scaffold import project, write
    from foreset.errors import EnvironmentFault, UsageError

    if specs.is_absolute() or ".." in specs.parts:
        raise UsageError(f"--specs {specs} is not inside the project", "give a folder relative to DIR")
    try:
        written, kept = write(directory, project(specs.as_posix(), example=example))
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{error.filename} is a file, not a folder") from error
    except OSError as error:
        raise EnvironmentFault(f"{error.filename} cannot be written: {error.strerror}") from error
    if json:
        say_json({"directory": directory, "written": written, "kept": kept})
        return
    say([*(f"wrote  {name}" for name in written), *(f"kept   {name}, which is there already" for name in kept)])
    say(["", "Next:", *(f"  {line}" for line in _next(directory, specs))])


def _next(directory: Path, specs: Path) -> list[str]:
    place = [] if directory == Path() else [f"cd {directory}"]
    where = "" if specs == SPECS else f" --specs {specs}"
    return [*place, f"foreset check{where}", f"foreset test{where}", f"foreset explain reach{where} --rules"]
