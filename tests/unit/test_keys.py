"""Declared keys: what they save, that nothing changes for it, and what becomes of rows that break them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.keyed import SINGLE, Shop, contents, follows, spec, stops_at_two_clients_of_one_number
from tests.refresh_cases import in_normal_form, load_program

from foreset.errors import SourceError
from foreset.plan.translate import single_derivation

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Shop]:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    return lambda seed: Shop(tmp_path, Random(seed))


def singles(text: str) -> set[str]:
    """The views whose rows have one derivation or none."""
    _, layers = in_normal_form(load_program(text, "shop.yaml"))
    return {name for stratum in layers.strata if single_derivation(stratum) for name in stratum.names}


def names(text: str) -> list[str]:
    """All views, hidden ones too."""
    return [view.name for view in in_normal_form(load_program(text, "shop.yaml"))[0].views]


def test_which_rows_tell_how_they_were_derived() -> None:
    with_keys, without = singles(spec()), singles(spec(client="", sale="", line=""))
    assert set(SINGLE) <= with_keys
    assert not set(SINGLE) & without
    assert {"turnover", "largest"} <= with_keys & without, "a row of groups is one group"
    assert not {"sold", "quiet"} & singles(spec(client="")), "other lines, other sales"
    assert not any(name.startswith("client~members") for name in names(spec())), "a total needs no members then"
    assert any(name.startswith("client~members") for name in names(spec(sale="")))
    assert not set(SINGLE) & singles(spec(sale="")), "a sale may then have two clients"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_changes_for_keys(shop: Callable[[int], Shop], seed: int) -> None:
    follows(shop(seed), 5)


def test_what_a_view_holds_already_is_not_asked(shop: Callable[[int], Shop]) -> None:
    world = shop(1)
    for number in range(3):
        world.tables["client"][number,] = (number, "north")
        world.tables["sale"][number,] = (number, number, 1)
        world.tables["line"][number, 0] = (number, 0, "bolt", 5)
    for name in world.tables:
        world.write(name)
    world.warehouse().refresh("shop")
    del world.tables["line"][1, 0]
    world.tables["line"][2, 1] = (2, 1, "nut", 7)
    world.write("line")
    result = world.warehouse().refresh("shop", "incremental")
    view = result.views["shipped"]
    assert (view.strategy, view.inserted, view.deleted) == ("counting", 1, 1)
    assert "shipped" not in view.rows_read
    assert not any(name.startswith("the elements from") for name in result.views["turnover"].rows_read)


def test_counters_are_kept_where_their_strategy_is_declared(shop: Callable[[int], Shop]) -> None:
    """`dredc` asks for more than what the change says, and `auto` may find its counters later."""
    world = shop(4)
    declared = "  shipped:\n"
    world.declare(spec().replace(declared, f"{declared}    strategy: dredc\n"))
    follows(world, 3)
    assert set(world.warehouse().manifest("shop")[-1].get("state", {})) >= {"shipped"}
    world.declare(spec())
    world.night()
    result = world.warehouse().refresh("shop", "incremental")
    assert result.status == "committed"
    assert contents(world.warehouse(), "shipped") == world.expected()["shipped"]


def test_rows_of_one_key_stop_the_refresh(shop: Callable[[int], Shop]) -> None:
    world = shop(0)
    stops_at_two_clients_of_one_number(world)
    world.write("client", [(2, "south")])
    with pytest.raises(SourceError, match=r"\(c = 2\)"):
        world.warehouse().refresh("shop")
    assert contents(world.warehouse(), "quiet") == {(1,), (2,)}
    world.tables["client"][2,] = (2, "south")
    world.write("client")
    assert world.warehouse().refresh("shop").status == "committed", "a row that takes the place of another"
    world.write("client", [(None, "north"), (None, "south")])
    with pytest.raises(SourceError, match=r"\(c = NULL\)"):
        world.warehouse().refresh("shop")


def test_a_key_that_is_declared_later_is_held_to_all_rows(shop: Callable[[int], Shop]) -> None:
    world = shop(0)
    world.declare(spec(client=""))
    world.tables["client"] = {(1,): (1, "north")}
    for name in world.tables:
        world.write(name)
    world.write("client", [(1, "south")])
    assert world.warehouse().refresh("shop").status == "committed"
    world.declare(spec())
    with pytest.raises(SourceError, match=r"\(c = 1\)"):
        world.warehouse().refresh("shop")
    world.write("client")
    assert world.warehouse().refresh("shop").status == "committed"
    world.declare(spec(client="[c, region]"))
    world.tables["client"][5,] = (5, "south")
    world.write("client", [(5, "north")])
    assert world.warehouse().refresh("shop").status == "committed", "another key, and other views by it"
    assert contents(world.warehouse(), "quiet") == {(1,), (5,)}


def test_a_key_counts_for_the_meaning_of_views() -> None:
    from foreset.plan.fingerprint import fingerprints

    marks = [fingerprints(*in_normal_form(load_program(text, "shop.yaml"))) for text in (spec(), spec(line=""))]
    changed = {name for name in marks[0] if marks[0][name] != marks[1][name]}
    assert changed == {name for name in marks[0] if name != "quiet"}
