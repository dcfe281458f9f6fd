"""What steps read that was there before them, and what they write: so that a later task can be given just that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from foreset.ir.aggregates import Upkeep
from foreset.ir.rules import Rule, atoms, literal_variables
from foreset.ir.steps import (
    Aggregate,
    AssertCounts,
    Circles,
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
    Step,
    Subtract,
    Tally,
)
from foreset.ir.terms import Var
from foreset.ir.versions import VIRTUAL, Version

_CHANGES = (Version.PLUS, Version.MINUS)


def handed_over(procedure: Procedure) -> tuple[Ref, ...]:
    """The stored versions that the last phase reads and the phases before it have written, sorted."""
    *before, last = procedure.phases
    written = {ref for phase in before for step in phase.steps for ref in written_by(step)}
    return tuple(sorted(written & awaited(last.steps)))


def awaited(steps: Iterable[Step]) -> frozenset[Ref]:
    """The stored versions that `steps` read before they assign them."""
    return frozenset(_awaited(steps, set()))


def read_by(steps: Sequence[Step]) -> frozenset[Ref]:
    """The versions that `steps` name, virtual ones as they stand."""
    inner = (read_by(step.body) for step in steps if isinstance(step, Repeat))
    return frozenset(ref for step in steps for ref in _read(step)).union(*inner)


def named_by(steps: Iterable[Step]) -> Iterator[Ref]:
    """The versions that `steps` read or assign, virtual ones as they stand."""
    for step in steps:
        yield from (*_read(step), *written_by(step))
        if isinstance(step, Repeat):
            yield from named_by(step.body)


def places_read(steps: Iterable[Step], relation: str) -> frozenset[int] | None:
    """The columns of a lower relation of which rules say anything; None where a step takes its rows as they are."""
    found: set[int] = set()
    for step in steps:
        inner: frozenset[int] | None = frozenset()
        match step:
            case Repeat(body=body):
                inner = places_read(body, relation)
            case Derive(parts=parts):
                bounds = [ref for part in parts for ref in ((part.within,) if part.within else ()) + part.without]
                named = any(ref.relation == relation for ref in bounds)
                inner = None if named else places_named(relation, (rule for part in parts for rule in part.rules))
            case Tally(parts=counts):
                inner = places_named(relation, (rule for count in counts for rule in count.rules))
            case _ if any(ref.relation == relation for ref in _read(step)):
                inner = None
        if inner is None:
            return None
        found |= inner
    return frozenset(found)


def places_named(relation: str, rules: Iterable[Rule]) -> frozenset[int]:
    """The columns in which an atom has a constant, or a variable that the rule has elsewhere too."""
    found: set[int] = set()
    for rule in rules:
        used = Counter(var.name for literal in (rule.head, *rule.body) for var in literal_variables(literal))
        for atom, _ in atoms(rule):
            if atom.relation == relation:
                found |= {i for i, arg in enumerate(atom.args) if not isinstance(arg, Var) or used[arg.name] > 1}
    return frozenset(found)


def _awaited(steps: Iterable[Step], assigned: set[Ref]) -> set[Ref]:
    found: set[Ref] = set()
    for step in steps:
        found |= {stored for ref in _read(step) for stored in _stored(ref)} - assigned
        if isinstance(step, Repeat):  # its body may run not at all, so what it assigns is not sure
            found |= _awaited(step.body, set(assigned))
        else:
            assigned |= set(written_by(step))
    return found


def _read(step: Step) -> Iterator[Ref]:  # noqa: C901, PLR0912 - one case for each step
    match step:
        case Derive(parts=parts):
            for part in parts:
                yield from _in_rules(part.rules)
                yield from (*((part.within,) if part.within else ()), *part.without)
        case Tally(parts=counts):
            for count in counts:
                yield from _in_rules(count.rules)
        case Merge(target=target, source=source):
            yield from (target, source)
        case Subtract(source=source, less=less):
            yield from (source, *less)
        case Pick(source=source, without=without):
            yield from (source, *without)
        case Circles(source=source) | Group(source=source):
            yield source
        case Aggregate(relation=relation, aggregation=aggregation):
            yield from (Ref(relation, Version.OLD), *(Ref(aggregation.members, version) for version in _CHANGES))
            if aggregation.upkeep is not Upkeep.INVERTIBLE:
                yield Ref(aggregation.members, Version.NEW)
        case Spread():
            yield from step.reads
        case Follow(source=source, links=links):
            yield from (source, *_in_rules(links))
        case Repeat(until_empty=until_empty):
            yield from until_empty
        case Forget() | AssertCounts():
            return
        case _:
            assert_never(step)


def written_by(step: Step) -> Iterator[Ref]:
    """The versions that a step assigns, those of a loop's body included."""
    match step:
        case Derive(parts=parts):
            yield from (part.target for part in parts)
        case Tally(parts=counts):
            yield from (Ref(count.relation, Version.TOUCHED) for count in counts)
        case (
            Merge(target=target)
            | Subtract(target=target)
            | Pick(target=target)
            | Circles(target=target)
            | Follow(target=target)
            | Group(target=target)
        ):
            yield target
        case Aggregate(relation=relation):
            yield from (Ref(relation, version) for version in _CHANGES)
        case Spread():
            yield from step.writes
        case Repeat(body=body):
            yield from (ref for inner in body for ref in written_by(inner))
        case Forget() | AssertCounts():
            return
        case _:
            assert_never(step)


def _in_rules(rules: Iterable[Rule]) -> Iterator[Ref]:
    return (Ref(atom.relation, atom.version) for rule in rules for atom, _ in atoms(rule))


def _stored(ref: Ref) -> Iterator[Ref]:
    """The stored versions of which `ref` is made."""
    shape = VIRTUAL.get(ref.version)
    versions = (ref.version,) if shape is None else (shape.base, *shape.less, *shape.more)
    return (Ref(ref.relation, version) for version in versions)
