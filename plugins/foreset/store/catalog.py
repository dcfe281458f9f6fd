"""The Delta tables below a warehouse: where they are, their columns, and the keys that they know of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from foreset.diagnostics import did_you_mean
from foreset.store import delta
from foreset.store.layout import PRIVATE, is_local

if TYPE_CHECKING:
    from deltalake import DeltaTable

KEY = "foreset.key"  # of a column: its place in the key, from 1
SHOWN = 12  # tables that a hint lists
DEEPEST = 6  # folders below each other


def tables_below(root: str) -> list[str]:
    """The tables of a local warehouse, by their paths below it, without the views of groups."""
    if not is_local(root) or not Path(root).is_dir():
        return []
    return sorted(_tables(Path(root), "", DEEPEST, groups_of(root)))


def nearest(table: str, known: Sequence[str]) -> str:
    """What to say where a table is missing: the tables that are there, those with names like it first."""
    if not known:
        return "there are no tables yet; `foreset import FILE TABLE` makes one from a file"
    ordered = sorted(known, key=lambda one: (-SequenceMatcher(None, table, one).ratio(), one))
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    there = f"tables there: {', '.join(ordered[:SHOWN])}{more}"
    return " ".join(filter(None, (_meant(table, known), there)))


def _meant(table: str, known: Sequence[str]) -> str:
    """The table with a name like this one, else one whose last part is like its last part, in whatever folder."""
    last = _last(table)
    alike = get_close_matches(last, map(_last, known), n=1)
    elsewhere = next((one for one in known if alike and _last(one) == alike[0]), "")
    return did_you_mean(table, known, f"did you mean `{elsewhere}`?" if elsewhere else "")


def _last(table: str) -> str:
    return table.rstrip("/").rsplit("/", 1)[-1]


def groups_of(root: str) -> frozenset[str]:
    """The groups that have refreshed in a local warehouse."""
    return frozenset(path.parent.name for path in (Path(root) / PRIVATE).glob("*/manifest"))


def _tables(folder: Path, name: str, depth: int, groups: frozenset[str]) -> Iterator[str]:
    try:
        inside = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return
    if "_delta_log" in inside:
        if name and not _is_view(folder, name, groups):
            yield name
        return
    for one in inside if depth else ():
        if one[0] not in "._":
            yield from _tables(folder / one, f"{name}/{one}" if name else one, depth - 1, groups)


def _is_view(folder: Path, name: str, groups: frozenset[str]) -> bool:
    """Views of groups lie in the group's folder, and their rows are signed."""
    if name.partition("/")[0] not in groups:
        return False
    table = delta.open_table(str(folder))
    return table is not None and is_signed(field.name for field in table.schema().fields)


def is_signed(names: Iterable[str]) -> bool:
    """Whether these are the columns of a table that refreshes keep."""
    return {delta.SIGN, delta.SEQ} <= set(names)


def key_of(table: DeltaTable) -> tuple[str, ...]:
    """The key that `foreset import` was told of."""
    marked = [(int(field.metadata[KEY]), field.name) for field in table.schema().fields if KEY in field.metadata]
    return tuple(name for _, name in sorted(marked))
