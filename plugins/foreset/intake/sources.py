"""Tables as sources of specs: what `foreset source add` reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foreset.errors import SourceError, SpecError, UsageError
from foreset.intake.names import plain_name
from foreset.intake.tables import place_of
from foreset.spec.adding import NewSource, first_spec, with_source
from foreset.spec.load import SUFFIXES, Loaded, load_folder, load_text
from foreset.spec.shapes import NAME, RESERVED
from foreset.store import delta
from foreset.store.capture.versions import TableColumn, parse_columns
from foreset.store.catalog import is_signed, key_of, nearest, tables_below


def source_of(root: str, table: str, name: str = "") -> NewSource:
    """The table as a source; its columns are read from its log."""
    path = place_of(root, table)
    with delta.reading(path):
        opened = delta.open_table(path)
    if opened is None:
        raise SourceError(f"there is no table {table} in {root}", nearest(table, tables_below(root)))
    columns = parse_columns(opened.schema().to_json())
    if is_signed(column.name for column in columns):
        group, _, view = table.strip("/").partition("/")
        raise UsageError(
            f"{table} is a view", f"to read it as a source, write `view: {group}.{view}` instead of `table:`"
        )
    kept, left_out = _kept(columns)
    if not kept:
        raise UsageError(f"{table} has no column that rules can read", "; ".join(left_out))
    known = key_of(opened)
    by_name = {column.name: name for name, column in kept.items()}
    key = tuple(by_name[one] for one in known) if all(one in by_name for one in known) else ()
    called = name or plain_name(table.rstrip("/").rpartition("/")[2])
    if not NAME.fullmatch(called) or called in RESERVED:
        raise UsageError(f"`{called}` cannot be the name of a source", "use small letters, digits and underscores")
    types = {name: kind for name, column in kept.items() if (kind := column.type)}
    return NewSource(called, table.strip("/"), types, key, left_out)


def _kept(columns: Sequence[TableColumn]) -> tuple[dict[str, TableColumn], list[str]]:
    """The columns under the names that rules use, and what is said of the others."""
    kept: dict[str, TableColumn] = {}
    left_out = []
    for column in columns:
        name = column.name.lower()
        if column.type is None:
            left_out.append(f"{column.name} ({column.type_text})")
        elif not NAME.fullmatch(name) or name in RESERVED or name in kept:
            left_out.append(f"{column.name} (rules cannot name it)")
        else:
            kept[name] = column
    return kept, left_out


def spec_of(specs: Path, group: str, file: Path | None) -> tuple[Path, bool]:
    """The spec that is meant, and whether it must be made."""
    if file is not None:
        if group:
            raise UsageError("--group and --file cannot be used together", "give one of them")
        if file.suffix not in SUFFIXES:
            raise UsageError(f"{file} is not a spec", "the name of a spec ends with .yaml")
        return file, not file.exists()
    loaded = load_folder(specs) if specs.is_dir() else ()
    names = {_group(one): Path(one.file) for one in loaded}
    if group:
        if not NAME.fullmatch(group):
            raise UsageError(f"`{group}` cannot be the name of a group", "use small letters, digits and underscores")
        return names.get(group, specs / f"{group}.yaml"), group not in names
    if len(names) == 1:
        return next(iter(names.values())), False
    if not names:
        raise UsageError("there is no spec yet", "give the new group a name: `--group NAME`")
    raise UsageError(f"there are {len(names)} groups: {', '.join(sorted(names))}", "choose one: `--group NAME`")


def _group(loaded: Loaded) -> str:
    return loaded.program.group if loaded.program else Path(loaded.file).stem


def added(place: Path, new: NewSource, *, made: bool) -> str:
    """The text of the spec with the source in it; nothing is written."""
    if made:
        if not NAME.fullmatch(place.stem):
            raise UsageError(
                f"`{place.stem}` cannot be the name of a group",
                "the group gets the name of the file: use small letters, digits and underscores",
            )
        text = first_spec(place.stem, new, "schema.json" if (place.parent / "schema.json").exists() else "")
        loaded = load_text(text, str(place))
        assert loaded.program is not None, tuple(loaded.report)
        return text
    old = place.read_bytes().decode("utf-8")  # line ends as they are
    before = load_text(old, str(place))
    _refuse_taken(before, new, place)
    text = with_source(old, str(place), new)
    after = load_text(text, str(place))
    if len(after.report.errors) > len(before.report.errors) or (before.program and after.program is None):
        raise SpecError(after.report.errors)
    return text


def _refuse_taken(before: Loaded, new: NewSource, place: Path) -> None:
    if before.program is None:
        return
    for source in before.program.sources:
        if source.name == new.name:
            what = "that table" if source.table == new.table else f"table {source.table}"
            raise UsageError(f"{place} has a source `{new.name}` already, with {what}", "give another name: `--name N`")
    if any(view.name == new.name for view in before.program.views):
        raise UsageError(f"{place} has a view `{new.name}` already", "give the source another name: `--name N`")
