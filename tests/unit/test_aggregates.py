"""What aggregates do beside being right: what a refresh reads, floats without drift, failures that name the group."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.cli_runner import foreset as run_cli
from tests.property.aggregate_programs import random_aggregates
from tests.property.test_verify import SetFacts, absent_rows
from tests.recomputed import derivable
from tests.refresh_cases import in_normal_form

import foreset
from foreset.errors import EvaluationError
from foreset.explain.groups import SELF, base_reading, groups_rule
from foreset.inverses.check import proven
from foreset.ir.aggregates import BUILTINS, Kind, Upkeep
from foreset.ir.program import Program, is_hidden
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.oracle.naive import evaluate
from foreset.plan.fingerprint import fingerprints
from foreset.plan.translate import keeps_counters, single_derivation
from foreset.rewrite.pipeline import Prepared, prepare
from foreset.spec.load import load_file, load_text
from foreset.store.arrow_values import to_arrow
from foreset.testing.replica import Delta, Replica
from foreset.testing.run import run_tests
from foreset.verify.facts import SourceFacts

HEAD = """group: g
sources:
  sale: {table: raw/sale, columns: {id: int, shop: string, x: double, amount: int, price: "decimal(10,2)"}}
  shut: {table: raw/shut, columns: {shop: string}}
