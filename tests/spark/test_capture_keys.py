"""Sources too large for this process whose key is known to be single: keys alone tell what came and what went."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED
from tests.spark.capture_sources import Nightly, source_of

from foreset.store.capture import changes, here, stage

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _too_large_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((changes, "MOST_BYTES"), (here, "MOST_BYTES"), (here, "MOST_BYTES_BY_KEY")):
        monkeypatch.setattr(module, name, 0)


def rows(keys: list[int | None], text: str) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64()), "t": [text] * len(keys)})


def happens(rng: random.Random, path: str) -> None:
    table = DeltaTable(path)
    there = table.to_pyarrow_table()["k"].to_pylist()
    kind = rng.choice(["append", "append", "delete", "update", "copy", "restore"])
    if kind == "append" or not there:
        fresh = [key for key in rng.sample([None, *range(30)], 3) if key not in there]
        write_deltalake(table, rows(fresh, rng.choice("xyz")), mode="append")
    elif kind == "delete":
        table.delete(f"k = {rng.randrange(30)} or k is null")
    elif kind == "update":
        table.update(updates={"t": rng.choice(["'x'", "'y'", "t"])}, predicate=f"k <= {rng.randrange(30)}")
    elif kind == "restore" and table.version():
        table.restore(rng.randrange(table.version()))
    else:  # a second row of a key, the same or another
        write_deltalake(table, rows([rng.choice(there)], rng.choice("xyz")), mode="append")


@pytest.mark.parametrize("seed", range(6))
def test_any_history_gives_the_difference_and_what_is_known_of_the_key_holds(spark, warehouse, seed) -> None:
    rng = random.Random(seed)
    nightly = Nightly(spark, warehouse, replace(source_of("bag", k="bigint", t="string"), key=("k",)))
    write_deltalake(nightly.path, rows([None, *range(8)], "x"), configuration=FEED)
    nightly.refresh()
    outcomes = set()
    for _ in range(4):
        keys = DeltaTable(nightly.path).to_pyarrow_table()["k"].to_pylist()
        assert nightly.pin is not None
        known = len(keys) if len(set(keys)) == len(keys) else None
        nightly.pin = replace(nightly.pin, single=known)
        happens(rng, nightly.path)
        found = nightly.refresh()  # compares with the whole versions
        now = DeltaTable(nightly.path).to_pyarrow_table()["k"].to_pylist()
        if known is not None and found.counts is not None and found.counts.inserted + found.counts.deleted:
            assert found.counts.single == (len(set(now)) == len(now))
            outcomes.add(found.counts.single)
    assert outcomes <= {True, False}


def test_no_copies_are_counted_where_keys_tell(spark, warehouse, monkeypatch) -> None:
    nightly = Nightly(spark, warehouse, replace(source_of("bag", k="bigint", t="string"), key=("k",)))
    write_deltalake(nightly.path, rows(list(range(8)), "x"), configuration=FEED)
    nightly.refresh()
    assert nightly.pin is not None
    nightly.pin = replace(nightly.pin, single=8)
    DeltaTable(nightly.path).update(updates={"t": "'y'"}, predicate="k = 3")
    DeltaTable(nightly.path).delete("k = 4")
    write_deltalake(nightly.path, rows([9], "z"), mode="append")
    monkeypatch.setattr(stage, "crossings", lambda *_, **__: pytest.fail("copies are counted"))
    counts = nightly.refresh().counts
    assert counts is not None
    assert (counts.inserted, counts.deleted, counts.single) == (2, 2, True)
