"""What the shell completes: names of groups and views, from the text of the specs, since a Tab must not wait.

Nothing is loaded for it, and a spec that is broken completes too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import typer

from foreset.cli.options import SPECS

_GROUP = re.compile(r"^group:\s*[\"']?([a-z][a-z0-9_]*)", re.MULTILINE)
_VIEWS = re.compile(r"^views:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*\n|#.*\n)*)", re.MULTILINE)
_NAME = re.compile(r"^([ \t]+)([a-z][a-z0-9_]*):", re.MULTILINE)


def group_names(context: typer.Context, incomplete: str) -> list[str]:
    """Groups that begin so."""
    return [group for group, _ in _specs(context) if group.startswith(incomplete)]


def view_names(context: typer.Context, incomplete: str) -> list[str]:
    """Views that begin so, as `group.view`."""
    names = [f"{group}.{view}" for group, text in _specs(context) for view in _views(text)]
    return [name for name in names if name.startswith(incomplete)]


def either_names(context: typer.Context, incomplete: str) -> list[str]:
    """Groups, and views once a dot is written."""
    return (view_names if "." in incomplete else group_names)(context, incomplete)


def _specs(context: typer.Context) -> Iterator[tuple[str, str]]:
    """Each group with the text of its spec."""
    folder = Path(context.params.get("specs") or os.environ.get("FORESET_SPECS") or SPECS)
    if not folder.is_dir():
        return
    for file in sorted(folder.iterdir()):
        if file.suffix in (".yaml", ".yml") and file.name[0] not in "._":
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeError):
                continue
            found = _GROUP.search(text)
            yield found[1] if found else file.stem, text


def _views(text: str) -> list[str]:
    """The names at the first depth below `views:`."""
    found = _VIEWS.search(f"{text}\n")
    names = _NAME.findall(found[1]) if found else []
    return [name for indent, name in names if indent == names[0][0]]
