"""The steps of a procedure as a tree of lines.

The bodies of rules stand in the order in which they are joined where little has changed: it is asked of the code that
joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from foreset.explain.groups import held_by
from foreset.explain.notation import Columns, readable
from foreset.explain.strata import FEW, ROWS
from foreset.ir.aggregates import Aggregation, Upkeep
from foreset.ir.reads import named_by
from foreset.ir.rules import Rule
from foreset.ir.steps import (
    Aggregate,
    AssertCounts,
    Circles,
    Count,
    Derivation,
    Derive,
    Follow,
    Forget,
    Group,
    Merge,
    Pick,
    Procedure,
    Ref,
    Repeat,
    Spread,
    Standing,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.text import print_relation, print_rule
from foreset.ir.versions import VIRTUAL, Version
from foreset.machine.literals import listed

_STANDING = {
    Standing.APPEARED: "that had no derivation before and have one now",
    Standing.VANISHED: "that had a derivation before and have none now",
    Standing.UNFOUNDED: "without a derivation from outside the stratum",
    Standing.STANDING: "that have a derivation",
    Standing.GONE: "that have no derivation",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happens, and what it is made of."""

    kind: str
    text: str
    parts: tuple[Line, ...] = ()


def describe(procedure: Procedure, columns: Columns) -> tuple[Line, ...]:
    """One line per phase, its steps below it, and at the end what the names of states mean."""
    reader = _Reader(columns)
    phases = tuple(Line("phase", f"phase {p.name}", tuple(map(reader.step, p.steps))) for p in procedure.phases)
    meanings = tuple(_meanings(procedure))
    return (*phases, Line("states", "where", meanings)) if meanings else phases


