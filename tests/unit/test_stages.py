"""The list of stages: everybody who needs the order of a refresh, or what may end it, takes it from there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from foreset.plan.stages import (
    CAPTURE,
    COMMIT,
    EARLY,
    NOTHING_MOVED,
    NOTHING_NEW,
    PUBLISH,
    QUALITY,
    STAGES,
    STRATA,
    TO_COMMIT,
    TRIAL,
    VERIFY,
    WORKING,
    EachStratum,
    endings_before,
    marks_of,
    named,
)
from foreset.refresh.runner import DOES, HOLDS

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins" / "foreset"


def test_each_stage_has_its_function_and_each_ending_its_rule() -> None:
    assert set(DOES) | {STRATA} == set(WORKING)
    assert set(HOLDS) == {ending for stage in WORKING for ending in stage.ends}
    assert len({stage.name for stage in STAGES}) == len(STAGES)


def test_what_may_have_ended_a_refresh_follows_from_the_order() -> None:
    assert endings_before(CAPTURE) == ()
    assert endings_before(STRATA) == (NOTHING_MOVED,)
    assert endings_before(VERIFY) == endings_before(QUALITY) == (NOTHING_MOVED, NOTHING_NEW)
    assert endings_before(COMMIT) == endings_before(PUBLISH) == (NOTHING_MOVED, NOTHING_NEW, TRIAL)
    assert {"unchanged", "dry-run", "held"} == EARLY


def test_a_stage_is_found_by_its_name_and_by_its_marks() -> None:
    for stage in STAGES:
        assert named(stage.name) == stage
    for stage in WORKING:
        for mark in marks_of(stage, ["edge", "a-b"], [1, 12]):
            assert named(mark) == stage
    assert marks_of(STRATA, ["edge"], [1, 12]) == ("stratum-1", "stratum-12")
    assert marks_of(CAPTURE, ["edge", "a-b"], [1]) == ("capture-edge", "capture-a-b")
    assert named("gc") is None
    assert TO_COMMIT[-1] == COMMIT


def test_the_page_of_airflow_names_the_same_stages_in_the_same_order() -> None:
    page = (ROOT / "docs" / "airflow.md").read_text()
    tasks = [f"{stage.name}_<n>" if isinstance(stage, EachStratum) else stage.name for stage in STAGES]
    assert re.findall(r"^\| `([a-z_<>]+)` \| ", page.partition("## When a refresh starts")[0], re.MULTILINE) == tasks
    drawn = next(line for line in page.splitlines() if line.startswith("`session →"))
    assert re.sub(r"stratum_1 … stratum_n", "stratum_<n>", drawn.strip("`")).split(" → ") == tasks


@pytest.mark.parametrize("kind", [ast.Tuple, ast.List, ast.Set])
def test_nobody_else_writes_the_order_down(kind: type[ast.Tuple | ast.List | ast.Set]) -> None:
    constants = {"OPEN", "CAPTURE", "STRATA", "VERIFY", "QUALITY", "COMMIT", "PUBLISH", "CLOSE"}
    names = constants | {stage.name for stage in STAGES}

    def said(node: ast.expr) -> str:
        return node.id if isinstance(node, ast.Name) else str(node.value) if isinstance(node, ast.Constant) else ""

    found = [
        str(path.relative_to(PLUGINS))
        for path in PLUGINS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kind) and len(names.intersection(map(said, node.elts))) >= 3
    ]
    assert found == (["plan/stages.py"] if kind is ast.Tuple else [])
