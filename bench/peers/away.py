"""Peers that run as processes of their own: they get files and a program, and say how long each step took them.

A job is a folder with `job.json`, the tables as CSV (`0/full` the first state, `N/plus` and `N/minus` what change N
brings and takes, `N/full` for those that compute anew), and room for results. Time to start and to write results is
not counted. Those that compute anew do so for the first states only: what it costs does not depend on the change.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from bench.core import IDLE, Line, PeerRun
from bench.peers import datalog, install
from bench.peers.here import refused
from bench.worlds import World, fingerprint, raw
from deltalake import DeltaTable

from foreset.ir.program import Program

SCRIPTS = Path(__file__).resolve().parent
_CAST_SUM = re.compile(r"cast\((sum\(.+?\)) as decimal\(\d+,\d+\)\) as ")
ANEW = 2  # states for those that compute anew
Columns = Mapping[str, Mapping[str, str]]  # types by column, by table


@dataclass(frozen=True, slots=True)
class Away:
    """One of them: its key in a world's `peers`, its name in the report, and how it is started."""

    key: str
    name: str
    command: Sequence[str | Path]
    words: Callable[[World, Program, str], object]  # its program
    steps: int | None = None  # None: all of them


def _datalog(dialect: datalog.Dialect) -> Callable[[World, Program, str], object]:
    return lambda _world, program, _said: list(datalog.rules(program, dialect))


def _queries(world: World, _program: Program, said: str) -> object:
    """For pg_ivm, which knows no expression around an aggregate."""
    names = list(world.queries) if said == "sql" else said.split(",")
    return {name: _CAST_SUM.sub(r"\1 as ", world.queries[name]) for name in names}


SPARK = (sys.executable, SCRIPTS / "run_spark.py")
PEERS = (
    Away("spark", "Spark", SPARK, lambda world, _program, _said: dict(world.queries)),
    Away("merge", "MERGE", SPARK, lambda world, _program, _said: dict(world.queries)),
    Away("nemo", "Nemo", (install.PYTHON, SCRIPTS / "run_nemo.py"), _datalog(datalog.NEMO), ANEW),
    Away("clingo", "clingo", (install.PYTHON, SCRIPTS / "run_clingo.py"), _datalog(datalog.CLINGO), ANEW),
    Away("pathway", "Pathway", (install.PYTHON, SCRIPTS / "run_pathway.py"), lambda _world, _program, said: said),
    Away("pg_ivm", "pg_ivm", ("node", SCRIPTS / "run_pglite.mjs"), _queries),
)
KEYS = tuple(peer.key for peer in PEERS)


@dataclass(slots=True)
class Job:
    """What one peer is given and what it said."""

    peer: Away
    folder: Path
    limit: float
    said: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> str:
        """Run it to its end, or until a step takes longer than the limit; what went wrong, if anything."""
        environment = {**os.environ, "BENCH_NODE": str(install.NODE)}
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [*self.peer.command, self.folder / "job.json"], stdout=subprocess.PIPE, stderr=errors, text=True,
                start_new_session=True, env=environment, cwd=self.folder,
            )  # fmt: skip
            late = threading.Event()

            def begun() -> threading.Timer:
                timer = threading.Timer(self.limit, lambda: (late.set(), _end(process)))
                timer.start()
                return timer

            timer = begun()
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    if line.startswith('{"step"'):
                        self.said.append(json.loads(line))
                        timer.cancel()
                        timer = begun()
            finally:
                timer.cancel()
                _end(process)
            if late.is_set():
                return f"not done after {self.limit:.0f} s"
            errors.seek(0)
            return f"failed: {_fault(errors.read())}" if process.wait() else ""


