"""The whole of Foreset in some minutes: real Airflow, real Spark, real data, nothing to click.

    make demo

A nightly refresh that the scheduler starts, a bulk load whose asset events start the next one, and a
load gone wrong that the quality gate stops. Both engines are at work: one group runs in Spark, as its spec says,
the other where it pays. Everything happens in `.cache/demo`, which each run
makes anew; all processes end with it. `python examples/demo.py --keep` leaves Airflow running.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import sample_warehouse

from foreset.cli.up import end, wait_for_dags, warm_spark
from foreset.orchestrate import runs
from foreset.orchestrate.home import Home
from foreset.orchestrate.names import dag_id
from foreset.orchestrate.rest import Airflow
from foreset.orchestrate.standalone import Project, start, wait_until_healthy
from foreset.plan.place import told
from foreset.warehouse import open_warehouse

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".cache" / "demo"
GROUPS = ("reach", "supply_chain")
IN_SPARK = "reach"  # by a line in its spec; so small a group would else run in process
NIGHT_S = 45  # how long Airflow may take to know the DAGs before the night begins


class Demo:
    """The story, step by step; each step prints what happened."""

    def __init__(self, place: Path) -> None:
        self.place, self.began, self.step = place, time.monotonic(), 0
        self.warehouse, self.specs, self.home = str(place / "warehouse"), place / "view_specs", Home(place / "airflow")
        self.airflow = Airflow("")
        self.warming: subprocess.Popen[bytes] | None = None

    def end(self) -> None:
        """End whatever was started."""
        if self.warming is not None:
            self.warming.kill()
        end(self.home.folder, self.warehouse)

    def tell(self, text: str) -> None:
        """Begin a step."""
        self.step += 1
        print(f"\n[{time.monotonic() - self.began:4.0f} s] {self.step}. {text}", flush=True)

    def run(self) -> None:
        """All of it."""
        self.tell("A warehouse: Debian's packages of one day, what they need, and some roads")
        sample_warehouse.load_day1(self.warehouse)
        night = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=NIGHT_S + 59)
        for group in GROUPS:
            self.write_spec(group, night)
        say(f"tables in  {shown(self.warehouse)}")
        say(f"views in   {shown(self.specs)}: {', '.join(GROUPS)}; tonight's refresh is at {night:%H:%M} UTC")
        say(f"the spec of {IN_SPARK} says `engine: spark`; the other one leaves it to Foreset where to compute")

        self.tell("Airflow starts, with one DAG for each spec, and Spark beside it")
        running = start(Project(self.place, self.specs, self.warehouse), self.home)
        self.warming = warm_spark(self.warehouse)
        self.airflow = wait_until_healthy(running, self.home, say)
        say(f"{running.url} knows {', '.join(wait_for_dags(self.airflow, self.specs))}")

        self.tell("Night: the scheduler refreshes both groups. Nothing was there, so every view is built")
        for group in GROUPS:
            self.follow(group, self.scheduled(group))

        self.tell("Morning: a bulk load. Debian publishes updates, a road closes, another opens")
        loaded = sample_warehouse.load_day2(self.warehouse)
        say(f"{len(loaded)} tables changed; the loader says so to Airflow, which starts both DAGs")
        known = {group: self.runs_of(group) for group in GROUPS}
        for table, version in loaded.items():
            self.announce(table, version)
        for group in GROUPS:
            self.follow(group, self.another(group, known[group]))

        self.tell("Noon: a load gone wrong. A road leads from a city to itself")
        before = self.seq("reach")
        sample_warehouse.load_bad(self.warehouse)
        run_id = runs.start(self.airflow, "reach", {"note": "after the load of noon"}, note="after the load of noon")
        outcome = runs.wait(self.airflow, "reach", run_id)
        if outcome.failure is None or outcome.exit_code != 3 or self.seq("reach") != before:
            raise SystemExit(f"the bad load was not stopped: {outcome}")
        say(f"reach: stopped in {outcome.failure.phase}, exit code {outcome.exit_code}")
        for line in outcome.failure.message.splitlines():
            say(f"  {line}")
        say(f"readers still see seq {before}, whole; the next good load brings the next seq")

    def write_spec(self, group: str, night: datetime.datetime) -> None:
        """The project's own spec, with tonight's hour."""
        self.specs.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "view_specs" / f"{group}.yaml").read_text(encoding="utf-8")
        hour = f'schedule: "{night.minute} {night.hour} * * *"'
        lines = [hour if line.startswith("schedule:") else line for line in text.splitlines()]
        if group == IN_SPARK:
            lines.insert(lines.index(hour), "engine: spark")
        (self.specs / f"{group}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def scheduled(self, group: str) -> str:
        """The run that the scheduler starts tonight; on a slow machine the night comes a little later."""
        while True:
            with suppress(StopIteration):
                return next(run for run in self.runs_of(group) if run.startswith("scheduled"))
            due = self.airflow.get(f"/dags/{dag_id(group)}")["next_dagrun_run_after"]
            if due and parsed(due) - now() > datetime.timedelta(minutes=10):  # it was not ready in time
                self.write_spec(group, now() + datetime.timedelta(seconds=90))
                time.sleep(40)
            time.sleep(0.5)

    def another(self, group: str, known: set[str]) -> str:
        """The run that an asset event has started since."""
        while True:
            with suppress(StopIteration):
                fresh = sorted(self.runs_of(group) - known)
                return next(run for run in fresh if run.startswith("asset_triggered"))
            time.sleep(0.5)

    def runs_of(self, group: str) -> set[str]:
        """The ids of the group's runs."""
        found = self.airflow.get(f"/dags/{dag_id(group)}/dagRuns", limit=100)["dag_runs"]
        return {run["dag_run_id"] for run in found}

    def announce(self, table: str, version: int) -> None:
        """What a loader says at its end: this table has that version."""
        assets = self.airflow.get("/assets", name_pattern=table, limit=100)["assets"]
        for asset in assets:
            if asset["name"] == table:
                self.airflow.post("/assets/events", {"asset_id": asset["id"], "extra": {"version": version}})

    def follow(self, group: str, run_id: str) -> None:
        """Wait for a run, and say what it did."""
        outcome = runs.wait(self.airflow, group, run_id)
        if outcome.exit_code or outcome.status != "committed":
            raise SystemExit(f"{group}: {outcome}")
        came = sum(view.inserted for view in outcome.views.values())
        went = sum(view.deleted for view in outcome.views.values())
        kind = run_id.partition("__")[0].replace("_", " ")
        say(f"{group}: seq {outcome.seq} committed in {outcome.seconds:.0f} s ({kind})")
        views = f"{len(outcome.views)} view{'s' * (len(outcome.views) != 1)}"
        say(f"  {views}, {came:,} rows came and {went:,} went; {self.strategies(group)}")
        for where in self.places(group):
            say(f"  {where}")

    def strategies(self, group: str) -> str:
        """How many views were maintained how, in the newest refresh."""
        views = open_warehouse(self.warehouse, str(self.specs)).manifest(group)[-1]["views"]
        found = [view["strategy"] for view in views.values()]
        return ", ".join(f"{found.count(name)} by {name}" for name in dict.fromkeys(found))

    def places(self, group: str) -> list[str]:
        """Where views were computed, and why, in the newest refresh."""
        (status,) = open_warehouse(self.warehouse, str(self.specs)).status(group)
        found = [(view["engine"], view["engine_reason"]) for view in status["views"].values() if view["engine"]]
        lines = []
        for engine in dict.fromkeys(engine for engine, _ in found):
            reasons = [reason for other, reason in found if other == engine]
            more = f", and {len(set(reasons)) - 1} more reasons" if len(set(reasons)) > 1 else ""
            lines.append(f"{len(reasons)} computed {told(engine, reasons[0])}{more}")
        return lines

    def seq(self, group: str) -> int:
        """What readers see."""
        return int(open_warehouse(self.warehouse, str(self.specs)).manifest(group)[-1]["seq"])

    def where_to_look(self) -> None:
        """What a newcomer does next."""
        where = f"--specs {shown(self.specs)} --warehouse {shown(self.warehouse)}"
        self.tell("Look around (export PATH=$PWD/.venv/bin:$PATH)")
        say(f"foreset status {where}")
        say(f"foreset show supply_chain.fit_to_ship {where} --limit 5")
        say(f"foreset changes reach.closure {where}")
        say(f"foreset report reach {where} --output report.html")
        say(f"foreset up --home {shown(self.home.folder)} {where}")
        say("  and in Airflow: Dags > foreset_supply_chain > Graph; the failed run of foreset_reach; its report")


