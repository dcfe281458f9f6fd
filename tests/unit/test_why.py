"""`foreset why` and `why-not`: proofs of published rows, and what absent rows lack; no Spark anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import write_deltalake
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, DEAD_END, GROUP, World, closed, edges

from foreset.domains import registry
from foreset.errors import UsageError
from foreset.questions.proofs import Proof
from foreset.warehouse import Warehouse

KEPT = CLOSURE.replace("closure", "kept").replace("    rules:", "    strategy: stdel-acyclic\n    rules:")
SPEC = f"""{GROUP}{CLOSURE}{KEPT}{DEAD_END}\
  sizes:
    columns: {{src: string, n: bigint}}
    rules:
      - sizes(X, N) :- N = count{{Y | closure(X, Y)}}
      - sizes(X, 0) :- dead_end(X), X > "b"
"""
ROADS = "ab bc cd bd ca"  # a, b and c on a circle; d at the end, from two sides


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("why")
    found = World(str(folder / "wh"), folder / "specs", "nowhere", ROADS)
    found.spec(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORESET_ENGINE", "inproc")
        found.open().refresh("reach")
    return found


@pytest.fixture
def wh(world: World) -> Warehouse:
    return world.open()


def leaves(proof: Proof) -> set[str]:
    """The roads that a proof rests on."""
    return {"".join(map(str, row)) for row in leaves_of(proof)}


def sound(proof: Proof, above: frozenset[tuple[str, tuple[object, ...]]] = frozenset()) -> None:
    """Every row below is proven by rows that are not above it."""
    node = (proof.relation, proof.row)
    assert node not in above
    assert proof.kind == "source" or proof.ways or proof.note
    for way in proof.ways:
        for part in way.parts:
            sound(part, above | {node})


@pytest.mark.parametrize("view", ["closure", "kept"])
def test_every_row_has_a_proof_from_roads_without_circles(wh: Warehouse, view: str) -> None:
    for pair in closed(ROADS):
        proof = wh.why(f"reach.{view}", tuple(pair), depth=20)
        sound(proof)
        assert leaves(proof) <= set(ROADS.split())
        assert proof.ways


def test_all_derivations_of_a_row_and_the_circular_ones_are_counted(wh: Warehouse) -> None:
    for view in ("closure", "kept"):
        proof = wh.why(f"reach.{view}", ["b", "d"])
        assert [way.rule for way in proof.ways] == [f"{view}#1", f"{view}#2"]
        assert [[(part.relation, part.row) for part in way.parts] for way in proof.ways] == [
            [("edge", ("b", "d"))],
            [("edge", ("b", "c")), (view, ("c", "d"))],
        ]
        assert proof.circular == 0
        around = wh.why(f"reach.{view}", {"src": "c", "dst": "d"})
        assert [way.rule for way in around.ways] == [f"{view}#1", f"{view}#2"]
        only = wh.why(f"reach.{view}", "a, b")
        assert (len(only.ways), only.circular) == (1, 1), "by way of b, c and a again"
        one = wh.why(f"reach.{view}", "b, d", limit=1)
        assert (len(one.ways), one.more) == (1, 1)


def test_kept_supports_are_followed_and_no_rule_is_evaluated(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    from foreset.verify import facts

    asked: list[str] = []
    plain = facts.SourceFacts.rows

    def rows(self: facts.SourceFacts, relation: str, known: tuple[int, ...], keys: set) -> object:
        asked.append(relation.partition("_")[0])
        return plain(self, relation, known, keys)

    monkeypatch.setattr(facts.SourceFacts, "rows", rows)
    wh.why("reach.kept", "a, d")
    assert set(asked) == {"kept", "kept~support"}
    asked.clear()
    wh.why("reach.closure", "a, d")
    assert "edge" in asked


def test_the_tree_as_text(world: World) -> None:
    shown = cli("why", "reach.closure", "a, d", "--specs", str(world.specs), "--warehouse", world.root)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == (
        'closure("a", "d")\n'
        "  by closure#2, line 9: closure(X, Y) :- edge(X, Z), closure(Z, Y)\n"
        '    edge("a", "b")   source sales/edge\n'
        '    closure("b", "d")\n'
        "      by closure#1, line 8: closure(X, Y) :- edge(X, Y)\n"
        '        edge("b", "d")   source sales/edge\n'
        "      and 1 more derivation\n"
    )


def test_aggregates_rest_on_their_members_and_negations_are_told(wh: Warehouse, world: World) -> None:
    proof = wh.why("reach.sizes", ["b", 4], depth=3)
    (way,) = proof.ways
    (group,) = way.parts
    assert group.kind == "group"
    (gathered,) = group.ways
    members = {part.row for part in gathered.parts}
    assert {row[-1] for row in members} == set("abcd")
    dead = wh.why("reach.dead_end", "d")
    assert [way.conditions for way in dead.ways] == [('not edge("d", _)',)] * 2
    shown = cli("why", "reach.sizes", "d, 0", "--specs", str(world.specs), "--warehouse", world.root)
    assert '"d" > "b"' in shown.out


def test_a_row_that_is_not_there_names_the_literal_that_fails(wh: Warehouse, world: World) -> None:
    close, far = wh.why_not("reach.closure", "d, a")
    assert (close.rule, close.close, close.missing[0].literal) == ("closure#1", True, 'edge("d", "a")')
    assert far.missing[0].literal.startswith('edge("d", ')
    (miss,) = wh.why_not("reach.dead_end", "b")
    assert (miss.missing[0].literal, miss.missing[0].why) == ('not edge("b", _)', "there is such a row")
    wrong = wh.why_not("reach.sizes", ["a", 0])
    assert wrong[-1].rule in ("sizes#1", "sizes#2")
    text = cli("why-not", "reach.dead_end", "b", "--specs", str(world.specs), "--warehouse", world.root).out
    assert text == (
        'dead_end("b") is not there\n'
        "  dead_end#1, line 19: dead_end(X) :- edge(_, X), not edge(X, _)\n"
        '    fails only at not edge("b", _): there is such a row\n'
    )


def test_json(world: World) -> None:
    where = ("--specs", str(world.specs), "--warehouse", world.root, "--json")
    data = cli("why", "reach.closure", "b, d", *where).data
    assert (data["seq"], data["relation"], data["row"], data["kind"]) == (1, "closure", ["b", "d"], "view")
    assert data["ways"][0]["parts"][0]["kind"] == "source"
    data = cli("why-not", "reach.closure", "d, a", *where).data
    assert [rule["close"] for rule in data["rules"]] == [True, True]


@pytest.mark.parametrize(
    ("command", "view", "row", "what"),
    [
        ("why", "reach.closure", "d, a", "is not in refresh 1"),
        ("why-not", "reach.closure", "a, b", "is in refresh 1"),
        ("why", "reach.nothing", "a", "has no view `nothing`"),
        ("why", "reach.closure", "a", "has 2 columns, but the row has 1"),
        ("why", "reach.sizes", "a, many", "column n"),
        ("why", "closure", "a, b", "does not name a view"),
    ],
)
def test_questions_that_have_no_answer(world: World, command: str, view: str, row: str, what: str) -> None:
    shown = cli(command, view, row, "--specs", str(world.specs), "--warehouse", world.root)
    assert shown.code == 2
    assert what in shown.err


def test_an_earlier_refresh_is_asked_as_it_was(tmp_path: Path) -> None:
    world = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", "ab bc")
    world.spec(SPEC)
    wh = world.open()
    wh.refresh("reach")
    world.delete("bc")
    second = wh.refresh("reach")
    assert second.views["kept"].strategy == "stdel"
    assert leaves(wh.why("reach.kept", "a, c", at=1)) == {"ab", "bc"}
    with pytest.raises(UsageError, match="not in refresh 2"):
        wh.why("reach.kept", "a, c")
    assert wh.why_not("reach.kept", "a, c")[0].close


ASKING = """\
group: faces
sources:
  person: {table: sales/edge, columns: {src: string, dst: string}}
