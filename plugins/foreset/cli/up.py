"""`foreset up` and `foreset down`: Airflow and Spark for this project, on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.opening import NO_SPECS
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse

if TYPE_CHECKING:
    from foreset.orchestrate.home import Running
    from foreset.orchestrate.rest import Airflow

Home = Annotated[
    Path, typer.Option("--home", envvar="FORESET_AIRFLOW_HOME", help="The folder of the Airflow of `foreset up`.")
]
Port = Annotated[int, typer.Option("--port", help="The port; if it is in use, another free one.")]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Return when it is healthy; `foreset down` stops it.")]

HOME = Path("airflow_home")
DAGS_S = 90.0


def up(
    *,
    home: Home = HOME,
    port: Port = 8080,
    detach: Detach = False,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Start Airflow with a DAG for each spec, and Spark.

    It runs until Ctrl-C. It is for one machine: it listens only on 127.0.0.1 and keeps its data in sqlite.
    docker/ has a real deployment.
    """
    from foreset.cli.output import say, say_json
    from foreset.errors import UsageError
    from foreset.extras import require
    from foreset.orchestrate.home import Home as AirflowHome
    from foreset.orchestrate.standalone import Project, start, wait_until_healthy
    from foreset.session.locations import absolute_warehouse

    if not specs.is_dir():
        raise UsageError(f"there is no folder {specs}", NO_SPECS)
    require("airflow", "`foreset up`")
    place = AirflowHome(home)
    project = Project(Path(), specs, absolute_warehouse(warehouse), port)
    running = start(project, place)
    warming = warm_spark(project.warehouse)
    try:
        with _spinner(quiet=json) as tell:
            airflow = wait_until_healthy(running, place, tell)
            tell("waiting for the DAGs")
            dags = wait_for_dags(airflow, specs)
            tell("waiting for Spark")
            warming.wait()
    except BaseException:
        warming.kill()
        end(home, warehouse)
        raise
    shown = {"url": running.url, "user": "admin", "password": place.password("admin"), "dags": dags}
    if json:
        say_json({**shown, "home": place.folder, "pid": running.pid})
    else:
        say(_welcome(running, place.password("admin"), dags, home, detach=detach))
    if not detach:
        _stay(running)
        end(home, warehouse)


def down(
    *,
    home: Home = HOME,
    json: AsJson = False,
    specs: Specs = SPECS,  # noqa: ARG001 - accepted everywhere
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Stop the Airflow of `foreset up`, and its Spark server."""
    from foreset.cli.output import say, say_json

    airflow, spark = end(home, warehouse)
    if json:
        say_json({"airflow": airflow, "spark": spark})
    else:
        ended = [name for name, was in (("Airflow", airflow), ("Spark", spark)) if was]
        say(f"stopped: {' and '.join(ended)}" if ended else "nothing was running")


def end(home: Path, warehouse: str) -> tuple[bool, bool]:
    """End both; which of them ran. The warehouse is that of the running Airflow, if there is one."""
    from foreset.orchestrate.home import Home as AirflowHome
    from foreset.orchestrate.standalone import stop
    from foreset.session import stop_server

    place = AirflowHome(home)
    running = place.running()
    airflow = stop(place)
    return airflow, stop_server(running.warehouse if running else warehouse)


def wait_for_dags(airflow: Airflow, specs: Path, limit_s: float = DAGS_S) -> list[str]:
    """The DAGs of all sound specs, as soon as Airflow knows them."""
    from foreset.orchestrate.names import dag_id
    from foreset.orchestrate.specs import load_groups

    wanted = {dag_id(group.program.group) for group in load_groups(specs).groups}
    deadline = time.monotonic() + limit_s
    while True:
        found = {dag["dag_id"] for dag in airflow.get("/dags", tags="foreset", limit=1000)["dags"]}
        if wanted <= found or time.monotonic() > deadline:
            return sorted(wanted & found)
        time.sleep(0.5)


def warm_spark(warehouse: str) -> subprocess.Popen[bytes]:
    """Begin to start the warehouse's server, unless Spark is somewhere else; a task that finds none starts it too."""
    embedded = os.environ.get("FORESET_SPARK", "embedded") in ("", "embedded")
    code = "import sys; from foreset.session import open_session; open_session('embedded', sys.argv[1]).close()"
    command = [sys.executable, "-c", code if embedded else "", warehouse]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _welcome(running: Running, password: str, dags: list[str], home: Path, *, detach: bool) -> list[str]:
    ends = "foreset down" + ("" if home == HOME else f" --home {home}") if detach else "Ctrl-C"
    return [
        f"Airflow answers at {running.url}",
        f"  login       admin / {password}",
        f"  DAGs        {', '.join(dags) or 'none yet: see `foreset check`'}",
        f"  warehouse   {running.warehouse}",
        f"  log         {home / 'airflow.log'}",
        f"  stop it by  {ends}",
    ]


def _stay(running: Running) -> None:
    """Until Ctrl-C, SIGTERM, or the end of Airflow."""
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        while running.alive and not asked.wait(1.0):
            pass
    except KeyboardInterrupt:
        return


@contextmanager
def _spinner(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Progress on stderr: alive on a terminal, lines elsewhere."""
    from foreset.cli.output import coloured

    if quiet or not coloured(sys.stderr):

        def tell(line: str) -> None:
            if not quiet:
                typer.echo(line, err=True)

        yield tell
        return
    from rich.console import Console

    with Console(stderr=True).status("Airflow is starting") as status:
        yield status.update