"""


def prepared(rules: dict[str, tuple[str, str]], more: str = "") -> Prepared:
    """A program with these views: name -> columns, rule."""
    views = "".join(f"  {name}:\n    columns: {c}\n    rules:\n      - {r}\n" for name, (c, r) in rules.items())
    loaded = load_text(f"{HEAD}{more}views:\n{views}")
    assert loaded.program is not None, list(loaded.report)
    found = prepare(loaded.program)
    assert found.program is not None, list(found.report)
    return found


def replica_of(found: Prepared) -> Replica:
    assert found.program is not None
    assert found.layering is not None
    return Replica(found.program, found.layering)


def rows(count: int, shop: str = "s", start: int = 0) -> frozenset[tuple[object, ...]]:
    return frozenset((i, shop, i * 0.1, i % 100, Decimal(i) / 100) for i in range(start, start + count))


EXACT = {"v": ("{s: string, n: bigint, t: bigint}",
               "v(S, N, T) :- setof((A, I), sale(I, S, _x, A, _p), R), count(R, N), sum(R, T)")}  # fmt: skip
MOST = {"v": ("{s: string, m: int}", "v(S, M) :- M = max{A, I | sale(I, S, _, A, _)}")}
FLOAT = {"v": ("{s: string, t: double}", "v(S, T) :- T = sum{X, I | sale(I, S, X, _, _)}")}


# ---------------------------------------------------------------- what a refresh reads
def test_one_change_of_a_large_group_reads_no_member() -> None:
    replica = replica_of(
        prepared(
            {
                "v": (
                    "{n: bigint, t: bigint}",
                    "v(N, T) :- setof((A, I), sale(I, _, _, A, _), R), count(R, N), sum(R, T)",
                )
            }
        )
    )
    replica.refresh({"sale": Delta(rows(20_000))})
    deltas, steps = replica.refresh({"sale": Delta(rows(1, start=70_000), rows(1))})
    assert deltas["v"] == Delta()  # one comes, one goes, both of amount 0
    work = [step.work for step in steps.values()]
    assert sum(each.gathered for each in work) == 0
    assert sum(each.derivations for each in work) <= 4
    assert sum(each.groups for each in work) == 1


def test_an_extremum_is_looked_for_again_only_when_it_goes() -> None:
    replica = replica_of(prepared(MOST))
    replica.refresh({"sale": Delta(rows(300))})

    def gathered(plus: frozenset, minus: frozenset) -> int:
        _, steps = replica.refresh({"sale": Delta(plus, minus)})
        return sum(step.work.gathered for step in steps.values())

    at = {row[0]: row for row in rows(300)}
    assert gathered(frozenset(), frozenset({at[5]})) == 0  # not the greatest
    assert gathered(frozenset({(900, "s", 0.0, 99, Decimal(0))}), frozenset()) == 0  # another one as great
    assert gathered(frozenset({(901, "s", 0.0, 500, Decimal(0))}), frozenset({at[99]})) == 0  # a better one comes
    assert gathered(frozenset(), frozenset({(901, "s", 0.0, 500, Decimal(0))})) == 299  # now it must be looked for
    assert replica.contents["v"] == {("s", 99)}


def test_members_are_stored_only_where_somebody_reads_them_again() -> None:
    def hidden(rules: dict[str, tuple[str, str]]) -> set[str]:
        program = prepared(rules).program
        assert program is not None
        return {view.name.partition("~")[2].partition("_")[0] for view in program.views if view.hidden}

    assert hidden(EXACT) == {"groups", "members"}  # `_x` is projected: derivations must be counted
    assert hidden(
        {"v": ("{s: string, n: bigint}", "v(S, N) :- setof((I, X, A), sale(I, S, X, A, P), R), count(R, N)")}
    ) == {"groups"}
    assert hidden(MOST) == {"groups", "members"}


def test_what_explain_says_of_the_base() -> None:
    found = prepared({
        "one": EXACT["v"],
        "joined": ("{s: string, n: bigint}", "joined(S, N) :- N = count{I | sale(I, S, _, _, _), shut(S)}"),
        "guarded": ("{s: string, n: bigint}", "guarded(S, N) :- N = count{I | sale(I, S, _, _, _), not shut(S)}"),
        "above": ("{s: string, n: bigint}", "above(S, N) :- shut(S), N = count{I | sale(I, S, _, _, _)}"),
        "plain": ("{s: string}", "plain(S) :- shut(S)"),
    } | {"one": ("{s: string, n: bigint, t: bigint}", EXACT["v"][1].replace("v(", "one(", 1))})  # fmt: skip
    assert found.program is not None
    said = {view.name: base_reading(found.program, view.name) for view in found.program.shown}
    assert said["one"] == SELF
    assert said["joined"] == "read: sale and shut, as a change of one literal is joined with the others"
    assert said["guarded"] == "read: sale and shut under `not` is looked up around a change"
    assert said["above"].startswith("read: shut")
    assert said["plain"] == ""


def test_a_row_of_a_group_has_one_derivation_where_the_head_shows_the_group() -> None:
    found = prepared(MOST)
    assert found.layering is not None
    stratum = found.layering.of("v")
    assert single_derivation(stratum)
    assert not keeps_counters(stratum)


# ---------------------------------------------------------------- floats
def test_ten_thousand_small_updates_of_a_float_sum_do_not_drift() -> None:
    rng = Random(1)
    replica = replica_of(prepared(FLOAT))
    held = set(rows(40))
    replica.refresh({"sale": Delta(frozenset(held))})
    running, number = math.fsum(row[2] for row in held), 100
    for _ in range(1_000):
        out = frozenset(rng.sample(sorted(held), 5))
        came = frozenset((number + i, "s", rng.choice((0.1, 1e9 + 0.3, -7e-5, 3.3)), 0, Decimal(0)) for i in range(5))
        number += 5
        held = (held - out) | came
        replica.refresh({"sale": Delta(came, out)})
        for row in sorted(out):
            running -= row[2]
        for row in sorted(came):
            running += row[2]
    ((_, total),) = replica.contents["v"]
    exact = math.fsum(row[2] for row in held)
    assert total == pytest.approx(exact, rel=1e-15)
    assert running != pytest.approx(exact, rel=1e-15), "a running sum drifts: else this shows nothing"
    fresh = replica_of(prepared(FLOAT))
    fresh.refresh({"sale": Delta(frozenset(held))})
    assert fresh.contents["v"] == replica.contents["v"]  # to the last bit, after any history


def test_decimals_are_exact_in_place() -> None:
    rule = {"v": ('{s: string, t: "decimal(20,2)"}', "v(S, T) :- T = sum{P, I | sale(I, S, _, _, P)}")}
    replica = replica_of(prepared(rule))
    held: set[tuple[object, ...]] = set()
    rng = Random(2)
    for night in range(500):
        came = frozenset(
            (night * 20 + i, "s", 0.0, 0, Decimal(rng.randrange(-(10**9), 10**9)) / 100) for i in range(20)
        )
        out = frozenset(rng.sample(sorted(held), min(len(held), 15)))
        held = (held - out) | came
        replica.refresh({"sale": Delta(came, out)})
    assert replica.contents["v"] == {("s", sum((row[4] for row in held), Decimal(0)))}


# ---------------------------------------------------------------- failures
FOLDS = """aggregates:
  tight: {takes: int, state: tinyint, zero: 0, add: "tinyint(A + X)", remove: "tinyint(A - X)"}
  gone: {takes: int, state: int, zero: 0, add: "least(A, int(split_part(string(X), \\"9\\", 1)))"}
  ratio: sum(S) / (count(S) - 2)
