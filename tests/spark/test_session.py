"""Sessions of every kind, and an embedded server whose processes are killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from foreset.errors import EnvironmentFault
from foreset.session import ServerReport, SessionHandle, Settings, inspect_server, open_session, path_sql, stop_server
from foreset.session.locations import state_files
from foreset.session.state import Fit, read_state

pytestmark = pytest.mark.spark

SMALL = Settings(cores="1", memory_mb=1024, idle_minutes=5)
CLIENT = """
import sys, time
from foreset.session import Settings, open_session
handle = open_session("embedded", sys.argv[1], Settings(cores="1", memory_mb=1024, idle_minutes=float(sys.argv[2])))
print(handle.spark.range(3).count(), flush=True)
time.sleep(float(sys.argv[3]))
"""


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return condition()


def processes(report: ServerReport) -> list[int]:
    return [pid for pid in (report.supervisor_pid, report.jvm_pid) if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def client(warehouse: str, *, idle_minutes: float = 5, stays: float = 0) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", CLIENT, warehouse, str(idle_minutes), str(stays)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def served(warehouse: str) -> Iterator[str]:
    """A warehouse whose server is ended by id, whatever the test did to it."""
    yield warehouse
    with contextlib.suppress(EnvironmentFault):
        stop_server(warehouse)
    assert not processes(inspect_server(warehouse))


def count(warehouse: str, settings: Settings = SMALL) -> int:
    with open_session("embedded", warehouse, settings) as handle:
        return handle.spark.range(4).count()


def test_delta_on_every_kind(any_session: SessionHandle, warehouse: str) -> None:
    from pyspark.sql import functions as f

    spark, path = any_session.spark, f"{warehouse}/t"
    spark.range(3).withColumn("twice", f.col("id") * 2).write.format("delta").save(path)
    spark.range(3, 5).withColumn("twice", f.col("id") * 2).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).agg(f.sum("twice")).first()[0] == 20
    assert spark.read.format("delta").option("versionAsOf", 0).load(path).count() == 3
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_sql_reaches_files_only_where_it_is_ours(any_session: SessionHandle, warehouse: str) -> None:
    spark, path = any_session.spark, f"{warehouse}/t"
    spark.range(3).write.format("delta").save(path)
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM delta.`{path}`").collect()
    assert path_sql(spark).sql(f"DESCRIBE HISTORY delta.`{path}`").count() == 1
    assert path_sql(spark) is path_sql(spark)


def test_a_given_session_is_not_changed(any_session: SessionHandle, warehouse: str) -> None:
    theirs = any_session.spark
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with open_session(theirs, warehouse) as ours:
        assert ours.spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert ours.spark.range(2).count() == 2
    assert theirs.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert theirs.range(2).count() == 2


def test_a_failing_cast_stops_and_names_no_session(any_session: SessionHandle) -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        any_session.spark.sql("SELECT CAST('x' AS INT)").collect()


def test_a_second_jvm_may_not_write(served: str) -> None:
    assert count(served) == 4
    with pytest.raises(EnvironmentFault, match=r"embedded Spark server .process"):
        open_session("local[1]", served)


def test_two_servers_may_not_write(server_url: str, warehouse: str) -> None:
    with open_session(server_url, warehouse), pytest.raises(EnvironmentFault, match="localhost"):
        open_session("local[1]", warehouse)
    with open_session("local[1]", warehouse) as handle:
        assert handle.spark.range(1).count() == 1


def test_a_url_of_the_own_server_is_the_own_server(server_url: str, spark_handle: SessionHandle) -> None:
    with open_session(server_url, spark_handle.warehouse) as handle:
        assert handle.spark.range(2).count() == 2


def test_the_token_is_needed(server_url: str, warehouse: str) -> None:
    without = server_url.partition("token=")[0]
    for url in (f"{without}token=guess", without.rstrip(";/")):
        with pytest.raises(EnvironmentFault, match=r"refuses this session.*[Tt]oken"):
            open_session(url, warehouse)


def test_the_port_is_on_the_loopback_only(spark_handle: SessionHandle) -> None:
    state = read_state(state_files(spark_handle.warehouse))
    assert state is not None
    listening = [c.laddr.ip for c in psutil.Process(state.jvm.pid).net_connections("tcp") if c.status == "LISTEN"]
    assert listening
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
    assert state.token not in " ".join(psutil.Process(state.jvm.pid).cmdline())
    assert state_files(spark_handle.warehouse).state.stat().st_mode & 0o077 == 0


def test_two_starters_end_with_one_server(served: str) -> None:
    both = [client(served), client(served)]
    assert [first_line(c) for c in both] == ["3", "3"]
    assert [c.wait(120) for c in both] == [0, 0]
    assert len(processes(inspect_server(served))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["client", "supervisor", "jvm"])
def test_any_process_may_be_killed(served: str, victim: str) -> None:
    with client(served, stays=60) as running:
        assert first_line(running) == "3"
        before = inspect_server(served)
        pids = {"client": running.pid, "supervisor": before.supervisor_pid, "jvm": before.jvm_pid}
        os.kill(pids[victim], signal.SIGKILL)
        if victim == "client":
            running.wait(5)
            assert not inspect_server(served).in_use
        else:
            assert within(15, lambda: not processes(before)), "supervisor and JVM end together"
            running.kill()
    assert count(served) == 4
    assert (inspect_server(served).jvm_pid == before.jvm_pid) == (victim == "client")


@pytest.mark.slow
def test_a_server_killed_under_an_open_handle_fails_soon_and_is_replaced(served: str) -> None:
    with open_session("embedded", served, SMALL) as handle:
        os.kill(inspect_server(served).jvm_pid, signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(Exception):  # noqa: B017, PT011 - gRPC and pyspark differ in what they raise
            handle.spark.range(1).count()
        assert time.monotonic() - start < 20
        assert count(served) == 4


@pytest.mark.slow
def test_an_idle_server_ends_and_takes_its_files_along(served: str) -> None:
    with client(served, idle_minutes=0.05) as once:
        assert first_line(once) == "3"
        report = inspect_server(served)
    assert within(20, lambda: not processes(report))
    assert inspect_server(served).fit is None
    assert not list(state_files(served).scratch.glob("blockmgr-*"))


@pytest.mark.slow
def test_a_server_in_use_is_not_idle(served: str) -> None:
    with client(served, idle_minutes=0.02, stays=6) as busy:
        assert first_line(busy) == "3"
        time.sleep(4)
        assert inspect_server(served).fit is Fit.FITS


@pytest.mark.slow
def test_other_settings_replace_an_idle_server_but_not_a_busy_one(served: str) -> None:
    bigger = Settings(cores="1", memory_mb=1100, idle_minutes=5)
    with open_session("embedded", served, SMALL):
        first = inspect_server(served)
        with pytest.raises(EnvironmentFault, match=r"has other settings .* is in use"):
            open_session("embedded", served, bigger)
    assert count(served, bigger) == 4
    assert not processes(first)
    assert inspect_server(served).jvm_pid != first.jvm_pid


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_replaced(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.session.embedded.ANSWER_S", 2.0)
    assert count(served) == 4
    stopped = inspect_server(served)
    os.kill(stopped.jvm_pid, signal.SIGSTOP)
    assert count(served) == 4
    assert not processes(stopped)


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["state", "warehouse"])
def test_a_server_ends_when_its_warehouse_goes(served: str, gone: str) -> None:
    assert count(served) == 4
    report = inspect_server(served)
    if gone == "state":
        state_files(served).state.unlink()
    else:
        shutil.rmtree(served)
        Path(served).mkdir()
        assert inspect_server(served).fit is Fit.OTHER_WAREHOUSE
    assert within(15, lambda: not processes(report))


def test_spark_leaves_nothing_in_a_warehouse_but_its_lock(served: str) -> None:
    assert count(served) == 4
    private = Path(served) / "_foreset"
    assert sorted(entry.name for entry in private.iterdir()) == ["writer.json", "writer.lock"]


def test_warehouses_of_one_process_do_not_depend_on_each_other(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    code = f"""
import shutil
from foreset.session import open_session
with open_session("local[1]", {str(first)!r}) as one:
    assert one.spark.range(4).count() == 4
shutil.rmtree({str(first)!r})
with open_session("local[1]", {str(second)!r}) as two:
    print(two.spark.range(1000).repartition(3).count())
    two.spark.range(3).localCheckpoint()
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "1000\n"


def test_many_threads_share_one_session(spark_handle: SessionHandle) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda n: spark_handle.spark.range(n).count(), range(4))) == [0, 1, 2, 3]


def test_settings_of_a_user_reach_a_server_that_runs_already(
    server_url: str, warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those that had to be known when it was started."""
    own = "spark.sql.shuffle.partitions=7; spark.executor.memory=3g; spark.own.key=x y"
    monkeypatch.setenv("FORESET_SPARK_SET", own)
    with open_session(server_url, warehouse) as handle:
        conf = handle.spark.conf
        assert (conf.get("spark.sql.shuffle.partitions"), conf.get("spark.own.key")) == ("7", "x y")
        assert conf.get("spark.executor.memory", "") != "3g"
        assert conf.get("spark.sql.session.timeZone") == "UTC"
