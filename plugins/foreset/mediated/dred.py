"""Extended DRed (Algorithm 1): over-delete, subtract, rederive. No supports and no duplicates, so it ends on cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from foreset.constraints.decide import covered, minus, satisfiable
from foreset.constraints.form import FALSE, Constraint, conjunction
from foreset.constraints.simplify import simplify
from foreset.errors import EvaluationError
from foreset.mediated.derive import derived
from foreset.mediated.fixpoint import USUAL, Limits
from foreset.mediated.pools import Pool, meetings
from foreset.mediated.program import Clause, Program, Region, without
from foreset.plan.giving_up import endless

ROUNDS_APART = 10  # who listens hears of every tenth round
Sets = Mapping[str, tuple[Constraint, ...]]  # per predicate: the union of what its constraints say
Pools = Mapping[str, Pool]


def fixpoint(program: Program, limits: Limits = USUAL) -> Sets:
    """The least fixpoint without duplicates: what others cover is not kept."""
    return _grow(program, {}, program.clauses, None, limits)


def delete(program: Program, view: Sets, region: Region) -> tuple[Program, Sets, Sets]:
    """P', the view after the deletion, and `P_OUT`, what had to be looked at again."""
    less = without(program, region)
    out = _over_deleted(program, view, region)
    left = {name: tuple(_remaining(parts, out.get(name, ()))) for name, parts in view.items()}
    touched = [clause for clause in less.clauses if clause.head.predicate in out]
    return less, _grow(less, left, touched, out), out


def _over_deleted(program: Program, view: Sets, region: Region) -> Sets:
    """The region, and all that is derived with exactly one atom of it, the others from the view."""
    whole, found = _pools(program, view), _pools(program, {})
    asked = Pool(program.columns[region.predicate]).extend([region.constraint])
    fresh = {region.predicate: _new(_both(view.get(region.predicate, ()), asked), found[region.predicate])}
    while any(fresh.values()):
        new = _pools(program, fresh)
        made: dict[str, list[Constraint]] = {}
        for clause in program.clauses:
            for choices in _around(clause, whole, new, whole):
                made.setdefault(clause.head.predicate, []).extend(_heads(program, clause, choices))
        fresh = {name: _new(parts, found[name]) for name, parts in made.items()}
    return _sets(found)


def _pools(program: Program, view: Sets) -> Pools:
    return {name: Pool(columns).extend(view.get(name, ())) for name, columns in program.columns.items()}


def _sets(pools: Pools) -> Sets:
    return {name: tuple(pool.parts) for name, pool in pools.items() if pool.parts}


def _both(parts: Iterable[Constraint], within: Pool) -> Iterator[Constraint]:
    """What `parts` and `within` say together, pair by pair."""
    return (simplify(conjunction(part, other)) for part in parts for other in within.overlapping(part))


def _new(parts: Iterable[Constraint], known: Pool) -> tuple[Constraint, ...]:
    """Those of `parts` that say something which neither `known` nor one before them says; they are put there."""
    kept: list[Constraint] = []
    for part in parts:
        if part != FALSE and not covered(part, known.overlapping(part)):
            kept.append(part)
            known.extend([part])
    return tuple(kept)


def _remaining(parts: Iterable[Constraint], out: tuple[Constraint, ...]) -> Iterator[Constraint]:
    for part in parts:
        left = simplify(minus(part, [o for o in out if satisfiable(conjunction(part, o))]))
        if satisfiable(left):
            yield left


def _heads(program: Program, clause: Clause, choices: Sequence[Pool]) -> Iterator[Constraint]:
    for numbers in meetings(clause, choices):
        yield derived(program, clause, [pool.parts[number] for pool, number in zip(choices, numbers, strict=True)])


def _grow(program: Program, view: Sets, clauses: Iterable[Clause], within: Sets | None, limits: Limits = USUAL) -> Sets:
    """What `clauses` derive from `view`, and what follows; only inside of `within`, where there is one."""
    rules, before, now = tuple(clauses), _pools(program, view), _pools(program, view)
    inside = None if within is None else _pools(program, within)
    fresh: Sets = {}
    for done in count():
        if done > limits.rounds:
            raise EvaluationError(*endless(sorted(name for name, parts in fresh.items() if parts), limits.rounds))
        new = _pools(program, fresh)
        made: dict[str, list[Constraint]] = {}
        for clause in rules:
            first = [[now[atom.predicate] for atom in clause.body]]
            for choices in _around(clause, before, new, now) if done else first:
                heads = _heads(program, clause, choices)
                kept = heads if inside is None else _both(heads, inside[clause.head.predicate])
                made.setdefault(clause.head.predicate, []).extend(kept)
        fresh = {name: _new(parts, now[name]) for name, parts in made.items()}
        if not any(fresh.values()):
            return _sets(now)
        for name, pool in before.items():
            pool.extend(new[name].parts)
        if done % ROUNDS_APART == 0:
            limits.told(sum(map(len, now.values())))
        if sum(map(len, now.values())) > limits.entries:
            fact = f"the view has more than {limits.entries:,} entries"
            raise EvaluationError(fact, "limit the variables of its recursion, for example `X <= 1000`")
    raise AssertionError("counting has no end")


def _around(clause: Clause, left: Pools, new: Pools, right: Pools) -> Iterator[list[Pool]]:
    """A new entry in each place of the body in turn, with entries of `left` and of `right` beside it."""
    for place in range(len(clause.body)):
        pools = (*[left] * place, new, *[right] * (len(clause.body) - place - 1))
        yield [version[atom.predicate] for version, atom in zip(pools, clause.body, strict=True)]
