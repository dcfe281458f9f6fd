"""Every Spark setting that Foreset relies on, in one place, each with its reason.

Server settings are fixed when a JVM starts and make its fingerprint. Session
settings are set on each session that we open, so that they hold on any server.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import psutil

from foreset.errors import UsageError
from foreset.session.jars import JarSet
from foreset.session.own_conf import joined, own_conf

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
LOOPBACK = "127.0.0.1"
IDLE_MINUTES = 15.0
MEGABYTES_PER_CORE = 1280
# Parts of a shuffle for each core: adaptive execution makes fewer of them where little comes, and a large shuffle has
# parts that fit into memory. Each part costs a little even where it is empty: 16 made small steps dearer by half.
SHUFFLE_SHARE = 4

# What Spark remembers of its work for pages that nobody sees: by itself a thousand jobs and a hundred thousand tasks,
# and with them half of what each refresh leaves in the heap of a warm server.
REMEMBERED: Mapping[str, str] = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.connect.ui.retainedSessions": "5",
    "spark.connect.ui.retainedStatements": "10",
}

SESSION_CONF: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",  # arithmetic that fails stops the refresh
    # A spec's text never reaches SQL; should it ever, it can open no file. DataFrame reads and writes are not
    # affected, statements on delta.`path` are: `path_sql` gives the session for those.
    "spark.sql.runSQLOnFiles": "false",
    # Spark judges a table by its compressed files, in which ten million rows may take 9 MB: it sent them to every
    # executor and ran out of memory. What is small we say ourselves, row by row counted.
    "spark.sql.autoBroadcastJoinThreshold": "1MB",
    # After a shuffle it knows the rows as they are, not as they are compressed.
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "16MB",
    # A checkpointed frame that a plan reads twice gets new attribute ids, but its constraints keep the old ones where
    # nullability differs (Spark 4.1): a union above it then stops with "key not found".
    "spark.sql.constraintPropagation.enabled": "false",
    # The other form, of 12 bytes, is left from Hive: it has no bounds, by which readers skip files and row groups.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Else pins older than a week become unreadable (Delta 4.1 and later); our own gc decides instead.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user may choose about the JVMs that Foreset starts."""

    cores: str = "*"
    memory_mb: int = 2048
    idle_minutes: float = IDLE_MINUTES
    conf: Mapping[str, str] = field(default_factory=dict)  # settings of Spark, as `own_conf` has them

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read FORESET_SPARK_CORES, _MEMORY (such as 4g), _IDLE_MINUTES (0: never), _CONF and _SET."""
        cores = environment.get("FORESET_SPARK_CORES", "*")
        if cores != "*" and not cores.isdigit():
            raise UsageError(f"FORESET_SPARK_CORES is {cores!r}", "give a number, or * for all cores")
        memory = environment.get("FORESET_SPARK_MEMORY")
        idle = environment.get("FORESET_SPARK_IDLE_MINUTES", str(IDLE_MINUTES))
        try:
            size = _megabytes(memory) if memory else default_memory_mb()
            return cls(cores, size, float(idle), own_conf(environment))
        except ValueError as fault:
            raise UsageError(
                f"FORESET_SPARK_MEMORY or FORESET_SPARK_IDLE_MINUTES cannot be read: {fault}",
                "give memory as 4g or 4096m, and idle minutes as a number",
            ) from fault

    def tasks(self) -> int:
        """How many tasks run at once."""
        return (os.cpu_count() or 1) if self.cores == "*" else int(self.cores)


def default_memory_mb() -> int:
    """Return a quarter of the machine's memory, but no more than its cores can fill; from 1 to 8 GB.

    A heap grows as far as it may before it is swept: on 24 GB and two cores a quarter would be
    6 GB of which a refresh needs one.
    """
    quarter = psutil.virtual_memory().total // (4 << 20)
    return max(1024, min(8192, quarter, MEGABYTES_PER_CORE * (os.cpu_count() or 1)))


def _megabytes(text: str) -> int:
    number, unit = text[:-1], text[-1:].lower()
    factor = {"g": 1024, "m": 1}.get(unit)
    if factor is None or int(number) <= 0:
        raise ValueError(text)
    return int(number) * factor


def jvm_conf(settings: Settings, jars: JarSet, scratch: Path, master: str) -> dict[str, str]:
    """Return the settings of a JVM that Foreset starts, embedded or in-process; its own files go to `scratch`."""
    ours = {
        **SESSION_CONF,
        "spark.master": master,
        "spark.app.name": "foreset",
        **({"spark.jars": ",".join(map(str, jars.paths))} if jars.paths else {}),
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.memory": f"{settings.memory_mb}m",
        # Many short actions: the parallel collector costs a fifth less than the default one, and classes have room.
        # Databases that are read by JDBC have timestamps without a zone: those are taken for UTC, as all time is.
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:MetaspaceSize=256m -Duser.timezone=UTC",
        # Nobody but this machine reaches the driver, its block manager, or the Connect port.
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **REMEMBERED,
        "spark.sql.shuffle.partitions": str(SHUFFLE_SHARE * settings.tasks()),
        "spark.databricks.delta.snapshotPartitions": "1",  # 50 by default: 50 tasks to read a tiny log
        "spark.scheduler.mode": "FAIR",  # strata of one refresh run side by side
        "spark.cleaner.periodicGC.interval": "5min",  # local checkpoints of a long-lived server
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
    }
    return joined(ours, settings.conf)


def connect_conf() -> dict[str, str]:
    """Return what makes a JVM a Connect server. The token is not here: a command line is public."""
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        # Sessions bring no classes of their own; a loader for each would look for Spark's in every jar, task by task.
        "spark.sql.artifact.isolation.enabled": "false",
    }


def fingerprint(conf: Mapping[str, str], jars: JarSet) -> str:
    """Return what must be equal for a running server to serve a client: settings, jars and versions."""
    identity = {
        "conf": dict(conf),
        "jars": jars.fingerprint,
        "spark": metadata.version("pyspark"),
        "python": platform.python_version_tuple()[:2],  # functions are pickled between the two
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
