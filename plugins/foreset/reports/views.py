"""The page of one view: what it means, how fresh it is, some of its rows, and what its refreshes did."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreset.errors import ForesetError
from foreset.explain.graph import Graph, Node
from foreset.ir.expectations import Expectation as Declared
from foreset.ir.program import Change, Column, Program, UnitTest, View
from foreset.ir.text import as_written
from foreset.quality.outcome import cell
from foreset.reports import definition, reading, words
from foreset.reports.definition import Definition, Elsewhere
from foreset.reports.headline import Headline, group_headline
from foreset.reports.model import Expectation, History, Moment, Run, SourceLine, State, ViewLine
from foreset.store import arrow, delta, manifest, signed
from foreset.store.layout import Layout
from foreset.store.rows import ViewPin

SAMPLE_ROWS, SAMPLE_COLUMNS = 10, 30
MOST_GONE = 300_000  # deletions that a sample is compared with; in a larger view it would take too long
PLAIN = re.compile(r"\w[\w.-]*( [\w.-]+)*", re.ASCII)
RULES, RULE_LETTERS, TESTS, EXPECTATIONS = 100, 4000, 50, 200


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows, in no order; a value is its text, None for NULL."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    hidden_columns: int = 0

    @property
    def asked(self) -> str:
        """A row as `foreset why` takes it in quotes; `...` where its values would have to be quoted themselves."""
        plain = (row for row in self.rows if all(value and PLAIN.fullmatch(value) for value in row))
        first = None if self.hidden_columns else next(plain, None)
        return ", ".join(value or "" for value in first) if first else "..."


@dataclass(frozen=True, slots=True)
class Named:
    """A unit test that names the view: what it expects to come, to go, and to be there."""

    name: str
    line: int
    inserted: int | None
    deleted: int | None
    whole: int | None


@dataclass(frozen=True, slots=True)
class Held:
    """An expectation as declared, with its newest outcome; None where none was checked yet."""

    declared: Declared
    outcome: Expectation | None
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class ViewPage:
    """Everything on the page."""

    group: str
    view: View
    owner: str
    headline: Headline
    graph: Graph
    rules: Sequence[str]
    more_rules: int
    reads: Sequence[Node]
    readers: Sequence[Node]
    elsewhere: Sequence[Elsewhere]
    rows: int | None  # that readers see; None where it was never published
    seq: int | None
    refreshed: Moment | None
    changed: Run | None  # the newest refresh that changed a row of it
    sources: Sequence[SourceLine]  # on which it rests, as the newest refresh read them
    sample: Sample | None
    no_sample: str  # why there is none
    tests: Sequence[Named]
    expectations: Sequence[Held]
    lines: Sequence[tuple[Run, ViewLine]]  # newest first
    spec_file: str
    from_file: bool  # the words are those of the file: it was never refreshed

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns."""
        return self.view.columns

    @property
    def described(self) -> bool:
        """Whether the spec says of any column what it means."""
        return any(column.description for column in self.columns)

    @property
    def strategy(self) -> str:
        """As declared."""
        return self.view.strategy

    @property
    def computed(self) -> str:
        """Where it was computed last, and why."""
        found = (words.engine(line) for _, line in self.lines if line.engine)
        return next(found, "")


def view_names(found: Definition | None) -> tuple[str, ...]:
    """The views of a group, in the order of the file."""
    return tuple(view.name for view in found.program.shown) if found else ()


