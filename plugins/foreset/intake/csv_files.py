"""CSV files as rows of texts. The first line names the columns, and every line has a value for each.

Nothing is guessed but the delimiter, and that from the first line: a guess from all lines would hide one that is
too long or too short.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from foreset.errors import SourceError

if TYPE_CHECKING:
    import duckdb

ROWS = "raw"  # the name of the rows in every query of this package
DELIMITERS = (",", ";", "\t", "|")  # the first where the line has none
PIECE = 1 << 20  # characters that are recoded at once


def csv_rows(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str], delimiter: str, encoding: str, folder: Path
) -> None:
    """Make the view `raw`: the rows of all files, whose columns may stand in different orders."""
    plain = [_recoded(path, encoding, folder / f"{i}.csv") for i, path in enumerate(paths)] if encoding else paths
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for path, shown in zip(plain, paths, strict=True):
        alike[_head(path, shown, delimiter)].append(path)
    for i, ((by, names), some) in enumerate(alike.items()):
        exactly: Any = {"sep": by, "quotechar": '"', "escapechar": '"', "skiprows": 0, "comment": ""}
        rows = connection.read_csv(
            cast("Any", some), header=True, auto_detect=False, columns=_texts(names), allow_quoted_nulls=False,
            hive_partitioning=False, **exactly,
        )  # fmt: skip
        rows.create_view(f"{ROWS}{i}")
    parts = " UNION ALL BY NAME ".join(f"FROM {ROWS}{i}" for i in range(len(alike)))
    connection.execute(f"CREATE TEMP VIEW {ROWS} AS {parts}")


def _texts(names: Sequence[str]) -> Mapping[str, str]:
    return dict.fromkeys(names, "VARCHAR")


def _head(path: str, shown: str, delimiter: str) -> tuple[str, tuple[str, ...]]:
    """What stands between values, and the names of the columns."""
    with _text(path, "utf-8-sig") as stream:
        first = stream.readline()
        if not first.strip():
            raise SourceError(f"{shown} is empty", "the first line of a CSV file names its columns")
        by = delimiter or max(DELIMITERS, key=re.sub(r'"[^"]*"', "", first).count)
        stream.seek(0)
        names = next(csv.reader(stream, delimiter=by))
    names = [name.strip() or f"column {number}" for number, name in enumerate(names, 1)]
    for name in names:
        if [one.lower() for one in names].count(name.lower()) > 1:
            raise SourceError(
                f"{shown}: two columns are called `{name}`", "give them different names in the first line"
            )
    return by, tuple(names)


def _text(path: str, encoding: str) -> IO[str]:
    if path.endswith(".gz"):
        return io.TextIOWrapper(gzip.open(path), encoding, newline="")
    return Path(path).open(encoding=encoding, newline="")


def _recoded(path: str, encoding: str, into: Path) -> str:
    """A copy in UTF-8, which is what DuckDB reads."""
    try:
        with _text(path, encoding) as stream, into.open("w", encoding="utf-8", newline="") as copy:
            while piece := stream.read(PIECE):
                copy.write(piece)
    except LookupError:
        raise SourceError(f"there is no encoding `{encoding}`", "use one such as latin-1, cp1252 or utf-16") from None
    except UnicodeError as error:
        raise SourceError(f"{path} is not {encoding}: {error}", "give its encoding with --encoding") from error
    return str(into)
