"""A sibling session for our own statements on table paths.

Sessions refuse SQL on files, so that text which should never reach SQL could at
least open nothing. RESTORE, ALTER TABLE and DESCRIBE HISTORY on delta.`path`
exist as SQL only (over Connect), and their text is ours.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from foreset.session.connect import be_brief, never_collected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_siblings: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()


def sibling_of(spark: SparkSession) -> SparkSession:
    """Return a session on the same JVM or server whose settings are its own."""
    if hasattr(spark, "cloneSession"):  # Connect has no newSession; a clone is as separate
        clone: SparkSession = spark.cloneSession()
        never_collected(clone)
        be_brief(clone)
        return clone
    return spark.newSession()


def path_sql(spark: SparkSession) -> SparkSession:
    """Return the sibling of `spark` in which SQL on delta.`path` works; never give it text of a spec."""
    found = _siblings.get(spark)
    if found is None:
        found = _siblings[spark] = sibling_of(spark)
        found.conf.set("spark.sql.runSQLOnFiles", "true")
    return found


def forget_sibling(spark: SparkSession) -> None:
    """Release the sibling of a session that is being closed; a server would keep it for an hour."""
    found = _siblings.pop(spark, None)
    client = getattr(found, "_client", None)
    if client is not None:
        with contextlib.suppress(Exception):
            client.release_session()
