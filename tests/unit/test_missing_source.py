"""A source that is not there: said without Spark, with the table that was probably meant, and never tried again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, GROUP, World

import foreset
from foreset.errors import EnvironmentFault, SourceError
from foreset.refresh.machine_faults import explained
from foreset.session.lazy import LazySession, may_reach_more
from foreset.store.catalog import nearest, tables_below
from foreset.store.files import write_text

NOWHERE = "nowhere"  # asking for this Spark would be a UsageError


def world(tmp_path: Path, table: str) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", NOWHERE)
    found.spec(f"{GROUP}{CLOSURE}".replace("sales/edge", table))
    return found


@pytest.mark.parametrize(("table", "near"), [
    ("sales/egde", "did you mean `sales/edge`?"),
    ("edge", "did you mean `sales/edge`?"),
    ("shop/edges", "did you mean `sales/edge`?"),
    ("sales", "did you mean `sales/edge`?"),
    ("quite/different", "tables there: sales/edge"),
    ("file://{root}/sales/egde", "did you mean `sales/edge`?"),
])  # fmt: skip
def test_what_was_meant_is_said_without_spark(tmp_path: Path, table: str, near: str) -> None:
    made = world(tmp_path, table.format(root=tmp_path / "wh"))
    with pytest.raises(SourceError, match="source `edge`") as missing:
        made.open().refresh("reach")
    assert table.rsplit("/", 1)[-1] in missing.value.message
    assert missing.value.hint.startswith(near)
    assert "foreset check --against-warehouse" in missing.value.hint
    assert not missing.value.worth_retrying


def test_an_empty_warehouse_is_said_to_be_empty(tmp_path: Path) -> None:
    made = world(tmp_path, "sales/edge")
    with pytest.raises(SourceError, match="there are no tables yet") as missing:
        foreset.open(str(tmp_path / "elsewhere"), str(made.specs), NOWHERE).refresh("reach")
    assert "did you mean" not in missing.value.hint


def test_a_table_that_vanishes_later_is_said_so_too(tmp_path: Path) -> None:
    made = world(tmp_path, "sales/edge")
    made.open().refresh("reach")
    Path(made.root, "sales").rename(Path(made.root, "moved"))
    with pytest.raises(SourceError, match="there is no table at") as missing:
        made.open().refresh("reach")
    assert missing.value.hint.startswith("did you mean `moved/edge`?")


def test_a_table_that_lost_a_file_is_said_so(tmp_path: Path) -> None:
    """The log is whole, and a file of rows is gone: no internal error, in process or in Spark."""
    made = world(tmp_path, "sales/edge")
    made.open().refresh("reach")
    for file in Path(made.root, "sales", "edge").glob("*.parquet"):
        file.unlink()
    verified = cli("verify", "reach", "--specs", str(made.specs), "--warehouse", made.root)
    assert verified.code == EnvironmentFault.exit_code
    assert "a file of a table is gone: " in verified.err
    assert "= hint: restore it from a backup, or write the table again" in verified.err
    spark = explained(RuntimeError("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file"), "commit")
    assert isinstance(spark, EnvironmentFault)
    assert not spark.worth_retrying


def test_views_of_groups_and_what_is_foresets_own_are_no_sources(tmp_path: Path) -> None:
    made = world(tmp_path, "sales/edge")
    made.open().refresh("reach")
    write_text(str(tmp_path / "wh" / "files" / "notes.txt"), "")
    assert list(tables_below(made.root)) == ["sales/edge"]


def test_the_whole_name_counts_before_its_last_part() -> None:
    known = ["old/orders", "shop/order", "shop/items"]
    assert nearest("shop/orders", known).startswith("did you mean `shop/order`? tables there:")
    assert nearest("orders", known).startswith("did you mean `old/orders`? tables there:")
    assert nearest("weather", known).startswith("tables there:")


@pytest.mark.parametrize(("named", "more"), [
    ("", False), ("embedded", False), ("local[2]", False), (NOWHERE, False), ("sc://host:1", True),
])  # fmt: skip
def test_only_a_spark_of_others_may_see_more(named: str, more: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_SPARK", named)
    assert may_reach_more(LazySession(None, "wh")) is more
    assert may_reach_more(LazySession(named, "wh")) is more
    assert may_reach_more(LazySession(object(), "wh")), "a session that is there costs nothing to ask"


def test_a_spark_elsewhere_is_asked_for_what_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.session.open.REMOTE_ANSWER_S", 0.5)
    found = World(str(tmp_path / "wh"), tmp_path / "specs", "sc://localhost:1")
    found.spec(f"{GROUP}{CLOSURE}".replace("sales/edge", "sales/egde"))
    with pytest.raises(EnvironmentFault, match="localhost:1"):
        found.open().refresh("reach")


def test_what_may_pass_is_said_at_one_place() -> None:
    assert EnvironmentFault("x").worth_retrying
    assert not EnvironmentFault("x", worth_retrying=False).worth_retrying
    assert not SourceError("x").worth_retrying