def render(lines: Iterable[Line], depth: int = 0) -> Iterator[str]:
    """The tree as indented text."""
    for line in lines:
        yield "  " * depth + line.text
        yield from render(line.parts, depth + 1)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads steps, knowing the columns by which rules over wide relations are printed."""

    columns: Columns

    def step(self, step: Step) -> Line:  # noqa: C901, PLR0911, PLR0912 - one return for each step
        match step:
            case Derive(parts=parts):
                shown = tuple(self._derivation(part) for part in parts)
                return shown[0] if len(shown) == 1 else Line("derive", "at once", shown)
            case Merge(target=target, source=source):
                return Line("merge", f"{_ref(target)} += {_ref(source)}")
            case Subtract(target=target, source=source, less=less):
                return Line("subtract", f"{_ref(target)} := {' - '.join(map(_ref, (source, *less)))}")
            case Tally(parts=parts):
                return Line("tally", "count derivations", tuple(map(self._count, parts)))
            case Pick(target=target, source=source, standing=standing, without=without):
                rows = f"rows of {_ref(source)} {_STANDING[standing]}{_except(without)}"
                return Line("pick", f"{_ref(target)} := {rows}")
            case Forget(relation=relation):
                return Line("forget", f"start the counters of {relation} from zero")
            case AssertCounts(relation=relation):
                return Line("assert", f"check that no counter of {relation} is below zero")
            case Group(target=target, source=source, aggregation=aggregation):
                return Line("group", f"{_ref(target)} := {_row_of(aggregation)} of {_ref(source)}")
            case Aggregate(relation=relation, aggregation=aggregation):
                return Line("aggregate", f"fold the change of {aggregation.members} into {relation}", _folding(step))
            case Circles(target=target, source=source):
                return Line("circles", f"{_ref(target)} := what lies on a circle of {_ref(source)}")
            case Spread(base=base, needs=needs):
                along = [f"{_ref(Ref(base, v))} along {_ref(Ref(needs, v))}" for v in (Version.FULL, Version.OLD)]
                results = " and ".join(map(_ref, step.writes))
                return Line("spread", f"{results} := what spreads from {along[0]}, against {along[1]}")
            case Follow(target=target, source=source, links=links):
                rules = tuple(self._rule(link, target.version) for link in links)
                return Line("follow", f"{_ref(target)} := rows of {_ref(source)} that agree with a row of", rules)
            case Repeat(body=body, until_empty=until_empty):
                return Line("repeat", f"repeat until {_all_empty(until_empty)}", tuple(map(self.step, body)))
            case _:
                assert_never(step)

    def _derivation(self, part: Derivation) -> Line:
        if not part.rules:
            return Line("derive", f"{_ref(part.target)} := nothing")
        within = f" of {_ref(part.within)}" if part.within else ""
        without = f" not in {' or '.join(map(_ref, part.without))}" if part.without else ""
        rules = tuple(self._run(rule, part.target.version, part.within) for rule in part.rules)
        return Line("derive", f"{_ref(part.target)} := rows{within}{without} derived by", rules)

    def _count(self, part: Count) -> Line:
        sign = "+1" if part.sign > 0 else "-1"
        rules = tuple(self._run(rule, Version.CURRENT) for rule in part.rules)
        return Line("count", f"{sign} on the {part.counter} counter of {part.relation} for each way to have", rules)

    def _run(self, rule: Rule, version: Version, within: Ref | None = None) -> Line:
        return self._rule(replace(rule, body=listed(rule, _Typical(), within)), version)

    def _rule(self, rule: Rule, version: Version) -> Line:
        headed = replace(rule, head=replace(rule.head, version=version))
        return Line("rule", print_rule(readable(headed, self.columns)))


class _Typical:
    """Large relations, of which few rows have changed."""

    def count(self, ref: Ref) -> int:
        return ROWS if ref.version in _STATES else FEW

    def values(self, ref: Ref) -> Mapping[int, int]:  # noqa: ARG002 - as where nothing is known
        return {}

    def empty(self, ref: Ref) -> bool:  # noqa: ARG002 - or there would be nothing to explain
        return False

    empty_unopened = empty


_STATES = {Version.OLD, Version.FULL, *VIRTUAL}


def _row_of(aggregation: Aggregation) -> str:
    held = ", ".join(held_by(aggregation))
    return f"one row ({held}) for each group"


def _folding(step: Aggregate) -> tuple[Line, ...]:
    """What is read, accumulator by accumulator."""
    old, members = Ref(step.relation, Version.OLD), Ref(step.aggregation.members, Version.NEW)
    reads = {
        Upkeep.INVERTIBLE: f"from {_ref(old)} and the change",
        Upkeep.EXTREMUM: f"from {_ref(old)} and the change; of {_ref(members)} where it goes",
        Upkeep.ANEW: f"of {_ref(members)} in the groups that the change touches",
    }
    return tuple(
        Line("accumulator", f"{told}: {accumulator.upkeep}, {reads[accumulator.upkeep]}")
        for told, accumulator in zip(held_by(step.aggregation), step.aggregation.accumulators, strict=True)
    )


def _ref(ref: Ref) -> str:
    return print_relation(ref.relation, ref.version)


def _except(without: Iterable[Ref]) -> str:
    names = " and ".join(map(_ref, without))
    return f", except {names}" if names else ""


def _all_empty(refs: tuple[Ref, ...]) -> str:
    verb = "is" if len(refs) == 1 else "are"
    return f"{' and '.join(map(_ref, refs))} {verb} empty"


# ---------------------------------------------------------------- what states mean
_STORED = {
    Version.OLD: "the state before the refresh",
    Version.PLUS: "net insertions",
    Version.MINUS: "net deletions",
    Version.DEL: "deletions, over-estimated",
    Version.DEL_NEXT: "deletions found in this round",
    Version.RED: "deletions taken back, because another derivation stands",
    Version.RED_NEXT: "deletions taken back in this round",
    Version.INS: "insertions into what is left and taken back",
    Version.INS_NEXT: "insertions found in this round",
    Version.FULL: "the new state, built from nothing",
    Version.FULL_NEXT: "rows of it found in this round",
    Version.HELD: "touched rows that another derivation holds",
    Version.TOUCHED: "rows whose number of derivations the last count changed",
}


def _meanings(procedure: Procedure) -> Iterator[Line]:
    used = {ref.version for ref in named_by(procedure.steps)}
    for version in Version:
        if version in used and version in _STORED:
            yield Line("state", f"{version:<11} {_STORED[version]}")
        elif version in used and version in VIRTUAL:
            shape = VIRTUAL[version]
            text = " ".join((shape.base, *(f"- {v}" for v in shape.less), *(f"+ {v}" for v in shape.more)))
            yield Line("state", f"{version:<11} {text}")
