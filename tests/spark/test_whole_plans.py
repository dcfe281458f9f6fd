"""What is built is one plan: nothing is computed before it is written, and nothing is lost by that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import FEED

import foreset
from foreset.backends.spark.compile import SparkJoin
from foreset.backends.spark.cutting import Keeper
from foreset.backends.spark.frames import Frames, Piece
from foreset.ir.rules import Atom
from foreset.ir.steps import Ref
from foreset.ir.versions import Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SPEC = """\
group: g
sources:
  sale: {table: raw/sale, columns: {shop: string, item: string, amount: int}}
views:
  plain:
    columns: {shop: string, item: string, amount: int}
    rules: plain(S, I, A) :- sale(S, I, A), A > 0.
  items:
    columns: {item: string}
    rules: items(I) :- sale(_, I, _).
  total:
    columns: {shop: string, n: bigint}
    rules: total(S, N) :- N = count{I, A | sale(S, I, A)}.
  best:
    columns: {shop: string, amount: int}
    rules: best(S, A) :- A = max{X | sale(S, _, X)}.
"""
SALES = [("nord", "pen", 3), ("nord", "pen", 3), ("nord", "ink", 5), ("sued", "pen", 0), ("sued", None, 7)]


def write(path: str, sales: list[tuple[str, str | None, int]], mode: str) -> None:
    columns = dict(zip(("shop", "item", "amount"), map(list, zip(*sales, strict=True)), strict=True))
    table = pa.table(columns).cast(pa.schema([("shop", "string"), ("item", "string"), ("amount", "int32")]))
    write_deltalake(path, table, mode=mode, configuration=FEED)


def test_a_load_computes_nothing_beforehand_and_a_recompute_each_difference_once(
    warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of a source, which has no key, are one row all the same."""
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    done, keep = [], Keeper.keep

    def noted(self: Keeper, frame: DataFrame, most: int | None = None) -> Piece:
        done.append(keep(self, frame, most))
        return done[-1]

    monkeypatch.setattr(Keeper, "keep", noted)
    write(f"{warehouse}/raw/sale", SALES, "error")
    (tmp_path / "g.yaml").write_text(SPEC)
    wh = foreset.open(warehouse, str(tmp_path), spark)
    first = wh.refresh("g")
    assert not done, "a first load is written as it is computed"
    assert first.views["plain"].rows_read == {"sale": len(SALES)}
    read = {view: sorted((tuple(row.values()) for row in wh.read(f"g.{view}").to_pylist()), key=repr)
            for view in ("plain", "items", "total")}  # fmt: skip
    assert read["plain"] == [("nord", "ink", 5), ("nord", "pen", 3), ("sued", None, 7)]
    assert read["items"] == [("ink",), ("pen",), (None,)]
    assert read["total"] == [("nord", 2), ("sued", 2)]
    write(f"{warehouse}/raw/sale", [("sued", "pen", 9)], "append")
    result = wh.refresh("g", mode="recompute")
    came = {name: (view.inserted, view.deleted) for name, view in result.views.items()}
    assert came == {"plain": (1, 0), "items": (0, 0), "total": (1, 1), "best": (1, 1)}


def test_what_nobody_reads_of_an_element_fails_all_the_same(
    warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of the source tells members apart, so that nothing but their count is asked of them."""
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    write(f"{warehouse}/raw/sale", SALES[1:4], "error")
    spec = SPEC.replace("table: raw/sale,", "table: raw/sale, key: [shop, item],")
    (tmp_path / "g.yaml").write_text(spec.replace("count{I, A |", "count{I, 10 / A |"))
    with pytest.raises(foreset.EvaluationError, match=r"total#1.*division by zero"):
        foreset.open(warehouse, str(tmp_path), spark).refresh("g")


@pytest.mark.parametrize(
    ("atoms", "rows"),
    [
        ("fact(K, G)", [9_000_000]),
        ("few(K), fact(K, G)", [7, 63_000_000]),  # nothing tells how many facts a key has: each with each at most
        ("few(K), part(K, G)", [7, 7]),  # one part for each key
        ("part(K, G), fact(K, H)", [500, 9_000_000]),  # one part for each fact
        ("part(K, G), group(G, R), fact(R, H)", [500, 500, 4_500_000_000]),
        ("many(K), part(K, G)", [None, 500]),  # nobody has counted them, but each part meets one
        ("many(K), fact(K, G)", [None, 9_000_000]),
        ("loose(K), fact(K, G)", [None, None]),
    ],
)
def test_how_many_rows_a_join_has_at_most(atoms: str, rows: list[int | None], spark: SparkSession) -> None:
    sizes = {"fact": 9_000_000, "few": 7, "part": 500, "group": 20, "many": None, "loose": None}
    keys = {"part": (0,), "group": (0,), "many": (0,)}
    columns = {name: "{a: int}" if name in ("few", "many", "loose") else "{a: int, b: int}" for name in sizes}
    sources = [f"  {name}: {{table: t/{name}, columns: {kinds}}}" for name, kinds in columns.items()]
    view = ("views:", "  v:", "    columns: {a: int}", f"    rules: v(K) :- {atoms}.")
    text = "\n".join(("group: g", "sources:", *sources, *view))
    program, _ = in_normal_form(load_program(text, "spec"))
    (rule,) = program.views[0].rules
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    frames = Frames(spark, schemas, Keeper(spark, "nowhere"))
    for name, size in sizes.items():
        frames.put(Ref(name, Version.CURRENT), Piece(frames.nothing(name), size, key=keys.get(name)))
    join, found = SparkJoin(rule, frames, None), []
    for atom in (literal for literal in rule.body if isinstance(literal, Atom)):
        join.join(atom, set())
        found.append(join.rows)
    assert found == rows
