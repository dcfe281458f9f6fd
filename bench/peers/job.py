"""What the scripts of peers share; they run in the peers' own environment and know nothing of Foreset."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A program, tables with their types, and states of them."""

    program: Any
    tables: dict[str, dict[str, str]]
    views: dict[str, dict[str, str]]
    predicates: dict[str, str]
    data: str
    results: str
    steps: int

    def file(self, step: int, kind: str, table: str) -> Path:
        """A table of a state: `full`, or what came (`plus`) and went (`minus`)."""
        return Path(self.data, str(step), kind, f"{table}.csv")

    def rows(self, step: int, kind: str, table: str) -> Iterator[Row]:
        """Its rows, typed."""
        kinds = [int if kind in {"int", "bigint"} else str for kind in self.tables[table].values()]
        with self.file(step, kind, table).open(newline="", encoding="utf-8") as stream:
            lines = csv.reader(stream)
            next(lines)
            for line in lines:
                yield tuple(cast(text) for cast, text in zip(kinds, line, strict=True))

    def keep(self, step: int, view: str, rows: Iterable[Row]) -> None:
        """Write a result."""
        with Path(self.results, str(step), f"{view}.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)


def read() -> Job:
    """The job that the command line names."""
    return Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


def tell(step: int, seconds: float, **more: object) -> None:
    """Say that a step is done and its results are written."""
    print(json.dumps({"step": step, "seconds": seconds, **more}), flush=True)
