"""Refresh cases: a spec, nights of changes, and the exact differentials of every view.

A `.case` file is a sentence of intent, the directive `refresh`, a whole spec file, `nights:`
(the first one loads), `----`, and what comes (`+`) and goes (`-`), night by night. Each case
runs with every strategy on every reader; a reader is anything that keeps a program up to
date: `reference` here, Spark where there is a JVM. Random programs that failed are written
in this form too, so that they can be committed as they are.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import yaml
from tests.cases_runner import parse_blocks

from foreset.analyse.supports import blurred, unseen_circles
from foreset.ir.aggregates import ELEMENT, Definition
from foreset.ir.program import Column, Program
from foreset.ir.rules import atoms
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row, Value
from foreset.ir.text import print_rule, print_term, print_value
from foreset.ir.values import coerce, sort_key
from foreset.oracle.naive import evaluate
from foreset.plan.choose import Choice, Mode, Situation, choose
from foreset.plan.translate import COUNTED, refusal
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.testing.replica import Chooser, Delta, Replica

CASES = Path(__file__).parent / "cases" / "refresh"
STRATEGIES = ("insert", "counting", "dred", "dredf", "dredc", "spread", "stdel", "recompute", "auto")
Night = Mapping[str, Delta]


@dataclass(frozen=True, slots=True)
class Case:
    """A program as written, and the net changes of its sources, night by night."""

    program: Program
    nights: tuple[Night, ...]
    seed: int = -1
    name: str = ""
    intent: str = ""
    expected: str = ""


# ---------------------------------------------------------------- readers
class Session(Protocol):
    """A program with contents."""

    def refresh(self, changes: Night, chooser: Chooser) -> Mapping[str, Delta]:
        """Apply net changes of the sources; return the exact differential of each view."""


class Reader(Protocol):
    """Something that runs steps."""

    name: str

    def open(self, program: Program, layering: Layering) -> Session:
        """Begin with everything empty."""


@dataclass(slots=True)
class _InMemory:
    replica: Replica

    def refresh(self, changes: Night, chooser: Chooser) -> Mapping[str, Delta]:
        deltas, _ = self.replica.refresh(changes, chooser)
        return deltas


class Reference:
    """Plain Python sets."""

    name = "reference"

    def open(self, program: Program, layering: Layering) -> Session:
        return _InMemory(Replica(program, layering))


# ---------------------------------------------------------------- strategies
def problem(stratum: Stratum, situation: Situation, strategy: str) -> str:
    """Why `strategy` cannot bring `stratum` up to date tonight; empty when it can."""
    if why := refusal(stratum, strategy):
        return why
    if strategy == "insert" and not only_grows(stratum, situation):
        return "deletions reach it, and `insert` cannot delete rows"
    if strategy in COUNTED and not situation.counters:
        return "there are no stored counters"
    return ""


def only_grows(stratum: Stratum, situation: Situation) -> bool:
    """No deletion reaches a positive atom of the stratum, and no insertion a negated one."""
    harm = (
        situation.sizes[atom.relation].inserted if negated else situation.sizes[atom.relation].deleted
        for view in stratum.views
        for rule in view.rules
        for atom, negated in atoms(rule)
        if atom.relation in situation.sizes
    )
    return not any(harm)


def always(strategy: str, used: dict[str, int] | None = None, refused: list[str] | None = None) -> Chooser:
    """A chooser that takes `strategy` wherever it is admitted, and `dred` elsewhere."""

    def pick(stratum: Stratum, situation: Situation) -> Choice:
        if situation.rebuild:
            return Choice("recompute", situation.rebuild)
        if strategy == "auto":
            found = choose(stratum, situation, Mode.AUTO)
        elif why := problem(stratum, situation, strategy):
            if refused is not None:
                refused.append(why)
            return Choice("aggregate" if stratum.aggregation else "dred", why)
        else:
            found = Choice(strategy, "asked for by the test")
        if used is not None:
            used[found.strategy] = used.get(found.strategy, 0) + 1
        return found

    return pick


# ---------------------------------------------------------------- running
def in_normal_form(program: Program) -> tuple[Program, Layering]:
    """The program and its strata; a case with faults is a mistake of ours."""
    found = prepare(program)
    assert found.program is not None, [f"{d.code}: {d.message}" for d in found.report.errors]
    assert found.layering is not None
    return found.program, found.layering


def keeping_supports(program: Program) -> Program:
    """The program with supports wherever they can be kept; what declares a strategy of its own keeps that."""
    found, layering = in_normal_form(program)
    able = {
        view.name
        for stratum in layering.strata
        if not (stratum.aggregation or stratum.called or unseen_circles(stratum))
        for view in stratum.views
        if blurred(stratum.views, found.columns_of()) is None
    }
    views = (
        replace(view, strategy="stdel-acyclic") if view.name in able and view.strategy == "auto" else view
        for view in program.views
    )
    return replace(program, views=tuple(views))


def run_strategy(case: Case, reader: Reader, strategy: str) -> tuple[str, str]:
    """The differentials of every night as text; and why the strategy never ran, if so."""
    program = keeping_supports(case.program) if strategy == "stdel" else case.program
    session = reader.open(*in_normal_form(program))
    used: dict[str, int] = {}
    refused: list[str] = []
    chooser = always(strategy, used, refused)
    lines: list[str] = []
    for number, night in enumerate(case.nights, 1):
        deltas = session.refresh(night, chooser)
        lines += [f"night {number}", *_shown(case.program, deltas)]
    return "\n".join(lines) + "\n", "" if used else (refused or ["only the first load"])[0]


def evaluated(case: Case) -> str:
    """The differentials of every night by evaluation from scratch."""
    program, layering = in_normal_form(case.program)
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    sources: dict[str, frozenset[Row]] = {source.name: frozenset() for source in program.sources}
    before: Mapping[str, frozenset[Row]] = {view.name: frozenset() for view in program.views}
    deltas = []
    for night in case.nights:
        sources |= {name: (sources[name] - delta.minus) | delta.plus for name, delta in night.items()}
        now = evaluate(layering.strata, sources, kinds, program.max_rounds)
        names = [view.name for view in program.views]
        deltas.append({name: Delta(now[name] - before[name], before[name] - now[name]) for name in names})
        before = now
    return with_expectation(case, deltas).expected


def evaluated_state(program: Program, layering: Layering, nights: Sequence[Night]) -> dict[str, frozenset[Row]]:
    """The contents of every relation when all nights are over, by evaluation from scratch."""
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    sources: dict[str, frozenset[Row]] = {source.name: frozenset() for source in program.sources}
    for night in nights:
        sources |= {name: (sources[name] - delta.minus) | delta.plus for name, delta in night.items()}
    return {**sources, **evaluate(layering.strata, sources, kinds, program.max_rounds)}


def _shown(program: Program, deltas: Mapping[str, Delta]) -> list[str]:
    lines = []
    for view in program.views:
        delta = deltas[view.name]
        for sign, rows in (("-", delta.minus), ("+", delta.plus)):
            lines += [f"  {sign} {view.name}({', '.join(map(print_value, row))})" for row in sorted(rows, key=sort_key)]
    return lines


# ---------------------------------------------------------------- text
def read_case(path: Path) -> Case:
    """The case in a file."""
    return parse_case(path.read_text(encoding="utf-8"), path.stem)


def parse_case(text: str, name: str) -> Case:
    """Take a case apart: intent, spec, nights, expectation."""
    (block,) = parse_blocks(text)
    assert block.directive == "refresh", f"{name}: not a refresh case but {block.directive}"
    rules, _, nights = block.input.partition("\nnights:\n")
    program = load_program(f"{rules}\n", f"{name}.case")
    columns = {source.name: source.columns for source in program.sources}
    changes = tuple(
        {relation: _delta(change or {}, columns[relation]) for relation, change in (night or {}).items()}
        for night in yaml.safe_load(nights)
    )
    intent = "\n".join(line.removeprefix("# ") for line in block.intent)
    return Case(program, changes, name=name, intent=intent, expected=block.output)


def load_program(text: str, name: str) -> Program:
    """The program of a spec text without faults."""
    loaded = load_text(text, name)
    assert loaded.program is not None, [f"{d.line}: {d.message}" for d in loaded.report.errors]
    return loaded.program


def _delta(change: Mapping[str, Sequence[Sequence[object]]], columns: Sequence[Column]) -> Delta:
    def rows(kind: str) -> frozenset[Row]:
        found = change.get(kind) or ()
        return frozenset(tuple(coerce(v, c.type) for v, c in zip(row, columns, strict=True)) for row in found)

    return Delta(rows("insert"), rows("delete"))


def spec_text(program: Program, group: str) -> str:
    """A program as a spec file."""
    lines = [f"group: {group}", "sources:"]
    lines += [f"  {s.name}: {{table: {s.table}, columns: {_columns(s.columns)}}}" for s in program.sources]
    lines += ["aggregates:", *map(_definition, program.aggregates)] if program.aggregates else []
    lines.append("views:")
    for view in program.views:
        lines += [f"  {view.name}:", f"    columns: {_columns(view.columns)}", "    rules:"]
        lines += [f"      - {print_rule(rule)}" for rule in view.rules]
    return "\n".join(lines) + "\n"


def _definition(one: Definition) -> str:
    if one.fold is None:
        assert one.composed is not None
        return f"  {one.name}: {print_term(one.composed)}"
    fold = one.fold
    kinds = [str(kind) for _, kind in fold.takes]
    takes = kinds[0] if fold.takes[0][0] == ELEMENT else f"[{', '.join(kinds)}]"
    terms = {"zero": fold.zero, "add": fold.add, "remove": fold.remove, "merge": fold.merge, "finish": one.finish}
    given = ", ".join(f"{name}: {json.dumps(print_term(term))}" for name, term in terms.items() if term is not None)
    return f"  {one.name}: {{takes: {takes}, state: {fold.state}, {given}}}"


def case_text(case: Case, intent: str, group: str = "found") -> str:
    """A case as a `.case` file."""
    lines = ["nights:"]
    for night in case.nights:
        changed = [(name, delta) for name, delta in sorted(night.items()) if delta]
        lines.append("  -" if changed else "  - {}")
        for place, (name, delta) in enumerate(changed):
            indent = " " if place == 0 else "    "
            prefix = lines.pop() if place == 0 else ""
            lines.append(f"{prefix}{indent}{name}: {{{', '.join(_changes(delta))}}}")
    intent_lines = "\n".join(f"# {line}" for line in intent.splitlines() or [""])
    return f"{intent_lines}\nrefresh\n{spec_text(case.program, group)}" + "\n".join(lines) + f"\n----\n{case.expected}"


def with_expectation(case: Case, deltas: Sequence[Mapping[str, Delta]]) -> Case:
    """`case` with these differentials as its expectation."""
    lines: list[str] = []
    for number, night in enumerate(deltas, 1):
        lines += [f"night {number}", *_shown(case.program, night)]
    return replace(case, expected="\n".join(lines) + "\n")


def _columns(columns: Sequence[Column]) -> str:
    return "{" + ", ".join(f"{c.name}: {_quoted(str(c.type))}" for c in columns) + "}"


def _quoted(kind: str) -> str:
    return f'"{kind}"' if "," in kind else kind


def _changes(delta: Delta) -> list[str]:
    pairs: list[tuple[str, Callable[[], frozenset[Row]]]] = [
        ("insert", lambda: delta.plus), ("delete", lambda: delta.minus)]  # fmt: skip
    return [
        f"{name}: [{', '.join('[' + ', '.join(map(_yaml_value, row)) + ']' for row in sorted(rows(), key=sort_key))}]"
        for name, rows in pairs
        if rows()
    ]


def _yaml_value(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return ".nan" if math.isnan(value) else repr(value)
        case Decimal() | dt.date():
            return f'"{value}"'
        case _:
            return json.dumps(value)
