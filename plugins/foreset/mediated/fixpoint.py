"""`T_P` and `W_P`: one entry per derivation, round by round, until no clause gives another.

The two differ in what they ask before they keep an entry: whether it has an instance by the answers of
now (`T_P`), or whether any answers could give it one (`W_P`), so that no answer is ever asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from foreset.constraints.calls import Answers, resolve
from foreset.constraints.decide import satisfiable
from foreset.constraints.form import Constraint
from foreset.errors import EvaluationError
from foreset.ir.program import DEFAULT_MAX_ROUNDS
from foreset.mediated.derive import derived
from foreset.mediated.entries import Entry, Support, View
from foreset.mediated.pools import Pool, meetings
from foreset.mediated.program import Clause, Program

MAX_ENTRIES = 100_000
ENTRIES_APART = 1000  # who listens hears of every thousandth entry


@dataclass(frozen=True, slots=True)
class Limits:
    """When a fixpoint is given up, and who hears how many entries there are by then."""

    entries: int = MAX_ENTRIES
    rounds: int = DEFAULT_MAX_ROUNDS
    told: Callable[[int], None] = field(default=lambda _entries: None)


USUAL = Limits()
Solvable = Callable[[Constraint], bool]


def w_p(part: Constraint) -> bool:
    """Some answers could give `part` an instance. Also what `T_P` asks where no domain is called."""
    return satisfiable(part)


def t_p(answers: Answers) -> Solvable:
    """`part` has an instance by `answers`."""
    return lambda part: any(map(satisfiable, resolve(part, answers)))


def materialise(program: Program, solvable: Solvable = w_p, limits: Limits = USUAL) -> View:
    """The least fixpoint, every derivation once."""
    facts = (_entry(program, clause, ()) for clause in program.clauses if not clause.body)
    return extend(program, View(), facts, solvable, limits)


def extend(
    program: Program, view: View, new: Iterable[Entry], solvable: Solvable = w_p, limits: Limits = USUAL
) -> View:
    """`view`, a fixpoint of `program` until `new` came, with all that follows from `new`."""
    known, after = dict(view.entries), _Version(program, view)
    fresh = _fresh(new, known, solvable, limits)
    while fresh:
        before = after
        known = {**known, **{entry.support: entry for entry in fresh}}
        delta = _Version(program, View({entry.support: entry for entry in fresh}))
        after = _Version(program, View(known))
        found = (entry for clause in program.clauses for entry in _with(program, clause, before, delta, after))
        fresh = _fresh(found, known, solvable, limits)
    return View(known)


def _fresh(found: Iterable[Entry], known: Mapping[Support, Entry], solvable: Solvable, limits: Limits) -> list[Entry]:
    """Those of `found` that are new and hold; an error as soon as they are too many."""
    fresh: list[Entry] = []
    for entry in found:
        if entry.support in known or not solvable(entry.constraint):
            continue
        fresh.append(entry)
        size = len(known) + len(fresh)
        if size % ENTRIES_APART == 0:
            limits.told(size)
        if size > limits.entries:
            raise EvaluationError(
                f"the view has more than {limits.entries:,} derivations",
                "derivations in a circle never end; use `strategy: dred` for such views",
            )
    return fresh


@dataclass(slots=True)
class _Version:
    """A view whose entries are found by what they fix."""

    program: Program
    view: View
    pools: dict[str, Pool] = field(default_factory=dict)

    def pool(self, predicate: str) -> Pool:
        """The entries of one predicate, in their order."""
        if predicate not in self.pools:
            pool = Pool(self.program.columns[predicate])
            self.pools[predicate] = pool.extend(self.view.constraints(predicate))
        return self.pools[predicate]


def _with(program: Program, clause: Clause, before: _Version, delta: _Version, after: _Version) -> Iterator[Entry]:
    """Derivations by `clause` in which the first new entry stands in each place in turn: each comes once."""
    for place in range(len(clause.body)):
        versions = (*[before] * place, delta, *[after] * (len(clause.body) - place - 1))
        pairs = list(zip(versions, (atom.predicate for atom in clause.body), strict=True))
        for numbers in meetings(clause, [version.pool(name) for version, name in pairs]):
            found = ((version.view.of(name), number) for (version, name), number in zip(pairs, numbers, strict=True))
            yield _entry(program, clause, tuple(entries[number] for entries, number in found))


def _entry(program: Program, clause: Clause, children: tuple[Entry, ...]) -> Entry:
    said = derived(program, clause, [child.constraint for child in children])
    return Entry(clause.head.predicate, said, Support(clause.number, tuple(child.support for child in children)))
