"""Run the unit tests of a program: by the semantics first, then by every strategy against it.

The expectation of a test is compared with full evaluation (`oracle.naive`) of the rules as
they are written (`rewrite.as_written`). Each strategy, which runs what they were rewritten to,
must then give the very same differentials: where one does not, the fault is Foreset's, and
the test says so instead of passing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from foreset.analyse.needs import needs_of
from foreset.errors import EvaluationError
from foreset.ir.program import Program, UnitTest
from foreset.ir.strata import Layering, Stratum
from foreset.ir.values import sort_key
from foreset.mediated.from_rules import instances
from foreset.mediated.outside import answers_in, asked_of
from foreset.oracle.naive import evaluate
from foreset.oracle.unasked import unasked
from foreset.plan.choose import Choice, Situation, choose
from foreset.plan.translate import MAINTAINING
from foreset.rewrite.pipeline import as_written
from foreset.testing.compare import ASKING, Difference, Night, against, delta, difference, night_of
from foreset.testing.replica import Chooser, Delta, Replica, Rows
from foreset.values.errors import Failure

INTERNAL = "internal error: "
REPORT = "this is a bug in Foreset: please report it with this spec; `foreset --debug test` shows the traceback"
log = logging.getLogger(__name__)
Judge = tuple[Program, Layering]
Came = tuple[Mapping[str, Delta], Mapping[str, Rows]]
STRATEGIES = ("auto", *MAINTAINING, "recompute")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one test. `faults` are strategies that differ from full evaluation."""

    test: UnitTest
    differences: tuple[Difference, ...] = ()
    faults: Mapping[str, tuple[Difference, ...]] | None = None
    error: str = ""
    seconds: float = 0.0
    own: tuple[str, ...] = ()  # aggregates of the spec that keep views in place of which strategies differ

    @property
    def passed(self) -> bool:
        """True when everything is as the test says, by every strategy."""
        return not (self.differences or self.faults or self.error)


def run_tests(written: Program, program: Program, layering: Layering, pattern: str = "") -> Iterator[Outcome]:
    """Run the tests of a program whose names contain `pattern`: as written, and in normal form."""
    judge: Judge | None = None
    for test in selected(program, pattern):
        started = time.perf_counter()
        try:
            judge = judge or as_written(written, program)
            outcome = _run(program, layering, judge, test)
        except Exception as error:  # whatever the cause: other tests and groups go on
            log.debug("%s: %s", program.group, test.name, exc_info=error)
            outcome = Outcome(test, error=f"{INTERNAL}{type(error).__name__}: {error}\n{REPORT}")
        yield replace(outcome, seconds=time.perf_counter() - started)


def selected(program: Program, pattern: str) -> tuple[UnitTest, ...]:
    """The tests whose `group: name` contains `pattern`, small and capital letters alike."""
    wanted = pattern.casefold()
    return tuple(test for test in program.tests if wanted in f"{program.group}: {test.name}".casefold())


def _run(program: Program, layering: Layering, judge: Judge, test: UnitTest) -> Outcome:
    night = night_of(test, (*(source.name for source in program.sources), *asked_of(program)))
    stray = tuple(Difference(name, "to delete", missing=rows) for name, rows in night.stray.items())
    if stray:
        return Outcome(test, stray)
    try:
        came = _by_every_strategy(program, layering, night)  # first, as its errors name the rule and the values
        before, after = (_contents(*judge, sources) for sources in (night.before, night.after))
    except (EvaluationError, Failure) as error:
        return Outcome(test, error=str(error))
    truth = {view.name: delta(before[view.name], after[view.name]) for view in program.views}
    try:
        told = [_as_rows(program, test, contents) for contents in (before, after)]
    except EvaluationError as error:  # of a region without end
        return Outcome(test, error=str(error))
    seen = {name: delta(told[0][name], told[1][name]) for name in truth}
    faults = {**dict(_faults(truth, after, came)), **_unasked(program, came["auto"][1])}
    wrong = {one.view for found in faults.values() for one in found}
    own = {name for view in program.views if view.name in wrong and view.aggregation for name in view.aggregation.own}
    return Outcome(test, tuple(against(test, seen, told[1])), faults, own=tuple(sorted(own)))


def _unasked(program: Program, contents: Mapping[str, Rows]) -> dict[str, tuple[Difference, ...]]:
    """A domain was not asked what the rules, as they use the answers, need."""
    lacking = unasked(program, contents, needs_of(program.views))
    found = tuple(Difference(name, ASKING, tuple(sorted(rows, key=sort_key))) for name, rows in lacking)
    return {ASKING: found} if found else {}


def _as_rows(program: Program, test: UnitTest, contents: Mapping[str, Rows]) -> dict[str, Rows]:
    """The contents with rows for the constraints of those views of which the test speaks."""
    found = dict(contents)
    for view in program.views:
        if view.constrained and (view.name in test.expect or view.name in test.state):
            found[view.name] = frozenset(instances(contents[view.name], view.columns, answers_in(contents, program)))
    return found


def _contents(program: Program, layering: Layering, sources: Mapping[str, Rows]) -> dict[str, Rows]:
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    return evaluate(layering.strata, sources, schemas, program.max_rounds, program)


def _by_every_strategy(program: Program, layering: Layering, night: Night) -> dict[str, Came]:
    """The differentials of the night, and the contents after it, by strategy."""
    loaded = Replica(program, layering)
    loaded.refresh({name: Delta(rows) for name, rows in night.before.items()})
    came: dict[str, Came] = {}
    for strategy in STRATEGIES:
        replica = replace(loaded, contents=dict(loaded.contents), counters=dict(loaded.counters))
        deltas, _ = replica.refresh(night.deltas, chooser(strategy))
        came[strategy] = deltas, replica.contents
    return came


def _faults(
    truth: Mapping[str, Delta], after: Mapping[str, Rows], came: Mapping[str, Came]
) -> Iterator[tuple[str, tuple[Difference, ...]]]:
    """Yield each strategy whose differentials are not those of full evaluation, or else its contents."""
    for strategy, (deltas, contents) in came.items():
        found = tuple(
            wrong
            for view in truth
            for wrong in (
                tuple(_wrong(view, truth[view], deltas[view]))
                or tuple(difference(view, "contents", after[view], contents[view]))
            )
        )
        if found:
            yield strategy, found


def _wrong(view: str, true: Delta, came: Delta) -> Iterator[Difference]:
    yield from difference(view, "inserted", true.plus, came.plus)
    yield from difference(view, "deleted", true.minus, came.minus)


def chooser(strategy: str) -> Chooser:
    """Choose as if every view declared `strategy`: what a stratum does not admit falls back as it would."""

    def pick(stratum: Stratum, situation: Situation) -> Choice:
        views = tuple(replace(view, strategy=strategy) for view in stratum.views)
        return choose(replace(stratum, views=views), situation)

    return pick