"""


@pytest.mark.parametrize(
    ("made", "kind", "text"),
    [
        ("tight(R, N, 1)", "tinyint", 'rule v#1 of view v, group (S = "b"): overflow'),
        ("gone(R, N, 1)", "int", 'rule v#1 of view v, group (S = "b"): bad cast'),
        ("ratio(R, N)", "double", "rule v#1 of view v: division by zero, at S = 'b'"),
        ("sum(R, N)", "bigint", "rule v#1 of view v: overflow"),
    ],
)
@pytest.mark.parametrize("night", ["load", "change"])
def test_a_failure_names_rule_view_and_group(made: str, kind: str, text: str, night: str) -> None:
    body = "sale(I, S, _, A, _)"
    if made.startswith("sum"):
        body = "A0^sale(I, S, _, A0, _), A = bigint(A0) * 70000000000000000"
    rule = f"v(S, N) :- setof((A, I), {body}, R), {made}"
    replica = replica_of(prepared({"v": (f"{{s: string, n: {kind}}}", rule)}, FOLDS))
    good = frozenset((i, "a", 0.0, i, Decimal(0)) for i in (1, 2, 3))
    bad = frozenset({(4, "b", 0.0, 9, Decimal(0)), (5, "b", 0.0, 126, Decimal(0))})
    if night == "change":
        replica.refresh({"sale": Delta(good)})
        good = frozenset()
    with pytest.raises(EvaluationError) as caught:
        replica.refresh({"sale": Delta(good | bad)})
    assert text in str(caught.value)


def test_a_fold_that_gives_null_stops_the_refresh() -> None:
    more = "aggregates:\n  odd: {takes: string, state: string, zero: '\"\"', add: 'concat(A, N)'}\n"
    found = load_text(f"{HEAD}{more}views: {{}}")
    assert any(fault.code == "FS309" for fault in prepare_all(found.program)) or found.program is None
    more = "aggregates:\n  odd: {takes: int, state: int, zero: 0, add: 'A + int(div(X, X)) - 1'}\n"
    replica = replica_of(
        prepared({"v": ("{s: string, n: int}", "v(S, N) :- N = odd(1){A, I | sale(I, S, _, A, _)}")}, more)
    )
    with pytest.raises(EvaluationError, match='group .S = "s".: division by zero'):
        replica.refresh({"sale": Delta(rows(2))})


def prepare_all(program: object) -> list:
    return [] if program is None else list(prepare(program).report)  # type: ignore[arg-type]


# ---------------------------------------------------------------- names, fingerprints, verification
def test_hidden_views_are_named_by_what_they_hold() -> None:
    """Names of variables, the order of literals and of rules change no name, so they rebuild nothing."""
    a = prepared({"v": ("{s: string, n: bigint}", "v(S, N) :- N = count{I | sale(I, S, _, A, _), not shut(S), A > 3}")})
    b = prepared(
        {
            "v": (
                "{s: string, n: bigint}",
                "v(Shop, K) :- K = count{Id | 3 < M, sale(Id, Shop, _, M, _), not shut(Shop)}",
            )
        }
    )
    assert a.program is not None
    assert b.program is not None
    names = [{view.name for view in found.program.views if is_hidden(view.name)} for found in (a, b)]
    assert a.layering is not None
    assert len(names[0]) == 2
    c = prepared(
        {
            "v": (
                "{s: string, n: bigint}",
                "v(Shop, K) :- K = count{Id | not shut(Shop), M > 3, sale(Id, Shop, _, M, _)}",
            )
        }
    )
    assert c.program is not None
    assert {view.name for view in c.program.views if is_hidden(view.name)} == names[0]
    assert c.layering is not None
    assert fingerprints(a.program, a.layering) == fingerprints(c.program, c.layering)
    assert a.program.auxiliaries["v"] == tuple(view.name for view in a.program.views if view.hidden)


def test_equal_looking_members_of_other_types_are_not_shared() -> None:
    """`1.5` and `15e-1` print alike, and are a decimal and a double."""
    sums = (f"T = double(sum{{Y | sale(_, S, _, A, _), Y = A * {factor}}})" for factor in ("1.5", "15e-1"))
    found = prepared({f"v{i}": ("{s: string, t: double}", f"v{i}(S, T) :- {one}") for i, one in enumerate(sums)})
    replica = replica_of(found)
    deltas, _ = replica.refresh({"sale": Delta(frozenset({(1, "s", 0.0, 3, Decimal(1))}))})
    assert deltas["v0"].plus == deltas["v1"].plus == {("s", 4.5)}


def test_what_explain_names_is_what_accumulates() -> None:
    """Two percentiles of one component, and a total that is the user's own, are told apart."""
    total = "  total: {takes: int, state: bigint, zero: 0, add: A + X}\n"
    more = f"aggregates:\n{total}  iqr: percentile(S, 0.75) - percentile(S, 0.25)\n"
    rule = "v(S, R, T, U) :- setof((A, I), sale(I, S, _x, A, _p), Z), iqr(Z, R), total(Z, T), sum(Z, U)"
    found = prepared({"v": ("{s: string, r: double, t: bigint, u: bigint}", rule)}, more)
    assert found.program is not None
    (groups,) = (view for view in found.program.views if view.aggregation)
    held = "members, percentile_1(0.75), percentile_1(0.25), fold_total_1, total_1, filled_1"
    assert f"; {held})" in groups_rule(groups)
    assert len({column.name for column in groups.columns}) == len(groups.columns)