def _fault(told: str) -> str:
    """The line that names an error, or the last one."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return next((line for line in lines if re.match(r"\w*[eE]rror\b", line)), lines[-1] if lines else "no word")[:200]


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_all(world: World, root: str, lines: Sequence[Line], folder: Path, limit: float, keys: Sequence[str]) -> None:
    """Give each of these peers the states that the lines saw, and add what it took to them."""
    lines = [line for line in lines if line.change != IDLE]
    program = datalog.program(world.spec("peers"))
    exported = False
    for peer in (peer for peer in PEERS if peer.key in keys):
        if (reason := refused(world, peer.key)) is not None:
            lines[0].peers[peer.name] = PeerRun(None, reason)
            continue
        if not exported and peer.command is not SPARK:  # which reads the Delta tables
            export(program, root, lines, folder / "data")
            exported = True
        try:
            words = peer.words(world, program, world.peers[peer.key])
            _run(Job(peer, folder / peer.key, limit), world, program, words, lines, folder / "data", root)
        except (datalog.Untold, duckdb.Error, OSError, ValueError) as problem:
            lines[0].peers[peer.name] = PeerRun(None, str(problem).partition("\n")[0])


def _run(job: Job, world: World, program: Program, words: object, lines: Sequence[Line], data: Path, root: str) -> None:
    views = _views(program, words)
    _write_job(job, program, words, views, lines, data)
    _tell_of_tables(job, world, root, lines)
    _take(job, views, lines, job.run())


def _tell_of_tables(job: Job, world: World, root: str, lines: Sequence[Line]) -> None:
    """For those that read the Delta tables themselves."""
    told = {
        "sources": {name: raw(root, name) for name in world.tables},
        "versions": [line.versions for line in lines],
        "keyed": {view: asdict(keyed) for view, keyed in world.keyed.items()} if job.peer.key == "merge" else {},
        "skips": job.peer.key == "merge",
        "views": f"{root}/by-{job.peer.key}",
    }
    (job.folder / "tables.json").write_text(json.dumps(told))


def _views(program: Program, words: object) -> Columns:
    named = words if isinstance(words, dict) else {view.name: None for view in program.shown}
    return {view.name: _types(view) for view in program.shown if view.name in named}


def _types(relation: Any) -> dict[str, str]:
    return {column.name: str(column.type) for column in relation.columns}


def _write_job(job: Job, program: Program, words: object, views: Columns, lines: Sequence[Line], data: Path) -> None:
    steps = lines[: job.peer.steps]
    job.folder.mkdir(parents=True)
    for number in range(len(steps)):
        (job.folder / "results" / str(number)).mkdir(parents=True)
    told = {
        "program": words,
        "tables": {source.name: _types(source) for source in program.sources},
        "views": views,
        "predicates": {name: datalog.predicate(name) for name in [*views, *(s.name for s in program.sources)]},
        "data": str(data),
        "results": str(job.folder / "results"),
        "steps": len(steps),
    }
    (job.folder / "job.json").write_text(json.dumps(told))


def _take(job: Job, views: Columns, lines: Sequence[Line], problem: str) -> None:
    """Compare what it wrote with what was expected, and note its times."""
    part = f"{len(views)} of {len(lines[0].expected)} views: {', '.join(views)}"
    note = "" if len(views) == len(lines[0].expected) else part
    for told in job.said:
        line, folder = lines[told["step"]], job.folder / "results" / str(told["step"])
        at = told.get("tables", {})  # of those who left Delta tables, at a version
        wrong = [
            view
            for view, types in views.items()
            if (_table(*at[view]) if view in at else _found(folder / f"{view}.csv", types)) != line.expected[view]
        ]
        right = PeerRun(round(told["seconds"], 3), note)
        line.peers[job.peer.name] = PeerRun(None, f"wrong result in {', '.join(wrong)}") if wrong else right
    if problem:
        line = lines[min(len(job.said), len(lines) - 1)]
        line.peers[job.peer.name] = PeerRun(None, problem)


def _table(path: str, version: int) -> tuple[int, str]:
    return fingerprint(DeltaTable(path, version=version).to_pyarrow_table())


def _found(path: Path, types: Mapping[str, str]) -> tuple[int, str] | None:
    if not path.exists():
        return None
    if not path.stat().st_size:
        return 0, "0"
    with duckdb.connect() as connection:
        rows = connection.read_csv(str(path), header=False, dtype=dict(types), names=list(types), delimiter=",",
                                   quotechar='"', escapechar='"')  # fmt: skip
        return fingerprint(rows.to_arrow_table())


# ---------------------------------------------------------------- the states as files
def export(program: Program, root: str, lines: Sequence[Line], data: Path) -> None:
    """Write the first states whole, and of every later one what differs from the state before."""
    with duckdb.connect() as connection:
        for number, line in enumerate(lines):
            for source in program.sources:
                table = str(source.table).rpartition("/")[2]
                columns = ", ".join(f'"{column.name}"' for column in source.columns)
                now = _at(connection, root, table, line.versions[table], columns)
                if number < ANEW:
                    _copy(connection, now, data / str(number) / "full" / f"{source.name}.csv")
                if number:
                    old = _at(connection, root, table, lines[number - 1].versions[table], columns)
                    _copy(connection, f"{now} except all {old}", data / str(number) / "plus" / f"{source.name}.csv")
                    _copy(connection, f"{old} except all {now}", data / str(number) / "minus" / f"{source.name}.csv")


def _at(connection: duckdb.DuckDBPyConnection, root: str, table: str, version: int, columns: str) -> str:
    files = DeltaTable(raw(root, table), version=version).file_uris()
    name = f"{table}_{version}"
    connection.read_parquet(files).create_view(name, replace=True)
    return f'(select {columns} from "{name}")'


def _copy(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection.execute(f"copy ({query}) to '{path}' (format csv, header)")
