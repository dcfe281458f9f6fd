"""Random histories of a bag: whatever happened, the differential is the difference of the two sets."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED
from tests.spark.capture_sources import Nightly, source_of

from foreset.store.capture.plan import Feed, Reload, Unchanged

pytestmark = pytest.mark.spark

KEYS = ["a", "b", None]
HISTORIES = 30


def some_rows(rng: random.Random, most: int = 6) -> pa.Table:
    """Few values, so that copies and returns are common."""
    rows = [(rng.choice(KEYS), rng.choice([0.0, -0.0, 1.0, float("nan"), None])) for _ in range(rng.randint(0, most))]
    return pa.table([[k for k, _ in rows], [v for _, v in rows], [rng.randint(0, 9) for _ in rows]],
                    schema=pa.schema([("k", pa.string()), ("v", pa.float64()), ("hidden", pa.int64())]))  # fmt: skip


def predicate(rng: random.Random) -> str:
    return rng.choice(["k = 'a'", "k is null", "v = 1.0", "v is null", "hidden < 5", "k = 'b' and hidden > 3"])


def happens(rng: random.Random, path: str) -> str:
    """One thing that befalls the table, done by deltalake in milliseconds; says what."""
    table = DeltaTable(path)
    what = rng.choice(
        ["append"] * 3 + ["delete", "delete", "update", "hide", "merge", "overwrite", "restore", "optimize"]
    )
    match what:
        case "append" | "overwrite":
            write_deltalake(path, some_rows(rng), mode=what)
        case "delete":
            table.delete(predicate(rng))
        case "update":
            table.update(updates={"k": rng.choice(["'a'", "'c'", "k"])}, predicate=predicate(rng))
        case "hide":
            table.update(updates={"hidden": "hidden + 1"}, predicate=predicate(rng))
        case "merge":
            values = {"k": "s.k", "v": "s.v", "hidden": "s.hidden"}
            source = some_rows(rng).group_by("k", use_threads=False).aggregate([("v", "max"), ("hidden", "max")])
            source = source.rename_columns({"v_max": "v", "hidden_max": "hidden"})
            merge = table.merge(source, "t.k = s.k", source_alias="s", target_alias="t")
            merge = merge.when_matched_update(values).when_not_matched_insert(values)
            (merge.when_not_matched_by_source_delete("t.hidden > 5") if rng.random() < 0.5 else merge).execute()
        case "restore":
            if table.version():
                table.restore(rng.randrange(table.version()))
        case "optimize":
            table.optimize.compact()
    return what


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_random_histories(spark, warehouse, seed):
    rng = random.Random(seed)
    nightly = Nightly(spark, warehouse, source_of("bag", k="string", v="double"))
    partition = rng.choice([None, None, ["k"]])
    write_deltalake(nightly.path, some_rows(rng, 12), configuration=FEED, partition_by=partition)
    assert isinstance(nightly.refresh().way, Reload)
    done = [happens(rng, nightly.path) for _ in range(rng.randint(1, 8))]
    found = nightly.refresh()  # compares with the whole versions
    assert isinstance(found.way, (Feed, Unchanged)), (done, found.reason)


def test_spark_histories(spark, warehouse):
    """The same with Spark as the writer, deletion vectors on, in one history of several ranges."""
    rng = random.Random(7)
    nightly = Nightly(spark, warehouse, source_of("bag", k="string", v="double"))
    first = spark.createDataFrame(
        [("a", 1.0, 1), ("a", 1.0, 2), (None, float("nan"), 3), ("b", -0.0, 4)], "k string, v double, hidden long"
    )
    first.write.format("delta").options(**FEED, **{"delta.enableDeletionVectors": "true"}).save(nightly.path)
    nightly.refresh()
    statements = [
        "insert into {t} values ('a', 1.0, 7), ('c', null, 8)",
        "delete from {t} where hidden in (1, 7)",
        "update {t} set v = 0.0 where k = 'b'",
        "update {t} set hidden = hidden + 1",
        (
            "merge into {t} t using (select * from values ('a', 2.0D, 1), ('d', 4.0D, 1) as s(k, v, hidden)) s"
            " on t.k = s.k when matched and t.hidden > 2 then delete when matched then update set *"
            " when not matched then insert *"
        ),
        "restore table {t} to version as of 0",
        "insert overwrite {t} select * from {t} where k is not null",
        "optimize {t}",
    ]
    for _ in range(3):
        for statement in rng.sample(statements, 3):
            nightly.sql(statement)
        nightly.refresh()
    assert Path(nightly.path, "_delta_log").is_dir()
