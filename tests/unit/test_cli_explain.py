"""`foreset explain`: what it shows of which view, as text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import foreset

SPECS = str(Path(__file__).resolve().parents[2] / "view_specs")


def explain(*arguments: str):
    return foreset("explain", *arguments, "--specs", SPECS)


def test_a_group_begins_with_its_levels_and_has_every_stratum() -> None:
    shown = explain("supply_chain")
    assert shown.code == 0
    assert shown.out.startswith("supply_chain: 20 views in 20 strata on 9 levels\n  level 1   1 provider, ")
    assert shown.out.count("\nstratum ") == 20


def test_a_view_shows_its_stratum_alone() -> None:
    shown = explain("supply_chain.requires")
    assert shown.out.startswith("stratum 10: requires\n")
    assert "maintenance rules" not in shown.out
    assert "steps of" not in shown.out


def test_rules_and_steps_are_added_where_asked() -> None:
    shown = explain("reach.closure", "--rules", "--steps")
    assert "    D1    closure_del(X, Y) :- edge_del(X, Y)\n" in shown.out
    assert "steps of `dredf`\n  phase delete\n" in shown.out
    assert "steps of `dredc`\n" in explain("reach", "--strategy", "dredc").out


def test_a_strategy_that_is_not_admitted_says_why() -> None:
    shown = explain("reach", "--strategy", "counting")
    assert "steps of `counting`\n  none: in a recursive view" in shown.out


def test_json_has_facts_rules_and_steps() -> None:
    data = explain("reach", "--json", "--steps").data
    (stratum,) = data["strata"]
    (view,) = stratum["views"]
    assert data["group"] == "reach"
    assert (stratum["number"], stratum["reads"], stratum["recursive"], stratum["cyclic"], stratum["counters"]) == (
        1,
        ["edge"],
        True,
        True,
        "none",
    )
    assert (view["id"], view["name"]) == ("closure", "closure")
    assert view["rules"]["closure#1"] == "closure(X, Y) :- edge(X, Y)"
    assert [each["label"] for each in view["maintenance"]][:3] == ["D1", "N1", "N'1"]
    assert {each["strategy"]: each["admitted"] for each in stratum["strategies"]}["counting"] is False
    assert stratum["auto"][0] == {"night": "first load", "strategy": "recompute", "reason": "first load"}
    assert stratum["steps"]["strategy"] == "dredf"
    assert stratum["steps"]["lines"][0]["kind"] == "phase"
    assert "steps" not in explain("reach", "--json").data["strata"][0]


def test_json_names_hidden_relations_in_words_and_gives_their_ids(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(
        """group: shop
sources: {sale: {table: shop/sale, columns: {id: int, shop: string, price: int}}}
views:
  turnover:
    columns: {shop: string, total: bigint, sales: bigint}
    rules: ["turnover(S, T, N) :- T = sum{P, I | sale(I, S, P)}, N = count{I | sale(I, S, _)}"]
"""
    )
    text = foreset("explain", "shop", "--specs", tmp_path).out
    assert text.startswith("shop: 1 view, kept with 3 helper tables, in 4 strata on 3 levels\n")
    strata = foreset("explain", "shop", "--specs", tmp_path, "--json").data["strata"]
    assert [view["hidden"] for stratum in strata for view in stratum["views"]] == [True, True, True, False]
    names = {view["name"]: view["id"] for stratum in strata for view in stratum["views"]}
    assert {*names} == {
        "the elements from `sale`",
        "the groups of `sale` (1)",
        "the groups of `sale` (2)",
        "turnover",
    }
    assert names["turnover"] == "turnover"
    assert all(one.startswith("sale~") for name, one in names.items() if name != "turnover")
    assert strata[-1]["reads"] == ["the groups of `sale` (1)", "the groups of `sale` (2)"]
    assert strata[-1]["auto"][2]["night"] == "insertions into the groups of `sale` (1)"
    (view,) = strata[-1]["views"]
    assert view["rules"] == {
        "turnover#1": "turnover(S, T, N) :- T = sum{P, I | sale(I, S, P)}, N = count{I | sale(I, S, _)}"
    }
    assert names["the groups of `sale` (1)"] in view["maintenance"][0]["rule"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("reech", "did you mean `reach`?"),
        ("reach.closur", "did you mean `closure`?"),
        ("reach.zzz", "its views: closure"),
        ("zzz", "groups here: law_enforcement, reach, supply_chain"),
    ],
)
def test_unknown_names_get_a_hint(target: str, message: str) -> None:
    shown = explain(target)
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err


def test_unknown_strategies_get_a_hint() -> None:
    assert "did you mean `dred`?" in explain("reach", "--strategy", "drad").err


def test_a_refused_spec_is_shown_as_check_shows_it(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("group: bad\nviews:\n  v: {columns: {a: strng}, rules: ['v(1)']}\n")
    shown = foreset("explain", "bad", "--specs", str(tmp_path))
    assert (shown.code, shown.out) == (2, "")
    assert "bad.yaml:3:20: error[FS" in shown.err
    assert "  |   v: {columns: {a: strng}" in shown.err


def test_views_that_are_kept_in_ways_of_their_own_are_explained_too(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("""group: own
sources:
  p: {table: s/p, columns: {n: int}}
domains:
  d:
    provider: files
    options: {path: x.csv, format: csv}
    functions: {f: {args: {a: int}, results: {b: int}}}
views:
  on_read: {columns: {n: int, m: int}, evaluate: on_read, rules: ["on_read(N, M) :- p(N), in(M, d:f(3))"]}
  asked: {columns: {n: int, m: int}, rules: ["asked(N, M) :- p(N), in(M, d:f(N))"]}
""")
    for option in ("--rules", "--steps"):
        shown = foreset("explain", "own", option, "--specs", str(tmp_path))
        assert (shown.code, shown.err) == (0, "")
    assert "its rules are evaluated in memory, by solvers, and compared with what was there" in shown.out
    assert "the domain answers, and compared with what was there" in shown.out
    assert foreset("explain", "own.asked", "--steps", "--specs", str(tmp_path)).code == 0
