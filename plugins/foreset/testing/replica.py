"""A whole program kept up to date in memory: what a refresh does, without Spark or Delta."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from foreset.backends.sets.backend import SetsBackend
from foreset.backends.sets.rows import Memory, Schemas
from foreset.ir.program import Column, Program
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.machine.backend import Work
from foreset.machine.stratum import Results, Task, run_stratum
from foreset.mediated.outside import asked_of, outside
from foreset.plan.choose import Choice, Mode, Situation, Size, choose
from foreset.plan.translate import translate
from foreset.relations.located import COUNTERS, AtHand, Located
from foreset.relations.sets import SetsPort

Rows = frozenset[Row]
Counters = Mapping[Row, tuple[int, int]]
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
    counters: dict[str, Counters] = field(default_factory=dict)
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

    def port(self, schemas: Schemas) -> Results[Located]:
        """What runs a stratum, with nothing in it yet."""
        return SetsPort(SetsBackend(Memory(schemas)))

    def _maintain(self, stratum: Stratum, strategy: str, deltas: dict[str, Delta]) -> Work:
        procedure = translate(stratum, strategy, counted=self.keep_counters)
        port = self.port({**self.schemas, **procedure.helper_types})
        held = Held(self.program.columns_of(), self.contents, deltas, self.counters)
        run_stratum(Task(procedure, stratum.reads, self.program.max_rounds, staged=True), port, held)
        for name in stratum.names:
            deltas[name] = Delta(*(_rows(port, Ref(name, version)) for version in (Version.PLUS, Version.MINUS)))
            if name in procedure.counted:
                self.counters[name] = self._recounted(name, port.changes(name), building=strategy == "recompute")
            elif strategy != "skip":
                self.counters.pop(name, None)  # they no longer belong to the rows
        return port.backend.work

    def _recounted(self, view: str, changes: Counters, *, building: bool) -> Counters:
        """The counters as they are to be kept; rows without derivations are dropped."""
        after = {} if building else dict(self.counters.get(view, {}))
        for row, (more, recursive) in changes.items():
            base, before = after.get(row, (0, 0))
            after[row] = (base + more, before + recursive)
        return {row: pair for row, pair in after.items() if any(pair)}


def _rows(port: Results[Located], ref: Ref) -> Rows:
    rows = port.rows(ref)
    assert len(rows) == len(set(rows)), f"{ref} repeats rows"
    return frozenset(rows)


@dataclass(frozen=True, slots=True)
class Held:
    """Where relations lie that are all at hand: what they held before, and what came and went."""

    columns: Mapping[str, tuple[Column, ...]]
    contents: Mapping[str, Rows]
    deltas: Mapping[str, Delta]
    kept: Mapping[str, Counters] = field(default_factory=dict)

    def below(self, relation: str, *, building: bool, read: object) -> Sequence[Located]:  # noqa: ARG002 - as a view
        """The state before, and what came and went."""
        delta = self.deltas[relation]
        changes = ((Version.PLUS, delta.plus), (Version.MINUS, delta.minus))
        return [*self.before(relation), *(self._at_hand(relation, version, rows) for version, rows in changes)]

    def before(self, view: str) -> Sequence[Located]:
        """The state before."""
        return [self._at_hand(view, Version.OLD, self.contents.get(view, frozenset()))]

    def counters(self, view: str) -> Located:
        """Those kept."""
        entries = [(*row, *pair) for row, pair in self.kept.get(view, {}).items()]
        found = self._at_hand(view, Version.OLD, entries)
        return replace(found, columns=(*found.columns, *COUNTERS))

    def _at_hand(self, relation: str, version: Version, rows: Collection[Row]) -> Located:
        return Located(relation, version, self.columns[relation], AtHand(rows), len(rows))
