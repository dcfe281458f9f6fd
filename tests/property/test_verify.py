"""Bound recomputation says of any row what full evaluation says; planted errors are caught at the stated rate."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pyarrow as pa
import pytest
from tests.property.programs import random_case
from tests.recomputed import derivable
from tests.refresh_cases import in_normal_form, load_program

from foreset.ir.program import Program, View
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.oracle.naive import evaluate
from foreset.store.types import arrow_type
from foreset.verify.facts import SourceFacts, key_table
from foreset.verify.flows import Flow
from foreset.verify.linear_recursion import LinearRecursion
from foreset.verify.origins import hints, origins
from foreset.verify.sample import Staged, draw, share_of
from foreset.verify.value_numbering import Codes, Numbers
from foreset.verify.verdict import error_bound

SEED = 7_000_000
PROGRAMS = 200
LINEAR_PROGRAMS = 120


@dataclass(slots=True)
class SetFacts:
    """Sources as sets."""

    sources: Mapping[str, Iterable[Row]]
    schemas: Mapping[str, tuple[Type, ...]]

    def rows(self, relation: str, known: tuple[int, ...], keys: Iterable[Row]) -> Mapping[Row, list[Row]]:
        found: dict[Row, list[Row]] = defaultdict(list)
        wanted = set(keys)
        for row in self.sources[relation]:
            key = tuple(row[p] for p in known)
            if key in wanted and None not in key:
                found[key].append(row)
        return found

    def whole(self, relation: str, codes: Codes) -> Numbers | None:
        return None if relation == "link" else codes.rows(list(self.sources[relation]), self.schemas[relation])

    def fanout(self, relation: str, known: tuple[int, ...]) -> float | None:
        rows = list(self.sources[relation])
        return len(rows) / max(len({tuple(row[p] for p in known) for row in rows}), 1) if len(rows) % 3 else None

    def grouped(self, *_: object) -> None:
        """Goal by goal."""


def evaluated(seed: int) -> tuple[Program, object, dict[str, frozenset[Row]], dict[str, tuple]]:
    case = random_case(seed)
    program, layering = in_normal_form(case.program)
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    sources = {source.name: frozenset() for source in program.sources}
    for night in case.nights:
        sources |= {name: (sources[name] - delta.minus) | delta.plus for name, delta in night.items()}
    return program, layering, evaluate(layering.strata, sources, schemas, program.max_rounds), schemas


def table_of(rows: Iterable[Row], kinds: Sequence[Type], names: list[str]) -> pa.Table:
    ordered = sorted(rows, key=repr)
    return pa.table(
        [pa.array([row[i] for row in ordered], arrow_type(kind)) for i, kind in enumerate(kinds)], names=names
    )


def absent_rows(rows: frozenset[Row], everything: Iterable[frozenset[Row]], width: int, rng: Random) -> set[Row]:
    """Rows near those that are there, and a few of the values of everywhere."""
    values = sorted({value for other in everything for row in other for value in row}, key=repr)
    domains = [sorted({row[i] for row in rows}, key=repr) or values for i in range(width)]
    if not all(domains):
        return set()
    return {tuple(rng.choice(domain) for domain in domains) for _ in range(12)} - rows


def test_bound_recomputation_agrees_with_full_evaluation() -> None:
    """Every row that is there is derivable, and no row that is not: recursion, negation, NULL, arithmetic."""
    print(f"seeds {SEED} to {SEED + PROGRAMS - 1}")
    checked = 0
    for seed in range(SEED, SEED + PROGRAMS):
        program, layering, database, schemas = evaluated(seed)
        rng = Random(seed)
        facts = SetFacts({source.name: database[source.name] for source in program.sources}, schemas)
        asked = {}
        for view in program.views:
            there = database[view.name]
            typed = [rows for name, rows in database.items() if schemas[name] == schemas[view.name]]
            asked[view.name] = set(there) | absent_rows(there, typed, len(view.columns), rng)
        found = derivable(asked, layering, facts, schemas)
        for view in program.views:
            assert found[view.name] == set(database[view.name]), f"seed {seed}, view {view.name}"
            checked += len(asked[view.name])
    print(f"{checked} rows of {PROGRAMS} programs")
    assert checked > 10 * PROGRAMS


NEVER_ASKED = """\
group: gap
sources:
  empty: {table: raw/empty, columns: {x: int}}
  pair: {table: raw/pair, columns: {x: int, y: int}}
views:
  low:
    columns: {x: int, y: int}
    rules: ["low(X, Y) :- pair(X, Y)"]
  top:
    columns: {x: int}
    rules: ["top(X) :- pair(X, _), not empty(X)", "top(X) :- empty(X), low(X, Y), not pair(Y, Y)"]
