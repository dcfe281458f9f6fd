"""What a group has committed, what has moved since, and how its last attempt went."""

from __future__ import annotations

import dataclasses
from typing import Any

from foreset.ir.program import is_hidden
from foreset.store import delta, manifest
from foreset.store.attempts import last_failure
from foreset.store.holds import held
from foreset.store.layout import Layout, table_path


def standing(layout: Layout) -> dict[str, Any]:
    """As `foreset status --json` prints it; `seq` is None where nothing was committed."""
    group = layout.group
    row = manifest.newest(layout.root, group)
    failed = last_failure(layout, row.seq if row else 0)
    attempt = dataclasses.asdict(failed) if failed else None
    if row is None:
        return {"group": group, "seq": None, "last_attempt": attempt, "hold": None}
    hold = held(layout)
    where = {name: record.get("engine", "") for record in row.extra.get("strata", ()) for name in record["views"]}
    views = {
        name: {"rows": pin.rows, "inserted": pin.inserted, "deleted": pin.deleted, "strategy": pin.strategy,
               "reason": pin.reason, "engine": where.get(name, "")}
        for name, pin in row.views.items() if not is_hidden(name)
    }  # fmt: skip
    pins = row.sources.items()
    sources = {name: {"read": pin.to_version, "now": _head(layout.root, pin.table)} for name, pin in pins}
    return {"group": group, "seq": row.seq, "committed_at": row.committed_at, "views": views, "sources": sources,
            "verification": row.verification, "quality": row.quality, "last_attempt": attempt,
            "hold": dataclasses.asdict(hold) if hold else None}  # fmt: skip


def _head(root: str, table: str) -> int | None:
    opened = delta.open_table(table_path(root, table))
    return opened.version() if opened else None
