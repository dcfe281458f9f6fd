"""Programs of constrained clauses as text, for tests: `A(X) <- X <= 3 || B(X)`."""

from __future__ import annotations

import re

from foreset.constraints.read import read_constraint
from foreset.constraints.sorts import NUMBER, TEXT, Sort, Variable
from foreset.constraints.text import print_constraint
from foreset.mediated.entries import View
from foreset.mediated.program import Atom, Clause, Program, Region

SORTS = {"int": NUMBER, "string": TEXT}
_ATOM = re.compile(r"\s*(\w+)\(([^)]*)\)\s*")


def program(columns: dict[str, str], *rules: str) -> Program:
    """`program({"A": "X int"}, "A(X) <- X <= 3", "A(X) <- || B(X)")`; clauses are numbered from 1."""
    declared = {name: tuple(_column(part) for part in text.split(",")) for name, text in columns.items()}
    return Program(declared, tuple(clause(declared, n, text) for n, text in enumerate(rules, 1)))


def _column(text: str) -> Variable:
    name, sort = text.split()
    return Variable(name, SORTS[sort])


def clause(columns: dict[str, tuple[Variable, ...]], number: int, text: str) -> Clause:
    """One rule; a variable has the sort of the first place it stands in."""
    head, _, rest = text.partition("<-")
    said, _, body = rest.partition("||")
    atoms = [_ATOM.fullmatch(part) for part in re.split(r"(?<=\)),", body) if part.strip()]
    known: dict[str, Sort] = {}
    made = []
    for found in [_ATOM.fullmatch(head), *atoms]:
        assert found is not None, text
        args = [arg.strip() for arg in found[2].split(",")]
        operands = []
        for arg, column in zip(args, columns[found[1]], strict=True):
            quoted = re.fullmatch(r'"(.*)"', arg)
            if quoted:
                operands.append(quoted[1])
            elif re.fullmatch(r"-?\d+", arg):
                operands.append(int(arg))
            else:
                operands.append(Variable(arg, known.setdefault(arg, column.sort)))
        made.append(Atom(found[1], tuple(operands)))
    variables = [Variable(name, sort) for name, sort in known.items()]
    constraint = read_constraint(said.strip() or "true", variables)
    return Clause(number, made[0], constraint, tuple(made[1:]))


def region(made: Program, predicate: str, text: str) -> Region:
    """A set of rows of `predicate`."""
    return Region(predicate, read_constraint(text, made.columns[predicate]))


def shown(view: View) -> set[str]:
    """Entries as the paper prints them: `A: X <= 3 <1>`."""
    return {f"{e.predicate}: {print_constraint(e.constraint)} {e.support}" for e in view}


def lines(text: str) -> set[str]:
    """The lines of a block."""
    return {line.strip() for line in text.strip().splitlines()}
