"""`--verify full`: every view that was maintained, computed anew by the rules as written, and compared.

In this process where it is few rows, as strata are; else in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from foreset.analyse.needs import Need, needs_of
from foreset.analyse.strata import layering
from foreset.ir.program import Program
from foreset.ir.rules import Atom, Rule
from foreset.ir.steps import Derivation, Derive, Phase, Ref, Subtract
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row, Var
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.machine.stratum import Reads, Task, run_stratum
from foreset.plan.choose import Situation
from foreset.plan.place import deployed
from foreset.plan.translate import translate
from foreset.refresh.choosing import size_of
from foreset.refresh.context import Context
from foreset.refresh.engines import Engine, do_in, place_of, schemas_of
from foreset.refresh.located import Inputs, located
from foreset.relations.located import Located

SHOWN = 20
MISSING, EXTRA = Version.INS, Version.DEL  # where the differences are put
Difference = tuple[str, int, list[Row], list[Row]]


def differences(context: Context) -> list[Difference]:
    """Each view with its number of rows, those missing in the staged result, and those too many there."""
    names = list(context.program.columns_of())
    sizes = {name: size_of(context, name) for name in names}
    where = place_of(context, "recompute", Situation(sizes), deployed())
    program, _ = context.judge()
    return do_in(context, where, schemas_of(program), lambda port: list(_Recount(context, port).differences()))[0]


@dataclass(slots=True)
class _Recount:
    """Strata build on recomputed lower ones, not on staged ones: an error below shows where it is."""

    context: Context
    port: Engine
    there: set[str] = field(default_factory=set)  # relations whose new state was taken in, or computed

    def differences(self) -> Iterator[Difference]:
        program, written = self.context.judge()
        versions, kept = self.port.backend.versions, {view.name for view in self.context.program.views}
        for stratum in written.strata:
            if stratum.own_way:  # what was answered is the truth of this refresh, and constraints are no rows
                for name in stratum.names:
                    self._put_staged(name)
            else:
                self._derive(stratum)
                for name in stratum.names:
                    if name in kept:
                        yield self._compared(name)
                    versions.put(Ref(name, Version.NEW), *versions.stored(Ref(name, Version.FULL)))
            self.there.update(stratum.names)
        for need in needs_of(program.views):  # by the rules that use the answers
            yield self._needed(need, program)

    def _derive(self, stratum: Stratum) -> None:
        """All of a stratum, from what is below."""
        procedure = translate(stratum, "recompute")
        self.port.backend.versions.schemas |= procedure.helper_types
        task = Task(procedure, stratum.reads, self.context.program.max_rounds, self.context.listen)
        run_stratum(task, self.port, self)

    def _compared(self, name: str) -> Difference:
        """A computed view beside what is staged of it."""
        self._put_staged(name)
        full, staged = Ref(name, Version.FULL), Ref(name, Version.NEW)
        missing, extra = Ref(name, MISSING), Ref(name, EXTRA)
        self._run(Subtract(missing, full, (staged,)), Subtract(extra, staged, (full,)))
        count = self.port.backend.versions.count(full) or 0
        return name, count, self.port.rows(missing, SHOWN), self.port.rows(extra, SHOWN)

    def _needed(self, need: Need, program: Program) -> Difference:
        """What has to have been asked beside what was."""
        view, versions = need.view, self.port.backend.versions
        for version in Version:  # all needs go by one name
            versions.put(Ref(view.name, version))
        versions.schemas[view.name] = tuple(column.type for column in view.columns)
        (stratum,) = layering((view,), program.columns_of()).strata
        self._derive(stratum)
        every = tuple(Var(column.name) for column in view.columns)
        head, body = Atom(need.asks, every[len(need.seeds) :]), Atom(view.name, every, version=Version.FULL)
        rule = Rule(head, (body,), types={column.name: column.type for column in view.columns})
        missing = Ref(need.asks, MISSING)
        self._run(Derive((Derivation(missing, (rule,), without=(Ref(need.asks, Version.NEW),)),)))
        count = versions.count(Ref(view.name, Version.FULL)) or 0
        return need.asks, count, self.port.rows(missing, SHOWN), []

    def _run(self, *steps: Subtract | Derive) -> None:
        machine: Machine[Any] = Machine(self.port.backend, 1)
        machine.run(Phase("compare", steps))

    def _put_staged(self, name: str) -> None:
        """The state before, less what went, with what came."""
        versions = [located(self.context, name, version) for version in (Version.OLD, Version.PLUS, Version.MINUS)]
        self.port.put(versions, STAGED)

    # ------------------------------------------------------------ where relations lie
    def below(self, relation: str, *, building: bool, read: object) -> Sequence[Located]:  # noqa: ARG002 - all strata share it
        """What is not there yet: sources, each once."""
        if relation in self.there:
            return ()
        self.there.add(relation)
        return Inputs(self.context).below(relation, building=building, read=None)

    def before(self, view: str) -> Sequence[Located]:  # noqa: ARG002 - nothing is taken for granted
        """Nothing is compared with what was."""
        return ()

    def counters(self, view: str) -> None:
        """Nothing is counted."""


STAGED = Reads((), (), (), building=False, tallying=False)
