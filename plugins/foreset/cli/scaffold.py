"""The files of a new project, as data: `init` writes those that are not there yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

TOMORROW = "data/edge_tomorrow.csv"
GITIGNORE = """\
/warehouse/
"""

README = """\
# Views

Each file in `{specs}/` is a group of Datalog views over Delta tables. Foreset keeps them exact.

    foreset check             every error in every spec
    foreset test              run the tests in the specs: no Spark, no tables
    foreset refresh reach     bring the views up to date
    foreset explain reach     how the views are kept up to date, and why

Your own files: `foreset import FILE TABLE` makes a table, `foreset source add TABLE` adds it to a spec.

Editors that support YAML schemas complete keys with `{specs}/schema.json`.
"""


EXAMPLE = ("customer", "purchase", "rate", "dispute", "referral")


@dataclass(frozen=True, slots=True)
class Sample:
    """A file of the project that becomes a table."""

    file: str
    table: str
    key: tuple[str, ...]


def samples(*, example: bool) -> tuple[Sample, ...]:
    """The tables that the specs of a new project read."""
    edge = Sample("data/edge.csv", "sales/edge", ("src", "dst"))
    keys = {"rate": ("country",), "dispute": ("purchase",), "referral": ("from", "to")}
    shop = [Sample(f"data/{name}.csv", f"shop/{name}", keys.get(name, ("id",))) for name in EXAMPLE]
    return (edge, *shop) if example else (edge,)


def project(specs: str, *, example: bool, data: bool) -> Mapping[str, str]:
    """The path of each file, relative to the project, and its text."""
    found = {
        f"{specs}/reach.yaml": _template("reach.yaml"),
        f"{specs}/schema.json": schema(),
        "README.md": README.format(specs=specs),
        ".gitignore": GITIGNORE,
    }
    if example:
        found[f"{specs}/shop.yaml"] = _template("shop.yaml")
    names = [sample.file for sample in samples(example=example)] if data else []
    for file in (*names, TOMORROW) if data else ():
        found[file] = _template(PurePosixPath(file).name)
    return found


def make_tables(directory: Path, specs: str, root: str, *, example: bool) -> tuple[dict[str, int], list[str]]:
    """Make the tables that are not there: rows by table, and those that were left as they are."""
    from foreset.intake.run import Wish, import_files
    from foreset.intake.tables import existing, place_of
    from foreset.spec.load import load_folder

    types = {
        str(source.table): {column.name: column.type for column in source.columns}
        for loaded in load_folder(directory / specs) if loaded.program
        for source in loaded.program.sources
    }  # fmt: skip
    made, kept = {}, []
    for sample in samples(example=example):
        if existing(place_of(root, sample.table), sample.table) is not None:
            kept.append(sample.table)
            continue
        file = str(directory / PurePosixPath(sample.file))
        wish = Wish(file, sample.table, key=sample.key, types=types.get(sample.table, {}))
        made[sample.table] = import_files(root, wish, ask=lambda _: ()).found.rows
    return made, kept


def schema() -> str:
    """The JSON schema of specs, for editors."""
    from foreset.spec.schema import schema_text

    return schema_text()


def write(directory: Path, found: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Write what is missing; return the paths written and those left as they are."""
    written, kept = [], []
    for name, text in sorted(found.items()):
        path = directory / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8") as stream:  # `x` fails rather than overwrite
                stream.write(text)
        except FileExistsError:
            kept.append(name)
        else:
            written.append(name)
    return written, kept


def _template(name: str) -> str:
    return (files("foreset.cli") / "templates" / name).read_text(encoding="utf-8")
