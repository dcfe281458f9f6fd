"""Open the Spark session that FORESET_SPARK names: embedded, remote, in-process, or one that is given.

All four end in a `SessionHandle` whose `spark` is *ours*: a session with its
own settings, so that neither a user's session nor a rival refresh is changed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from foreset.errors import EnvironmentFault, UsageError
from foreset.extras import needed_for
from foreset.session.admin import forget_sibling, sibling_of
from foreset.session.clients import may_write_through
from foreset.session.config import DELTA_EXTENSION, SESSION_CONF, Settings, jvm_conf
from foreset.session.connect import configure, connect_mode, connect_remote, endpoint_of, report_failures_once
from foreset.session.earlier import no_earlier_spark
from foreset.session.embedded import embedded_session
from foreset.session.jars import verified_jars
from foreset.session.jvm import start_jvm, writing_from
from foreset.session.locations import absolute_warehouse, guarded, state_files
from foreset.session.locks import second_writer, writer_lock_is_free
from foreset.session.own_folder import process_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REMOTE_ANSWER_S = 30.0
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)\])?")


class SessionKind(StrEnum):
    """Where the work is done."""

    EMBEDDED = "embedded"
    REMOTE = "remote"
    LOCAL = "local"
    GIVEN = "given"


@dataclass(slots=True)
class SessionHandle:
    """An open session: use `spark` until `close`, or use the handle in a `with` statement."""

    spark: SparkSession
    kind: SessionKind
    warehouse: str  # absolute: a server runs in another folder than its clients
    _closing: contextlib.ExitStack = field(repr=False)

    def close(self) -> None:
        """Release the session and the right to write; a server that Foreset started stays for the next client."""
        atexit.unregister(self.close)
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_session(
    spark: SparkSession | str | None = None, warehouse: str = "warehouse", settings: Settings | None = None
) -> SessionHandle:
    """Open a session on `warehouse`; `spark` is a session, a name as in FORESET_SPARK, or None to read that.

    Names: `embedded` (or nothing) for the warehouse's own server, `sc://host:port`
    for another one, `local[*]` or `local[N]` for this process.
    """
    place = absolute_warehouse(warehouse)
    chosen = spark if spark is not None else os.environ.get("FORESET_SPARK", "")
    settings = settings or Settings.from_environment()
    no_earlier_spark(place)
    with contextlib.ExitStack() as stack:
        if not isinstance(chosen, str):
            kind, opened = SessionKind.GIVEN, _given(chosen, place, settings.conf)
        elif chosen in {"", "embedded"}:
            kind, opened = SessionKind.EMBEDDED, _embedded(place, settings)
        elif chosen.startswith("sc://"):
            kind, opened = SessionKind.REMOTE, _remote(chosen, place, settings.conf)
        elif _LOCAL.fullmatch(chosen):
            kind, opened = SessionKind.LOCAL, _local(chosen, place, settings)
        else:
            raise UsageError(f"FORESET_SPARK is {chosen!r}", "use embedded, sc://host:port, or local[*]")
        with needed_for("computing in Spark"):
            session = stack.enter_context(opened)
        report_failures_once()
        stack.callback(forget_sibling, session)
        handle = SessionHandle(session, kind, place, stack.pop_all())
        atexit.register(handle.close)  # when the interpreter is half gone, gRPC waits for ever for a thread to start
        return handle
    raise AssertionError("unreachable")  # for mypy: an ExitStack might swallow exceptions


@contextlib.contextmanager
def _embedded(warehouse: str, settings: Settings) -> Iterator[SparkSession]:
    with connect_mode(on=True), embedded_session(warehouse, settings) as spark:
        yield spark


@contextlib.contextmanager
def _remote(url: str, warehouse: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    with connect_mode(on=True), may_write_through(warehouse, endpoint_of(url)):
        spark = connect_remote(url, SESSION_CONF, REMOTE_ANSWER_S)
        try:
            _check_delta(spark)
            configure(spark, SESSION_CONF, conf)
            yield spark
        finally:
            with contextlib.suppress(Exception):
                spark.stop()


@contextlib.contextmanager
def _local(master: str, warehouse: str, settings: Settings) -> Iterator[SparkSession]:
    """Use this process's JVM, starting it on first use: it stays warm until the process ends."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    files = guarded(state_files(warehouse))
    with connect_mode(on=False):
        context = SparkContext._active_spark_context  # noqa: SLF001 - getOrCreate would start one with wrong settings
        if context is None:
            if not writer_lock_is_free(files):
                raise second_writer(files)  # known before the seconds that a JVM takes
            folder = process_folder()
            base = start_jvm(jvm_conf(settings, verified_jars(), folder, master), folder / "local.log")
        else:
            base = SparkSession(context)
        with _classic(base, warehouse, settings.conf) as spark:
            yield spark


@contextlib.contextmanager
def _given(base: SparkSession, warehouse: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    if hasattr(base, "_jvm"):
        with connect_mode(on=False), _classic(base, warehouse, conf) as spark:
            yield spark
        return
    connect: Any = base  # the Connect class stands in for the classic one
    endpoint: str = getattr(getattr(connect.client, "_builder", None), "endpoint", connect.client.host)
    with connect_mode(on=True), may_write_through(warehouse, endpoint):
        _check_delta(base)
        ours: Any = sibling_of(connect)
        try:
            configure(ours, SESSION_CONF, conf)
            yield ours
        finally:
            with contextlib.suppress(Exception):
                ours.client.release_session()  # not stop(): the channel may be shared with the user's session


@contextlib.contextmanager
def _classic(base: SparkSession, warehouse: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    files = guarded(state_files(warehouse))
    _check_delta(base)
    with writing_from(base, files, f"the JVM of process {os.getpid()}"):
        spark = sibling_of(base)
        configure(spark, SESSION_CONF, conf)
        yield spark


def _check_delta(spark: SparkSession) -> None:
    if DELTA_EXTENSION not in (spark.conf.get("spark.sql.extensions", "") or ""):
        raise EnvironmentFault(
            "this Spark does not know Delta",
            f"start it with the jars of foreset/session/jars.lock, spark.sql.extensions={DELTA_EXTENSION} and "
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
            worth_retrying=False,
        )
