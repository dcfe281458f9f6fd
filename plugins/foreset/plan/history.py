"""What a stratum cost before, from the manifest's own record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foreset.plan.choose import Cost

REMEMBERED = 20  # refreshes that still say something about the next one

Record = Mapping[str, Any]  # of one stratum in one refresh: views, strategy, seconds, changed


def cost_of(views: Sequence[str], history: Iterable[Sequence[Record]]) -> Cost:
    """Costs of the stratum with these views; `history` has the records of each refresh, oldest first."""
    mine = [record for records in list(history)[-REMEMBERED:] for record in records if record["views"] == list(views)]
    recomputed = [record["seconds"] for record in mine if record["strategy"] == "recompute"]
    maintained = [record for record in mine if record["strategy"] not in ("recompute", "skip") and record["changed"]]
    if not maintained:
        return Cost(recomputed=recomputed[-1] if recomputed else None)
    fixed = min(record["seconds"] for record in maintained)
    slopes = [(record["seconds"] - fixed) / record["changed"] for record in maintained]
    return Cost(sum(slopes) / len(slopes), fixed, recomputed[-1] if recomputed else None)
