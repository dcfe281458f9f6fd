"""Which files are meant, in which format, and their rows as a table of DuckDB.

Rows of CSV and JSON come as texts, since DuckDB's own guesses are not exact: `007` would be a number.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreset.errors import SourceError, UsageError
from foreset.intake.csv_files import ROWS, csv_rows

if TYPE_CHECKING:
    import duckdb

FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".json": "json", ".jsonl": "json",
           ".ndjson": "json"}  # fmt: skip
PACKED = (".gz",)
MOST_JSON_BYTES = 256 << 20  # of one record


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one format, in the order of their names."""

    paths: tuple[str, ...]
    format: str  # csv | parquet | json
    partitioned: bool = False  # folders as `year=2026` are columns

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(Path(path).stat().st_size for path in self.paths)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a user says of CSV files; empty is found out."""

    delimiter: str = ""
    encoding: str = ""


def find_files(text: str, wanted: str = "") -> Files:
    """The files that `text` names: one, all of a folder, or those of a pattern as `data/*.csv`."""
    if "://" in text:
        raise UsageError(
            f"{text} is not on this machine", "copy it here first: `foreset import` reads only local files"
        )
    place = Path(text)
    if place.is_dir():
        inside = [path.relative_to(place) for path in sorted(place.rglob("*")) if path.is_file()]
        shown = [path for path in inside if not any(part[0] in "._" for part in path.parts) and _format(path)]
        found, partitioned = [place / path for path in shown], any("=" in str(path.parent) for path in shown)
    else:
        matching = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - an absolute pattern too
        found, partitioned = [place] if place.is_file() else [Path(one) for one in matching], False
    found = [path for path in found if path.is_file()]
    if not found:
        known = "CSV, Parquet or JSON files" if place.is_dir() else "file"
        raise UsageError(f"there is no {known} {'in' if place.is_dir() else 'at'} {text}", "check the path")
    formats = {wanted or _format(path) for path in found}
    if formats == {""} or "" in formats:
        odd = next(path for path in found if not _format(path))
        raise UsageError(f"{odd}: its name does not tell its format", "add `--format csv`, `parquet` or `json`")
    if len(formats) > 1:
        raise UsageError(f"{text} has files of several formats: {', '.join(sorted(formats))}",
                         "import one format at a time, for example `folder/*.csv`")  # fmt: skip
    if partitioned and formats != {"parquet"}:
        raise UsageError(f"{text} has folders with a `=` in their names, and {formats.pop()} files in them",
                         "only Parquet folders can have them; import the folders one by one")  # fmt: skip
    return Files(tuple(map(str, found)), formats.pop(), partitioned)


def _format(path: Path) -> str:
    name = path.with_suffix("") if path.suffix in PACKED else path
    return FORMATS.get(name.suffix.lower(), "")


@contextmanager
def opened(files: Files, dialect: Dialect, folder: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in which the rows of the files are the view `raw`; what does not fit in memory goes to `folder`."""
    from foreset.store import scratch

    limits: Any = {"memory_limit": "1GB", "temp_directory": folder, "preserve_insertion_order": "false"}
    with scratch.opened(limits) as connection:
        with reading(files):
            if files.format == "csv":
                csv_rows(connection, files.paths, dialect.delimiter, dialect.encoding, Path(folder))
            else:
                _rows(connection, files).create_view(ROWS)
        yield connection


@contextmanager
def reading(files: Files) -> Iterator[None]:
    """Where DuckDB reads the files: its faults, in words for the owner of the files."""
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeError) as error:
        name = files.paths[0] if len(files.paths) == 1 else f"{len(files.paths)} files"
        if isinstance(error, UnicodeError) or re.search(r"unicode|encod|utf-8", str(error), re.IGNORECASE):
            raise SourceError(f"{name} is not UTF-8", "give its encoding, for example `--encoding latin-1`") from error
        hint = "look at that place of the file"
        if files.format == "csv":
            hint += "; if its columns are apart by another character, name it, as `--delimiter ';'`"
        raise SourceError(f"{name} cannot be read as {files.format}: {_told(error)}", hint) from error


def _told(error: Exception) -> str:
    """What DuckDB says of a place in a file, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if line.startswith(("Original Line", "Expected Number"))]
    first = re.sub(r"^[A-Z][A-Za-z ]+ Error: ", "", lines[0])
    return "; ".join([first, *kept])[:300]


def _rows(connection: duckdb.DuckDBPyConnection, files: Files) -> duckdb.DuckDBPyRelation:
    paths: Any = list(files.paths)
    folders: Any = {"hive_partitioning": files.partitioned, "union_by_name": True}
    if files.format == "parquet":
        return connection.read_parquet(paths, **folders)
    size = min(max(files.size, 16 << 20), MOST_JSON_BYTES)
    more: Any = {"maximum_object_size": size, **folders}
    names = connection.read_json(paths, sample_size=-1, maximum_depth=1, **more).columns
    return connection.read_json(paths, columns=dict.fromkeys(names, "JSON"), **more)
