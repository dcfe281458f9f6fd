"""DAGs from specs: their shape, their independence of each other, and what parsing them may load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from foreset.domains.provider import DomainFailed
from foreset.errors import (
    EnvironmentFault,
    EvaluationError,
    Fenced,
    ForesetError,
    QualityFailed,
    SourceError,
    SpecError,
    UsageError,
    VerificationFailed,
)
from foreset.ir.edits import EditRequest
from foreset.orchestrate.dags_folder import FILES, dags_folder
from foreset.orchestrate.places import Places
from foreset.orchestrate.specs import load_groups
from foreset.plan.stages import Stage
from foreset.records.results import Ended, ExpectationsChecked, SourcesCaptured, StageResult, StratumMaintained
from foreset.store.capture import errors

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("pyspark", "delta", "deltalake", "great_expectations", "pandas", "pyarrow", "numpy")
DIAMOND = """\
group: diamond
description: Two sides that know nothing of each other
owner: "ann | <b>bob</b>"
schedule: "30 1 * * 1-5"
timezone: Europe/Berlin
tags: [shape]
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
  reached: {view: reach.closure, columns: {src: string, dst: string}}
views:
  left: {columns: {x: string}, rules: ["left(X) :- edge(X, _)"], strategy: counting}
  right: {columns: {x: string}, rules: ["right(Y) :- reached(_, Y)"]}
  both: {columns: {x: string}, rules: ["both(X) :- left(X), right(X)"], description: "`x` | y"}
"""
SMALL = """\
group: {name}
sources:
  edge: {{table: sales/{name}, columns: {{src: string, dst: string}}}}
views:
  reach:
    columns: {{src: string, dst: string}}
    rules:
      - reach(X, Y) :- edge(X, Y)
      - reach(X, Y) :- edge(X, Z), reach(Z, Y)
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return written(tmp_path / "view_specs")


def written(folder: Path) -> Path:
    folder.mkdir()
    (folder / "reach.yaml").write_text((ROOT / "view_specs" / "reach.yaml").read_text())
    (folder / "diamond.yaml").write_text(DIAMOND)
    return folder


