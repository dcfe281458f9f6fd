"""Clients of a Spark Connect server: a channel, a patience, and the mode that pyspark must be in."""

from __future__ import annotations

import atexit
import contextlib
import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from foreset.errors import EnvironmentFault
from foreset.session.config import LOOPBACK
from foreset.session.jvm import environment

if TYPE_CHECKING:
    import grpc  # type: ignore[import-untyped] # ships no types
    from pyspark.sql import SparkSession

MODE_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"


def connect_mode(*, on: bool) -> contextlib.AbstractContextManager[None]:
    """Make pyspark's functions build Connect columns (or classic ones) for a while.

    pyspark looks at this variable in every call of `functions`, so in one
    process the innermost open handle decides.
    """
    return environment({MODE_VARIABLE: "1" if on else None})


def endpoint_of(url: str) -> str:
    """Return host:port of a sc:// URL, without the token that it may carry."""
    parts = urlsplit(url.partition(";")[0].rstrip("/"))
    return f"{parts.hostname}:{parts.port or 15002}"


def connect_embedded(port: int, token: str, session_conf: Mapping[str, str], patience_s: float) -> SparkSession:
    """Connect to this machine's server, with the token, over a channel that never leaves the machine."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    address = f"{LOOPBACK}:{port}"

    class LoopbackChannel(DefaultChannelBuilder):
        """pyspark sends a token over plain channels to `localhost` only, a name that may also mean ::1."""

        def toChannel(self) -> grpc.Channel:  # noqa: N802 - the name is pyspark's
            credentials = grpc.composite_channel_credentials(
                grpc.local_channel_credentials(), grpc.access_token_call_credentials(token)
            )
            return self._secure_channel(address, credentials)

    builder = LoopbackChannel(f"sc://{address}")
    return _session(builder, f"the embedded Spark server on port {port}", session_conf, patience_s)


def connect_remote(url: str, session_conf: Mapping[str, str], patience_s: float) -> SparkSession:
    """Connect to the server of a sc:// URL and check that it knows Delta."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        builder = DefaultChannelBuilder(url)
    except PySparkException as fault:
        told = f"FORESET_SPARK cannot be read: {fault}"
        raise EnvironmentFault(told, "write sc://host:port", worth_retrying=False) from fault
    return _session(builder, f"the Spark Connect server {endpoint_of(url)}", session_conf, patience_s)


def _session(builder: Any, name: str, session_conf: Mapping[str, str], patience_s: float) -> SparkSession:  # noqa: ANN401
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    _await_ready(builder, name, patience_s)
    session = SparkSession(connection=builder)
    never_collected(session)
    be_brief(session)
    try:
        configure(session, session_conf)
    except (PySparkException, grpc.RpcError) as fault:
        with contextlib.suppress(Exception):
            session.client.close()
        details = re.search(r'details = "([^"]*)"', str(fault))  # pyspark wraps gRPC's error as text
        said = details.group(1) if details else str(fault).strip().partition("\n")[0]
        raise EnvironmentFault(f"{name} refuses this session: {said}", "check its token, version and jars") from fault
    return session  # type: ignore[return-value] # the Connect class stands in for the classic one


def configure(spark: Any, ours: Mapping[str, str], theirs: Mapping[str, str] | None = None) -> None:  # noqa: ANN401
    """Set what a session needs, and of a user's settings those that a running Spark still takes."""
    from pyspark.errors import PySparkException

    for key, value in ours.items():
        spark.conf.set(key, value)
    for key, value in (theirs or {}).items():
        with contextlib.suppress(PySparkException):  # one that had to be known when Spark was started
            spark.conf.set(key, value)


def be_brief(session: Any) -> None:  # noqa: ANN401 - the Connect class
    """Let a client find out soon that its server is gone: pyspark would try for ten minutes, even as the process ends.

    A server that has crashed does not come back at its port.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    client = session.client
    client.set_retry_policies([DefaultPolicy(max_retries=5, max_backoff=2000)])
    if hasattr(client, "_cleanup_ml_cache"):  # a request at exit, for models that we do not have
        atexit.unregister(client._cleanup_ml_cache)  # noqa: SLF001 - pyspark has no public way


def never_collected(session: Any) -> None:  # noqa: ANN401 - the Connect class
    """Keep the garbage collector from closing a session: it may come by in a thread that gRPC is just starting.

    There pyspark's `__del__` waits for a pool that all sessions share, and the pool for that very thread: every
    call of this process hangs for ever (seen with pyspark 4.1.3). What we open, we release ourselves; a channel
    that nobody holds ends itself.
    """
    session.__class__ = _quiet_class()


@functools.cache
def _quiet_class() -> type:
    from pyspark.sql.connect.session import SparkSession

    class Quiet(SparkSession):
        """A session without pyspark's end."""

        def __del__(self) -> None:
            """Nothing: see `never_collected`."""

    return Quiet


def _await_ready(builder: Any, name: str, patience_s: float) -> None:  # noqa: ANN401
    """Wait for a real answer: a stopped server's socket still accepts connections."""
    import grpc

    channel: grpc.Channel = builder.toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=patience_s)
    except grpc.FutureTimeoutError as fault:
        raise EnvironmentFault(
            f"{name} does not answer within {patience_s:.0f} s", "check that it runs and can be reached from here"
        ) from fault
    finally:
        channel.close()


def report_failures_once() -> None:
    """Stop pyspark from printing each failed query as JSON besides raising it: callers catch and explain."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def make_active(spark: SparkSession) -> None:
    """Make a Connect session the active one of this thread: a local checkpoint comes back through that one.

    A classic session needs no help. pyspark has no public way to say it.
    """
    kind: Any = type(spark)
    if not hasattr(spark, "_jvm") and hasattr(kind, "_active_session"):
        kind._active_session.session = spark  # noqa: SLF001 - see above
