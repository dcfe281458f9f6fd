"""A view whose columns change while its rows come and go: what fits is asked in one way, and every refresh verifies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.column_changes import BEFORE, CHANGES, columns_change, write

import foreset
from foreset.errors import UsageError
from foreset.ir.program import Column
from foreset.ir.types import BIGINT, INT, STRING
from foreset.questions.audit import audit
from foreset.relations.located import fits
from foreset.store.rows import ViewPin
from foreset.warehouse import Warehouse


def pin(**columns: str) -> ViewPin:
    return ViewPin("g/v", "id", 1, columns)


@pytest.mark.parametrize(
    ("columns", "fitting"),
    [
        ((("x", INT), ("y", STRING)), True),
        ((("y", STRING), ("x", INT)), True),
        ((("x", BIGINT), ("y", STRING)), False),
        ((("x", INT), ("z", STRING)), False),
        ((("X", INT), ("y", STRING)), False),
        ((("x", INT),), False),
        ((("x", INT), ("y", STRING), ("z", INT)), False),
        ((("x", STRING), ("y", INT)), False),
    ],
)
def test_a_view_is_its_columns_by_name_and_type(columns: tuple, fitting: bool) -> None:
    assert fits(pin(x="int", y="string"), [Column(*one) for one in columns]) is fitting


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Warehouse, Path, str]:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    (tmp_path / "specs").mkdir()
    spec = tmp_path / "specs" / "g.yaml"
    spec.write_text(BEFORE)
    table = str(tmp_path / "wh" / "s")
    write(table, [(1, 1), (2, 2), (3, 3), (4, 4)])
    return foreset.open(str(tmp_path / "wh"), str(spec.parent), "nowhere"), spec, table


@pytest.mark.parametrize("change", CHANGES)
def test_columns_change_while_rows_come_and_go(place: tuple[Warehouse, Path, str], change: str) -> None:
    columns_change(*place, change)


def test_what_was_published_with_other_columns_is_not_verified_by_the_new_rules(
    place: tuple[Warehouse, Path, str],
) -> None:
    wh, spec, _ = place
    wh.refresh("g")
    assert audit(wh.layout("g"), wh.spec("g"), 50).ok
    spec.write_text(BEFORE.replace("v:\n    columns: {x: int, y: int", "v:\n    columns: {x: int, y: bigint"))
    with pytest.raises(UsageError, match="`v` was published with other columns"):
        audit(wh.layout("g"), wh.spec("g"), 50)
