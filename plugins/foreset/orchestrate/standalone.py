"""Airflow on this machine, for one project: scheduler, DAG processor, API server and triggerer as one process group.

Airflow's own `standalone` command leaves its parts running when it is ended, and opens two log
servers to the network. This one starts the same four parts, ends all of them together, serves
logs from the disk, and binds to 127.0.0.1 only. For one machine and trust in its users; what a
real deployment needs is in docker/.

Run as `python -m foreset.orchestrate.standalone HOME`: it stays until it is asked to end, or
until one of the parts ends, and then ends the rest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from foreset.errors import EnvironmentFault
from foreset.orchestrate.dags_folder import dags_folder, plugins_folder
from foreset.orchestrate.home import LOOPBACK, Home, Running, free_port
from foreset.orchestrate.names import POOL
from foreset.orchestrate.rest import Airflow, Refused
from foreset.orchestrate.warm import write_settings

BUSY_S = 30  # how long a part of Airflow waits for another's transaction before it gives up with a 500
PARTS = (("scheduler", "--skip-serve-logs"), ("dag-processor",), ("triggerer", "--skip-serve-logs"), ("api-server",))
HEALTHY_S = 300.0
END_S = 20.0
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Project:
    """What the Airflow is for."""

    folder: Path
    specs: Path
    warehouse: str  # absolute
    port: int = 8080


def environment(project: Project, home: Home, port: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Every setting that differs from Airflow's defaults, each with its reason."""
    secret = home.prepare()
    url = f"http://{LOOPBACK}:{port}"
    cores = os.cpu_count() or 2
    ours = {
        "AIRFLOW_HOME": str(home.folder.resolve()),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags_folder(project.folder, home.folder.resolve())),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(plugins_folder(home.folder.resolve())),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(max(2, cores)),  # a task is a process: more than cores only queue there
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home.passwords.resolve()),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",  # tasks report there, on whatever port
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API__SECRET_KEY": secret["api"],
        "AIRFLOW__API_AUTH__JWT_SECRET": secret["jwt"],
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",  # seconds saved between tasks
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "FORESET_SPECS": str(project.specs.resolve()),
        "FORESET_WAREHOUSE": project.warehouse,
        "PYTHONUNBUFFERED": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{base.get('PATH', os.defpath)}",
    }
    kept = {name: value for name, value in base.items() if not name.startswith(("AIRFLOW__", "PYTHONPATH"))}
    chosen = {name: value for name, value in base.items() if name.startswith("AIRFLOW__") and name not in ours}
    database = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home.database.resolve()}?timeout={BUSY_S}"}
    return {**kept, **database, **chosen, **ours}


def start(project: Project, home: Home) -> Running:
    """Start it in a session of its own, and say where it will answer."""
    if (running := home.running()) is not None:
        raise EnvironmentFault(f"an Airflow is running here already: {running.url}", "end it with `foreset down`")
    port = free_port(project.port)
    settings = environment(project, home, port)
    write_settings(home.folder)
    with home.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "foreset.orchestrate.standalone", str(home.folder.resolve())],
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home.folder,
            start_new_session=True,
        )
    started = psutil.Process(process.pid).create_time()
    running = Running(settings["AIRFLOW__API__BASE_URL"], process.pid, started, project.warehouse)
    home.note(running)
    return running


def wait_until_healthy(
    running: Running, home: Home, tell: Tell = lambda _: None, limit_s: float = HEALTHY_S
) -> Airflow:
    """Wait for every part, make the pool, and return the way in."""
    deadline = time.monotonic() + limit_s
    airflow, missing = Airflow(running.url), [*PARTS]
    while missing:
        if not running.alive:
            raise EnvironmentFault("Airflow ended while it was starting:\n" + _tail(home.log), f"see {home.log}")
        if time.monotonic() > deadline:
            names = ", ".join(part[0] for part in missing)
            raise EnvironmentFault(f"Airflow is not healthy after {limit_s:.0f} s: {names}", f"see {home.log}")
        found = _unhealthy(airflow)
        if len(found) < len(missing):
            tell(f"{len(PARTS) - len(found)} of {len(PARTS)} parts of Airflow are up")
        missing = found
        if missing:
            time.sleep(0.5)
    airflow.tries = 4  # on a busy machine an answer may take its time
    airflow.login("admin", home.password("admin"))
    make_pool(airflow)
    return airflow


def make_pool(airflow: Airflow, slots: int | None = None) -> None:
    """The pool that all tasks of Foreset share; without it Airflow would never start one."""
    body = {"name": POOL, "slots": slots or max(2, os.cpu_count() or 2), "include_deferred": False,
            "description": "Tasks of Foreset: each is a client of the warehouse's one Spark server"}  # fmt: skip
    try:
        airflow.post("/pools", body)
    except Refused as refused:
        if refused.status != 409:  # it is there already, perhaps with slots that somebody chose
            raise


def stop(home: Home) -> bool:
    """End every process of the group; say whether there was one."""
    running = home.running()
    members = group_of(running.pid) if running else []
    if running is None:
        home.note(None)
        return False
    if running.alive:
        psutil.Process(running.pid).terminate()
    _, alive = psutil.wait_procs(members, timeout=END_S)
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, timeout=5)
    home.note(None)
    return True


def group_of(leader: int) -> list[psutil.Process]:
    """The processes of the session that `leader` began: its own, and whatever those have started."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader:
                found.append(process)
        except (ProcessLookupError, PermissionError):
            continue
    return found


def serve(home: Home) -> str:
    """Start the parts, and stay; returns why it ended."""
    asked: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    airflow = [sys.executable, "-m", "airflow"]
    migrated = subprocess.run([*airflow, "db", "migrate"], check=False)
    if migrated.returncode:
        return f"`airflow db migrate` ended with {migrated.returncode}"
    parts = {part[0]: subprocess.Popen([*airflow, *part], cwd=home.folder) for part in PARTS if not asked}
    ended = ""
    while not asked and not ended:
        time.sleep(0.3)
        ended = next((f"{name} ended with {p.returncode}" for name, p in parts.items() if p.poll() is not None), "")
    _end_all(leader=os.getpid())
    return ended or "asked to end"


def _end_all(leader: int) -> None:
    """Ask all to end, then make them; this process stays until the others have gone."""
    others = [process for process in group_of(leader) if process.pid != leader]
    for how, patience in ((psutil.Process.terminate, END_S * 0.6), (psutil.Process.kill, 3.0)):
        for process in others:
            try:
                how(process)
            except psutil.NoSuchProcess:
                continue
        _, others = psutil.wait_procs(others, timeout=patience)


def _unhealthy(airflow: Airflow) -> list[tuple[str, ...]]:
    try:
        health = airflow.get("/monitor/health")
    except EnvironmentFault:
        return [*PARTS]
    return [part for part in PARTS[:-1] if health.get(part[0].replace("-", "_"), {}).get("status") != "healthy"]


def _tail(log: Path, lines: int = 15) -> str:
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


if __name__ == "__main__":
    sys.stdout.write(f"ended: {serve(Home(Path(sys.argv[1])))}\n")
