"""A whole program kept up to date in memory: what a refresh does, without Spark or Delta."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from foreset.backends.sets.backend import run
from foreset.backends.sets.rows import Memory
from foreset.ir.program import Program
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.machine.backend import Work
from foreset.mediated.outside import asked_of, outside
from foreset.plan.choose import Choice, Mode, Situation, Size, choose
from foreset.plan.translate import COUNTED, translate

Rows = frozenset[Row]
Chooser = Callable[[Stratum, Situation], Choice]


@dataclass(frozen=True, slots=True)
class Delta:
    """Exact net differentials of one relation."""

    plus: Rows = frozenset()
    minus: Rows = frozenset()

    def __bool__(self) -> bool:
        return bool(self.plus or self.minus)


@dataclass(frozen=True, slots=True)
class Step:
    """What happened to one stratum."""

    choice: Choice
    work: Work


@dataclass(slots=True)
class Replica:
    """Contents and counters of all relations of `program` (in normal form)."""

    program: Program
    layering: Layering
    contents: dict[str, Rows] = field(default_factory=dict)
    counters: dict[str, dict[Row, tuple[int, int]]] = field(default_factory=dict)
    loaded: bool = False
    keep_counters: bool = True

    @property
    def schemas(self) -> dict[str, tuple[Type, ...]]:
        """Column types of every relation."""
        return {name: tuple(c.type for c in columns) for name, columns in self.program.columns_of().items()}

    def refresh(
        self, changes: Mapping[str, Delta], chooser: Chooser | None = None
    ) -> tuple[dict[str, Delta], dict[int, Step]]:
        """Apply net changes of sources; return the exact differential of each view, and what each stratum did."""
        pick = chooser or (lambda stratum, situation: choose(stratum, situation, Mode.AUTO))
        deltas: dict[str, Delta] = {source.name: changes.get(source.name, Delta()) for source in self.program.sources}
        done: dict[int, Step] = {}
        for called in asked_of(self.program):
            delta = changes.get(called, Delta())
            self.contents[called] = (self.contents.get(called, frozenset()) - delta.minus) | delta.plus
        for stratum in self.layering.strata:
            if stratum.own_way:
                deltas |= self._outside(stratum, deltas)
                done[stratum.number] = Step(Choice(stratum.own_way, "compared with what was there"), Work())
                continue
            choice = pick(stratum, self._situation(stratum, deltas))
            work = self._maintain(stratum, choice.strategy, deltas)
            done[stratum.number] = Step(choice, work)
        for name, delta in deltas.items():
            self.contents[name] = (self.contents.get(name, frozenset()) - delta.minus) | delta.plus
        self.loaded = True
        return {view.name: deltas[view.name] for view in self.program.views}, done

    def _outside(self, stratum: Stratum, deltas: Mapping[str, Delta]) -> dict[str, Delta]:
        """What domains answer, and what constraints say, against what they said before."""
        old = {name: self.contents.get(name, frozenset()) for name in stratum.names}
        read = {name: (self.contents.get(name, frozenset()) - deltas[name].minus) | deltas[name].plus
                for name in stratum.reads}  # fmt: skip
        new = outside(stratum, {**self.contents, **read}, self.program)
        return {name: Delta(new[name] - old[name], old[name] - new[name]) for name in stratum.names}

    def _situation(self, stratum: Stratum, deltas: Mapping[str, Delta]) -> Situation:
        sizes = {
            name: Size(len(deltas[name].plus), len(deltas[name].minus), len(self.contents.get(name, ())))
            for name in stratum.reads
        }
        counted = all(name in self.counters for name in stratum.names)
        return Situation(sizes, "" if self.loaded else "first load", counted)

    def _maintain(self, stratum: Stratum, strategy: str, deltas: dict[str, Delta]) -> Work:
        memory = Memory(self.schemas)
        for name in (*stratum.reads, *stratum.names):
            memory.fill(Ref(name, Version.OLD), self.contents.get(name, frozenset()))
        for name in stratum.reads:
            memory.fill(Ref(name, Version.PLUS), deltas[name].plus)
            memory.fill(Ref(name, Version.MINUS), deltas[name].minus)
        procedure = translate(stratum, strategy, counted=self.keep_counters)
        stored = {name: self.counters.get(name, {}) for name in stratum.names} if strategy in COUNTED else {}
        done = run(procedure, memory, self.program.max_rounds, stored)
        for name in stratum.names:
            deltas[name] = Delta(*(frozenset(memory.rows(Ref(name, v))) for v in (Version.PLUS, Version.MINUS)))
            if name in procedure.counted:
                self.counters[name] = done.counters[name].settled()
            elif strategy != "skip":
                self.counters.pop(name, None)  # they no longer belong to the rows
        return done.work
