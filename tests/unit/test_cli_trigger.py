"""`foreset trigger` against a server that answers as Airflow's REST API does; the real one is in tests/airflow."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.cli_runner import Result, foreset

from foreset.errors import EnvironmentFault
from foreset.orchestrate.rest import Airflow, Refused

DAG = "/api/v2/dags/foreset_reach"


class Fake:
    """An Airflow with one DAG; `answers` may be changed before a call."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[tuple[str, str, Any]] = []
        self.run = {"dag_run_id": "manual__1", "state": "success", "duration": 12.5}
        self.answers: dict[str, tuple[int, Any]] = {
            "POST /auth/token": (201, {"access_token": "secret"}),
            f"GET {DAG}": (200, {"is_paused": False}),
            f"PATCH {DAG}": (200, {"is_paused": False}),
            f"POST {DAG}/dagRuns": (200, self.run),
            f"GET {DAG}/dagRuns/manual__1": (200, self.run),
            f"GET {DAG}/dagRuns/manual__1/taskInstances": (200, {"task_instances": []}),
        }

    def xcom(self, task: str, value: object, key: str = "return_value") -> None:
        path = f"GET {DAG}/dagRuns/manual__1/taskInstances/{task}/xcomEntries/{key}"
        self.answers[path] = (200, {"value": value})

    def tasks(self, **states: str) -> None:
        found = [{"task_id": name, "state": state, "duration": 1.0, "end_date": "1"} for name, state in states.items()]
        self.answers[f"GET {DAG}/dagRuns/manual__1/taskInstances"] = (200, {"task_instances": found})

    def ends(self, state: str) -> None:
        self.run["state"] = state

    def body(self, asked: str) -> Any:
        return next(body for method, path, body in self.asked if f"{method} {path}" == asked)


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr("foreset.orchestrate.runs.POLL_S", 0.01)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            path = unquote(urlsplit(self.path).path)
            fake.asked.append((self.command, path, body))
            status, data = fake.answers.get(f"{self.command} {path}", (404, {"detail": f"no {path}"}))
            if path.startswith("/api") and self.headers.get("Authorization") != "Bearer secret":
                status, data = 401, {"detail": "Not authenticated"}
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(data).encode())

        do_GET = do_POST = do_PATCH = answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake = Fake(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield fake
    server.shutdown()
    server.server_close()


def trigger(airflow: Fake, *more: str) -> Result:
    return foreset("trigger", "reach", "--url", airflow.url, *more)


def test_what_is_asked_for_is_what_airflow_hears(airflow: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_AIRFLOW_USER", "ann")
    monkeypatch.setenv("FORESET_AIRFLOW_PASSWORD", "pass")
    done = trigger(
        airflow, "--mode", "strict", "--verify", "full", "--note", "load 7", "--run-id", "load-7", "--dry-run"
    )
    assert (done.code, done.out) == (0, "reach: run manual__1 is queued\n")
    assert airflow.body("POST /auth/token") == {"username": "ann", "password": "pass"}
    asked = airflow.body(f"POST {DAG}/dagRuns")
    assert asked["dag_run_id"] == "load-7"
    assert asked["note"] == "load 7"
    conf = {"mode": "strict", "verify": "full", "note": "load 7", "dry_run": True, "force": False}
    assert asked["conf"] == conf


def test_waiting_ends_with_the_outcome(airflow: Fake) -> None:
    airflow.tasks(session="success", commit="success")
    airflow.xcom("close", {"status": "committed", "seq": 4})
    airflow.xcom("publish", {"views": {"closure": {"inserted": 3, "deleted": 1200, "rows": 9}}})
    done = trigger(airflow, "--wait")
    assert done.code == 0
    assert done.out == "reach: seq 4 committed in 12.5 s\n  closure  +3 -1,200\n"
    assert "commit: success (1.0 s)" in done.err
    assert trigger(airflow, "--wait", "--quiet").err == ""
    data = trigger(airflow, "--wait", "--json").data
    assert (data["exit"], data["outcome"]["seq"], data["outcome"]["status"]) == (0, 4, "committed")


def test_a_quiet_run(airflow: Fake) -> None:
    airflow.xcom("close", {"status": "unchanged", "seq": 3})
    assert trigger(airflow, "--wait").out == "reach: no source has changed since seq 3 (12.5 s)\n"


@pytest.mark.parametrize(("code", "error"), [(3, "QualityFailed"), (4, "Fenced"), (2, "SpecError"), (1, "SourceError")])
def test_a_failed_run_ends_as_the_refresh_would_have_ended(airflow: Fake, code: int, error: str) -> None:
    airflow.ends("failed")
    airflow.tasks(quality="failed", commit="upstream_failed")
    told = {"error": error, "message": "what happened", "hint": "what to do", "exit": code, "phase": "quality"}
    airflow.xcom("quality", told, "failure")
    done = trigger(airflow, "--wait")
    assert done.code == code
    assert done.out == "reach: run manual__1 failed in quality: what happened\n  = hint: what to do\n"


def test_a_run_that_died_without_a_word(airflow: Fake) -> None:
    airflow.ends("failed")
    airflow.tasks(verify="failed")
    done = trigger(airflow, "--wait")
    assert done.code == 1
    assert "its log in Airflow says why" in done.out


def test_a_paused_dag_would_never_run(airflow: Fake) -> None:
    airflow.answers[f"GET {DAG}"] = (200, {"is_paused": True})
    done = trigger(airflow)
    assert done.code == 5
    assert "paused" in done.err
    assert "--unpause" in done.err
    assert not any(path.endswith("dagRuns") for _, path, _ in airflow.asked), "no run is left in the queue"
    assert trigger(airflow, "--unpause").code == 0
    assert airflow.body(f"PATCH {DAG}") == {"is_paused": False}


def test_the_same_run_id_twice_is_one_run(airflow: Fake) -> None:
    airflow.answers[f"POST {DAG}/dagRuns"] = (409, {"detail": "exists"})
    airflow.xcom("close", {"status": "committed", "seq": 4})
    assert trigger(airflow, "--wait", "--run-id", "manual__1").code == 0
    assert trigger(airflow, "--wait").code == 5, "without a name of ours it is a fault"


def test_what_airflow_does_not_know_or_admit(airflow: Fake) -> None:
    airflow.answers[f"POST {DAG}/dagRuns"] = (404, {"detail": "no dag"})
    unknown = trigger(airflow)
    assert unknown.code == 2
    assert "foreset check" in unknown.err
    airflow.answers[f"POST {DAG}/dagRuns"] = (400, {"detail": "'much' does not match"})
    wrong = trigger(airflow, "--verify", "much")
    assert wrong.code == 2
    assert "does not match" in wrong.err
    airflow.answers["POST /auth/token"] = (401, {"detail": "no"})
    stranger = trigger(airflow)
    assert stranger.code == 5
    assert "FORESET_AIRFLOW_PASSWORD" in stranger.err


def test_a_token_needs_no_login(airflow: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_AIRFLOW_TOKEN", "secret")
    assert trigger(airflow).code == 0
    assert ("POST", "/auth/token") not in {(method, path) for method, path, _ in airflow.asked}


def test_patience_has_an_end(airflow: Fake) -> None:
    airflow.ends("running")
    done = trigger(airflow, "--wait", "--timeout", "0.001")
    assert done.code == 5
    assert "the same --run-id" in done.err


def test_a_question_is_asked_again_and_nothing_else(airflow: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    import urllib.request

    honest, lost = urllib.request.urlopen, ["first", "second"]

    def slow(request: Any, **options: Any) -> Any:
        if lost:
            lost.pop()
            raise TimeoutError
        return honest(request, **options)

    monkeypatch.setattr(urllib.request, "urlopen", slow)
    asked = Airflow(airflow.url, "secret", tries=3)
    assert asked.get("/dags/foreset_reach") == {"is_paused": False}
    lost.append("third")
    with pytest.raises(EnvironmentFault):
        asked.post("/dags/foreset_reach/dagRuns", {})


def test_no_airflow_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = foreset("trigger", "reach", "--home", str(tmp_path))
    assert done.code == 5
    assert "foreset up" in done.err
    monkeypatch.setenv("FORESET_AIRFLOW_TOKEN", "x")
    gone = foreset("trigger", "reach", "--url", "http://127.0.0.1:9")
    assert gone.code == 5
    assert "no Airflow answers" in gone.err
    assert foreset("trigger", "reach", "--url", "ftp://x").code == 5


def test_a_run_with_an_id_is_posted_again_where_airflow_stumbles(
    airflow: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its database was busy: 500. An id makes it safe to ask again; without one, nothing is sent twice."""
    monkeypatch.setattr("foreset.orchestrate.rest.PAUSES_S", (0.0, 0.0))
    airflow.answers[f"POST {DAG}/dagRuns"] = (500, {"detail": "Serious error when handling your request"})
    posts = ("POST", f"{DAG}/dagRuns")
    assert trigger(airflow, "--run-id", "manual__1").code == 5
    assert sum(one[:2] == posts for one in airflow.asked) == 3
    airflow.asked.clear()
    assert trigger(airflow).code == 5
    assert sum(one[:2] == posts for one in airflow.asked) == 1


def test_a_question_is_asked_again_where_airflow_stumbles(airflow: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.orchestrate.rest.PAUSES_S", (0.0, 0.0))
    airflow.answers[f"GET {DAG}"] = (500, {"detail": "database is locked"})
    asked = Airflow(airflow.url, "secret")
    with pytest.raises(Refused, match="database is locked"):
        asked.get("/dags/foreset_reach")
    assert len(airflow.asked) == 3
    airflow.asked.clear()
    airflow.answers[f"GET {DAG}"] = (403, {"detail": "not yours"})
    with pytest.raises(Refused, match="not yours"):
        asked.get("/dags/foreset_reach")
    assert len(airflow.asked) == 1, "a no is a no"
