"""How many rows of each view verification looks at: all where they are few, a sample where they are many."""

from __future__ import annotations

import pyarrow as pa

from foreset.ir.program import Column
from foreset.ir.types import BIGINT
from foreset.verify.sample import SMALL, Share, Staged, draw, shares
from foreset.verify.verdict import Verdict

COLUMNS = (Column("x", BIGINT), Column("y", BIGINT))


def rows(first: int, last: int) -> pa.Table:
    return pa.table({"x": list(range(first, last)), "y": [n % 7 for n in range(first, last)]})


def staged(changed: int, unchanged: int) -> Staged:
    return Staged(COLUMNS, None, None, None, changed=changed, unchanged=unchanged)


def test_few_rows_are_all_looked_at_and_many_are_drawn_from() -> None:
    found = shares({"small": staged(12, 340), "large": staged(SMALL, 10**6)}, 200)
    assert found == {"small": Share(50, 340, 25), "large": Share(50, 25, 25)}
    assert shares({"v": staged(SMALL, SMALL)}, 200)["v"] == Share(SMALL, SMALL, 50)
    assert shares({"v": staged(SMALL + 1, SMALL + 1)}, 200)["v"] == Share(100, 50, 50)


def test_views_of_the_spec_come_before_hidden_ones() -> None:
    found = shares({"p~groups_ab": staged(10, 10), "v": staged(SMALL, SMALL)}, 40)
    assert (found["v"].changed, found["p~groups_ab"].changed) == (SMALL, 10)


def test_every_row_of_a_small_view_is_a_claim() -> None:
    one = Staged(COLUMNS, rows(0, 300), rows(300, 305), rows(0, 3), changed=8, unchanged=297)
    claims = draw(one, shares({"v": one}, 20)["v"], 1)
    kinds = {kind: {claim.row for claim in claims if claim.kind == kind} for kind in ("changed", "unchanged")}
    assert kinds["changed"] == {(n, n % 7) for n in (0, 1, 2, 300, 301, 302, 303, 304)}
    assert kinds["unchanged"] == {(n, n % 7) for n in range(3, 300)}
    assert all(claim.present is (claim.row[0] >= 3) for claim in claims if claim.kind != "absent")


def test_there_is_no_bound_where_all_was_checked_and_hidden_views_are_not_told() -> None:
    verdict = Verdict(
        "200",
        {"v": {"changed": 3, "unchanged": 10}, "v~groups_ab": {"changed": 1}},
        totals={"v": {"changed": 3, "unchanged": 900}, "v~groups_ab": {"changed": 9}},
    ).record()
    assert verdict.checked == {"v": {"changed": 3, "unchanged": 10}}
    assert verdict.of == {"v": {"changed": 3, "unchanged": 900}}
    assert list(verdict.error_rate_below or ()) == ["unchanged"]
    assert verdict.rows == 14
