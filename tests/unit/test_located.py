"""Whatever reads a located relation, and wherever it lies: the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.located_places import COLUMNS, GONE, ROWS, counted, places

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Tables
from foreset.ir.steps import Ref
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.relations import arrow, files
from foreset.relations.located import Composed, Located, asked
from foreset.relations.tables import DuckDBPort
from foreset.verify.entries import present
from foreset.verify.facts import SourceFacts

SCHEMAS = {"r": tuple(column.type for column in COLUMNS)}
ALL = Reads((), (), (), building=False, tallying=True)
KINDS = ["source", "signed", "folder", "at hand", "composed", "composed, and by itself"]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Located]:
    return places(tmp_path_factory.mktemp("places"))


@pytest.mark.parametrize("kind", KINDS)
def test_by_arrow(kind: str, there: Mapping[str, Located]) -> None:
    assert set(arrow.rows(there[kind])) == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_by_files(kind: str, there: Mapping[str, Located]) -> None:
    rows = files.entries(there[kind])
    assert isinstance(rows, {"source": tuple, "folder": tuple, "signed": files.SignedFiles}.get(kind, pa.Table))
    assert present([rows], COLUMNS, [*ROWS, *GONE]) == [ROWS]
    facts = SourceFacts({"r": COLUMNS}, lambda _: files.plain(there[kind]))
    assert set(facts.rows("r", (), [()])[()]) == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_by_duckdb(kind: str, there: Mapping[str, Located]) -> None:
    port = DuckDBPort(DuckDBBackend(Tables(connect(), dict(SCHEMAS))))
    located = there[kind]
    parts = (located.place.base, located.place.less, located.place.more) if isinstance(located.place, Composed) else ()
    port.put([*parts, located], ALL)
    rows = port.rows(Ref("r", Version.OLD))
    assert sorted(rows, key=repr) == sorted(ROWS, key=repr), "and each once"
    assert port.rows(Ref("r", Version.OLD), 2) == rows[:2]


def test_no_rows() -> None:
    nothing = Located("r", Version.OLD, COLUMNS)
    assert arrow.rows(nothing) == []
    assert files.entries(nothing) is None
    assert files.plain(nothing).num_rows == 0
    port = DuckDBPort(DuckDBBackend(Tables(connect(), dict(SCHEMAS))))
    port.put([nothing], ALL)
    assert port.rows(Ref("r", Version.OLD)) == []


def test_counters(tmp_path: Path) -> None:
    entries = counted(tmp_path)
    assert sorted(arrow.rows(entries), key=repr) == sorted([*((*row, 1, 0) for row in ROWS), (1, "x", 1, 1)], key=repr)
    port = DuckDBPort(DuckDBBackend(Tables(connect(), dict(SCHEMAS))))
    port.count("r", entries)
    wanted = port.tables.bring([(1, "x"), (7, "z")], SCHEMAS["r"], ("c0", "c1"))
    lookup = port.backend.counters["r"].stored
    assert lookup is not None
    found = port.tables.fetch(lookup(wanted), (*SCHEMAS["r"], BIGINT, BIGINT))
    assert sorted(found) == [(1, "x", 1, 0), (1, "x", 1, 1)]
    port.count("r", None)
    assert port.backend.counters["r"].single


def test_columns_are_hidden_only_where_rows_stay_apart(there: Mapping[str, Located]) -> None:
    located = there["source"]
    assert asked([located], frozenset({0})) == [located], "no key is known"
    keyed = replace(located, key=(0,))
    assert [one.hidden for one in asked([keyed], frozenset())] == [frozenset({1})], "a key is always read"
    assert asked([keyed, located], frozenset()) == [keyed, located], "one of them may have copies"
    assert asked([keyed], None) == [keyed], "a step takes the rows as they are"
    port = DuckDBPort(DuckDBBackend(Tables(connect(), dict(SCHEMAS))))
    port.put(asked([keyed], frozenset()), ALL)
    assert {row[1] for row in port.rows(Ref("r", Version.OLD))} == {None}