def parse(specs: Path, *files: str, dag_id: str = "") -> dict:
    """What a fresh process finds in the DAG files, as Airflow's own DagBag reads them."""
    code = """
import json, sys
import airflow.dag_processing.dagbag as dagbag
import airflow.sdk
from airflow.serialization.serialized_objects import DagSerialization
before = set(sys.modules)
bag = dagbag.DagBag(sys.argv[1], bundle_name="dags-folder", load_op_links=False)
dags = [DagSerialization.to_dict(bag.dags[name])["dag"] for name in sorted(bag.dags)]
print("FOUND" + json.dumps({
    "dags": dags,
    "errors": {str(file): text for file, text in bag.import_errors.items()},
    "edges": {name: {t.task_id: sorted(t.downstream_task_ids) for t in dag.tasks} for name, dag in bag.dags.items()},
    "modules": sorted({m.partition(".")[0] for m in set(sys.modules) - before}),
}, default=str))
"""
    environment = {
        **os.environ,
        "FORESET_SPECS": str(specs),
        "FORESET_WAREHOUSE": str(specs.parent / "warehouse"),
        "PYTHONPATH": str(ROOT / "plugins"),
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "_AIRFLOW_PARSING_CONTEXT_DAG_ID": dag_id,
    }
    if not dag_id:
        del environment["_AIRFLOW_PARSING_CONTEXT_DAG_ID"]
    command = [sys.executable, "-c", code, str(ROOT / "dags")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    assert lines, done.stderr[-3000:]
    return json.loads(lines[0].removeprefix("FOUND"))


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """Two sound specs, and what a fresh process makes of them."""
    folder = tmp_path_factory.mktemp("sound") / "view_specs"
    written(folder)
    return folder, parse(folder)


def test_the_graph_is_the_refresh(parsed: tuple[Path, dict]) -> None:
    _, found = parsed
    assert found["errors"] == {}
    assert [dag["dag_id"] for dag in found["dags"]] == ["foreset_diamond", "foreset_reach"]
    assert found["edges"]["foreset_diamond"] == {
        "session": ["close", "open"],
        "open": ["capture"],
        "capture": ["stratum_1", "stratum_2"],
        "stratum_1": ["stratum_3"],
        "stratum_2": ["stratum_3"],
        "stratum_3": ["verify"],
        "verify": ["quality"],
        "quality": ["commit"],
        "commit": ["publish"],
        "publish": ["close"],
        "close": [],
    }
    heavy = [module for module in found["modules"] if module in HEAVY]
    assert heavy == [], "parsing DAGs loads what only tasks may load"


def test_a_dag_says_what_its_spec_says(parsed: tuple[Path, dict]) -> None:
    dag = next(dag for dag in parsed[1]["dags"] if dag["dag_id"] == "foreset_diamond")
    assert sorted(dag["tags"]) == ["foreset", "shape"]
    assert (dag["max_active_runs"], dag["catchup"], dag["is_paused_upon_creation"]) == (1, False, False)
    timetable = dag["timetable"]["__var"]
    assert timetable["timetable"]["__var"]["expression"] == "30 1 * * 1-5"
    assert "Europe/Berlin" in json.dumps(timetable["timetable"])
    listened = json.dumps(timetable["asset_condition"])
    assert "foreset://table/sales/edge" in listened
    assert "foreset://view/reach/closure" in listened, "a view of another group is listened to by its own asset"
    page = dag["doc_md"]
    assert "both(X) :- left(X), right(X)." in page
    assert "ann \\| \\<b\\>bob\\</b\\>" in page, "nothing that a spec says is markup"
    assert [param["name"] if isinstance(param, dict) else param[0] for param in dag["params"]] == [
        "mode", "verify", "note", "dry_run", "edit", "force",
    ]  # fmt: skip
    tasks = {task["__var"]["task_id"]: task["__var"] for task in dag["tasks"]}
    assert {task["pool"] for task in tasks.values()} == {"foreset"}
    assert [out["uri"] for out in (o.get("__var", o) for o in tasks["publish"]["outlets"])] == [
        "foreset://view/diamond/left", "foreset://view/diamond/right", "foreset://view/diamond/both",
    ]  # fmt: skip
    assert [name for name, task in tasks.items() if task.get("outlets")] == ["publish"]
    assert tasks["stratum_1"]["_task_display_name"] == "1 · left · counting"


def test_a_worker_loads_only_its_own_dag(specs: Path) -> None:
    (specs / "broken.yaml").write_text("group: [")
    found = parse(specs, dag_id="foreset_reach")
    assert [dag["dag_id"] for dag in found["dags"]] == ["foreset_reach"]


def test_a_broken_spec_is_an_import_error_and_takes_no_other_down(specs: Path) -> None:
    (specs / "broken.yaml").write_text(
        DIAMOND.replace("group: diamond", "group: broken").replace("edge(X, _)", "egde(X, _)")
    )
    (specs / "lost.yaml").write_text(
        DIAMOND.replace("group: diamond", "group: lost").replace("reach.closure", "reach.closed")
    )
    found = parse(specs)
    assert [dag["dag_id"] for dag in found["dags"]] == ["foreset_diamond", "foreset_reach"]
    ((file, text),) = found["errors"].items()
    assert file.endswith("foreset_faults.py"), "an error in the file of the DAGs would mark all of them as stale"
    assert "broken.yaml:11:52: error[FS103]: relation `egde` does not exist" in text
    assert "lost.yaml:9:3:" in text


def test_the_same_specs_are_the_same_dags(parsed: tuple[Path, dict]) -> None:
    folder, first = parsed
    assert parse(folder)["dags"] == first["dags"], "else Airflow would make a new version of each DAG at every parse"


def test_a_hundred_specs_each_its_dag_in_order(specs: Path) -> None:
    from foreset.orchestrate.dags import load_dags

    for n in range(98):
        (specs / f"g{n:02}.yaml").write_text(SMALL.format(name=f"g{n:02}"))
    found = [dag.dag_id for dag in load_dags(Places(specs, "warehouse"))]
    assert len(found) == 100
    assert found == sorted(found)


def test_what_a_task_found_makes_others_needless(specs: Path) -> None:
    from foreset.orchestrate.dags import load_dags

    dag = next(dag for dag in load_dags(Places(specs, "warehouse")) if dag.dag_id == "foreset_diamond")

    def needless(task: str, result: StageResult) -> set[str]:
        return {one.task_id for one in dag.task_dict[task]._needless(result)}

    strata = {f"stratum_{n}" for n in (1, 2, 3)}
    end = {"verify", "quality", "commit", "publish"}
    assert needless("capture", SourcesCaptured("unchanged", {})) == strata | end, "`close` is never skipped"
    assert needless("capture", SourcesCaptured("moved", {}, idle=(2,))) == {"stratum_2"}
    assert needless("capture", SourcesCaptured("moved", {}, idle=())) == set()
    assert needless("stratum_1", StratumMaintained("insert", "", 1, 0.1, {}, {}, idle=False)) == set()
    assert needless("open", Ended("held")) == {"capture"} | strata | end
    assert needless("quality", ExpectationsChecked("dry-run", 1, 0, 0, 0.1, "passed")) == {"commit", "publish"}
    assert needless("quality", ExpectationsChecked("passed", 1, 0, 0, 0.1, "passed")) == set()
    for task in ("open", "capture", "verify"):  # the whole run was cleared after its commit: each says so
        assert needless(task, Ended("committed", 4)) == set()


@pytest.mark.parametrize("tries_left", [True, False])
@pytest.mark.parametrize(
    ("error", "final"),
    [(SpecError([]), True), (VerificationFailed("x"), True), (QualityFailed("x"), True), (Fenced("x"), True),
     (EvaluationError("x"), True), (EnvironmentFault("x"), False), (SourceError("x"), True),
     (errors.missing_table("edge", "/nowhere"), True), (errors.unreadable("edge", "/lake", "reset"), False),
     (errors.no_permission("edge", "/lake", "403"), True), (DomainFailed("x"), False)],
)  # fmt: skip
def test_only_what_may_pass_the_next_time_is_tried_again(
    specs: Path, monkeypatch: pytest.MonkeyPatch, error: ForesetError, final: bool, tries_left: bool
) -> None:
    """And after the last try the run is closed: a cleared task may have opened it after `close` was through."""
    from airflow.sdk.exceptions import AirflowFailException

    from foreset.orchestrate.dags import load_dags
    from foreset.orchestrate.operators import StageOperator

    dag = next(dag for dag in load_dags(Places(specs, "warehouse")) if dag.dag_id == "foreset_diamond")
    pushed: dict[str, dict] = {}
    push = lambda key, value: pushed.update({key: value})  # noqa: E731 - as Airflow has it
    ti = SimpleNamespace(try_number=3, max_tries=3 if tries_left else 2, xcom_push=push)
    performed: list[str] = []

    def fails(_: object, context: object, stage: Stage) -> None:
        performed.append(stage.name)
        raise error

    monkeypatch.setattr(StageOperator, "_perform", fails)
    with pytest.raises(AirflowFailException if final else type(error)):
        dag.task_dict["verify"].execute({"ti": ti})
    assert pushed["failure"]["exit"] == error.exit_code
    assert pushed["failure"]["phase"] == "verify"
    assert performed == ["verify", *(["close"] if final or not tries_left else [])]


def test_a_task_that_fails_in_any_way_is_told_to_the_warehouse(specs: Path, tmp_path: Path) -> None:
    """Killed tasks too, which Airflow reports from another process; `close` itself fails nobody's refresh."""
    from airflow.sdk.exceptions import AirflowFailException

    from foreset.orchestrate.dags import load_dags
    from foreset.store.attempts import last_failure
    from foreset.store.layout import Layout

    dag = next(dag for dag in load_dags(Places(specs, str(tmp_path))) if dag.dag_id == "foreset_diamond")
    assert not dag.task_dict["close"].on_failure_callback
    for name, task in dag.task_dict.items():
        if name == "close":
            continue
        (tell,) = task.on_failure_callback
        error = AirflowFailException("as Airflow wraps it")
        error.__cause__ = SourceError(f"lost in {name}")
        tell({"ti": SimpleNamespace(task=task), "run_id": "manual__1", "params": {}, "exception": error})
        found = last_failure(Layout(str(tmp_path), "diamond"), 0)
        assert found is not None
        assert (found.message, found.error) == (f"lost in {name}", "SourceError")
        assert found.phase == name.replace("_", "-")


def test_a_group_on_hold_is_skipped_with_the_reason(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    from foreset.orchestrate.dags import load_dags
    from foreset.orchestrate.operators import StageOperator

    dag = next(dag for dag in load_dags(Places(specs, "warehouse")) if dag.dag_id == "foreset_diamond")
    skipped: list[str] = []
    found = Ended("held", reason="group diamond is on hold", hint="release it")
    monkeypatch.setattr(StageOperator, "_perform", lambda *_: found)
    monkeypatch.setattr(StageOperator, "skip", lambda _, tasks, **__: skipped.extend(task.task_id for task in tasks))
    with pytest.raises(AirflowSkipException, match="on hold; release it"):
        dag.task_dict["open"].execute({"ti": SimpleNamespace(xcom_push=lambda **_: None)})
    assert {"capture", "verify", "commit", "publish"} <= set(skipped)
    assert "close" not in skipped


def test_projects_without_a_dags_folder_get_the_same_files(tmp_path: Path) -> None:
    assert {path.name: path.read_text() for path in (ROOT / "dags").glob("*.py")} == FILES
    assert dags_folder(ROOT, tmp_path) == ROOT / "dags"
    made = dags_folder(tmp_path / "nothing", tmp_path)
    assert {path.name: path.read_text() for path in made.iterdir()} == FILES


def test_every_spec_of_this_project_has_a_dag() -> None:
    found = load_groups(ROOT / "view_specs")
    assert not found.faults
    assert {"law_enforcement", "reach", "supply_chain"} <= {group.program.group for group in found.groups}


def test_a_correction_in_the_form_is_an_edit() -> None:
    from foreset.orchestrate.form import request_of

    said = {"edit": 'seen_with delete x = "Don", y = "Ann"', "note": "forged", "mode": "auto", "verify": "200"}
    edit = request_of("r1", said).edit
    assert edit is not None
    said_so = EditRequest("seen_with", "delete", 'x = "Don", y = "Ann"', who="Airflow", why="forged", at=edit.at)
    assert edit == said_so
    undone = request_of("r1", {**said, "edit": "undo 3"}).edit
    assert undone is not None
    assert undone.undo == 3
    assert request_of("r1", {**said, "edit": None}).edit is None
    with pytest.raises(UsageError, match="is not a correction"):
        request_of("r1", {**said, "edit": "remove everything"})


def test_a_dag_that_cannot_be_built_hides_no_other(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from foreset.orchestrate import dags

    monkeypatch.setattr(dags, "page", lambda program, *_: {}["lost"] if program.group == "diamond" else "")
    places = Places(specs, str(specs.parent / "warehouse"))
    assert [dag.dag_id for dag in dags.load_dags(places)] == ["foreset_reach"]
    with pytest.raises(dags.BrokenSpecs, match=r"diamond.yaml:1:1: error\[FS640\]: internal error: KeyError: 'lost'"):
        dags.report_faults(places)
