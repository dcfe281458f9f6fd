"""The files of a new project, as data: `init` writes those that are not there yet."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath

GITIGNORE = """\
/warehouse/
"""

README = """\
# Views

Each file in `{specs}/` is a group of Datalog views over Delta tables. Foreset keeps them exact.

    foreset check             every fault of every spec
    foreset test              the tests in the specs: no Spark, no tables
    foreset explain reach     how the views are kept up to date, and why so

Editors that know YAML schemas complete keys by `{specs}/schema.json`.
"""


def project(specs: str, *, example: bool) -> Mapping[str, str]:
    """The path of each file, relative to the project, and its text."""
    found = {
        f"{specs}/reach.yaml": _template("reach.yaml"),
        f"{specs}/schema.json": schema(),
        "README.md": README.format(specs=specs),
        ".gitignore": GITIGNORE,
    }
    return {**found, f"{specs}/shop.yaml": _template("shop.yaml")} if example else found


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
