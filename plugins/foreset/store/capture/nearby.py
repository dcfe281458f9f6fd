"""Which table was meant: the Delta tables below a warehouse, for those who wrote a name that is none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from foreset.diagnostics import did_you_mean
from foreset.store.layout import PRIVATE, is_local, is_name, normal_root, table_path

DEEPEST = 4
MOST_FOLDERS = 5_000  # a look for a hint must not take long


def advice(root: str, table: str) -> str:
    """A hint for who named `table`, which is not there; empty where nothing near is known."""
    place = normal_root(root)
    if not is_local(place):
        return ""
    known = list(tables_below(place))
    if not known:
        right = "load the table, or name the right warehouse by --warehouse or FORESET_WAREHOUSE"
        return f"there is no table at all in the warehouse {place}: {right}"
    near = likely(table_path(root, table).removeprefix(f"{place}/"), known)
    return f"{near} Then correct `table:` in the spec" if near else ""


def likely(table: str, known: Sequence[str]) -> str:
    """The nearest name: of the whole path, else of its last part in another folder."""
    by_last = {name.rsplit("/", 1)[-1]: name for name in reversed(known)}
    last = did_you_mean(table.rstrip("/").rsplit("/", 1)[-1], by_last)
    near = by_last[last.split("`")[1]] if last else ""
    return did_you_mean(table, known) or (f"did you mean `{near}`?" if near else "")


def tables_below(root: str) -> Iterator[str]:
    """The Delta tables of a warehouse on this machine as a spec names them, without the views of groups."""
    private = Path(root) / PRIVATE
    groups = {entry.name for entry in private.iterdir() if entry.is_dir()} if private.is_dir() else set()
    for seen, (folder, inner, _) in enumerate(os.walk(root)):
        path = Path(folder).relative_to(root)
        is_table = "_delta_log" in inner and path.parts
        if is_table:
            yield path.as_posix()
        if seen > MOST_FOLDERS:
            return
        wanted = [] if is_table or len(path.parts) >= DEEPEST else [name for name in sorted(inner) if is_name(name)]
        inner[:] = [name for name in wanted if path.parts or name not in groups]
