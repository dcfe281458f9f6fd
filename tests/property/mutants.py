"""Planted bugs: procedures with one step, one version, one sign or one rule wrong, wherever it occurs.

A bug is planted as a slip in `maintain/` would be: not in one procedure, but in every
procedure that the strategy gives. So a place is named by the role it plays (the strategy,
the phase, inside a loop or before it, the step and its target, and for atoms the version read
and on what side), and one mutant changes all places of one role in one way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from foreset.ir.rules import Atom, Literal, Negation, Rule
from foreset.ir.steps import (
    AssertCounts,
    Circles,
    Count,
    Counter,
    Derivation,
    Derive,
    Forget,
    Merge,
    Phase,
    Pick,
    Procedure,
    Repeat,
    Spread,
    Standing,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.versions import Version

Role = tuple[str, ...]
SWAPS = {  # what someone could take one version for
    Version.OLD: (Version.NEW, Version.KEPT), Version.NEW: (Version.OLD, Version.KEPT),
    Version.KEPT: (Version.OLD, Version.NEW), Version.EVER: (Version.OLD, Version.NEW),
    Version.LEFT: (Version.OLD, Version.LIVE), Version.LEFT_BEFORE: (Version.LEFT,),
    Version.LIVE: (Version.LEFT, Version.OLD, Version.LIVE_AFTER), Version.LIVE_AFTER: (Version.LIVE,),
    Version.PLUS: (Version.MINUS,), Version.MINUS: (Version.PLUS,),
    Version.DEL_NEXT: (Version.DEL,), Version.INS_NEXT: (Version.INS,), Version.RED_NEXT: (Version.RED,),
    Version.FULL_NEXT: (Version.FULL,), Version.FULL: (Version.OLD, Version.FULL_NEXT),
    Version.CURRENT: (), Version.DEL: (), Version.INS: (), Version.RED: (), Version.TOUCHED: (),
}  # fmt: skip
STANDINGS = {
    Standing.APPEARED: Standing.STANDING, Standing.VANISHED: Standing.UNFOUNDED,
    Standing.UNFOUNDED: Standing.GONE, Standing.STANDING: Standing.APPEARED, Standing.GONE: Standing.UNFOUNDED,
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """What is done to all places of a role."""

    role: Role
    change: str

    def __str__(self) -> str:
        return f"{' / '.join(self.role)}: {self.change}"


@dataclass(slots=True)
class Planter:
    """Walks a procedure; collects the mutants that it has room for, or plants one."""

    planted: Mutant | None = None
    found: dict[Mutant, None] | None = None
    hits: int = 0

    def procedure(self, one: Procedure) -> Procedure:
        """`one` with the bug, if it has the role."""
        own = frozenset(one.views)
        phases = tuple(Phase(p.name, tuple(self._steps(p.steps, (one.strategy, p.name), own))) for p in one.phases)
        return replace(one, phases=phases)

    def _is(self, role: Role, change: str) -> bool:
        mutant = Mutant(role, change)
        if self.found is not None:
            self.found[mutant] = None
        if mutant == self.planted:
            self.hits += 1
            return True
        return False

    def _steps(self, steps: tuple[Step, ...], where: Role, own: frozenset[str]) -> Iterator[Step]:
        for step in steps:
            role = (*where, _name(step, own))
            if isinstance(step, Repeat):
                body = tuple(self._steps(step.body, (*where, "loop"), own))
                if self._is(role, "only one round"):
                    yield from body
                else:
                    yield replace(step, body=body)
            elif not self._is(role, "dropped"):
                yield self._step(step, role, own)

    def _step(self, step: Step, role: Role, own: frozenset[str]) -> Step:
        match step:
            case Derive(parts=parts):
                return Derive(tuple(self._derivation(part, role, own) for part in parts))
            case Tally(parts=parts):
                return Tally(tuple(self._count(part, role, own) for part in parts))
            case Subtract(less=less) if less:
                kept = tuple(ref for ref in less if not self._is((*role, f"less {ref.version}"), "not subtracted"))
                return replace(step, less=kept)
            case Pick(standing=standing):
                if self._is((*role, str(standing)), f"as {STANDINGS[standing]}"):
                    step = replace(step, standing=STANDINGS[standing])
                if step.without and self._is(role, "without forgotten"):
                    step = replace(step, without=())
                return step
            case _:
                return step

    def _derivation(self, part: Derivation, role: Role, own: frozenset[str]) -> Derivation:
        role = (*role, "helper" if part.target.version is Version.CURRENT else str(part.target.version))
        if part.without and self._is(role, "without forgotten"):
            part = replace(part, without=())
        if part.within and self._is(role, "within forgotten"):
            part = replace(part, within=None)
        return replace(part, rules=tuple(self._rules(part.rules, role, own)))

    def _count(self, part: Count, role: Role, own: frozenset[str]) -> Count:
        role = (*role, str(part.counter))
        if self._is(role, "sign turned"):
            part = replace(part, sign=-part.sign)
        if self._is(role, "other counter"):
            part = replace(part, counter=Counter.RECURSIVE if part.counter is Counter.BASE else Counter.BASE)
        return replace(part, rules=tuple(self._rules(part.rules, role, own)))

    def _rules(self, rules: tuple[Rule, ...], role: Role, own: frozenset[str]) -> Iterator[Rule]:
        for place, rule in enumerate(rules):
            if place == len(rules) - 1 and len(rules) > 1 and self._is(role, "last rule forgotten"):
                continue
            if place == 0 and len(rules) > 1 and self._is(role, "first rule forgotten"):
                continue
            kinds = [_kind(literal, own) for literal in rule.body]
            if "negated" in kinds and self._is(role, "rules with negation forgotten"):
                continue
            yield replace(rule, body=tuple(self._body(rule, role, own)))

    def _body(self, rule: Rule, role: Role, own: frozenset[str]) -> Iterator[Literal]:
        started = False  # beyond the atom that reads a change
        for literal in rule.body:
            atom = literal.atom if isinstance(literal, Negation) else literal
            if not isinstance(atom, Atom):
                yield literal
                continue
            side = "after" if started else "before"
            place = (*role, f"{_kind(literal, own)} {atom.version} {side}")
            started = started or atom.version in _CHANGES
            for other in SWAPS[atom.version]:
                if self._is(place, f"reads {other}"):
                    atom = replace(atom, version=other)
                    break
            yield replace(literal, atom=atom) if isinstance(literal, Negation) else atom


_CHANGES = (Version.PLUS, Version.MINUS, Version.DEL_NEXT, Version.INS_NEXT, Version.RED_NEXT, Version.FULL_NEXT)


def _kind(literal: Literal, own: frozenset[str]) -> str:
    match literal:
        case Negation():
            return "negated"
        case Atom(relation=relation):
            return "own" if relation in own else "lower"
        case _:
            return "condition"


def _name(step: Step, own: frozenset[str]) -> str:
    match step:
        case Derive(parts=parts):
            helper = bool(parts) and parts[0].target.relation not in own
            return "derive helpers" if helper else f"derive {parts[0].target.version}" if parts else "derive"
        case Merge(target=target, source=source):
            return f"merge {source.version} into {target.version}"
        case Subtract(target=target, source=source):
            return f"{target.version} from {source.version}"
        case Tally(parts=parts):
            return f"tally {'+' if parts[0].sign > 0 else '-'}" if parts else "tally nothing"
        case Pick(target=target, source=source):
            return f"pick {target.version} from {source.version}"
        case _:
            return _PLAIN[type(step)]


_PLAIN: dict[type[Step], str] = {
    Forget: "forget", AssertCounts: "assert counts", Circles: "circles", Spread: "spread", Repeat: "repeat",
}  # fmt: skip


def planting(mutant: Mutant, translate: Callable[..., Procedure]) -> Callable[..., Procedure]:
    """A translator whose procedures have the bug."""
    return lambda stratum, strategy, counted: Planter(mutant).procedure(translate(stratum, strategy, counted))


def places(procedure: Procedure) -> Iterator[Mutant]:
    """Every mutant that `procedure` has room for."""
    planter = Planter(found={})
    planter.procedure(procedure)
    assert planter.found is not None
    yield from planter.found
