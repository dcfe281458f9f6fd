"""The Spark reader of refresh cases: frames of rows that are at hand, without Delta tables between nights."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.refresh_cases import Night, Session

from foreset.backends.sets.rows import Schemas
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.relations.frames import SparkPort, spark_port
from foreset.testing.replica import Chooser, Delta, Replica

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class SparkReader:
    """Opens sessions of the engine."""

    spark: SparkSession
    name: str = "spark"

    def open(self, program: Program, layering: Layering) -> Session:
        """Begin with everything empty."""
        return EngineSession(SparkReplica(program, layering, spark=self.spark))


@dataclass(slots=True)
class SparkReplica(Replica):
    """Contents and counters live here as Python sets; every stratum is maintained in Spark."""

    spark: SparkSession | None = None

    def port(self, schemas: Schemas) -> SparkPort:
        """Frames of the session."""
        assert self.spark is not None
        return spark_port(self.spark, schemas, tempfile.mkdtemp())


@dataclass(slots=True)
class EngineSession:
    """A replica, night after night."""

    replica: SparkReplica

    def refresh(self, changes: Night, chooser: Chooser) -> Mapping[str, Delta]:
        """The exact differential of each view."""
        return self.replica.refresh(changes, chooser)[0]
