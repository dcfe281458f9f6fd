"""`foreset import`: own files as Delta tables below the warehouse, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.errors import UsageError

if TYPE_CHECKING:
    from foreset.intake.run import Done, Found
    from foreset.intake.tables import Mode

EACH = 1_000_000  # rows between two lines of progress

File = Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet or JSON; a folder; or a pattern in quotes.")]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="Its path below the warehouse, such as sales/orders.")]
Key = Annotated[str, typer.Option("--key", metavar="A,B", help="The columns that identify a row.")]
NoKey = Annotated[bool, typer.Option("--no-key", help="No columns identify a row.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace all rows and columns by the files.")]
Append = Annotated[bool, typer.Option("--append", help="Add the rows to the table.")]
Upsert = Annotated[bool, typer.Option("--upsert", help="Change the rows with the same key, add the others.")]
Columns = Annotated[
    str, typer.Option("--columns", metavar="NAME:TYPE,...", help="Choose the types of columns.")
]
Format = Annotated[str, typer.Option("--format", metavar="csv|parquet|json", help="If the file name does not tell it.")]
Delimiter = Annotated[str, typer.Option("--delimiter", metavar="CHAR", help="For CSV; default: as in the first line.")]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="For CSV; default: UTF-8.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be written, but write nothing.")]


def import_(
    file: File,
    table: Table,
    *,
    key: Key = "",
    no_key: NoKey = False,
    replace: Replace = False,
    append: Append = False,
    upsert: Upsert = False,
    columns: Columns = "",
    format: Format = "",  # noqa: A002 - the name of the option
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    dry_run: DryRun = False,
    json: AsJson = False,
    specs: Specs = SPECS,  # noqa: ARG001 - accepted everywhere
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Make a Delta table from your files, or add to one.

    It reads all values to find the types, and prints them. The table keeps its changes, so that refreshes find them.
    """
    from foreset.cli.output import say, say_json
    from foreset.intake.columns import wanted_types
    from foreset.intake.files import Dialect
    from foreset.intake.run import Wish, import_files
    from foreset.session.locations import absolute_warehouse

    if format not in ("", "csv", "parquet", "json"):
        raise UsageError(f"--format {format} is not known", "use csv, parquet or json")
    said = () if no_key else tuple(filter(None, map(str.strip, key.split(",")))) or None
    if key and no_key:
        raise UsageError("--key and --no-key cannot be used together", "give one of them")
    dialect = Dialect(delimiter.replace("\\t", "\t"), encoding)
    mode = _mode(replace=replace, append=append, upsert=upsert)
    wish = Wish(file, table, mode, said, wanted_types(columns), format, dialect, dry_run)
    ask = _asked if sys.stdin.isatty() and sys.stderr.isatty() and not json else _unasked
    done = import_files(absolute_warehouse(warehouse), wish, ask, _silent if json else _show, _progress(json=json))
    if json:
        say_json(done.as_dict())
    else:
        say(_written(done))


def _mode(*, replace: bool, append: bool, upsert: bool) -> Mode:
    from foreset.intake.tables import Mode

    found = [mode for mode, on in ((Mode.REPLACE, replace), (Mode.APPEND, append), (Mode.UPSERT, upsert)) if on]
    if len(found) > 1:
        raise UsageError(f"--{found[0].value} and --{found[1].value} cannot be used together", "give one of them")
    return found[0] if found else Mode.CREATE


def _silent(_: Found) -> None:
    return


def _show(found: Found) -> None:
    """What was found, before anything is written."""
    from foreset.cli.output import say
    from foreset.render import visible

    paths = found.files.paths
    what = paths[0] if len(paths) == 1 else f"{len(paths):,} files"
    wide, kinds = (max((len(text) for text in texts), default=0) for texts in (
        [one.name for one in found.columns], [str(one.type) for one in found.columns]))  # fmt: skip
    lines = []
    for one in found.columns:
        called = f"`{one.found.name}` in the file" if one.found.name != one.name else ""
        notes = ", ".join(filter(None, (called, one.note)))
        lines.append(f"  {one.name:<{wide}}  {one.type!s:<{kinds if notes else 0}}  {notes}".rstrip())
    say(visible("\n".join([f"{what}: {found.rows:,} row{'s' * (found.rows != 1)}", *lines])))


def _unasked(found: Found) -> tuple[str, ...]:
    hint = f"each row has another value in `{found.likely}`: `--key {found.likely}`" if found.likely else "`--key A,B`"
    raise UsageError("which columns identify a row (the key)?", f"{hint}, or `--no-key`")


def _asked(found: Found) -> tuple[str, ...]:
    """Ask at the terminal, until the names are known."""
    names = [one.name for one in found.columns]
    while True:
        told = "Key: the columns that identify a row, such as a,b ('-' for none)"
        answer = typer.prompt(told, default=found.likely or "-", err=True)
        wanted = tuple(filter(None, (part.strip() for part in answer.split(",")))) if answer.strip() != "-" else ()
        odd = [name for name in wanted if name not in names]
        if not odd:
            return wanted
        typer.echo(f"there is no column `{odd[0]}`", err=True)


def _progress(*, json: bool) -> Callable[[int], None]:
    """A line on stderr for each million rows."""
    told = 0

    def listen(rows: int) -> None:
        nonlocal told
        if rows - told >= EACH and not json:
            told = rows
            print(f"{rows:,} rows written", file=sys.stderr, flush=True)

    return listen


def _written(done: Done) -> list[str]:
    found = done.found
    key = f"key: {', '.join(found.key)}" if found.key else "no key"
    if done.version is None:
        verb = "made" if done.made else "written to"
        return [key, f"nothing was written (dry run): table {done.table} would be {verb}"]
    counts = ", ".join(f"{count:,} row{'s' * (count != 1)} {what}" for what, count in done.counts.items())
    counts = counts or f"{found.rows:,} row{'s' * (found.rows != 1)} written"
    wrote = f"{'made' if done.made else 'wrote to'} table {done.table}, version {done.version}: {counts}"
    return [key, wrote, *(["", "Next:", f"  foreset source add {done.table}"] if done.made else [])]
