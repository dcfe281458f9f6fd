"""`T_P` and `W_P`: one entry per derivation, round by round, until no clause gives another.

The two differ in what they ask before they keep an entry: whether it has an instance by the answers of
now (`T_P`), or whether any answers could give it one (`W_P`), so that no answer is ever asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from foreset.constraints.calls import Answers, resolve
from foreset.constraints.decide import satisfiable
from foreset.constraints.form import Constraint
from foreset.errors import EvaluationError
from foreset.mediated.derive import derived
from foreset.mediated.entries import Entry, Support, View
from foreset.mediated.program import Clause, Program

MAX_ENTRIES = 100_000
Solvable = Callable[[Constraint], bool]


def w_p(part: Constraint) -> bool:
    """Some answers could give `part` an instance. Also what `T_P` asks where no domain is called."""
    return satisfiable(part)


def t_p(answers: Answers) -> Solvable:
    """`part` has an instance by `answers`."""
    return lambda part: any(map(satisfiable, resolve(part, answers)))


def materialise(program: Program, solvable: Solvable = w_p, limit: int = MAX_ENTRIES) -> View:
    """The least fixpoint, every derivation once."""
    facts = (_entry(program, clause, ()) for clause in program.clauses if not clause.body)
    return extend(program, View(), facts, solvable, limit)


def extend(
    program: Program, view: View, new: Iterable[Entry], solvable: Solvable = w_p, limit: int = MAX_ENTRIES
) -> View:
    """`view`, a fixpoint of `program` until `new` came, with all that follows from `new`."""
    known = dict(view.entries)
    fresh = [entry for entry in new if entry.support not in known and solvable(entry.constraint)]
    while fresh:
        before = View(known)
        known = {**known, **{entry.support: entry for entry in fresh}}
        if len(known) > limit:
            raise EvaluationError(
                f"the view has more than {limit:,} derivations",
                "derivations that turn in a circle have no end; keep such views without supports (`strategy: dred`)",
            )
        delta, after = View({entry.support: entry for entry in fresh}), View(known)
        found = (entry for clause in program.clauses for entry in _with(program, clause, before, delta, after))
        fresh = [entry for entry in found if entry.support not in known and solvable(entry.constraint)]
    return View(known)


def _with(program: Program, clause: Clause, before: View, delta: View, after: View) -> Iterator[Entry]:
    """Derivations by `clause` in which the first new entry stands in each place in turn: each comes once."""
    for place in range(len(clause.body)):
        versions = (*[before] * place, delta, *[after] * (len(clause.body) - place - 1))
        choices = [version.of(atom.predicate) for version, atom in zip(versions, clause.body, strict=True)]
        yield from (_entry(program, clause, children) for children in product(*choices))


def _entry(program: Program, clause: Clause, children: tuple[Entry, ...]) -> Entry:
    said = derived(program, clause, [child.constraint for child in children])
    return Entry(clause.head.predicate, said, Support(clause.number, tuple(child.support for child in children)))
