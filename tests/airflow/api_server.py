"""A real API server of Airflow in a home of its own, with our plugin, three DAGs and no scheduler."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 240
USERS = {"anna": "admin", "vera": "viewer", "otto": "viewer"}
DAGS = """\
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator

for name in ("foreset_parts", "foreset_other", "plain"):
    with DAG(name, schedule=None, tags=["foreset"]) as dag:
        EmptyOperator(task_id="open")
    globals()[name] = dag
"""
PREPARE = """\
import sys
from airflow.utils.db import initdb
initdb()
sys.argv = ["airflow", "dags", "reserialize"]
from airflow.__main__ import main
main()
"""


@dataclass
class Server:
    """Where it listens, and who can log in."""

    url: str
    password: str
    warehouse: str
    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, user: str) -> str:
        """A token as the login gives it."""
        if user not in self.tokens:
            known = {"username": user, "password": self.password}
            answer = httpx.post(f"{self.url}/auth/token", json=known, timeout=60)
            self.tokens[user] = answer.raise_for_status().json()["access_token"]
        return self.tokens[user]

    def get(self, path: str, user: str | None = None, method: str = "GET") -> httpx.Response:
        """One request with the cookie of a logged-in browser; `path` is sent as it stands."""
        cookies = {"_token": self.token(user)} if user else {}
        with httpx.Client(cookies=cookies, timeout=60, follow_redirects=False) as client:
            return client.request(method, httpx.URL(self.url).copy_with(raw_path=path.encode()))

    def trigger(self, dag: str, run_id: str) -> None:
        """A run of a DAG; nothing executes it."""
        answer = httpx.post(
            f"{self.url}/api/v2/dags/{dag}/dagRuns",
            json={"dag_run_id": run_id, "logical_date": None},
            headers={"Authorization": f"Bearer {self.token('anna')}"},
            timeout=60,
        )
        answer.raise_for_status()


@contextmanager
def running(home: Path, warehouse: str) -> Iterator[Server]:
    """Start it, wait until it answers, and end it with all its processes."""
    port, password = free_port(), "let-me-in"
    environment = settings(home, warehouse, port)
    (home / "dags").mkdir(parents=True)
    (home / "dags" / "some.py").write_text(DAGS)
    (home / "passwords.json").write_text(json.dumps(dict.fromkeys(USERS, password)))
    prepare = [sys.executable, "-c", PREPARE]
    done = subprocess.run(prepare, env=environment, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    options = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command = [sys.executable, "-m", "airflow", "api-server", *options]
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment, cwd=home, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        server = Server(f"http://127.0.0.1:{port}", password, warehouse)
        wait_for(f"{server.url}/api/v2/version", process, home / "server.log")
        yield server
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def settings(home: Path, warehouse: str, port: int) -> Mapping[str, str]:
    """The environment of the server."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")}
    ours = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__AUTH_MANAGER": "tests.airflow.per_dag_auth.PerDagAuthManager",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API_AUTH__JWT_SECRET": "only-for-this-test-" + "x" * 64,
        "FORESET_WAREHOUSE": warehouse,
        "PYTHONPATH": str(ROOT),
    }
    return {**inherited, **ours}


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers; its log says why it does not."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url, timeout=10).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    raise AssertionError(f"the API server does not answer:\n{log.read_text()[-3000:]}")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
