"""Denial constraints over random programs and nights: what the change-bound form finds is exactly what is new.

Every body of a random program serves as one. Between "not all that is new" and "something that
does not hold" there is no room: `new - old <= found <= new`. Sets and DuckDB find the same bindings.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

from tests.property.programs import random_case

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.tables import Tables
from foreset.backends.sets.backend import SetsBackend
from foreset.backends.sets.rows import Memory
from foreset.ir.program import Column
from foreset.ir.rules import Atom, Rule
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import BOOLEAN
from foreset.machine.stratum import Task, run_stratum
from foreset.maintain.deny import denied, deny
from foreset.relations.sets import SetsPort
from foreset.relations.tables import DuckDBPort
from foreset.rewrite.pipeline import prepare
from foreset.testing.replica import Delta, Held, Replica, Rows

SEED = int(os.environ.get("FORESET_SEED", "20261118"))
PROGRAMS = int(os.environ.get("FORESET_PROGRAMS", "100"))
IN_DUCKDB = 1.0 if os.environ.get("FORESET_LONG") else 0.04  # of all looks; each takes some statements


def witness(rule: Rule) -> tuple[Rule, tuple[Column, ...]]:
    """The body as `deny:` reads it: its head shows every variable of a positive literal."""
    bound = [arg.name for part in rule.body if isinstance(part, Atom) for arg in part.args if isinstance(arg, Var)]
    names = [name for name in dict.fromkeys(bound) if not name.startswith("_")]
    args: tuple[Term, ...] = tuple(Var(name) for name in names) or (Const(True, BOOLEAN),)
    columns = tuple(Column(name, rule.types[name]) for name in names) or (Column("found", BOOLEAN),)
    return replace(rule, head=Atom("v~denied", args)), columns


def found(replica: Replica, old: dict[str, Rows], deltas: dict[str, Delta], rule: Rule, *, whole: bool) -> Rows:
    return by(SetsPort(SetsBackend(Memory(replica.schemas))), replica, old, deltas, rule, whole=whole)


def found_here(replica: Replica, old: dict[str, Rows], deltas: dict[str, Delta], rule: Rule, *, whole: bool) -> Rows:
    """The same by DuckDB."""
    with session() as connection:
        port = DuckDBPort(DuckDBBackend(Tables(connection, replica.schemas)))
        return by(port, replica, old, deltas, rule, whole=whole)


def by(
    port: SetsPort | DuckDBPort,
    replica: Replica,
    old: dict[str, Rows],
    deltas: dict[str, Delta],
    rule: Rule,
    *,
    whole: bool,
) -> Rows:
    body, columns = witness(rule)
    procedure = deny(body, columns, whole=whole)
    port.backend.versions.schemas = {**replica.schemas, **procedure.helper_types}
    held = Held(replica.program.columns_of(), old, deltas)
    run_stratum(Task(procedure, tuple(replica.schemas), 1000), port, held)
    rows = port.rows(denied(body))
    assert len(set(rows)) == len(rows), "each binding is counted once"
    return frozenset(rows)


def test_what_is_found_is_what_is_new() -> None:
    looked = arose = negated = 0
    rng = Random(SEED)
    for seed in range(SEED, SEED + PROGRAMS):
        case = random_case(seed)
        prepared = prepare(case.program)
        assert prepared.program is not None and prepared.layering is not None
        replica = Replica(prepared.program, prepared.layering, keep_counters=False)
        before: dict[int, Rows] = {}
        for number, night in enumerate(case.nights):
            old = dict(replica.contents)
            views, _ = replica.refresh(night)
            sources = {s.name: night.get(s.name, Delta()) for s in prepared.program.sources}
            deltas = {**sources, **views}
            for index, rule in enumerate(prepared.program.rules):
                new = found(replica, old, deltas, rule, whole=True)
                if rng.random() < IN_DUCKDB:
                    assert found_here(replica, old, deltas, rule, whole=True) == new, f"seed {seed}, {rule.name}"
                if not number:  # a first load has no state before: it is looked at as a whole
                    before[index] = new
                    continue
                changed = found(replica, old, deltas, rule, whole=False)
                said = f"seed {seed}, night {number}, {rule.name}"
                if rng.random() < IN_DUCKDB:
                    assert found_here(replica, old, deltas, rule, whole=False) == changed, f"{said}: DuckDB"
                assert new - before[index] <= changed, f"{said}: not all that is new"
                assert changed <= new, f"{said}: what does not hold"
                before[index] = new
                looked += 1
                arose += bool(changed)
                negated += bool(changed) and any(not isinstance(part, Atom) for part in rule.body)
    assert looked > 1000
    assert arose > looked // 4
    assert negated > 100
