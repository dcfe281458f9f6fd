"""A program of constrained clauses, `A(X) <- constraint || B(X), C(X)`, and its rewritings P' and P♭."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from foreset.constraints.form import TRUE, Constraint, Not, Operand, constraint
from foreset.constraints.sorts import Variable


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate with a variable or a constant in each place."""

    predicate: str
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """Numbered, as supports name it; the number stays when the clause is rewritten."""

    number: int
    head: Atom
    constraint: Constraint = TRUE
    body: tuple[Atom, ...] = ()
    denied: tuple[Constraint, ...] = ()  # over the columns of the head: what was deleted, `not(...)` of each


@dataclass(frozen=True, slots=True)
class Program:
    """Clauses, and the columns of each predicate."""

    columns: Mapping[str, tuple[Variable, ...]]
    clauses: tuple[Clause, ...]

    def clause(self, number: int) -> Clause:
        """The clause of that number."""
        return next(clause for clause in self.clauses if clause.number == number)

    @property
    def next_number(self) -> int:
        """A number that no clause has."""
        return max((clause.number for clause in self.clauses), default=0) + 1


@dataclass(frozen=True, slots=True)
class Region:
    """A set of rows of one predicate, as a constraint over its columns."""

    predicate: str
    constraint: Constraint


def without(program: Program, region: Region) -> Program:
    """P': the rows of `region` are derived no more."""
    clauses = (
        replace(clause, denied=(*clause.denied, region.constraint))
        if clause.head.predicate == region.predicate
        else clause
        for clause in program.clauses
    )
    return replace(program, clauses=tuple(clauses))


def asserting(program: Program, region: Region) -> Program:
    """P♭: the rows of `region` hold, by a clause of their own.

    The third part of the paper's P♭, clauses of the predicate with `not(...)` and the region, derives
    nothing that this clause does not.
    """
    head = Atom(region.predicate, program.columns[region.predicate])
    return replace(program, clauses=(*program.clauses, Clause(program.next_number, head, region.constraint)))


def denials(clause: Clause) -> Constraint:
    """`not(...)` of everything that was deleted, over the columns of the head."""
    return constraint(Not(region) for region in clause.denied)