"""


def test_a_view_below_that_nobody_had_to_ask_is_no_source() -> None:
    """The second pass orders a rule that the first left before it came to `low`: `low` is in no source."""
    program, layering = in_normal_form(load_program(NEVER_ASKED, "gap"))
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    facts = SetFacts({"empty": [(5,), (6,)], "pair": [(1, 2)]}, schemas)
    assert derivable({"top": {(1,)}}, layering, facts, schemas) == {"top": {(1,)}}


LINEAR = """\
group: linear
sources:
  edge: {{table: raw/edge, columns: {{x: int, y: int}}}}
  mark: {{table: raw/mark, columns: {{x: int}}}}
  tag: {{table: raw/tag, columns: {{x: int, y: int, z: int}}}}
views:
  low:
    columns: {{x: int, y: int}}
    rules: {low}
  p:
    columns: {columns}
    rules: {p}
  top:
    columns: {{x: int, y: int}}
    rules: {top}
"""
STARTS = (
    "edge({x}, {y})", "tag({y}, {x}, _)", "low({x}, {y})", "edge({x}, {y}), not low({y}, {x})", "mark({x}), mark({y})",
    "edge({x}, {y}), {y} > 2", "tag({x}, A, {y}), A = 1", "edge({x}, A), {y} = A + 1",
)  # fmt: skip
STEPS = (
    "edge({x}, {z})", "edge({z}, {x})", "edge({x}, A), edge(A, {z})", "edge({x}, {z}), not mark({z})",
    "low({x}, {z})", "edge({x}, {z}), not low({z}, {x})", "edge({x}, A), {z} = A + 1, {z} < 6",
    "tag({x}, {z}, _), {x} != 3", "mark({x}), tag(_, {x}, {z}), not tag({z}, {z}, _)",
)  # fmt: skip
LOWS = (
    ["low(X, Y) :- edge(X, Y), not mark(Y)"],
    ["low(X, Y) :- tag(X, Y, _)", "low(X, Y) :- low(Y, X)"],
    ["low(X, Y) :- tag(X, _, Y)", "low(X, Y) :- edge(X, Z), low(Z, Y)"],
)
TOPS = (
    ["top(X, Y) :- edge(X, Y), not {p_xy}"],
    ["top(X, Y) :- {p_xy}, not {p_yx}"],
    ["top(X, Y) :- {p_xy}, mark(Y)", "top(X, Y) :- {p_xy}, top(Y, X)"],
    ["top(X, 1) :- mark(X), {p_x1}"],
    ["top(X, Y) :- edge(X, Y), mark(Y)", "top(X, Y) :- tag(X, A, B), {p_ab}, top(B, Y)"],  # asks again and again
    ["top(X, Y) :- edge(X, Y)", "top(X, Y) :- edge(X, A), {p_ax}, top(A, Y)"],
    ["top(X, Y) :- edge(X, Y)", "top(X, Y) :- tag(A, X, B), {p_ab}, top(B, Y)"],
    ["top(X, Y) :- {p_xy}, Y > 1"],  # by the key alone
    ["top(X, Y) :- edge(Y, X), {p_xa}, A != Y", "top(X, Y) :- tag(X, Y, _), not {p_x_}"],
)


def linear_program(rng: Random) -> str:
    """A view that recurs by one of its columns and hands the others on, between two views, some with negation."""
    width, backwards = rng.choice((2, 2, 3)), rng.random() < 0.5

    def head(x: str, y: str) -> str:
        args = [y, x] if backwards else [x, y]
        return f"p({', '.join([*args, 'C'] if width == 3 else args)})"

    third = ", mark(C)" if width == 3 else ""
    begun = [rng.choice(STARTS).format(x="X", y="Y") for _ in range(rng.choice((1, 1, 2)))]
    gone = [rng.choice(STEPS).format(x="X", z="Z") for _ in range(rng.choice((1, 1, 2)))]
    starts = [f"{head('X', 'Y')} :- {body}{third}" for body in begun]
    orders = [rng.sample([body, head("Z", "Y")], 2) for body in gone]
    steps = [f"{head('X', 'Y')} :- {', '.join(order)}" for order in orders]
    if rng.random() < 0.15:  # the recursion looks at what it might have handed on
        steps.append(f"{head('X', 'Y')} :- edge(X, Z), {head('Z', 'Y')}, Y != 2")
    if rng.random() < 0.1:
        steps.append(f"{head('X', 'Y')} :- {head('3', 'Y')}, mark(X)")

    if width == 2 and rng.random() < 0.25:  # it reads itself twice, and perhaps in a mirror
        both = rng.sample([head("X", "Z"), head("Z", "Y")], 2)
        steps = [
            f"{head('X', 'Y')} :- {', '.join(both)}",
            *[f"{head('X', 'Y')} :- {head('Y', 'X')}"] * rng.randrange(2),
        ]

    def read(x: str, y: str) -> str:
        return head(x, y).replace("C", rng.choice(("1", "_")))

    atoms = {f"p_{x}{y}".lower(): read(x, y) for x, y in ("XY", "YX", "X1", "AB", "AX", "XA", "X_")}
    top = [rule.format(**atoms) for rule in rng.choice(TOPS)]
    names = ("x", "y", "z")[:width]
    columns = "{" + ", ".join(f"{name}: int" for name in names) + "}"
    low, p, top = (json.dumps(rules) for rules in (rng.choice(LOWS), [*starts, *steps], top))
    return LINEAR.format(columns=columns, low=low, p=p, top=top)


def linear_sources(rng: Random) -> dict[str, frozenset[Row]]:
    """Few values, so that there are cycles; now and then a NULL."""

    def rows(width: int, most: int) -> frozenset[Row]:
        draw = (tuple(None if rng.random() < 0.06 else rng.randrange(1, 6) for _ in range(width)) for _ in range(most))
        return frozenset(list(draw)[: rng.randrange(most)])

    return {"edge": rows(2, 12), "mark": rows(1, 5), "tag": rows(3, 8)}


def test_what_travels_together_arrives_as_what_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recursion that hands columns on, both ways, with cycles, NULLs, negation below and above, and little room."""
    taken: Counter[str] = Counter()
    take, questions, from_key = Flow.take, Flow.questions, LinearRecursion.from_key

    def counted_take(flow: Flow, goals: Numbers) -> tuple[Numbers, Numbers]:
        fresh, left = take(flow, goals)
        taken["inside"] += len(goals) - len(left)
        taken["no room"] += len(left)
        return fresh, left

    def counted_questions(flow: Flow) -> Numbers:
        rows = questions(flow)
        taken["by row"] += len(rows)
        return rows

    def counted_from_key(one: LinearRecursion) -> tuple[View, ...]:
        taken["by key alone"] += 1
        return from_key(one)

    monkeypatch.setattr(LinearRecursion, "from_key", counted_from_key)
    monkeypatch.setattr(Flow, "take", counted_take)
    monkeypatch.setattr(Flow, "questions", counted_questions)
    for seed in range(SEED, SEED + LINEAR_PROGRAMS):
        rng = Random(seed)
        monkeypatch.setattr("foreset.verify.flows.MOST", rng.choice((1, 3, 1024, 1024)))
        monkeypatch.setattr("foreset.verify.linear_recursion.FEW", rng.choice((-1.0, 4.0)))
        text = linear_program(rng)
        program, layering = in_normal_form(load_program(text, "linear"))
        schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
        sources = linear_sources(rng)
        database = evaluate(layering.strata, sources, schemas, program.max_rounds)
        for names, size in ((("p",), 40), (("top",), 1), (("top",), 2), (("low", "p", "top"), 40)):
            asked = {}
            for name in names:
                combinations = itertools.product((None, *range(1, 7)), repeat=len(schemas[name]))
                near = rng.sample(sorted(database[name], key=repr), min(size, len(database[name])))
                asked[name] = {*rng.sample(list(combinations), size), *near}
            sizes = {name: len(database[name]) for name in schemas if rng.random() < 0.5}
            found = derivable(asked, layering, SetFacts(sources, schemas), schemas, sizes)
            for name in names:
                true = asked[name] & database[name]
                assert found[name] == true, f"seed {seed}, {name} of {names}:\n{text}\n{sources}"
    print(dict(taken))
    assert taken["inside"] > 30 * LINEAR_PROGRAMS
    assert min(taken["no room"], taken["by row"]) > 5 * LINEAR_PROGRAMS
    assert taken["by key alone"] > LINEAR_PROGRAMS / 2


