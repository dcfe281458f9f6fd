"""How Spark's JVM is started: what it says when it does not, and that no Python runs in a forked child of threads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foreset.errors import EnvironmentFault
from foreset.session.gateway import start_gateway
from foreset.session.jvm import start_jvm

ANSWERS = r"""printf '\x00\x00\x1f\x90\x00\x00\x00\x05hello' > "$_PYSPARK_DRIVER_CONN_INFO_PATH.new"
mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.new" "$_PYSPARK_DRIVER_CONN_INFO_PATH"
ps -o pid=,sid= $$ | tr -s ' '
cat > /dev/null
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "jvm.log"


@pytest.fixture(autouse=True)
def spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose `spark-submit` is a script of the test's."""
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(home))
    return home


def submitting(home: Path, script: str) -> None:
    submit = home / "bin" / "spark-submit"
    submit.write_text(f"#!/bin/bash\n{script}")
    submit.chmod(0o755)


def test_port_and_secret_are_read_and_the_end_of_the_pipe_ends_it(spark_home: Path, log: Path) -> None:
    submitting(spark_home, ANSWERS)
    with log.open("ab") as out:
        gateway = start_gateway({"a": "b"}, out)
    assert (gateway.port, gateway.secret) == (8080, "hello")
    assert gateway.process.stdin is not None
    gateway.process.stdin.close()
    assert gateway.process.wait(10) == 0
    pid, session = log.read_text().split()
    assert pid == session == str(gateway.process.pid), "its own session: Ctrl-C is not for it"


def test_settings_are_a_file_that_only_spark_is_told_of(spark_home: Path, log: Path) -> None:
    """There may be secrets among them, and everybody sees the arguments of a process."""
    submitting(spark_home, 'echo "$1" "$3"; stat -c %a "$(dirname "$2")"; cat "$2"; exit 1')
    with log.open("ab") as out, pytest.raises(OSError, match="ended with 1"):
        start_gateway({"spark.a": "x y", "spark.b": "1"}, out)
    first = log.read_text().partition("it ended")[0]
    assert first.splitlines() == ["--properties-file pyspark-shell", "700", "spark.a=x y", "spark.b=1"]


def test_one_that_ends_at_once_is_started_again(spark_home: Path, log: Path) -> None:
    fails_once = f'[ -e "{log}.1" ] || {{ touch "{log}.1"; echo crowded; exit 9; }}'
    submitting(spark_home, f"{fails_once}\n{ANSWERS}")
    with log.open("ab") as out:
        gateway = start_gateway({}, out)
    assert gateway.process.stdin is not None
    gateway.process.stdin.close()
    assert gateway.process.wait(10) == 0
    assert log.read_text().splitlines()[:2] == ["crowded", "it ended with 9 before it answered; starting it again"]


def test_one_that_ends_tells_with_what_and_what_it_said(spark_home: Path, log: Path) -> None:
    submitting(spark_home, "echo no memory; kill -ABRT $$")
    with pytest.raises(EnvironmentFault, match=r"(?s)did not start: it ended with -6 .*no memory"):
        start_jvm({}, log)


def test_one_that_does_not_answer_is_ended(spark_home: Path, log: Path) -> None:
    submitting(spark_home, "echo $$; exec sleep 60")
    with log.open("ab") as out, pytest.raises(TimeoutError, match="no answer within"):
        start_gateway({}, out, answer_s=0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)


def test_no_python_runs_in_a_forked_child(spark_home: Path, log: Path) -> None:
    """A handler for forks runs in the child only where Python does: a lock that a thread held would be held there."""
    ran = log.with_name("forked")
    watching = [True]  # a handler cannot be taken back
    os.register_at_fork(after_in_child=lambda: ran.touch() if watching else None)
    submitting(spark_home, "exit 1")
    with log.open("ab") as out, pytest.raises(OSError, match="ended with 1"):
        start_gateway({}, out)
    watching.clear()
    assert not ran.exists()
