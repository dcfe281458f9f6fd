"""`stdel` on ordinary views: deletions follow supports, read nothing else, and derive nothing again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import foreset as cli
from tests.refresh_cases import always, in_normal_form, load_program
from tests.roads import CLOSURE, DEAD_END, GROUP, PAPER, World, closed, words

from foreset.ir.program import Program
from foreset.ir.reads import read_by
from foreset.ir.strata import Layering
from foreset.ir.versions import Version
from foreset.oracle.naive import evaluate
from foreset.plan.choose import Mode, Situation, Size, choose
from foreset.plan.fingerprint import fingerprints
from foreset.plan.translate import keeps_counters, refusal, single_derivation, translate
from foreset.testing.replica import Delta, Replica

HEAD = """group: g
sources:
  edge: {{table: t/edge, columns: {{src: bigint, dst: bigint}}}}
  shut: {{table: t/shut, columns: {{node: bigint}}}}
views:
  v:
    columns: {{a: bigint, b: bigint}}
    strategy: {strategy}
    rules:
"""
BASE = "      - v(X, Y) :- edge(X, Y)\n"
RIGHT = BASE + "      - v(X, Y) :- edge(X, Z), v(Z, Y)\n"
LEFT = BASE + "      - v(X, Y) :- v(X, Z), edge(Z, Y)\n"
SHUT = BASE + "      - v(X, Y) :- edge(X, Z), not shut(Z), v(Z, Y)\n"
ANY = BASE + "      - v(X, Y) :- edge(X, Z), not edge(Y, _), v(Z, Y)\n"
ORDERED = BASE + "      - v(X, Y) :- edge(X, Z), X < Z, v(Z, Y)\n"
JOIN = """      - v(A, D) :- edge(A, B), edge(B, C), edge(C, D)
      - v(A, B) :- edge(B, A), shut(A)
      - v(1, 1)
