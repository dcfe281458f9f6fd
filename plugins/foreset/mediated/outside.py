"""What no rule derives row by row: answers of domains, and views that are kept by constraints."""

from __future__ import annotations

from collections.abc import Mapping

from foreset.constraints.calls import Answers
from foreset.constraints.form import Member
from foreset.ir.asked import functions_of, held_name, member_of
from foreset.ir.program import Program
from foreset.ir.rules import atoms
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.mediated.fixpoint import Limits
from foreset.mediated.from_rules import entries_of, members

Database = Mapping[str, frozenset[Row]]


def outside(stratum: Stratum, database: Database, program: Program) -> dict[str, frozenset[Row]]:
    """The contents of such a stratum; what domains say stands in `database` as `domain:function`."""
    if stratum.given is not None:
        return {stratum.names[0]: frozenset(stratum.given)}
    columns, answers = program.columns_of(), answers_in(database, program)
    if stratum.constrained:
        lasting = stratum.views[0].evaluate == "on_read"
        now, limits = None if lasting else answers, Limits(rounds=program.max_rounds)
        return entries_of(stratum, database, columns, functions_of(program.domains), now, limits=limits)
    (name,) = stratum.names
    member = member_of(stratum.called)
    if member is None:
        return {name: _held(stratum, database) if name == held_name(stratum.called) else _answered(stratum, database)}
    kept, places = member
    asked = next(read for read in stratum.reads if read != kept)
    return {name: frozenset(members(database[kept], columns[kept], places, database[asked], answers))}


def asked_of(program: Program) -> tuple[str, ...]:
    """The functions that rules call, as `domain:function`."""
    functions = functions_of(program.domains)
    views = {view.called for view in program.views if view.called and member_of(view.called) is None}
    read = {
        atom.relation for view in program.views if view.constrained for rule in view.rules for atom, _ in atoms(rule)
    }
    inside = {f"{domain}:{function.name}" for name, (domain, function) in functions.items() if name in read}
    return tuple(sorted(views | inside))


def answers_in(database: Database, program: Program) -> Answers:
    """What domains say, from rows of arguments and results."""

    def answers(call: Member, args: Row) -> list[Row]:
        _, function = program.function(f"{call.domain}:{call.function}")
        width = len(args)
        rows = (row[width:] for row in database.get(f"{call.domain}:{call.function}", ()) if row[:width] == args)
        return function.picked(rows, call.places)

    return answers


def _held(stratum: Stratum, database: Database) -> frozenset[Row]:
    """Arguments without an answer; in `database` they stand under the name of the relation."""
    return database.get(f"{stratum.called}~held", frozenset())


def _answered(stratum: Stratum, database: Database) -> frozenset[Row]:
    known = database.get(stratum.called, frozenset())
    if not stratum.reads:
        return known
    asked = {row for row in database[stratum.reads[0]] if None not in row}
    return frozenset(row for row in known if row[: len(next(iter(asked), ()))] in asked)
