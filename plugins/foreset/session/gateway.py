"""Start Spark's JVM, and learn where it answers.

pyspark's own `launch_gateway` does this with a `preexec_fn`: Python code in a forked child, where a process with
threads (DuckDB's, gRPC's) may hang or die before Spark is ever reached. A session of its own spares the JVM Ctrl-C
as well, and needs no code in the child. What the JVM ended with is told, too.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ANSWER_S = 200.0  # a start takes 4 s on an idle machine, and a minute on a crowded one
POLL_S = 0.05
STARTS = 2  # one that ended at once, for a reason of the machine's, is started again: nothing has happened yet


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running JVM; it ends when the pipe to its standard input closes, thus with its owner."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str


def start_gateway(conf: Mapping[str, str], out: IO[bytes], answer_s: float = ANSWER_S) -> Gateway:
    """Run spark-submit and wait until its JVM has said its port; it prints to `out`. OSError when it fails."""
    from pyspark.find_spark_home import _find_spark_home

    home: str = _find_spark_home()  # type: ignore[no-untyped-call]
    submit = str(Path(home, "bin", "spark-submit"))
    for start in range(1, STARTS + 1):
        try:
            return _started(submit, conf, out, answer_s)
        except ChildProcessError as ended:
            if start == STARTS:
                raise
            out.write(f"{ended}; starting it again\n".encode())
            out.flush()
    raise AssertionError("unreachable")


def _started(submit: str, conf: Mapping[str, str], out: IO[bytes], answer_s: float) -> Gateway:
    with tempfile.TemporaryDirectory(prefix="foreset-gateway-") as folder:
        told, settings = Path(folder, "port"), Path(folder, "settings")
        settings.write_text("".join(f"{name}={escaped(value)}\n" for name, value in conf.items()), encoding="utf-8")
        process = subprocess.Popen(
            [submit, "--properties-file", str(settings), "pyspark-shell"],
            stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told)},
        )  # fmt: skip
        try:
            _wait(process, told, answer_s)
            return Gateway(process, *_read(told))
        except BaseException:
            process.kill()
            process.wait()
            raise


def escaped(value: str) -> str:
    """A value as a file of Java properties has it. There may be secrets among them: a command line is public."""
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"\\{text}" if text.startswith(" ") else text


def _wait(process: subprocess.Popen[bytes], told: Path, answer_s: float) -> None:
    deadline = time.monotonic() + answer_s
    while not told.exists():
        code = process.poll()
        if code is not None:
            raise ChildProcessError(f"it ended with {code} before it answered")
        if time.monotonic() > deadline:
            raise TimeoutError(f"no answer within {answer_s:.0f} s")
        time.sleep(POLL_S)


def _read(told: Path) -> tuple[int, str]:
    """Port and secret, as Spark writes them: a number, and a text behind its length."""
    content = told.read_bytes()  # complete: Spark renames the file to this name when it is
    return int.from_bytes(content[:4], "big"), content[8 : 8 + int.from_bytes(content[4:8], "big")].decode()
