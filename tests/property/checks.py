"""What must hold of a case: every strategy, night after night, against two oracles.

`truth` evaluates the program from scratch for each night, by `naive` and by clingo, and
compares them. `check` then keeps one replica for each line (a strategy, or a way of mixing
them) and holds its differentials to the truth: Theorem 1 of paper 000, word for word, and
the counters of every derivation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from unittest.mock import patch

from tests.property.clingo_oracle import BeyondReach, Oracle
from tests.refresh_cases import Case, Night, always, in_normal_form, keeping_supports, only_grows, problem

import foreset.testing.replica as replica_module
from foreset.ir.program import Program
from foreset.ir.steps import Procedure
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.oracle.naive import evaluate
from foreset.plan.choose import Choice, Situation, Size
from foreset.plan.translate import translate
from foreset.rewrite.pipeline import as_written
from foreset.testing.replica import Chooser, Delta, Replica

Rows = frozenset[Row]
Database = dict[str, Rows]
Counts = dict[str, dict[Row, tuple[int, int]]]
FIXED = ("insert", "counting", "dred", "dredf", "dredc", "spread", "recompute", "auto")
NOTHING = Delta()


class Difference(AssertionError):
    """Something that must hold does not; the text says which line, night and view."""

    @property
    def kind(self) -> str:
        """The line and what is wrong, without night, view and rows."""
        where, _, what = str(self).partition(": ")
        return f"{where.partition(',')[0]}: {what.partition(':')[0]}"


Translator = Callable[[Stratum, str, bool], Procedure]


def translated(stratum: Stratum, strategy: str, counted: bool) -> Procedure:
    """What the project itself translates to."""
    return translate(stratum, strategy, counted=counted)


@dataclass(slots=True)
class Procedures:
    """Translations of one program, each made once; a test may plant bugs by another `translator`."""

    translator: Translator = translated
    _made: dict[tuple[int, str, bool], Procedure] = field(default_factory=dict)

    def __call__(self, stratum: Stratum, strategy: str, *, counted: bool = False) -> Procedure:
        key = stratum.number, strategy, counted and strategy == "recompute"
        if key not in self._made:
            self._made[key] = self.translator(stratum, strategy, counted)
        return self._made[key]


@dataclass(frozen=True, slots=True)
class Truth:
    """The contents of every relation after each night, and the derivations of each row where clingo counted them."""

    program: Program
    layering: Layering
    states: tuple[Database, ...]
    counts: tuple[Counts, ...] | None  # None: beyond clingo's reach

    def delta(self, night: int, relation: str) -> Delta:
        """The exact difference that a night makes."""
        new = self.states[night][relation]
        old = self.states[night - 1][relation] if night else frozenset()
        return Delta(new - old, old - new)


@dataclass(slots=True)
class Tally:
    """What many cases came to."""

    programs: int = 0
    nights: int = 0
    refreshes: int = 0
    views: int = 0  # (view, night) pairs
    moved: int = 0  # of those, with a difference
    moved_nights: int = 0  # nights on which some view moved
    beyond: int = 0  # programs that only `naive` judges
    chosen: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Sum up."""
        for name in ("programs", "nights", "refreshes", "views", "moved", "moved_nights", "beyond"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.chosen.update(other.chosen)

    def __str__(self) -> str:
        strategies = ", ".join(f"{name} {count:,}" for name, count in sorted(self.chosen.items()))
        share, nights = 100 * self.moved / max(1, self.views), 100 * self.moved_nights / max(1, self.nights)
        reach = 100 * (1 - self.beyond / max(1, self.programs))
        return (
            f"{self.programs:,} programs, {self.nights:,} batches, {self.refreshes:,} refreshes; "
            f"{share:.0f} % of the views' deltas and {nights:.0f} % of the batches not empty; "
            f"clingo judged {reach:.1f} % of the programs; strata by strategy: {strategies}"
        )


def truth(case: Case) -> Truth:
    """Evaluate from scratch after each night, by two evaluators that share nothing; sets also as they are written."""
    program, layering = in_normal_form(case.program)
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    try:
        oracle = Oracle(program, layering)
    except BeyondReach:
        oracle = None
    written = as_written(case.program, program) if any(rule.sets for rule in case.program.rules) else None
    sources: Database = {source.name: frozenset() for source in program.sources}
    states: list[Database] = []
    counts: list[Counts] = []
    for number, night in enumerate(case.nights):
        sources = after(sources, night)
        try:
            state = evaluate(layering.strata, sources, kinds, program.max_rounds)
        except Exception as error:
            raise Difference(f"naive, night {number}: {type(error).__name__}: {error}") from error
        states.append(state)
        for view, rows in _as_written(written, sources).items() if written else ():
            if view in kinds:
                _same(state[view], rows, f"naive, night {number}, view {view}: rewritten and as written")
        if oracle is not None:
            try:
                model = oracle.solve(sources)
            except BeyondReach:
                oracle = None
                continue
            for view, rows in model.rows.items():
                _same(state[view], rows, f"oracles, night {number}, view {view}: naive and clingo")
            counts.append({view: _pairs(found) for view, found in model.derivations.items()})
    return Truth(program, layering, tuple(states), tuple(counts) if oracle is not None else None)


def _as_written(judge: tuple[Program, Layering], sources: Database) -> Database:
    """The same by the rules before their sets were rewritten."""
    program, layering = judge
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    return evaluate(layering.strata, sources, kinds, program.max_rounds)


def after(sources: Mapping[str, Rows], night: Night) -> Database:
    """The sources when `night` is over; its changes are net."""
    result = dict(sources)
    for name, delta in night.items():
        assert delta.minus <= sources[name], "the generator made a change that is not net"
        assert not delta.plus & sources[name], "the generator made a change that is not net"
        result[name] = (sources[name] - delta.minus) | delta.plus
    return result


def _pairs(found: Counter[tuple[Row, bool]]) -> dict[Row, tuple[int, int]]:
    pairs: dict[Row, tuple[int, int]] = {}
    for (row, recursive), times in found.items():
        base, more = pairs.get(row, (0, 0))
        pairs[row] = (base, more + times) if recursive else (base + times, more)
    return pairs


def check(case: Case, known: Truth | None = None, lines: Sequence[str] = FIXED) -> Tally:
    """Run every line over every night; raise `Difference` at the first thing that is wrong."""
    facts = known or truth(case)
    tally = Tally(programs=1, nights=len(case.nights) - 1, beyond=int(facts.counts is None))
    for night in range(1, len(case.nights)):
        moved = [bool(facts.delta(night, view.name)) for view in facts.program.views]
        tally.views += len(moved)
        tally.moved += sum(moved)
        tally.moved_nights += any(moved)
    with patch.object(replica_module, "translate", Procedures()):
        loaded = Replica(facts.program, facts.layering)
        refresh(loaded, case, facts, 0, "load", always("recompute"), tally)
        for line in lines:
            run_line(case, facts, line, always(line), tally, loaded)
        run_line(case, facts, "mix", mixed(Random(case.seed)), tally, loaded, toggle=Random(case.seed + 1))
    if case.seed % 3 == 0 or case.seed < 0:
        check_supports(case, facts, tally)
    return tally


def check_supports(case: Case, facts: Truth, tally: Tally) -> None:
    """The same program where supports are kept, by StDel and by any strategy: rows and supports are exact."""
    program, layering = in_normal_form(keeping_supports(case.program))
    if program.views == facts.program.views:
        return
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    last = {source.name: facts.states[-1][source.name] for source in program.sources}
    whole = evaluate(layering.strata, last, kinds, program.max_rounds)
    facts = replace(facts, counts=None)  # with supports between, the rules have other derivations
    with patch.object(replica_module, "translate", Procedures()):
        loaded = Replica(program, layering)
        refresh(loaded, case, facts, 0, "load with supports", always("recompute"), tally)
        for line, chooser in (("stdel", always("stdel")), ("mix with supports", mixed(Random(case.seed)))):
            replica = copy_of(loaded)
            for number in range(1, len(case.nights)):
                refresh(replica, case, facts, number, line, chooser, tally)
            for view in program.views:
                _same(replica.contents[view.name], whole[view.name], f"{line}, at the end, view {view.name}")


def mixed(rng: Random) -> Chooser:
    """Any strategy that is admitted, anew for each stratum and night."""

    def pick(stratum: Stratum, situation: Situation) -> Choice:
        if situation.rebuild:
            return Choice("recompute", situation.rebuild)
        names = [name for name in (*FIXED[:-1], "stdel", "aggregate") if not problem(stratum, situation, name)]
        if not any(size.changed for size in situation.sizes.values()):
            names.append("skip")
        return Choice(rng.choice(names), "by lot")

    return pick


def run_line(
    case: Case, facts: Truth, line: str, chooser: Chooser, tally: Tally, loaded: Replica, toggle: Random | None = None
) -> None:
    """Keep one replica up to date from the first load through all nights, held to the truth after each.

    `loaded` is the replica after that load; `toggle` says on which nights counters are built.
    """
    replica = copy_of(loaded)
    for number in range(1, len(case.nights)):
        if line == "insert" and not _insert_has_work(replica, facts, case.nights[number], number):
            replica.contents = dict(facts.states[number])  # it would be `dred` all over again
            continue
        if toggle is not None:
            replica.keep_counters = toggle.random() < 0.8
        refresh(replica, case, facts, number, line, chooser, tally)


def refresh(replica: Replica, case: Case, facts: Truth, night: int, line: str, chooser: Chooser, tally: Tally) -> None:
    """One night of one line."""
    where = f"{line}, night {night}"
    try:
        deltas, steps = replica.refresh(case.nights[night], chooser)
    except Exception as error:
        raise Difference(f"{where}: {type(error).__name__}: {error}") from error
    tally.refreshes += 1
    tally.chosen.update(step.choice.strategy for step in steps.values())
    for view in facts.program.views:
        hold(replica, facts, night, view.name, deltas[view.name], where)


def copy_of(replica: Replica) -> Replica:
    """A replica of its own with the same contents; a refresh replaces what it changes."""
    return replace(replica, contents=dict(replica.contents), counters=dict(replica.counters))


def _insert_has_work(replica: Replica, facts: Truth, night: Night, number: int) -> bool:
    """True when some stratum is only reached by insertions, and by some."""
    deltas = {**night, **{view.name: facts.delta(number, view.name) for view in facts.program.views}}
    for stratum in facts.layering.strata:
        sizes = {name: Size(len(d.plus), len(d.minus)) for name in stratum.reads if (d := deltas.get(name, NOTHING))}
        if sizes and only_grows(stratum, Situation(sizes)):
            return True
    replica.counters.clear()
    return False


def hold(replica: Replica, facts: Truth, night: int, view: str, delta: Delta, where: str) -> None:
    """Theorem 1, the contents, and the counters, of one view after one night."""
    old = facts.states[night - 1][view] if night else frozenset()
    new = facts.states[night][view]
    where = f"{where}, view {view}"
    if not delta.minus <= old:
        raise Difference(f"{where}: p- has rows that were not there: {show(delta.minus - old)}")
    if delta.plus & old:
        raise Difference(f"{where}: p+ has rows that were there: {show(delta.plus & old)}")
    _same((old - delta.minus) | delta.plus, new, f"{where}: p_old - p- + p+ and full evaluation")
    _same(replica.contents[view], new, f"{where}: the contents kept and full evaluation")
    if view in replica.counters:
        stored = replica.counters[view]
        below = {row: pair for row, pair in stored.items() if min(pair) < 0}
        if below:
            raise Difference(f"{where}: counters below zero: {below}")
        if facts.counts is not None and stored != facts.counts[night][view]:
            wrong = {
                row: (stored.get(row), facts.counts[night][view].get(row))
                for row in {*stored, *facts.counts[night][view]}
                if stored.get(row) != facts.counts[night][view].get(row)
            }
            raise Difference(f"{where}: (base, recursive) derivations kept and counted anew: {wrong}")


def _same(found: Rows, wanted: Rows, where: str) -> None:
    if found != wanted:
        raise Difference(f"{where} differ: too many {show(found - wanted)}, too few {show(wanted - found)}")


def show(rows: Rows) -> str:
    """Rows for a message."""
    return str(sorted(rows, key=repr)) if rows else "none"
