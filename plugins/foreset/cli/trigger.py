"""`foreset trigger`: ask Airflow for a refresh, from a loader or by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.cli.refresh import DryRun, Force, Group, Mode, Modes, Note, Quiet, Verify
from foreset.cli.up import HOME, Home

if TYPE_CHECKING:
    from foreset.orchestrate.rest import Airflow
    from foreset.orchestrate.runs import Outcome

Wait = Annotated[bool, typer.Option("--wait", help="Wait for its end; the exit code is that of `foreset refresh`.")]
Timeout = Annotated[float, typer.Option("--timeout", metavar="MINUTES", help="With --wait: how long; 0: no limit.")]
RunId = Annotated[str, typer.Option("--run-id", help="A name for the run; the same name twice is one run.")]
Unpause = Annotated[bool, typer.Option("--unpause", help="Unpause the DAG first, if it is paused.")]
Url = Annotated[
    str, typer.Option("--url", envvar="FORESET_AIRFLOW_URL", help="Airflow; default: that of `foreset up`.")
]


def trigger(
    group: Group,
    *,
    wait: Wait = False,
    timeout: Timeout = 0.0,
    mode: Modes = Mode.AUTO,
    verify: Verify = "200",
    dry_run: DryRun = False,
    note: Note = "",
    run_id: RunId = "",
    force: Force = False,
    unpause: Unpause = False,
    quiet: Quiet = False,
    url: Url = "",
    home: Home = HOME,
    json: AsJson = False,
    specs: Specs = SPECS,  # noqa: ARG001 - accepted everywhere; what is refreshed is up to that Airflow
    warehouse: Warehouse = WAREHOUSE,  # noqa: ARG001
) -> None:
    """Tell Airflow to refresh a group now, as after a load.

    Logs in with FORESET_AIRFLOW_TOKEN, or FORESET_AIRFLOW_USER and FORESET_AIRFLOW_PASSWORD; the Airflow of
    `foreset up` needs none of them.
    """
    from foreset.cli.output import say, say_json
    from foreset.errors import EnvironmentFault
    from foreset.orchestrate import runs
    from foreset.records.codec import to_plain

    airflow = connected(url, home)
    if runs.is_paused(airflow, group):
        if not unpause:
            raise EnvironmentFault(
                f"the DAG of {group} is paused: Airflow would queue the run and never start it",
                "unpause it in Airflow, or with --unpause",
            )
        runs.unpause(airflow, group)
    conf = {"mode": mode.value, "verify": verify, "note": note or None, "dry_run": dry_run, "force": force}
    started = runs.start(airflow, group, conf, run_id=run_id, note=note)
    if not wait:
        outcome = runs.Outcome(group, started, "queued")
    else:
        outcome = runs.wait(airflow, group, started, _told(quiet=quiet or json), timeout * 60)
    if json:
        say_json({"exit": outcome.exit_code, "outcome": to_plain(outcome)})
    else:
        say(summary(outcome))
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


def connected(url: str, home: Path) -> Airflow:
    """An Airflow that lets us in: the one named, or that of `foreset up`."""
    from foreset.errors import EnvironmentFault
    from foreset.orchestrate.home import Home as AirflowHome
    from foreset.orchestrate.rest import Airflow

    local = AirflowHome(home)
    running = local.running()
    if not url and running is None:
        hint = "start one with `foreset up`, or give the address of yours with --url or FORESET_AIRFLOW_URL"
        raise EnvironmentFault(f"no Airflow runs in {home}", hint)
    airflow = Airflow(url or (running.url if running else ""), os.environ.get("FORESET_AIRFLOW_TOKEN", ""))
    if not airflow.token:
        user = os.environ.get("FORESET_AIRFLOW_USER", "admin")
        own = local.password(user) if not url or (running is not None and url == running.url) else ""
        airflow.login(user, os.environ.get("FORESET_AIRFLOW_PASSWORD", own))
    return airflow


def summary(outcome: Outcome) -> str:
    """The outcome for people."""
    from foreset.records.results import TaskFailure

    head = f"{outcome.group}: run {outcome.run_id}"
    match outcome.state, outcome.status:
        case "queued", _:
            return f"{head} is queued"
        case "failed", _:
            told = outcome.failure or TaskFailure()
            hint = f"\n  = hint: {told.hint}" if told.hint else ""
            then = f"\n  = next: {told.next}" if told.next else ""
            return f"{head} failed in {told.phase}: {told.message}{hint}{then}"
        case _, "held":
            return f"{outcome.group}: on hold; `foreset rollback {outcome.group} --release` allows refreshes again"
        case _, "unchanged":
            return f"{outcome.group}: no source has changed since seq {outcome.seq} ({outcome.seconds:.1f} s)"
        case _, "dry-run":
            return f"{outcome.group}: nothing published (dry run, {outcome.seconds:.1f} s)"
    width = max((len(name) for name in outcome.views), default=0)
    views = [f"  {name:<{width}}  +{one.inserted:,} -{one.deleted:,}" for name, one in outcome.views.items()]
    return "\n".join([f"{outcome.group}: seq {outcome.seq} committed in {outcome.seconds:.1f} s", *views])


def _told(*, quiet: bool) -> Callable[[str], None]:
    from foreset.render import visible

    def tell(line: str) -> None:
        if not quiet:
            typer.echo(visible(line), err=True)

    return tell
