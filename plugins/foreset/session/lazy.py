"""A session that is opened when it is first used: a refresh that needs no Spark does not wait for one."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from foreset.session.connect import make_active
from foreset.session.open import SessionHandle, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LazySession:
    """Stands for a SparkSession; any use of it opens the real one, which is then the active one of this thread."""

    def __init__(self, spark: SparkSession | str | None, warehouse: str) -> None:
        self._wanted, self._place = spark, warehouse
        self._handle: SessionHandle | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a session has
        return getattr(self.opened(), name)

    def opened(self) -> SparkSession:
        """The real session, which is the active one of this thread by now."""
        with self._lock:
            if self._handle is None:
                self._handle = open_session(self._wanted, self._place)
        make_active(self._handle.spark)  # pyspark knows the active session by thread
        return self._handle.spark

    @property
    def of_this_machine(self) -> bool:
        """Whether Spark is, or would be, started here: it then sees what this process sees."""
        wanted = os.environ.get("FORESET_SPARK", "") if self._wanted is None else self._wanted
        return isinstance(wanted, str) and not wanted.startswith("sc://")

    def interrupt(self) -> None:
        """Ask the real session, if there is one, to cut short what runs."""
        if self._handle is not None:
            self._handle.spark.interruptAll()

    def close(self) -> None:
        """Release the real session, if there is one."""
        if self._handle is not None:
            self._handle.close()


@contextlib.contextmanager
def lazy_session(spark: SparkSession | str | None, warehouse: str) -> Iterator[SparkSession]:
    """A session for this block, opened on first use; arguments as for `open_session`."""
    session = LazySession(spark, warehouse)
    try:
        yield cast("SparkSession", session)
    finally:
        session.close()


def interrupt(spark: SparkSession) -> None:
    """Cut short what runs in a session, lazy or not."""
    session: object = spark
    if isinstance(session, LazySession):
        session.interrupt()
    else:
        spark.interruptAll()


def activate(spark: SparkSession) -> None:
    """Make a session the active one of this thread; a lazy one does so when it is used."""
    session: object = spark
    if not isinstance(session, LazySession):
        make_active(spark)


def opened(spark: SparkSession) -> SparkSession:
    """The session itself, active in this thread: what makes expressions needs one before it reads any rows."""
    session: object = spark
    if isinstance(session, LazySession):
        return session.opened()
    make_active(spark)
    return spark


def may_reach_more(spark: SparkSession) -> bool:
    """Whether a session may see files that this process does not: one that others have started."""
    session: object = spark
    return not (isinstance(session, LazySession) and session.of_this_machine)