def say(line: str) -> None:
    """A line of the step at hand."""
    print(f"         {line}", flush=True)


def shown(path: object) -> str:
    """A path from where the reader stands."""
    return os.path.relpath(str(path))


def now() -> datetime.datetime:
    """In UTC."""
    return datetime.datetime.now(datetime.UTC)


def parsed(text: str) -> datetime.datetime:
    """A moment as Airflow writes it."""
    return datetime.datetime.fromisoformat(text)


def main(arguments: list[str]) -> int:
    """Run the demo; whatever happens, nothing is left running unless asked for."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--keep", action="store_true", help="leave Airflow and Spark running at the end")
    options.add_argument("--place", type=Path, default=PLACE, help="where everything happens; it is emptied first")
    given = options.parse_args(arguments)
    place: Path = given.place.resolve()
    if place.exists() and not (place / "airflow").exists() and any(place.iterdir()):
        sys.stderr.write(f"{place} holds something else: name an empty folder\n")
        return 2
    end(place / "airflow", str(place / "warehouse"))
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    demo, finished = Demo(place), False
    try:
        demo.run()
        finished = True
    except KeyboardInterrupt:
        print("\nstopped")
    finally:
        if not (given.keep and finished):
            demo.end()
    if not finished:
        return 130
    demo.where_to_look()
    if given.keep:
        say(f"it still runs: {demo.airflow.url}, admin / {demo.home.password('admin')}; `foreset down` ends it")
    print(f"\nIt took {time.monotonic() - demo.began:.0f} s.")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL", "10")
    sys.exit(main(sys.argv[1:]))
