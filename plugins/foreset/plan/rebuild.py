"""Which views have no old state to start from, and why: by their fingerprints alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from foreset.ir.hidden import called
from foreset.ir.strata import Layering

FIRST_LOAD = "first load"


EDITED = "edited"


def reedited(
    layering: Layering,
    before: Mapping[str, str],
    now: Mapping[str, str],
    moved: Collection[str],
    edited: Collection[str],
) -> dict[str, str]:
    """The reason for each view in `moved`, and for each whose own rules are others now; `edited` names the cause."""
    changed = {name for name, mark in now.items() if before.get(name) != mark} | set(moved)
    return {
        name: f"{EDITED}: corrections of {', '.join(f'`{view}`' for view in sorted(edited))} have changed"
        for stratum in layering.strata
        if changed.intersection(stratum.names)
        for name in stratum.names
    }


def rebuilt(layering: Layering, marks: Mapping[str, str], before: Mapping[str, str] | None) -> dict[str, str]:
    """The reason for each view that must be built anew; `before` has the fingerprints of the views committed last."""
    if before is None:
        return {name: FIRST_LOAD for stratum in layering.strata for name in stratum.names}
    reasons: dict[str, str] = {}
    changed: set[str] = set()
    for stratum in layering.strata:
        for name in stratum.names:
            if name not in before:
                reasons[name] = f"{FIRST_LOAD}: the view is new"
            elif before[name] != marks[name]:
                below = sorted(changed.intersection(stratum.reads))
                listed = ", ".join(dict.fromkeys(map(called, below)))
                reasons[name] = f"it reads {listed}, which changed" if below else "its definition has changed"
        changed |= {name for name in stratum.names if name in before and name in reasons}
    return reasons
