"""What there is to say of each stratum, as data: facts, strategies, choices, maintenance rules.

Nothing is decided here: strategies are refused by `plan.translate`, chosen by `plan.choose`
(asked about typical nights), and their rules come from `maintain`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from foreset.explain.groups import base_reading, groups_rule
from foreset.explain.notation import readable
from foreset.ir.program import Program, View
from foreset.ir.rules import atoms
from foreset.ir.strata import Layering, Stratum
from foreset.ir.text import print_rule
from foreset.maintain.algorithm1 import maintenance_rules
from foreset.plan.choose import Situation, Size, choose
from foreset.plan.cost import DUCKDB
from foreset.plan.layout import laid_out
from foreset.plan.place import RULE, Place, wish
from foreset.plan.translate import COUNTED, MAINTAINING, keeps_counters, refusal, single_derivation

ROWS = 1_000_000  # of each relation that the stratum reads, on a typical night
FEW, MUCH = 1_000, 0.4
SMALL = "a small change"
UNCHANGED = Size(0, 0, ROWS)


class Counters(StrEnum):
    """Whether the number of derivations of each row is at hand."""

    KEPT = "kept"
    IMPLIED = "implied"  # no row can have two, so being there is the count
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a stratum admits a strategy, and when or why not."""

    strategy: str
    admitted: bool
    note: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What `auto` takes on one kind of night."""

    night: str
    strategy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Maintenance:
    """One maintenance rule in the notation of paper 000; `of` names the rule of the view that it is for."""

    label: str
    rule: str
    of: str


@dataclass(frozen=True, slots=True)
class ViewFacts:
    """One view: its rules as they run, and what maintains it."""

    name: str
    columns: dict[str, str]
    declared: str
    rules: dict[str, str]
    maintenance: tuple[Maintenance, ...]
    laid_out: tuple[str, ...] = ()  # the columns by whose values its rows are stored side by side, the first ones first
    description: str = ""
    meanings: dict[str, str] = field(default_factory=dict)  # of columns, where the spec says it
    hidden: bool = False  # no view of the spec: made to keep one


@dataclass(frozen=True, slots=True)
class StratumFacts:
    """One stratum."""

    number: int
    level: int
    views: tuple[ViewFacts, ...]
    reads: tuple[str, ...]
    depends_on: tuple[int, ...]
    recursive: bool
    monotone: bool
    cyclic: bool
    counters: Counters
    strategies: tuple[Admission, ...]
    auto: tuple[Taken, ...]
    groups: bool = False  # its only view holds groups
    engine: str = "auto"  # in process | spark | auto
    engine_reason: str = RULE
    ran: str = ""  # where it ran in the newest refresh, and why
    supports: bool = False  # each derivation is kept as a row
    base: str = ""  # of views that aggregate: whether a refresh reads what they are made of


def facts_of(program: Program, layering: Layering) -> tuple[StratumFacts, ...]:
    """The facts of every stratum of a program in normal form."""
    return tuple(_facts(program, layering, stratum) for stratum in layering.strata)


def _facts(program: Program, layering: Layering, stratum: Stratum) -> StratumFacts:
    where = _where(stratum)
    return StratumFacts(
        stratum.number,
        stratum.level,
        tuple(_view(program, layering, stratum, view) for view in stratum.views),
        stratum.reads,
        stratum.depends_on,
        stratum.recursive,
        stratum.monotone,
        stratum.cyclic,
        _counters(stratum),
        tuple(_admission(stratum, strategy) for strategy in _strategies(stratum)),
        tuple(_nights(stratum)),
        stratum.aggregation is not None,
        supports=stratum.supported,
        engine=where.engine,
        engine_reason=where.reason,
        base=base_reading(program, stratum.names[0]) if len(stratum.names) == 1 and not stratum.called else "",
    )


def _where(stratum: Stratum) -> Place:
    """Where it runs, as far as that is known before any table is looked at."""
    if stratum.called:
        return Place(DUCKDB, "the domain is asked here")
    if stratum.own_way:
        return Place(DUCKDB, "solvers and edits have no other place")
    return wish(stratum.engine).place or Place("auto", RULE)


def _strategies(stratum: Stratum) -> tuple[str, ...]:
    if stratum.called:
        return ("ask",)
    return ("aggregate", "recompute") if stratum.aggregation else (*MAINTAINING, "recompute")


def _view(program: Program, layering: Layering, stratum: Stratum, view: View) -> ViewFacts:
    columns = program.columns_of()
    own_way = view.aggregation or view.called or view.constrained  # kept otherwise than by Algorithm 1
    found = () if own_way else maintenance_rules(view, stratum, columns)
    return ViewFacts(
        view.name,
        {column.name: str(column.type) for column in view.columns},
        view.strategy,
        {
            rule.name: groups_rule(view) if view.aggregation else print_rule(readable(rule, columns))
            for rule in view.rules
        },
        tuple(
            Maintenance(one.label, print_rule(readable(one.rule, columns), "paper"), one.origin.name) for one in found
        ),
        tuple(view.columns[place].name for place in laid_out(view.name, layering)),
        view.description,
        {column.name: column.description for column in view.columns if column.description},
        view.hidden,
    )


def _admission(stratum: Stratum, strategy: str) -> Admission:
    problem = refusal(stratum, strategy)
    if problem:
        return Admission(strategy, False, problem)
    if strategy == "insert":
        return Admission(strategy, True, _when_insert(stratum))
    builds = strategy in COUNTED and _counters(stratum) is Counters.NONE
    return Admission(strategy, True, "if declared; a recompute builds its counters first" if builds else "")


def _when_insert(stratum: Stratum) -> str:
    found = [pair for view in stratum.views for rule in view.rules for pair in atoms(rule)]
    plain = sorted({atom.relation for atom, negated in found if not negated and atom.relation in stratum.reads})
    negated = sorted({atom.relation for atom, negated in found if negated})
    return "on nights when " + " and ".join(filter(None, (_none(plain, "loses"), _none(negated, "gains"))))


def _none(names: list[str], verb: str) -> str:
    if len(names) > 1:
        return f"none of {', '.join(names)} {verb} a row"
    return f"{names[0]} {verb} no row" if names else ""


def _nights(stratum: Stratum) -> Iterator[Taken]:
    """Ask the choice itself about typical nights."""
    if stratum.called:
        choice = choose(stratum, Situation({}))
        yield Taken("every night", choice.strategy, choice.reason)
        return
    first = choose(stratum, Situation(_sizes(stratum), "first load"))
    yield Taken("first load", first.strategy, first.reason)
    grows, shrinks = _read(stratum)
    most = int(MUCH * ROWS * len(stratum.reads))
    nights = [("nothing changed", _sizes(stratum))]
    nights += [(f"insertions into {name}", _sizes(stratum, name, Size(FEW, 0, ROWS))) for name in (*grows, *shrinks)]
    nights += [(SMALL, _sizes(stratum, name, Size(FEW, FEW, ROWS))) for name in (*grows, *shrinks)[:1]]
    nights += [("a large change", _sizes(stratum, name, Size(most, 0, ROWS))) for name in (*grows, *shrinks)[:1]]
    counters = _counters(stratum) is not Counters.NONE
    for night, sizes in nights:
        choice = choose(stratum, Situation(sizes, counters=counters))
        yield Taken(night, choice.strategy, choice.reason)


def _counters(stratum: Stratum) -> Counters:
    if single_derivation(stratum) or stratum.aggregation:
        return Counters.IMPLIED
    return Counters.KEPT if keeps_counters(stratum) else Counters.NONE


def _read(stratum: Stratum) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A relation that it reads plainly, and one under `not`: what insertions do differs between them."""
    found = [pair for view in stratum.views for rule in view.rules for pair in atoms(rule)]
    negated = {atom.relation: None for atom, no in found if no}
    plain = {atom.relation: None for atom, no in found if not no and atom.relation in stratum.reads}
    return tuple(name for name in plain if name not in negated)[:1], tuple(negated)[:1]


def _sizes(stratum: Stratum, name: str = "", changed: Size = UNCHANGED) -> dict[str, Size]:
    return {read: changed if read == name else UNCHANGED for read in stratum.reads}
