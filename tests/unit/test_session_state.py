"""What a client makes of a server's state file, with sleeping processes in the place of Spark's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from foreset.errors import EnvironmentFault, UsageError
from foreset.session import Settings, inspect_server, open_session, stop_server
from foreset.session.config import LOOPBACK, SESSION_CONF, connect_conf, default_memory_mb, fingerprint, jvm_conf
from foreset.session.connect import endpoint_of
from foreset.session.earlier import remove_earlier_state
from foreset.session.fetch_jars import read_lock
from foreset.session.jars import JarSet, faults_of, verified_jars
from foreset.session.locations import (
    StateFiles,
    absolute_warehouse,
    guard_identity,
    local_path,
    prepared,
    state_files,
    state_home,
    state_key,
)
from foreset.session.locks import FileLock, writer_lock_is_free, writing_through
from foreset.session.own_folder import process_folder
from foreset.session.processes import ProcessIdentity, process_space
from foreset.session.state import Fit, ServerState, forget_state, judge, read_state, write_state

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable, "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)",
]  # fmt: skip
HOLD = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.lockf(fd, fcntl.LOCK_EX)
print(1, flush=True)
time.sleep(60)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as process:
        yield process
        process.kill()


@pytest.fixture
def files(tmp_path: Path) -> StateFiles:
    return prepared(state_files(str(tmp_path)))


@pytest.fixture
def state(files: StateFiles, tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> ServerState:
    running = ProcessIdentity.of(sleeper.pid)
    files.writer.touch()
    guard = guard_identity(files)
    return ServerState("l1", str(tmp_path), guard, process_space(), "f1", running, running, 4000, "secret")


def test_a_state_survives_the_file_and_keeps_its_token_private(files: StateFiles, state: ServerState) -> None:
    write_state(files, state)
    assert read_state(files) == state
    assert files.state.stat().st_mode & 0o077 == 0
    assert files.folder.stat().st_mode & 0o077 == 0
    assert "secret" not in repr(state)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"launch": 1}', '{"supervisor": {}, "jvm": {}}', "\x00"])
def test_a_damaged_state_is_no_state(files: StateFiles, text: str) -> None:
    files.state.write_text(text)
    assert read_state(files) is None


def test_each_way_not_to_fit(state: ServerState, sleeper: subprocess.Popen[bytes]) -> None:
    me, here = state.supervisor, (state.warehouse, state.guard)
    reused = replace(me, started=me.started - 100)
    assert judge(state, *here, "f1") is Fit.FITS
    assert judge(state, *here, "f2") is Fit.OTHER_SETTINGS
    assert judge(state, "/elsewhere", state.guard, "f1") is Fit.OTHER_WAREHOUSE
    assert judge(state, state.warehouse, "another file", "f1") is Fit.OTHER_WAREHOUSE, "the folder was made anew"
    assert judge(replace(state, space="other boot"), *here, "f1") is Fit.ELSEWHERE
    assert judge(replace(state, supervisor=reused), *here, "f1") is Fit.CRASHED
    assert judge(replace(state, jvm=reused), *here, "f1") is Fit.CRASHED
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert judge(state, *here, "f1") is Fit.CRASHED, "a zombie is not alive"


def test_a_stranger_with_the_same_id_is_not_ended(sleeper: subprocess.Popen[bytes]) -> None:
    identity = ProcessIdentity.of(sleeper.pid)
    replace(identity, started=identity.started - 100).end()
    assert sleeper.poll() is None
    identity.end()
    assert not identity.alive()
    identity.end()


def test_a_process_that_will_not_end_is_made_to() -> None:
    with subprocess.Popen(STUBBORN, stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        identity = ProcessIdentity.of(stubborn.pid)
        identity.end(grace_s=0.2)
        assert not identity.alive()


def test_only_its_own_server_forgets_a_state(files: StateFiles, state: ServerState) -> None:
    write_state(files, state)
    forget_state(files, "l2")
    assert read_state(files) == state
    forget_state(files, "l1")
    assert read_state(files) is None
    forget_state(files)


def test_inspection_and_stop(files: StateFiles, state: ServerState, tmp_path: Path) -> None:
    assert inspect_server(str(tmp_path)).fit is None
    assert not stop_server(str(tmp_path))
    write_state(files, state)
    report = inspect_server(str(tmp_path))
    assert (report.fit, report.port, report.supervisor_pid) == (Fit.FITS, 4000, state.supervisor.pid)
    assert "secret" not in repr(report)
    assert stop_server(str(tmp_path))
    assert not state.supervisor.alive()
    assert inspect_server(str(tmp_path)).fit is None


def test_a_copied_state_ends_nobody(files: StateFiles, state: ServerState, tmp_path: Path) -> None:
    write_state(files, replace(state, warehouse="/the/original"))
    assert inspect_server(str(tmp_path)).fit is Fit.OTHER_WAREHOUSE
    assert not stop_server(str(tmp_path))
    assert state.supervisor.alive()


def test_clients_exclude_only_who_wants_to_be_alone(files: StateFiles) -> None:
    first = FileLock.take(files.clients, shared=True, wait_s=0)
    second = FileLock.take(files.clients, shared=True, wait_s=0)
    assert first is not None
    assert second is not None
    first.release()
    first.release()
    assert FileLock.take(files.clients, shared=False, wait_s=0.1) is None
    second.release()
    alone = FileLock.take(files.clients, shared=False, wait_s=0)
    assert alone is not None
    alone.release()


def test_the_writer_lock_is_seen_between_processes(files: StateFiles) -> None:
    assert writer_lock_is_free(files)
    with subprocess.Popen([sys.executable, "-c", HOLD, str(files.writer)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not writer_lock_is_free(files)
        with pytest.raises(EnvironmentFault, match="lose commits"), writing_through("h:1", files):
            pass
        holder.kill()
        holder.wait()
        assert writer_lock_is_free(files)


def test_clients_of_one_server_share_and_of_two_do_not(files: StateFiles) -> None:
    with writing_through("h:1", files), writing_through("h:1", files):
        assert not writer_lock_is_free(files)
        with pytest.raises(EnvironmentFault, match="h:1 already writes"), writing_through("h:2", files):
            pass
        holder = (
            f"import fcntl, os; fcntl.lockf(os.open({str(files.writer)!r}, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        )
        assert subprocess.run([sys.executable, "-c", holder], check=False, stderr=subprocess.DEVNULL).returncode
    assert writer_lock_is_free(files)
    with writing_through("h:2", files):
        pass


def test_one_warehouse_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "w")
    names = {absolute_warehouse(n) for n in ("w", "w/", "./w", f"file://{tmp_path}/w", f"file:{tmp_path}/w", "link")}
    assert names == {str(tmp_path / "w")}
    assert absolute_warehouse("s3://bucket/w/") == "s3://bucket/w"
    assert local_path("s3://bucket/w") is None
    assert state_files("s3://bucket/w").folder == state_files("s3://bucket/w/").folder
    assert state_files("s3://bucket/w").folder != state_files("s3://bucket/v").folder


def test_state_lies_outside_the_warehouse_and_the_right_to_write_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORESET_STATE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert state_home() == tmp_path / "home" / ".local" / "state" / "foreset"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    assert state_home() == tmp_path / "states" / "foreset"
    monkeypatch.setenv("FORESET_STATE", str(tmp_path / "named"))
    one, two = (prepared(state_files(str(tmp_path / name))) for name in ("one", "two"))
    for files, name in ((one, "one"), (two, "two")):
        assert {files.state.parent, files.scratch.parent, files.log.parent} == {files.folder}
        assert files.folder.is_relative_to(tmp_path / "named" / "spark")
        assert files.writer == tmp_path / name / "_foreset" / "writer.lock"
        assert not [entry for entry in (tmp_path / name / "_foreset").iterdir() if entry.is_dir()]
    assert one.folder != two.folder


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="write lock of the warehouse cannot be taken"):
        prepared(state_files(str(tmp_path / "file")))
    monkeypatch.setenv("FORESET_STATE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFault, match=r"cannot be kept in .*\n.*FORESET_STATE"):
        prepared(state_files(str(tmp_path)))


def test_each_process_has_a_folder_that_goes_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_STATE", str(tmp_path))
    asked = "from foreset.session.own_folder import process_folder as f; print(f())"
    ended = Path(subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout[:-1])
    assert ended.is_dir()
    mine = process_folder()
    assert mine.is_dir()
    assert not ended.exists(), "swept: its process has ended"
    assert process_folder() != mine
    assert mine.is_dir(), "held by this process"


@pytest.mark.parametrize("warehouse", ["{here}/wh", "s3://bucket/wh"])
def test_what_an_earlier_release_left_goes_when_nothing_runs(
    tmp_path: Path, warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = warehouse.format(here=tmp_path)
    cached = tmp_path / "cache" / "foreset" / "spark" / state_key(place)
    folder = cached if "://" in place else tmp_path / "wh" / "_foreset" / "_spark"
    (folder / "tmp" / "blockmgr-1").mkdir(parents=True)
    (folder / "server.json").write_text("{}")
    earlier = StateFiles(folder, folder)
    client = FileLock.take(earlier.clients, shared=True, wait_s=0)
    assert client is not None
    assert not remove_earlier_state(place)
    with pytest.raises(EnvironmentFault, match="earlier release"):
        open_session("local[1]", place)
    client.release()
    with subprocess.Popen([sys.executable, "-c", HOLD, str(earlier.writer)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not remove_earlier_state(place, wait_s=0.1)
        assert folder.is_dir()
        holder.kill()
    assert remove_earlier_state(place)
    assert not folder.exists()


def test_settings_are_read_and_refused() -> None:
    read = Settings.from_environment(
        {"FORESET_SPARK_CORES": "3", "FORESET_SPARK_MEMORY": "4g", "FORESET_SPARK_IDLE_MINUTES": "0.5"}
    )
    assert (read.cores, read.memory_mb, read.idle_minutes, read.tasks()) == ("3", 4096, 0.5, 3)
    assert Settings.from_environment({"FORESET_SPARK_MEMORY": "512m"}).memory_mb == 512
    assert Settings.from_environment({}).tasks() == os.cpu_count()
    for name, value in (("CORES", "many"), ("CORES", ""), ("MEMORY", "4"), ("MEMORY", "-1g"), ("IDLE_MINUTES", "x")):
        with pytest.raises(UsageError):
            Settings.from_environment({f"FORESET_SPARK_{name}": value})


def test_every_choice_counts_in_the_fingerprint(files: StateFiles) -> None:
    def of(settings: Settings, jars: JarSet = JarSet((), "a")) -> str:  # noqa: B008
        return fingerprint({**jvm_conf(settings, jars, files.scratch, "local[*]"), **connect_conf()}, jars)

    choices = [Settings("2", 1024), Settings("3", 1024), Settings("2", 1025)]
    assert len({of(choice) for choice in choices} | {of(choices[0], JarSet((), "b"))}) == 4
    assert of(choices[0]) == of(replace(choices[0], idle_minutes=1))


def test_a_server_listens_here_only_and_tells_no_token() -> None:
    conf = connect_conf()
    assert conf["spark.connect.grpc.binding.address"] == LOOPBACK
    assert not [key for key in conf if "token" in key]
    assert SESSION_CONF["spark.sql.runSQLOnFiles"] == "false"


def test_a_jar_must_be_the_tested_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc"
    text = f"# words\na:b:1 b.jar {good} # why\na:c:1 c.jar {good}\n\nexclude x:y\n"
    (tmp_path / "jars.lock").write_text(text)
    jars = read_lock(tmp_path / "jars.lock").jars
    (tmp_path / "b.jar").write_text("abc")
    assert faults_of(jars, tmp_path) == ("c.jar is missing",)
    (tmp_path / "c.jar").write_text("abd")
    assert "SHA-256" in faults_of(jars, tmp_path)[0]
    monkeypatch.setenv("FORESET_JARS", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with pytest.raises(EnvironmentFault, match=r"c\.jar.*\n.*doctor --fix"):
        verified_jars()
    (tmp_path / "c.jar").write_text("abc")
    assert verified_jars().paths == (tmp_path / "b.jar", tmp_path / "c.jar")


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [("sc://h", "h:15002"), ("sc://h:1/;token=x", "h:1"), ("sc://h:1;token=x", "h:1"), ("sc://h:1/", "h:1")],
)
def test_an_endpoint_tells_no_token(url: str, endpoint: str) -> None:
    assert endpoint_of(url) == endpoint


def test_an_unknown_kind_of_spark_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("yarn", "local[0]", "spark://h:1", "local[2"):
        with pytest.raises(UsageError, match="FORESET_SPARK"):
            open_session(name, str(tmp_path))
    monkeypatch.setenv("FORESET_SPARK", "mesos")
    with pytest.raises(UsageError, match="mesos"):
        open_session(None, str(tmp_path))


def test_the_import_is_cheap() -> None:
    asked = "import sys, foreset.session, foreset.doctor; print({'pyspark', 'grpc', 'deltalake'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout == "set()\n"


def test_this_process_is_known() -> None:
    assert ProcessIdentity.of(os.getpid()).alive()
    assert not ProcessIdentity(psutil.pids()[-1] + 100_000, 0.0).alive()


@pytest.mark.parametrize(
    ("gigabytes", "cores", "megabytes"), [(24, 2, 2560), (4, 2, 1024), (2, 1, 1024), (64, 16, 8192), (16, 8, 4096)]
)
def test_the_heap_follows_memory_and_cores(
    gigabytes: int, cores: int, megabytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=gigabytes << 30))
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert default_memory_mb() == megabytes