domains:
  book: {provider: book, functions: {city: {args: {name: string}, results: {city: string}}}}
views:
  lives:
    columns: {name: string, city: string}
    rules:
      - lives(N, C) :- person(N, _), in(C, book:city(N))
"""


class Book:
    """Everybody lives in Rome."""

    def answer(self, domain, function, arguments, access):  # noqa: ARG002 - as providers are called
        return {args: ["Rome"] for args in arguments}


def test_answers_of_domains_are_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._registered, "book", Book())
    world = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", "ab")
    world.spec(ASKING)
    wh = world.open()
    wh.refresh("faces")
    monkeypatch.delitem(registry._registered, "book")  # nobody is asked again
    (way,) = wh.why("faces.lives", ("a", "Rome")).ways
    assert {part.kind: part.row for part in way.parts} == {"source": ("a", "b"), "answer": ("a", "Rome")}
    shown = cli("why", "faces.lives", "a, Rome", "--specs", str(world.specs), "--warehouse", world.root)
    assert "answered by book:city" in shown.out
    (miss,) = wh.why_not("faces.lives", ("a", "Oslo"))
    assert miss.close


def test_constraints_are_asked_under_the_name_of_their_view(tmp_path: Path) -> None:
    world = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", "ab bc cd")
    views = """\
  low:
    columns: {a: string}
    rules:
      - low(X) :- X <= "b"
  v:
    columns: {a: string, b: string}
    rules:
      - v(X, Y) :- edge(X, Y), low(X)
