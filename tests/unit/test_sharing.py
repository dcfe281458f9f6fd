"""Looks at sources that several strata share: found once, and the same rows as each would find by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.keyed import Shop, follows, spec
from tests.refresh_cases import in_normal_form, load_program

from foreset.backends.duckdb import sharing
from foreset.backends.duckdb.sharing import Shared, links
from foreset.backends.duckdb.tables import Near, Table, Tables

NO_KEYS = spec(client="", sale="", line="")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often strata found what they looked for at hand, or not, and how often something was looked up for all."""
    counted: Counter[str] = Counter()
    at_hand, look = Tables._at_hand, Shared._look

    def counted_at_hand(tables: Tables, table: Table, keys: Table, pairs: list[tuple[str, str, bool]]) -> str | None:
        found = at_hand(tables, table, keys, pairs)
        counted["at hand" if found else "elsewhere"] += 1
        return found

    def counted_look(shared: Shared, relation: str, place: int) -> Near | None:
        counted["looked up"] += 1
        return look(shared, relation, place)

    monkeypatch.setattr(Tables, "_at_hand", counted_at_hand)
    monkeypatch.setattr(Shared, "_look", counted_look)
    monkeypatch.setattr("foreset.refresh.engines.LARGE", 0)
    return counted


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("text", [spec(), NO_KEYS], ids=["keys", "no keys"])
def test_nights_are_exact(seed: int, text: str, tmp_path: Path, seen: Counter[str]) -> None:
    """Rows come, go and change in three sources, some are there twice, and strata do not ask for all columns."""
    shop = Shop(tmp_path, Random(seed))
    shop.declare(text)
    follows(shop, 6)
    assert seen["at hand"] > seen["looked up"] > 0
    assert seen["elsewhere"] > 0, "not every look is by what changed in a source"


@pytest.mark.parametrize(("bound", "most"), [("MOST_KEYS", 0), ("MOST_ROWS", -1)])
def test_too_much_is_not_shared(
    bound: str, most: int, tmp_path: Path, seen: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, bound, most)
    follows(Shop(tmp_path, Random(7)), 3)
    assert seen["looked up"] > 0
    assert not seen["at hand"]


def test_columns_that_rules_of_several_strata_equate() -> None:
    """Only columns of changed sources count, and only where more than one stratum would look."""
    program, layering = in_normal_form(load_program(spec(), "shop"))
    schemas = {source.name: tuple(column.type for column in source.columns) for source in program.sources}
    assert links(layering.strata, schemas, ["sale"]) == {
        ("line", 0): {("sale", 0)},
        ("client", 0): {("sale", 1)},
    }
    assert links(layering.strata, schemas, ["line"]) == {("sale", 0): {("line", 0)}}
    assert links(layering.strata, schemas, []) == {}
