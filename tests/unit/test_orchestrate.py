"""What orchestration does without Airflow: places, pages, words, and the home of the embedded one."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from tests.cli_runner import foreset

from foreset.orchestrate.docs import page, text, title
from foreset.orchestrate.home import Home, Running, free_port
from foreset.orchestrate.places import places_beside
from foreset.orchestrate.specs import load_group, load_groups
from foreset.orchestrate.standalone import Project, environment
from foreset.orchestrate.telling import progress, sentences
from foreset.plan.stages import CAPTURE, COMMIT, QUALITY, STRATA, TRIAL
from foreset.records.events import EntriesFound, RoundBegun
from foreset.records.results import Ended, ExpectationsChecked, SourceChange, SourcesCaptured

ROOT = Path(__file__).resolve().parents[2]


def test_places_are_relative_to_the_project(tmp_path: Path) -> None:
    dag_file = str(tmp_path / "dags" / "foreset_dags.py")
    plain = places_beside(dag_file, {})
    assert (plain.specs, plain.warehouse) == (tmp_path / "view_specs", str(tmp_path / "warehouse"))
    named = places_beside(dag_file, {"FORESET_SPECS": "/specs", "FORESET_WAREHOUSE": "s3://lake/wh"})
    assert (named.specs, named.warehouse) == (Path("/specs"), "s3://lake/wh")


def test_the_page_of_a_dag_is_for_people() -> None:
    group = load_group(ROOT / "view_specs", "supply_chain")
    assert group is not None
    shown = page(group.written, group.layering)
    assert "requires(P, T) :- needs(P, Q), requires(Q, T)." in shown
    assert "| 9 | `needs` |" in shown
    assert "`0 3 * * *` (UTC), and when a source changes" in shown
    assert title(group.layering.strata[9]) == "10 · requires · auto"


def test_the_page_shows_rules_as_written_where_supports_are_kept(tmp_path: Path) -> None:
    text = (ROOT / "view_specs" / "reach.yaml").read_text()
    (tmp_path / "reach.yaml").write_text(text.replace("strategy: auto", "strategy: stdel-acyclic", 1))
    group = load_group(tmp_path, "reach")
    assert group is not None
    shown = page(group.written, group.layering)
    assert "closure(X, Y) :- edge(X, Z), closure(Z, Y)." in shown
    assert "~support" not in shown
    stratum = group.layering.of("closure")
    assert stratum.supported
    assert title(stratum).endswith("closure · stdel-acyclic")
    assert stratum.title.endswith(": closure")


def test_the_page_says_what_columns_mean_and_leads_to_the_pages_of_views() -> None:
    group = load_group(ROOT / "view_specs", "reach")
    assert group is not None
    shown = page(group.written, group.layering, "/air/foreset/dags/foreset_reach")
    assert "| `dst` | string | a city that can be reached from it |" in shown
    assert "| `dst` | string | the city where it ends |" in shown
    picture = "/air/foreset/dags/foreset_reach/views.svg"
    assert f"[![What reads what]({picture})]({picture})" in shown
    assert "[What the last refreshes did](/air/foreset/dags/foreset_reach)." in shown
    assert "(/air/foreset/dags/foreset_reach/views/closure)" in shown
    assert "views.svg" not in page(group.written, group.layering), "without the plugin there is nothing to show"


RULES = """group: g
sources:
  e: {table: raw/e, columns: {a: int}}
views:
  v:
    columns: {a: int}
    rules:
      - v(X)  :- e(X), X>1
      - "v(X) :- e(X) % all"
