"""The strata of a group, or those of one view with what it is kept by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.explain.plainly import for_people
from foreset.explain.strata import StratumFacts, facts_of
from foreset.explain.text import overview, stratum_text
from foreset.ir.program import Program, is_hidden
from foreset.ir.strata import Layering


def strata_of(program: Program, layering: Layering, view: str = "") -> tuple[StratumFacts, ...]:
    """Their facts; `UsageError` where there is no such view."""
    strata = facts_of(program, layering)
    if not view:
        return strata
    names = [each.name for stratum in strata for each in stratum.views]
    wanted = {view, *(program.auxiliaries[view] if view in names else ())}  # and what it is kept by
    if view not in names:
        names = [name for name in names if not is_hidden(name)]
        hint = did_you_mean(view, names, f"its views: {', '.join(names)}")
        raise UsageError(f"there is no view `{view}` in group {program.group}", hint)
    return tuple(stratum for stratum in strata if wanted & {each.name for each in stratum.views})


def with_past(strata: tuple[StratumFacts, ...], ran: Mapping[str, str]) -> tuple[StratumFacts, ...]:
    """The same, with where each stratum ran in the newest refresh; `ran` says it by view."""
    return tuple(replace(stratum, ran=ran.get(stratum.views[0].name, "")) for stratum in strata)


def explained(program: Program, layering: Layering, view: str, ran: Mapping[str, str]) -> list[str]:
    """What `foreset explain` prints, line by line; `ran` as for `with_past`."""
    strata = for_people(with_past(strata_of(program, layering, view), ran), program)
    lines = [] if view else [*overview(program.group, strata), ""]
    for stratum in strata:
        lines += [*stratum_text(stratum), ""]
    return lines[:-1]
