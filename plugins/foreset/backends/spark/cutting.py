"""Compute a frame once, count it on the way, and forget where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as F

from foreset.backends.spark.frames import Piece
from foreset.session.connect import make_active

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = "rows"


def cut(frame: DataFrame) -> Piece:
    """One action, classic or over Connect: a local checkpoint that observes its number of rows."""
    observation = Observation()
    observed = frame.observe(observation, F.count(F.lit(1)).alias(ROWS))
    if hasattr(frame.sparkSession, "_jvm"):
        return Piece(observed.localCheckpoint(eager=True), int(observation.get[ROWS]), computed=True)
    computed, seen = _over_connect(observed, observation)
    # The server sends what was observed if it has come to hear of it by then; now and then it has not.
    return Piece(computed, int(seen[ROWS]) if ROWS in seen else computed.count(), computed=True)


def _over_connect(frame: DataFrame, observation: Observation) -> tuple[DataFrame, Mapping[str, Any]]:
    """`localCheckpoint` as pyspark 4.1.3 does it, with the observations, which it leaves out."""
    from pyspark.sql.connect.plan import Checkpoint

    make_active(frame.sparkSession)
    remote: Any = frame
    client: Any = remote.sparkSession.client
    plan: Any = remote._plan  # noqa: SLF001 - there is no public way to pass observations along
    command = Checkpoint(child=plan, local=True, eager=True).command(client)
    _, answer, _ = client.execute_command(command, plan.observations)
    return answer["checkpoint_command_result"], observation.get