@pytest.mark.slow
def test_planted_errors_are_caught_at_the_stated_rate() -> None:
    """One row dropped, added or altered in the staged result: a sample of all changed rows always sees it,
    a sample of a share of them with at least that probability."""
    plantings = caught_whole = caught_half = expected_half = 0
    for seed in itertools.count(SEED):
        if plantings >= 1000:
            break
        program, layering, database, schemas = evaluated(seed)
        facts = SetFacts({source.name: database[source.name] for source in program.sources}, schemas)
        for view in program.views:
            true, kinds = database[view.name], schemas[view.name]
            rng = Random(seed)
            for planted in planted_errors(true, rng):
                plus = planted - {next(iter(planted))} if not planted ^ true else planted
                table = table_of(plus, kinds, [column.name for column in view.columns])
                staged = Staged(view.columns, None, table, None)
                plantings += 1
                for share in (1.0, 0.5):
                    claims = draw(staged, share_of(max(2, int(2 * len(plus) * share))), seed)
                    rows = {claim.row for claim in claims}
                    found = derivable({view.name: rows}, layering, facts, schemas)[view.name]
                    wrong = any(claim.present is not (claim.row in found) for claim in claims)
                    if share == 1.0:
                        caught_whole += wrong
                    else:
                        caught_half += wrong
                        expected_half += 0.5
    print(f"{plantings} plantings: {caught_whole} caught by whole samples, {caught_half} by halves")
    assert caught_whole == plantings
    assert caught_half >= 0.9 * expected_half


