"""Which strata no change can reach: that is known as soon as sources are captured, before any stratum is at work."""

from __future__ import annotations

from collections.abc import Iterable, Set

from foreset.ir.strata import Stratum


def unreached(strata: Iterable[Stratum], still: Set[str], anew: Set[str]) -> tuple[Stratum, ...]:
    """The strata that read only what is `still`, are not built `anew`, and ask nobody; `strata` in their order."""
    found, quiet = list[Stratum](), set(still)
    for stratum in strata:
        asks = stratum.called or stratum.asks  # only domains know whether they have news
        if not asks and quiet.issuperset(stratum.reads) and anew.isdisjoint(stratum.names):
            found.append(stratum)
            quiet.update(stratum.names)
    return tuple(found)
