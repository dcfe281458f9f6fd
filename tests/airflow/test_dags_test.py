"""`airflow dags test` of both sample groups, on the sample warehouse: every task of the graph, without a scheduler."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import sample_warehouse

import foreset
from foreset.orchestrate.standalone import Home, Project, environment
from foreset.session import stop_server

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("dags-test")
    sample_warehouse.load_day1(str(folder / "warehouse"))
    yield folder
    stop_server(str(folder / "warehouse"))


def airflow(place: Path, *arguments: str) -> str:
    project = Project(ROOT, ROOT / "view_specs", str(place / "warehouse"))
    settings = environment(project, Home(place / "airflow"), 8080, os.environ)
    command = [sys.executable, "-m", "airflow", *arguments]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    return done.stdout + done.stderr


def test_both_groups_are_built(place: Path) -> None:
    airflow(place, "db", "migrate")
    wh = foreset.open(str(place / "warehouse"), str(ROOT / "view_specs"))
    for group, views in (("reach", 1), ("supply_chain", 20)):
        said = airflow(place, "dags", "test", f"foreset_{group}")
        assert "seq 1 is committed" in said
        (row,) = wh.manifest(group)
        assert len(row["views"]) == views
        assert row["verification"]["verdict"] == "passed"
    counts = {name: pin["rows"] for name, pin in wh.manifest("supply_chain")[-1]["views"].items()}
    assert (counts["requires"], counts["affected"], counts["fit_to_ship"]) == (106_548, 1_116, 57)


@pytest.mark.skipif(not os.environ.get("FORESET_LONG"), reason="with FORESET_LONG=1")
def test_the_real_next_day(place: Path) -> None:
    wh = foreset.open(str(place / "warehouse"), str(ROOT / "view_specs"))
    sample_warehouse.load_day2(str(place / "warehouse"))
    said = airflow(place, "dags", "test", "foreset_supply_chain")
    assert "seq 2 is committed" in said
    row = wh.manifest("supply_chain")[-1]
    changed = {name: (pin["inserted"], pin["deleted"]) for name, pin in row["views"].items()}
    assert changed["requires"] == (218, 13), "the figures of examples/supply_chain/README.md"
    assert changed["exposure"] == (171, 2_101)
    assert changed["affected"] == (21, 1_077)
    assert changed["fit_to_ship"] == (118, 4)