@pytest.mark.slow
def test_dropped_rows_are_caught() -> None:
    """A row that is missing is found when its values occur in the view or in rows of sources that reach it; where the
    sample is large enough to make all combinations of those, always."""
    plantings = out_of_reach = 0
    for seed in itertools.count(SEED):
        if plantings >= 500:
            break
        program, layering, database, schemas = evaluated(seed)
        facts = SetFacts({source.name: database[source.name] for source in program.sources}, schemas)
        reaching = origins(layering, schemas)
        for view in program.views:
            true, kinds = sorted(database[view.name], key=repr), schemas[view.name]
            if not true:
                continue
            dropped = Random(seed).choice(true)
            rest = [row for row in true if row != dropped]
            pairs = reaching.get(view.name, {})
            near = [hint for name in sorted(pairs) for hint in hints(pairs[name], sorted(database[name], key=repr))]
            said = [{value for hint in near for p, value in hint if p == i} for i in range(len(kinds))]
            values = [{row[i] for row in rest} | said[i] for i in range(len(kinds))]
            combinations = math.prod(map(len, values))
            if combinations > 500:
                continue
            if any(value not in column for value, column in zip(dropped, values, strict=True)):
                out_of_reach += 1
                continue
            plantings += 1
            table = table_of(frozenset(rest), kinds, [column.name for column in view.columns])
            claims = draw(Staged(view.columns, None, table, None), share_of(max(40, 40 * combinations)), seed, near)
            found = derivable({view.name: {claim.row for claim in claims}}, layering, facts, schemas)[view.name]
            assert any(claim.row in found and not claim.present for claim in claims), (seed, view.name, dropped)
    print(f"{plantings} rows dropped, all caught; {out_of_reach} more with a value that occurs nowhere (computed ones)")
    assert out_of_reach < plantings / 4


def planted_errors(true: frozenset[Row], rng: Random) -> list[frozenset[Row]]:
    """The staged rows with one that no rule derives: added, or altered from one that is there."""
    if not true:
        return []
    rows = sorted(true, key=repr)
    domains = [sorted({row[i] for row in rows}, key=repr) for i in range(len(rows[0]))]
    candidates = {tuple(rng.choice(domain) for domain in domains) for _ in range(8)} - true
    found = []
    for extra in sorted(candidates, key=repr)[:2]:
        found += [true | {extra}, (true - {rng.choice(rows)}) | {extra}]
    return found


def test_error_bound_is_the_rule_of_three() -> None:
    assert error_bound(0) is None
    assert 0.0148 < (error_bound(200) or 0) < 0.015
    assert error_bound(1) == 0.95


def test_sources_by_key_through_duckdb() -> None:
    """The facts that a refresh uses give the same rows as plain sets, whatever the types."""
    for seed in range(SEED, SEED + 40):
        program, _, database, schemas = evaluated(seed)
        columns = program.columns_of()
        tables = {
            source.name: table_of(database[source.name], schemas[source.name], [c.name for c in source.columns])
            for source in program.sources
        }
        plain, real = SetFacts(database, schemas), SourceFacts(columns, tables.__getitem__)
        for source in program.sources:
            rows = database[source.name]
            for known in ((), (0,), tuple(range(len(source.columns)))):
                keys = {tuple(row[p] for p in known) for row in rows}
                keys = {key for key in keys if None not in key}
                expected = {key: set(found) for key, found in plain.rows(source.name, known, keys).items()}
                found = {key: set(found) for key, found in real.rows(source.name, known, keys).items() if found}
                assert found == expected, f"seed {seed}, {source.name} by {known}"


def test_key_tables_have_the_types_of_their_columns() -> None:
    from foreset.ir.types import BIGINT, STRING

    assert key_table([(1, "a")], [BIGINT, STRING]).schema.types == [pa.int64(), pa.string()]
