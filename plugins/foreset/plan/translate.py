"""From a stratum and the name of a strategy to its procedure; which strategies a stratum admits."""

from __future__ import annotations

import functools

from foreset.analyse.derivations import tells_apart
from foreset.ir.steps import Procedure
from foreset.ir.strata import Stratum
from foreset.ir.supports import footing
from foreset.maintain.aggregate import aggregate, regroup
from foreset.maintain.carried import carrying
from foreset.maintain.counting import counting
from foreset.maintain.dred import dred
from foreset.maintain.dredc import dredc
from foreset.maintain.dredf import dredf
from foreset.maintain.insert import insert
from foreset.maintain.recompute import recompute
from foreset.maintain.shield import shield_of
from foreset.maintain.spread import spread
from foreset.maintain.stdel import stdel

_TRANSLATIONS = {
    "insert": insert,
    "counting": counting,
    "dred": dred,
    "dredf": dredf,
    "dredc": dredc,
    "spread": spread,
    "stdel": stdel,
}
MAINTAINING = tuple(_TRANSLATIONS)
COUNTED = ("counting", "dredc")  # strategies that need stored counters, and keep them
REMEMBERED = 256  # strata with a strategy: a process refreshes by the same spec again and again


@functools.lru_cache(REMEMBERED)
def translate(stratum: Stratum, strategy: str, *, counted: bool = False) -> Procedure:
    """The steps by which `strategy` brings `stratum` up to date; `counted`: a recompute builds counters too."""
    match strategy:
        case "skip":
            return Procedure("skip", stratum.names, ())
        case _ if strategy in _TRANSLATIONS:
            return _TRANSLATIONS[strategy](stratum)
        case "recompute":
            if stratum.aggregation:
                return regroup(stratum)
            return recompute(stratum, counted=counted, single=single_derivation(stratum))
        case "aggregate":
            return aggregate(stratum)
        case _:
            raise ValueError(f"no strategy is called {strategy}")


@functools.lru_cache(REMEMBERED)
def refusal(stratum: Stratum, strategy: str) -> str:
    """Why `stratum` does not admit `strategy`, whatever the change; empty when it does."""
    if stratum.own_way:
        return "" if strategy == stratum.own_way else "it holds constraints, or what a domain answers"
    if stratum.aggregation and strategy not in ("aggregate", "recompute"):
        return "it holds groups, which only `aggregate` maintains"
    if strategy == "aggregate" and not stratum.aggregation:
        return "it holds no groups"
    if strategy == "counting" and stratum.recursive:
        return "in a recursive view a row may help to derive itself, so its count could stay above zero"
    if strategy in ("counting", "dredf", "spread") and stratum.supported:
        return "it keeps each derivation as a row, which only `stdel` uses"
    return _CONDITIONS[strategy](stratum) if strategy in _CONDITIONS else ""


def _no_key(stratum: Stratum) -> str:
    """Why recursion cannot be seen in keys."""
    if shield_of(stratum) is None:
        return "it needs one recursive view with a column that other relations bind in each recursive rule"
    return ""


def _not_carrying(stratum: Stratum) -> str:
    """Why rows do not spread from key to key."""
    found = carrying(stratum)
    return found if isinstance(found, str) else ""


def _unsupported(stratum: Stratum) -> str:
    """Why deletions cannot follow supports."""
    if stratum.cyclic and shield_of(stratum) is None:
        return "a row may help to derive itself, and no column shows where"
    if stratum.blurred:
        return "it cannot tell two rows apart: a variable has a wider type than a column that it reads"
    if footing(stratum) is None:
        declared = "stdel-acyclic" if stratum.cyclic else "stdel"
        return f"its derivations are kept only where the view declares `strategy: {declared}`"
    return ""


_CONDITIONS = {"dredf": _no_key, "spread": _not_carrying, "stdel": _unsupported}


@functools.lru_cache(REMEMBERED)
def single_derivation(stratum: Stratum) -> bool:
    """No row of the stratum can ever have two derivations: then presence is the count.

    So it is with one rule, not recursive, whose head says which rows below it was derived from.
    """
    if stratum.loops or stratum.blurred or stratum.aggregation or stratum.own_way or len(stratum.views[0].rules) != 1:
        return False
    return tells_apart(stratum.views[0].rules[0], stratum.keys)


@functools.lru_cache(REMEMBERED)
def keeps_counters(stratum: Stratum) -> bool:
    """Whether refreshes store counters for the stratum: where counting is the strategy of choice, or asked for."""
    declared = stratum.views[0].strategy
    if stratum.aggregation or stratum.own_way:
        return False  # the first accumulator counts, and answers have no derivations
    if declared in COUNTED:
        return not (declared == "counting" and single_derivation(stratum))
    return declared in ("auto", "incremental", "strict") and not stratum.recursive and not single_derivation(stratum)


@functools.lru_cache(REMEMBERED)
def counts_itself(stratum: Stratum) -> bool:
    """Whether counting needs no stored counters: the change of a row says what there was of it."""
    return single_derivation(stratum) and not keeps_counters(stratum)