"""
    world.spec(f"{GROUP}{views}")
    world.open().refresh("reach")
    where = ("--specs", str(world.specs), "--warehouse", world.root)
    text = cli("why", "reach.v", "a, b", *where).out
    assert "v(X, Y) :- edge(X, Y), low(X)" in text
    assert "answered by low\n" in text
    assert 'lacks only low("c")' in cli("why-not", "reach.v", "c, d", *where).out
    refused = cli("why", "reach.low", "a", *where)
    assert (refused.code, "is a view of constraints" in refused.err) == (2, True)


def test_a_group_whose_key_is_null_has_a_proof(tmp_path: Path) -> None:
    world = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere")
    rows = edges((None, "b"), (None, "c"), ("a", "b"), ("a", None))
    write_deltalake(f"{world.root}/sales/edge", rows, mode="overwrite")
    views = """\
  out:
    columns: {src: string, n: bigint}
    rules:
      - out(X, N) :- N = count{Y | edge(X, Y)}
  both:
    columns: {src: string, n: bigint, last: string}
    rules:
      - both(X, N, L) :- N = count{Y | edge(X, Y)}, L = max{Y | edge(X, Y)}
"""
    world.spec(f"{GROUP}{views}")
    wh = world.open()
    assert wh.refresh("reach").verification["verdict"] == "passed"
    assert {tuple(row.values()) for row in wh.read("reach.both").to_pylist()} == {(None, 2, "c"), ("a", 2, "b")}
    for view, row in (("out", (None, 2)), ("both", (None, 2, "c"))):
        proof = wh.why(f"reach.{view}", row, depth=5)
        assert leaves_of(proof) == {(None, "b"), (None, "c")}
        assert proof.circular == 0
    (miss,) = wh.why_not("reach.out", (None, 3))
    assert (miss.close, miss.missing[0].why) == (True, "there is no such row")
    assert "NULL, 3)" in miss.missing[0].literal


def leaves_of(proof: Proof) -> set[tuple[object, ...]]:
    """The rows of sources that a proof rests on."""
    if proof.kind == "source":
        return {proof.row}
    return {row for way in proof.ways for part in way.parts for row in leaves_of(part)}