def test_every_kind_has_a_class_and_every_aggregate_a_page() -> None:
    assert {one.upkeep.split(";")[0] for one in BUILTINS.values()} == {each.value for each in Upkeep}
    page = (Path(__file__).resolve().parents[2] / "docs" / "spec.md").read_text(encoding="utf-8")
    assert all(f"`{name}" in page for name in BUILTINS)
    assert len(Kind) == 16


@pytest.mark.parametrize("seed", range(600, 600 + (200 if os.environ.get("FORESET_LONG") else 12)))
def test_bound_recomputation_knows_groups(seed: int) -> None:
    """Every row that is there is derivable, and no row that is not; hidden rows too."""
    case = random_aggregates(seed)
    program, layering = in_normal_form(case.program)
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    sources = {source.name: case.nights[0][source.name].plus for source in program.sources}
    state = evaluate(layering.strata, sources, kinds, program.max_rounds)
    rng = Random(seed)
    asked = {}
    for view in program.views:
        there = set(rng.sample(sorted(state[view.name], key=repr), min(8, len(state[view.name]))))
        absent = absent_rows(state[view.name], state.values(), len(view.columns), rng)
        asked[view.name] = there | {row for row in absent if of_types(row, kinds[view.name])}
    true = {name: {row for row in wanted if row in state[name]} for name, wanted in asked.items()}
    assert derivable(asked, layering, SetFacts(sources, kinds), kinds) == true
    real = SourceFacts(program.columns_of(), tables(sources, program).__getitem__)
    assert derivable(asked, layering, real, kinds) == true


def of_types(row: Row, kinds: tuple[Type, ...]) -> bool:
    """Absent rows are made of values of any column; nobody asks for a text where a number stands."""
    try:
        to_arrow([row], kinds, [f"c{i}" for i in range(len(kinds))])
    except pa.ArrowException:
        return False
    return True


def tables(sources: Mapping[str, Iterable[Row]], program: Program) -> dict[str, pa.Table]:
    """Sources as Delta has them: bags, in which a row may stand twice."""
    found = {}
    for source in program.sources:
        names, types = [c.name for c in source.columns], [c.type for c in source.columns]
        rows = sorted(sources[source.name], key=repr)
        found[source.name] = to_arrow([*rows, *rows[::2]], types, names)
    return found


def test_large_groups_are_asked_for_by_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rules read sources alone, no member comes to Python; the answers are those of single members."""
    said: Counter[bool] = Counter()
    asked_for = SourceFacts.grouped

    def counted(*args: Any) -> list[Row] | None:
        found = asked_for(*args)
        said[found is not None] += 1
        return found

    monkeypatch.setattr(SourceFacts, "grouped", counted)
    for seed in range(700, 800):
        case = random_aggregates(seed)
        program, layering = in_normal_form(case.program)
        kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
        sources = {source.name: case.nights[0][source.name].plus for source in program.sources}
        state = evaluate(layering.strata, sources, kinds, program.max_rounds)
        asked = {view.name: set(state[view.name]) for view in program.views}
        real = SourceFacts(program.columns_of(), tables(sources, program).__getitem__)
        assert derivable(asked, layering, real, kinds) == asked
    assert said[True] > 20, said


def test_the_example_is_sound_and_its_tests_pass() -> None:
    loaded = load_file(Path(__file__).resolve().parents[2] / "examples/tournaments/view_specs/tournaments.yaml")
    assert loaded.program is not None
    found = proven(prepare(loaded.program))
    assert not list(loaded.report)
    assert not list(found.report)
    assert found.program is not None
    assert found.layering is not None
    outcomes = list(run_tests(loaded.program, found.program, found.layering))
    assert len(outcomes) == 2
    assert all(outcome.passed for outcome in outcomes), outcomes


# ---------------------------------------------------------------- in Python
@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a deployment has registered; it ends with the test."""
    found: dict[str, object] = {}
    monkeypatch.setattr("foreset.spec.registered._registered", found)
    return found