def read_view(layout: Layout, name: str, specs: Path) -> ViewPage | None:
    """The page of `name`; None for a view that the group does not have."""
    history = reading.read_history(layout)
    found = definition.definition(layout, history, specs)
    view = next((one for one in found.program.shown if one.name == name), None) if found else None
    if found is None or view is None:
        return None
    row = manifest.newest(layout.root, layout.group)
    pin = row.views.get(name) if row else None
    sample, why_not = _sample(layout, pin)
    graph = found.graph
    nodes = {node.name: node for node in graph.nodes}
    lines = [(run, line) for run in history.runs for line in run.views if line.name == name]
    newest = next((run for run in history.runs if run.state is State.COMMITTED), None)
    return ViewPage(
        group=layout.group,
        view=view,
        owner=found.program.owner,
        headline=group_headline(reading.latest_run(layout, history)),
        graph=graph.near(name),
        rules=[_clipped(as_written(rule)) for rule in view.rules[:RULES]],
        more_rules=max(0, len(view.rules) - RULES),
        reads=[nodes[one] for one in graph.reads(name)],
        readers=[nodes[one] for one in graph.readers(name)],
        elsewhere=list(definition.readers_elsewhere(specs, layout.group, name)),
        rows=pin.rows if pin else None,
        seq=row.seq if row and pin else None,
        refreshed=_refreshed(history),
        changed=next((run for run, line in lines if run.state is State.COMMITTED and _moved(line)), None),
        sources=_sources(newest, graph, name),
        sample=sample,
        no_sample=why_not,
        tests=_tests(found.program, name),
        expectations=_expectations(view, history),
        lines=lines,
        spec_file=Path(found.program.file).name,
        from_file=found.frozen is None,
    )


def _moved(line: ViewLine) -> bool:
    return bool(line.inserted or line.deleted)


def _refreshed(history: History) -> datetime.datetime | None:
    """When the view was last brought up to date, or found to be so."""
    return next((run.ended_at or run.when for run in history.runs if run.state in definition.GOOD), None)


def _sources(newest: Run | None, graph: Graph, name: str) -> list[SourceLine]:
    below = graph.below(name)
    return [line for line in newest.sources if line.name in below] if newest else []


def _clipped(text: str) -> str:
    return text if len(text) <= RULE_LETTERS else f"{text[:RULE_LETTERS]} …"


# ---------------------------------------------------------------- rows
def _sample(layout: Layout, pin: ViewPin | None) -> tuple[Sample | None, str]:
    """Some of the rows that readers see, or why there are none here."""
    if pin is None:
        return None, "It was never published."
    names = list(pin.columns)[:SAMPLE_COLUMNS]
    path = layout.resolve(pin.path)
    try:
        if delta.open_table(path, pin.version) is None:
            return None, f"Its table {pin.path} is gone: restore it from a backup of the warehouse."
        if signed.describe(path, pin.version).minus_rows > MOST_GONE:
            return None, "Too many rows have been removed to pick some quickly. Run foreset show to see rows."
        table = arrow.sample(path, pin.version, list(pin.columns), SAMPLE_ROWS)
    except (ForesetError, OSError, ValueError) as fault:
        return None, f"Its table cannot be read just now: {str(fault).splitlines()[0]}"
    rows = [[_text(value) for value in row.values()] for row in table.select(names).to_pylist()]
    return Sample(names, rows, len(pin.columns) - len(names)), ""


def _text(value: Any) -> str | None:  # noqa: ANN401 - whatever a column holds
    if value is None:
        return None
    return cell(tuple(value) if isinstance(value, list) else value)


# ---------------------------------------------------------------- tests and expectations
def _tests(program: Program, view: str) -> list[Named]:
    named = [test for test in program.tests if view in test.expect or view in test.state or view in test.given]
    return [_named(test, view) for test in named[:TESTS]]


def _named(test: UnitTest, view: str) -> Named:
    change: Change | None = test.expect.get(view)
    rows = test.state.get(view)
    return Named(
        test.name,
        test.span.line if test.span else 0,
        len(change.insert) if change else None,
        len(change.delete) if change else None,
        len(rows) if rows is not None else None,
    )


def _expectations(view: View, history: History) -> list[Held]:
    """Those that the spec declares, each with the newest outcome in the history."""
    found: dict[tuple[str, str], tuple[Expectation, int | None]] = {}
    for run in reversed(history.runs):  # the newest last: it wins
        for one in run.quality.expectations if run.quality else ():
            if one.view == view.name:
                found[one.name, one.text] = one, run.seq
    declared = view.expectations[:EXPECTATIONS]
    return [Held(one, *found.get((one.type, one.text), (None, None))) for one in declared]
