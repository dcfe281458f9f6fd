"""Extended DRed (Algorithm 1): over-delete, subtract, rederive. No supports and no duplicates, so it ends on cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from foreset.constraints.decide import covered, minus, satisfiable
from foreset.constraints.form import FALSE, Constraint, conjunction
from foreset.constraints.simplify import simplify
from foreset.errors import EvaluationError
from foreset.mediated.derive import derived
from foreset.mediated.fixpoint import MAX_ENTRIES
from foreset.mediated.program import Clause, Program, Region, without

Sets = Mapping[str, tuple[Constraint, ...]]  # per predicate: the union of what its constraints say


def fixpoint(program: Program, limit: int = MAX_ENTRIES) -> Sets:
    """The least fixpoint without duplicates: what others cover is not kept."""
    return _grow(program, {}, program.clauses, None, limit)


def delete(program: Program, view: Sets, region: Region) -> tuple[Program, Sets, Sets]:
    """P', the view after the deletion, and `P_OUT`, what had to be looked at again."""
    less = without(program, region)
    out = _over_deleted(program, view, region)
    left = {name: tuple(_remaining(parts, out.get(name, ()))) for name, parts in view.items()}
    touched = [clause for clause in less.clauses if clause.head.predicate in out]
    return less, _grow(less, left, touched, out), out


def _over_deleted(program: Program, view: Sets, region: Region) -> Sets:
    """The region, and all that is derived with exactly one atom of it, the others from the view."""
    found: dict[str, tuple[Constraint, ...]] = {}
    fresh = {region.predicate: _new(_both(view.get(region.predicate, ()), (region.constraint,)), ())}
    while any(fresh.values()):
        for name, parts in fresh.items():
            found[name] = (*found.get(name, ()), *parts)
        made: dict[str, list[Constraint]] = {}
        for clause in program.clauses:
            for place, atom in enumerate(clause.body):
                choices = [view.get(other.predicate, ()) for other in clause.body]
                choices[place] = fresh.get(atom.predicate, ())
                made.setdefault(clause.head.predicate, []).extend(_heads(program, clause, choices))
        fresh = {name: _new(parts, found.get(name, ())) for name, parts in made.items()}
    return found


def _both(left: Iterable[Constraint], right: Iterable[Constraint]) -> Iterator[Constraint]:
    return (simplify(conjunction(a, b)) for a, b in product(left, right))


def _new(parts: Iterable[Constraint], known: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Those of `parts` that say something which neither `known` nor one before them says."""
    kept: list[Constraint] = []
    for part in parts:
        if part != FALSE and not covered(part, (*known, *kept)):
            kept.append(part)
    return tuple(kept)


def _remaining(parts: Iterable[Constraint], out: tuple[Constraint, ...]) -> Iterator[Constraint]:
    for part in parts:
        left = simplify(minus(part, [o for o in out if satisfiable(conjunction(part, o))]))
        if satisfiable(left):
            yield left


def _heads(program: Program, clause: Clause, choices: list[tuple[Constraint, ...]]) -> Iterator[Constraint]:
    return (derived(program, clause, children) for children in product(*choices))


def _grow(
    program: Program, view: Sets, clauses: Iterable[Clause], within: Sets | None, limit: int = MAX_ENTRIES
) -> Sets:
    """What `clauses` derive from `view`, and what follows; only inside of `within`, where there is one."""
    now = dict(view)
    first, rules = True, tuple(clauses)
    fresh: Sets = {}
    while first or any(fresh.values()):
        made: dict[str, list[Constraint]] = {}
        for clause in rules:
            for choices in _choices(clause, now, fresh, first=first):
                heads = _heads(program, clause, choices)
                inside = heads if within is None else _both(heads, within[clause.head.predicate])
                made.setdefault(clause.head.predicate, []).extend(inside)
        fresh = {name: _new(parts, now.get(name, ())) for name, parts in made.items()}
        now = {**now, **{name: (*now.get(name, ()), *parts) for name, parts in fresh.items()}}
        first = False
        if sum(map(len, now.values())) > limit:
            raise EvaluationError(f"the view has more than {limit:,} entries", "bound the variables of its recursion")
    return now


def _choices(clause: Clause, now: Sets, fresh: Sets, *, first: bool) -> Iterator[list[tuple[Constraint, ...]]]:
    whole = [now.get(atom.predicate, ()) for atom in clause.body]
    if first:
        yield whole
        return
    for place, atom in enumerate(clause.body):
        yield [*whole[:place], fresh.get(atom.predicate, ()), *whole[place + 1 :]]