PYTHON = {"v": ("{s: string, n: bigint}", "v(S, N) :- setof((A, I), sale(I, S, _, A, _), R), bits(R, N, 1)")}


def test_an_aggregate_in_python_is_kept_in_place_where_it_has_an_inverse(offered: dict[str, object]) -> None:
    add, remove = (lambda a, x: a ^ (x + 1)), (lambda a, x: a ^ (x + 1))
    foreset.register_aggregate("bits", foreset.PythonAggregate("int", "bigint", 0, add, remove, finish="A * 2"))
    found = proven(prepared(PYTHON))
    assert not list(found.report.errors)
    replica = replica_of(found)
    replica.refresh({"sale": Delta(rows(50))})
    some = frozenset(sorted(rows(50))[10:20])
    _, steps = replica.refresh({"sale": Delta(rows(5, start=200), some)})
    assert sum(step.work.gathered for step in steps.values()) == 0
    truth = 0
    for row in (rows(50) - some) | rows(5, start=200):
        truth ^= row[3] + 1  # type: ignore[operator]
    assert replica.contents["v"] == {("s", truth * 2)}


def test_a_new_version_of_functions_is_another_view(offered: dict[str, object]) -> None:
    marks = []
    for version in ("1", "1", "2"):
        one = foreset.PythonAggregate("int", "bigint", 0, lambda a, x: a + x, version=version)
        foreset.register_aggregate("bits", one)
        found = prepared(PYTHON)
        assert found.program is not None
        assert found.layering is not None
        marks.append(fingerprints(found.program, found.layering)["v"])
    assert marks[0] == marks[1] != marks[2]


@pytest.mark.parametrize(
    ("add", "text"),
    [
        (lambda *_: None, "`add` of aggregate bits gives NULL"),
        (lambda a, x: a + 1 // (x - x), "`add` of aggregate bits raises ZeroDivisionError: integer"),
        (lambda *_: "many", "`add` of aggregate bits: 'many' is not a value of type bigint"),
        (lambda *_: 2**63, "`add` of aggregate bits: 9223372036854775808 is not a value of type bigint"),
    ],
)
def test_a_function_that_fails_stops_with_rule_view_and_group(offered: dict[str, object], add, text: str) -> None:
    foreset.register_aggregate("bits", foreset.PythonAggregate("int", "bigint", 0, add))
    with pytest.raises(EvaluationError) as caught:
        replica_of(prepared(PYTHON)).refresh({"sale": Delta(rows(3))})
    assert f'rule v#1 of view v, group (S = "s"): {text}' in str(caught.value)


def test_a_false_inverse_in_python_is_refused(offered: dict[str, object]) -> None:
    foreset.register_aggregate("bits", foreset.PythonAggregate("int", "bigint", 0, max, lambda a, *_: a))
    found = proven(prepared(PYTHON))
    assert found.program is None
    assert [fault.code for fault in found.report.errors] == ["FS310"]


def test_names_and_types_of_what_is_registered(offered: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is an aggregate of Foreset"):
        foreset.register_aggregate("count", foreset.PythonAggregate("int", "bigint", 0, max))
    with pytest.raises(ValueError, match="not all types"):
        foreset.register_aggregate("bits", foreset.PythonAggregate("integr", "bigint", 0, max))
    with pytest.raises(ValueError, match="aggregate bits: the rule ends too early"):
        foreset.register_aggregate("bits", foreset.PythonAggregate("int", "bigint", 0, max, finish="A +"))


def test_explain_shows_by_what_a_view_is_kept() -> None:
    """The hidden views come with the one that is asked for, and are in no list of names."""
    specs = str(Path(__file__).resolve().parents[2] / "examples/tournaments/view_specs")
    found = run_cli("explain", "tournaments.reach", "--specs", specs, "--strategy", "dred")
    assert found.code == 0
    assert "steps of `aggregate`" in found.out
    assert "steps of `dred`" in found.out
    assert "base        never read in a refresh" in found.out
    missing = run_cli("explain", "tournaments.nope", "--specs", specs)
    assert missing.code == 2
    assert "~" not in missing.err
