"""The embedded server of a warehouse: find it, or start it, or replace it; and stop it.

One server per warehouse. Who finds, starts or stops holds the starters' lock,
except on the fast path: a client that holds the clients' lock *and then* reads
a fitting state may connect, since an idle server leaves only while it holds
that lock alone.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault
from foreset.session.config import SESSION_CONF, Settings, connect_conf, fingerprint, jvm_conf
from foreset.session.connect import connect_embedded
from foreset.session.earlier import DYING_WRITER_S
from foreset.session.jars import verified_jars
from foreset.session.jvm import tail
from foreset.session.launch import START_S, LaunchOrder, start_supervisor
from foreset.session.locations import StateFiles, absolute_warehouse, guard_identity, prepared, state_files
from foreset.session.locks import FileLock, second_writer, writer_lock_is_free
from foreset.session.state import Fit, ServerState, forget_state, judge, read_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_S = 60.0


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What is known of a warehouse's server, without its token."""

    fit: Fit | None  # None: none was started, or it was stopped
    port: int = 0
    supervisor_pid: int = 0
    jvm_pid: int = 0
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """The server that a client wants."""

    warehouse: str
    files: StateFiles
    conf: dict[str, str]
    fingerprint: str
    idle_s: float

    @property
    def session_conf(self) -> dict[str, str]:
        """What each session is told too, so that it holds whatever the server's own settings are."""
        return {key: self.conf[key] for key in SESSION_CONF}

    def fit_of(self, state: ServerState) -> Fit:
        """What a state is to who wants this server."""
        return judge(state, self.warehouse, guard_identity(self.files), self.fingerprint)


def wanted_server(warehouse: str, settings: Settings) -> Wanted:
    """Return what a server of `warehouse` must be; checks the jars."""
    files = state_files(warehouse)
    jars = verified_jars()
    conf = {**jvm_conf(settings, jars, files.scratch, f"local[{settings.cores}]"), **connect_conf()}
    return Wanted(absolute_warehouse(warehouse), files, conf, fingerprint(conf, jars), settings.idle_minutes * 60)


@contextlib.contextmanager
def embedded_session(warehouse: str, settings: Settings) -> Iterator[SparkSession]:
    """Open a session on the warehouse's server, starting or replacing the server where needed."""
    want = wanted_server(warehouse, settings)
    prepared(want.files)
    attached = _attach(want)
    if attached is None:
        with _starters(want.files):
            attached = _attach(want)
            if attached is None:
                _clear_the_way(want)
                _start(want)
                attached = _attach(want)
    if attached is None:
        raise EnvironmentFault("the embedded Spark server ended right after its start\n" + tail(want.files.log))
    client, spark = attached
    try:
        yield spark
    finally:
        with contextlib.suppress(Exception):  # the server may be gone: there is nothing left to release
            spark.stop()
        client.release()


def inspect_server(warehouse: str, settings: Settings | None = None) -> ServerReport:
    """Say what a warehouse's state file amounts to; without `settings`, whatever it was started with is right."""
    files = state_files(warehouse)
    state = read_state(files)
    if state is None:
        return ServerReport(None)
    fit = _judge_own(state, files, warehouse) if settings is None else wanted_server(warehouse, settings).fit_of(state)
    return ServerReport(fit, state.port, state.supervisor.pid, state.jvm.pid, _in_use(files))


def stop_server(warehouse: str) -> bool:
    """End the warehouse's server, in use or not; return whether there was one."""
    files = state_files(warehouse)
    if not files.folder.is_dir():
        return False
    with _starters(files):
        state = read_state(files)
        if state is None or _judge_own(state, files, warehouse) is not Fit.FITS:
            return False
        _end(state, files)
        return True


def _judge_own(state: ServerState, files: StateFiles, warehouse: str) -> Fit:
    """What a state is, with whatever settings it was started."""
    return judge(state, absolute_warehouse(warehouse), guard_identity(files), state.fingerprint)


@contextlib.contextmanager
def _starters(files: StateFiles) -> Iterator[None]:
    lock = FileLock.take(files.starters, shared=False, wait_s=START_S + DYING_WRITER_S)
    if lock is None:
        raise EnvironmentFault(
            f"another process has been starting this warehouse's Spark server for over {START_S:.0f} s",
            f"see {files.log}, end that process, and try again",
        )
    try:
        yield
    finally:
        lock.release()


def _attach(want: Wanted) -> tuple[FileLock, SparkSession] | None:
    client = FileLock.take(want.files.clients, shared=True, wait_s=2.0)
    if client is None:
        return None
    try:
        state = read_state(want.files)
        if state is not None and want.fit_of(state) is Fit.FITS:
            return client, connect_embedded(state.port, state.token, want.session_conf, ANSWER_S)
    except EnvironmentFault:
        pass  # it runs but does not answer, or refuses: `_clear_the_way` decides
    except BaseException:
        client.release()
        raise
    client.release()
    return None


def _clear_the_way(want: Wanted) -> None:
    """Take away whatever is in the place of the wanted server, or say why it cannot be taken away."""
    state = read_state(want.files)
    if state is not None:
        fit = want.fit_of(state)
        mine = fit in {Fit.FITS, Fit.OTHER_SETTINGS, Fit.CRASHED}
        if fit in {Fit.FITS, Fit.OTHER_SETTINGS} and _in_use(want.files):
            trouble = "does not answer" if fit is Fit.FITS else "has other settings (memory, cores, jars or versions)"
            raise EnvironmentFault(
                f"the Spark server of {want.warehouse} {trouble} and is in use (process {state.supervisor.pid})",
                "wait for its clients to end, or use the same FORESET_SPARK_* settings as they do",
            )
        if mine:
            _end(state, want.files)
        elif fit is Fit.OTHER_WAREHOUSE or writer_lock_is_free(want.files):
            forget_state(want.files)
    deadline = time.monotonic() + DYING_WRITER_S
    while not writer_lock_is_free(want.files):
        if time.monotonic() > deadline:
            raise second_writer(want.files)
        time.sleep(0.1)


def _in_use(files: StateFiles) -> bool:
    alone = FileLock.take(files.clients, shared=False, wait_s=0.3)
    if alone is not None:
        alone.release()
    return alone is None


def _end(state: ServerState, files: StateFiles) -> None:
    state.supervisor.end(grace_s=12.0)
    state.jvm.end(grace_s=3.0)
    forget_state(files, state.launch)


def _start(want: Wanted) -> None:
    shutil.rmtree(want.files.scratch, ignore_errors=True)
    want.files.scratch.mkdir()
    token = secrets.token_hex(32)
    folders = str(want.files.folder), str(want.files.guard)
    start_supervisor(
        want.files,
        LaunchOrder(uuid.uuid4().hex, want.warehouse, *folders, want.fingerprint, token, want.idle_s, want.conf),
    )
