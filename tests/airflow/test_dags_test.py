"""`airflow dags test` of both sample groups, on the sample warehouse: every task of the graph, without a scheduler."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import sample_warehouse
from tests.roads import CLOSURE, GROUP, World

import foreset
from foreset.orchestrate.standalone import Home, Project, environment
from foreset.reports.headline import group_headline
from foreset.reports.reading import latest_run
from foreset.session import stop_server
from foreset.store.attempts import last_failure
from foreset.store.holds import release
from foreset.store.layout import Layout
from foreset.store.manifest import newest
from foreset.store.rollback import roll_back

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("dags-test")
    sample_warehouse.load_day1(str(folder / "warehouse"))
    yield folder
    stop_server(str(folder / "warehouse"))


def airflow(place: Path, *arguments: str, specs: Path = ROOT / "view_specs", fails: bool = False) -> str:
    project = Project(ROOT, specs, str(place / "warehouse"))
    settings = environment(project, Home(place / "airflow"), 8080, os.environ)
    command = [sys.executable, "-m", "airflow", *arguments]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=900)
    assert (done.returncode != 0) is fails, done.stderr[-3000:] + done.stdout[-3000:]
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


def test_a_lost_source_and_a_hold(tmp_path: Path) -> None:
    """Neither needs Spark: the first fails with the command to run, the second is skipped and is no failure."""
    world = World(str(tmp_path / "warehouse"), tmp_path / "specs", "nowhere")
    world.spec(f"{GROUP}{CLOSURE}")
    world.settle()
    world.insert("xy")
    world.settle()
    specs = tmp_path / "specs"
    airflow(tmp_path, "db", "migrate", specs=specs)
    layout = Layout(world.root, "reach")

    roll_back(layout, 1, "back", hold="xy is wrong")
    said = airflow(tmp_path, "dags", "test", "foreset_reach", specs=specs)
    assert "xy is wrong" in said
    assert (newest(world.root, "reach").seq, last_failure(layout, 3)) == (3, None)
    release(layout)

    Path(world.table).rename(tmp_path / "lost")
    airflow(tmp_path, "dags", "test", "foreset_reach", specs=specs, fails=True)
    failed = last_failure(layout, 3)
    assert failed is not None
    assert (failed.phase, failed.next) == ("open", "foreset check reach --against-warehouse")
    assert group_headline(latest_run(layout)).answer == "No"


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