"""


def test_the_page_shows_rules_with_the_layout_and_comments_of_their_author(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(RULES)
    group = load_group(tmp_path, "g")
    assert group is not None
    assert "~~~~text\nv(X)  :- e(X), X>1.\nv(X) :- e(X) % all\n~~~~" in page(group.written, group.layering)


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "[x](javascript:1)", "a | b", "# no\n\n# head", "`x`"])
def test_words_of_a_spec_are_never_markup(evil: str) -> None:
    shown = text(evil)
    assert "\n" not in shown
    for position, char in enumerate(shown):
        if char in "<>[]()|#`":
            assert shown[position - 1] == "\\"


def test_groups_are_found_by_file_or_by_name(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text((ROOT / "view_specs" / "reach.yaml").read_text())
    found = load_group(tmp_path, "reach")
    assert found is not None
    assert Path(found.file).name == "other.yaml"
    assert load_group(tmp_path, "nobody") is None
    assert load_groups(tmp_path / "missing").groups == ()


def test_tasks_say_in_words_what_they_found() -> None:
    source = SourceChange(12, 3400, 5, taken_whole=False, reason="", seconds=0.1)
    moved = SourcesCaptured("moved", {"edge": source}, idle=(2,))
    assert list(sentences(CAPTURE, moved)) == [
        "edge: +12 -3,400 of 5 rows",
        "no change reaches the strata 2: they are skipped",
    ]
    quiet = SourcesCaptured("unchanged", {}, seq=7)
    assert list(sentences(CAPTURE, quiet)) == ["no source has changed since seq 7: the refresh ends here"]
    assert list(sentences(COMMIT, Ended("unchanged", 7, "no source had changed"))) == [
        "no source had changed: there is nothing to do"
    ]
    assert list(sentences(COMMIT, Ended("dry-run", 7, TRIAL.because))) == [
        "it was only tried: there is nothing to do"
    ], "and not that seq 7 is committed"
    assert list(sentences(COMMIT, Ended("committed", 8))) == ["seq 8 is committed: readers see it now"]
    assert "nothing more to do" in next(sentences(STRATA, Ended("committed", 8)))
    assert next(sentences(QUALITY, ExpectationsChecked("passed", 0, 0, 0, 0.1, "passed"))) == "no view has expectations"
    assert progress(RoundBegun(2, {"x": 1200, "y": None}, 3)) == (
        "stratum 3: round 2, 1,200 new rows"
    )
    assert progress(EntriesFound(3, 12)) == ""


def test_the_home_keeps_its_secrets_to_its_user(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = home.prepare()
    assert home.prepare() == first, "sessions outlive a restart"
    assert len(home.password("admin")) > 10
    assert home.password("nobody") == ""
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    for name in ("passwords.json", "secrets.json"):
        assert stat.S_IMODE((home.folder / name).stat().st_mode) == 0o600
    assert (home.folder / ".gitignore").read_text() == "*\n"


def test_a_home_knows_whether_its_airflow_runs(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.running() is None
    me = Running("http://x", os.getpid(), psutil.Process().create_time(), "/w")
    home.note(me)
    assert home.running() == me
    home.note(Running("http://x", os.getpid(), me.started - 100, "/w"))
    assert home.running() is None, "another process has the id now"
    home.state.write_text("{")
    assert home.running() is None


def test_a_port_that_is_taken_gives_another() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) != port
    assert free_port(port) == port, "an Airflow that has just ended leaves its port to the next"


def test_the_environment_of_the_embedded_airflow(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "view_specs", "/lake")
    base = {"PATH": "/bin", "PYTHONPATH": "/strange", "AIRFLOW__CORE__PARALLELISM": "99", "AIRFLOW__SMTP__HOST": "mail"}
    found = environment(project, Home(tmp_path / "home"), 8123, base)
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert found["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:8123"
    assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:8123/execution/"
    assert found["AIRFLOW__SMTP__HOST"] == "mail", "what we do not set is the user's"
    assert found["AIRFLOW__CORE__PARALLELISM"] != "99"
    assert "PYTHONPATH" not in found
    assert found["FORESET_WAREHOUSE"] == "/lake"
    assert Path(found["AIRFLOW__CORE__DAGS_FOLDER"]).parent == tmp_path / "home", "a project without dags/ gets some"
    assert (Path(found["AIRFLOW__CORE__PLUGINS_FOLDER"]) / ".airflowignore").is_file()


def test_the_database_of_the_embedded_airflow(tmp_path: Path) -> None:
    """Nobody waits to read, and a writer waits longer than the 5 seconds of sqlite; another database may be named."""
    project, home = Project(tmp_path, tmp_path / "view_specs", "/lake"), Home(tmp_path / "home")
    name = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
    assert environment(project, home, 8123, {})[name] == f"sqlite:///{home.database.resolve()}?timeout=30"
    with closing(sqlite3.connect(home.database)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert environment(project, home, 8123, {name: "postgresql://x"})[name] == "postgresql://x"


def test_up_needs_specs_and_down_needs_nothing(tmp_path: Path) -> None:
    refused = foreset("up", "--specs", str(tmp_path / "none"), "--home", str(tmp_path / "home"))
    assert refused.code == 2
    assert "foreset init" in refused.err
    assert not (tmp_path / "home").exists()
    done = foreset("down", "--home", str(tmp_path / "home"), "--warehouse", str(tmp_path), "--json")
    assert json.loads(done.out) == {"airflow": False, "spark": False}
