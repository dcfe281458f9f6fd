"""Specs and queries that lie in files: a group's name is set, and what no peer does is left out."""

from __future__ import annotations

from pathlib import Path

import yaml


def spec(path: Path, group: str, strategy: str) -> str:
    """Sources (below `raw`), views and rules of a spec; no tests, no expectations."""
    found = yaml.safe_load(path.read_text())
    sources = {
        name: {**source, "table": f"raw/{source['table'].rpartition('/')[2]}"}
        for name, source in found["sources"].items()
    }
    views = {
        name: {"columns": view["columns"], "strategy": strategy, "rules": view["rules"]}
        for name, view in found["views"].items()
    }
    return yaml.safe_dump({"group": group, "sources": sources, "views": views}, sort_keys=False, width=10**6)


def queries(path: Path) -> dict[str, str]:
    """Queries by name: each follows a line `-- name: ...`."""
    parts = (part.partition("\n") for part in path.read_text().split("-- name: ")[1:])
    return {name: query.strip().rstrip(";") for name, _, query in parts}
