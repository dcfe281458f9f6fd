"""Updates of the view itself, by supports: StDel (Algorithm 2) and constrained insertion (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from foreset.constraints.decide import minus, satisfiable
from foreset.constraints.form import FALSE, Constraint, conjunction
from foreset.constraints.simplify import simplify
from foreset.mediated.derive import derived
from foreset.mediated.entries import Entry, Support, View
from foreset.mediated.fixpoint import Solvable, extend, w_p
from foreset.mediated.program import Program, Region, asserting, without


@dataclass(frozen=True, slots=True)
class Updated:
    """The program after an update, its view, and what came or went: per derivation, as `P_OUT` of the paper."""

    program: Program
    view: View
    changed: tuple[Entry, ...]


def to_delete(view: View, region: Region) -> tuple[Constraint, ...]:
    """Del: the part of `region` that is in the view, entry by entry."""
    parts = (simplify(conjunction(region.constraint, said)) for said in view.constraints(region.predicate))
    return tuple(dict.fromkeys(part for part in parts if satisfiable(part)))


def to_add(view: View, region: Region) -> Constraint:
    """Add: the part of `region` that is not in the view yet."""
    return simplify(minus(region.constraint, view.constraints(region.predicate)))


def delete(program: Program, view: View, region: Region, solvable: Solvable = w_p) -> Updated:
    """StDel: entries that `region` touches, and those that stand on a changed one, are said anew.

    Each by its own support: its clause, and its children as they are now. Nothing is searched for and nothing
    rederived; children come before parents, so each is looked at once.
    """
    less = without(program, region)
    parents = _parents(view)
    now: dict[Support, Entry] = dict(view.entries)
    out: list[Entry] = []
    heap: list[tuple[int, str, Support]] = []
    queued: set[Support] = set()

    def put(support: Support) -> None:
        if support not in queued:
            queued.add(support)
            heappush(heap, (support.height, support.name, support))

    for entry in view.of(region.predicate):
        if satisfiable(conjunction(entry.constraint, region.constraint)):
            put(entry.support)
    while heap:
        support = heappop(heap)[2]
        old = now[support]
        said = derived(less, less.clause(support.clause), [now[child].constraint for child in support.children])
        said = said if said == old.constraint or solvable(said) else FALSE
        gone = old.constraint if said == FALSE else minus(old.constraint, (said,))
        if said != old.constraint and satisfiable(gone):
            now[support] = Entry(old.predicate, said, support)
            out.append(Entry(old.predicate, simplify(gone), support))
            for parent in parents.get(support, ()):
                put(parent)
    kept = {support: entry for support, entry in now.items() if entry.constraint != FALSE}
    return Updated(less, View(kept), tuple(out))


def _parents(view: View) -> Mapping[Support, list[Support]]:
    found: dict[Support, list[Support]] = {}
    for support in view.entries:
        for child in dict.fromkeys(support.children):
            found.setdefault(child, []).append(support)
    return found


def insert(program: Program, view: View, region: Region, solvable: Solvable = w_p) -> Updated:
    """Constrained insertion: the region as a clause, and what follows with at least one new entry in the body."""
    more = asserting(program, region)
    clause = more.clauses[-1]
    fact = Entry(region.predicate, derived(more, clause, ()), Support(clause.number))
    after = extend(more, view, (fact,), solvable)
    return Updated(more, after, tuple(entry for entry in after if entry.support not in view.entries))