"""
SHAPES = {"right": RIGHT, "left": LEFT, "negation": SHUT, "negated rest": ANY, "join": JOIN}


def prepared(rules: str, strategy: str = "stdel-acyclic") -> tuple[Program, Layering]:
    return in_normal_form(load_program(HEAD.format(strategy=strategy) + rules, "spec"))


def night(rng: random.Random, now: dict[str, set], *, layered: bool, first: bool) -> Iterator[tuple[str, Delta]]:
    for name, width in (("edge", 2), ("shut", 1)):
        rows = {row(rng, width, layered=layered) for _ in range(14 if first else 3)}
        gone = set(rng.sample(sorted(now[name]), min(len(now[name]), 2)))
        yield name, Delta(frozenset(rows - now[name]), frozenset(gone - rows))
        now[name] = (now[name] - gone) | rows


def row(rng: random.Random, width: int, *, layered: bool) -> tuple[int, ...]:
    if width == 1:
        return (rng.randrange(8),)
    a, b = rng.randrange(8), rng.randrange(8)
    return (min(a, b), max(a, b) + 1) if layered else (a, b)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layered", [True, False], ids=["layered", "circles"])
def test_rows_and_supports_are_exact_night_by_night(shape: str, layered: bool) -> None:
    """Also where the data break the promise; without circles nothing is deleted that has to come back."""
    program, layering = prepared(SHAPES[shape])
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    ran, rederived = dict[str, int](), 0
    for seed in range(20):
        rng = random.Random(seed)
        replica, now = Replica(program, layering), {"edge": set[tuple[int, ...]](), "shut": set[tuple[int, ...]]()}
        for number in range(4):
            changes = dict(night(rng, now, layered=layered, first=number == 0))
            _, done = replica.refresh(changes, always("stdel", ran))
            truth = evaluate(layering.strata, {name: frozenset(rows) for name, rows in now.items()}, kinds, 1000)
            for view in program.views:
                assert set(replica.contents[view.name]) == set(truth[view.name]), (seed, number, view.name)
            rederived += done[1].work.rederived
    assert ran["stdel"] > 40
    assert (rederived > 0) is (not layered and shape != "join")


def test_a_deletion_takes_what_goes_and_nothing_else() -> None:
    program, layering = prepared(RIGHT)
    rng = random.Random(1)
    edges = {(10 * i + j, 10 * (i + 1) + rng.randrange(10)) for i in range(6) for j in range(10) for _ in range(3)}
    replica = Replica(program, layering)
    replica.refresh({"edge": Delta(frozenset(edges))})
    deltas, done = replica.refresh({"edge": Delta(frozenset(), frozenset(sorted(edges)[70:72]))}, always("stdel"))
    assert done[1].work.overdeleted == sum(len(deltas[view.name].minus) for view in program.views) > 10
    assert done[1].work.rederived == 0


def test_a_deletion_reads_supports_and_the_change_alone() -> None:
    for rules, cyclic in ((RIGHT, True), (ORDERED, False), (JOIN, False)):
        _, layering = prepared(rules)
        procedure = translate(layering.strata[0], "stdel")
        found = {ref for ref in read_by(procedure.phases[0].steps) if ref.relation in layering.strata[0].reads}
        changes = {Version.PLUS, Version.MINUS}
        looked_at = {Version.KEPT, Version.NEW} if cyclic else set()  # edges, for circles and for rows on them
        assert {ref.version for ref in found} <= changes | looked_at
        assert not any(ref.version is Version.OLD and ref.relation == "v" for ref in read_by(procedure.steps))


def test_there_is_one_row_for_each_derivation() -> None:
    program, layering = prepared(RIGHT)
    (stratum,) = layering.strata
    assert [view.supports for view in stratum.views] == ["", "v", "v"]
    replica = Replica(program, layering)
    replica.refresh({"edge": Delta(frozenset({(1, 2), (2, 4), (1, 3), (3, 4)}))})
    base, step = (replica.contents[view.name] for view in stratum.views[1:])
    assert base == {(1, 2), (2, 4), (1, 3), (3, 4)}
    assert step == {(1, 4, 2), (1, 4, 3)}  # the row, then the city between
    _, done = replica.refresh({"edge": Delta(frozenset(), frozenset({(1, 2)}))})
    assert done[1].choice.strategy == "stdel"
    assert "circles in the data" in done[1].choice.reason
    assert (1, 4) in replica.contents["v"]
    assert replica.contents[stratum.views[2].name] == {(1, 4, 3)}


def test_where_rows_are_their_own_supports_nothing_is_stored() -> None:
    _, layering = prepared("      - v(X, Y) :- edge(X, Y), not shut(Y)\n", "stdel")
    (stratum,) = layering.strata
    assert stratum.names == ("v",)
    assert refusal(stratum, "stdel") == ""


def test_it_is_taken_where_declared_and_refused_where_derivations_are_not_kept() -> None:
    sizes = {"edge": Size(0, 1, 1_000_000), "shut": Size(0, 0, 10)}
    for rules, strategy in ((ORDERED, "stdel"), (RIGHT, "stdel-acyclic"), (JOIN, "stdel")):
        (stratum,) = prepared(rules, strategy)[1].strata
        choice = choose(stratum, Situation(sizes), Mode.AUTO)
        assert (choice.strategy, f"`strategy: {strategy}`" in choice.reason) == ("stdel", True)
        others = () if stratum.recursive else ("counting", "dredf")
        assert all("each derivation as a row" in refusal(stratum, other) for other in others)
    (stratum,) = prepared(RIGHT, "auto")[1].strata
    assert choose(stratum, Situation(sizes), Mode.AUTO).strategy == "dredf"
    assert "`strategy: stdel-acyclic`" in refusal(stratum, "stdel")


def test_rows_that_become_one_have_two_derivations() -> None:
    """A bigint read as a double: neither is presence the count, nor is the view its own support."""
    text = HEAD.format(strategy="auto").replace("node: bigint", "node: double").replace("a: bigint", "a: double")
    _, layering = in_normal_form(load_program(text + "      - v(X, Y) :- edge(X, Y), shut(X)\n", "spec"))
    (stratum,) = layering.strata
    assert not single_derivation(stratum)
    assert keeps_counters(stratum)
    assert "wider type than a column" in refusal(stratum, "stdel")
    _, layering = prepared("      - v(X, Y) :- edge(X, Y), shut(X)\n", "auto")
    assert single_derivation(layering.strata[0])


def test_names_of_variables_and_the_order_of_the_text_do_not_count() -> None:
    other = "      - v(A, C) :- v(B, C), edge(A, B)\n      - v(P, Q) :- edge(P, Q)\n"
    assert fingerprints(*prepared(RIGHT)) == fingerprints(*prepared(other))


def test_rules_that_say_the_same_share_their_supports() -> None:
    program, layering = prepared(
        "      - v(Y, X) :- edge(X, Y), shut(Z)\n      - v(A, B) :- edge(B, A), shut(C)\n", "stdel"
    )
    assert len(program.views) == 2
    replica = Replica(program, layering)
    replica.refresh({"edge": Delta(frozenset({(1, 2)})), "shut": Delta(frozenset({(7,), (8,)}))})
    replica.refresh({"shut": Delta(frozenset(), frozenset({(7,)}))})
    assert replica.contents["v"] == {(2, 1)}
    replica.refresh({"shut": Delta(frozenset(), frozenset({(8,)}))})
    assert not replica.contents["v"]


def test_nights_over_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Supports lie in a state table, are pinned by the manifest, and go on from night to night, also over a circle."""
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    rules = CLOSURE.replace("    rules:", "    strategy: stdel-acyclic\n    rules:")
    world = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", PAPER)
    world.spec(f"{GROUP}{rules}{DEAD_END}")
    wh = world.open()
    first = wh.refresh("reach")
    assert first.views["closure"].strategy == "recompute"
    now = set(PAPER.split())
    for number, (came, gone) in enumerate((("hd", "bc"), ("gf", ""), ("az", ""), ("", "ed gf"), ("bc ce", "ab"))):
        for pair in came.split():
            world.insert(pair)
        for pair in gone.split():
            world.delete(pair)
        now = (now | set(came.split())) - set(gone.split())
        done = wh.refresh("reach", verify=50)
        assert done.views["closure"].strategy == "stdel", number
        turns = number == 2  # `fe ed dc cg gf`, before that night and after it
        assert ("5 keys lie on one" in done.views["closure"].reason) is turns
        assert done.verification["verdict"] == "passed"
        assert words(wh.read("reach.closure")) == closed(" ".join(now))
    report = cli("report", "reach", "--specs", str(world.specs), "--warehouse", world.root)
    assert "~support" not in report.out
    kept = [name for name in wh.manifest("reach")[-1]["views"] if name.startswith("closure~support")]
    assert len(kept) == 2
    assert (tmp_path / "wh" / "reach" / "_state").is_dir()


def test_any_strategy_keeps_supports() -> None:
    """A stratum that falls back is still one that StDel can go on from."""
    program, layering = prepared(RIGHT)
    rng = random.Random(3)
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    replica, now = Replica(program, layering), {"edge": set[tuple[int, ...]](), "shut": set[tuple[int, ...]]()}
    for number in range(24):
        strategy = ("recompute", "dred", "stdel", "insert")[number % 4]
        replica.refresh(dict(night(rng, now, layered=False, first=number == 0)), always(strategy))
        truth = evaluate(layering.strata, {name: frozenset(rows) for name, rows in now.items()}, kinds, 1000)
        assert all(replica.contents[view.name] == truth[view.name] for view in program.views), (number, strategy)
