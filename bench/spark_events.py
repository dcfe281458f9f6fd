"""What Spark did, counted from its event log: jobs, tasks, and what tasks read, sent each other and spilled.

The log is asked for by `SPARK_SUBMIT_OPTS`, which every JVM that pyspark starts takes its settings from, so that
Foreset's server and a peer are counted alike and neither has to know.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Counts:
    """Of all tasks that ended in a while."""

    jobs: int = 0
    tasks: int = 0
    failed: int = 0  # tasks
    input_rows: int = 0
    input_mb: float = 0.0  # of files, as Spark's readers count them
    shuffled_mb: float = 0.0  # written for other tasks
    spilled_mb: float = 0.0  # to disk
    collecting_s: float = 0.0  # garbage, in all tasks


def asked_for(folder: Path) -> dict[str, str]:
    """The environment of a JVM that is to write its log there."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"enabled": "true", "dir": folder.as_uri(), "rolling.enabled": "false", "compress": "false"}
    return {"SPARK_SUBMIT_OPTS": " ".join(f"-Dspark.eventLog.{name}={value}" for name, value in settings.items())}


@dataclass(slots=True)
class EventLog:
    """The logs in a folder, each read on from where the last look ended."""

    folder: Path
    _read: dict[Path, int] = field(default_factory=dict)

    def since(self) -> Counts:
        """What came since the last look."""
        found = [0.0] * 8
        for path in sorted(self.folder.glob("*")):
            name = path.with_suffix("")  # `.inprogress` goes when the application ends
            with path.open("rb") as log:
                log.seek(self._read.get(name, 0))
                lines = log.readlines()
            whole = [line for line in lines if line.endswith(b"\n")]
            self._read[name] = self._read.get(name, 0) + sum(map(len, whole))
            for line in whole:
                if line.startswith((b'{"Event":"SparkListenerJobStart"', b'{"Event":"SparkListenerTaskEnd"')):
                    found = [sum(pair) for pair in zip(found, _counted(json.loads(line)), strict=True)]
        jobs, tasks, failed, rows, *rest = found
        return Counts(int(jobs), int(tasks), int(failed), int(rows), *(round(value, 1) for value in rest))


def _counted(event: dict[str, object]) -> list[float]:
    """In the order of `Counts`."""
    if event["Event"] == "SparkListenerJobStart":
        return [1.0] + [0.0] * 7
    metrics = event.get("Task Metrics")
    reason = event.get("Task End Reason")
    failed = isinstance(reason, dict) and reason.get("Reason") != "Success"
    if not isinstance(metrics, dict):
        return [0.0, 1.0, float(failed)] + [0.0] * 5
    read, sent = metrics["Input Metrics"], metrics["Shuffle Write Metrics"]
    return [
        0.0, 1.0, float(failed), read["Records Read"], read["Bytes Read"] / 2**20,
        sent["Shuffle Bytes Written"] / 2**20, metrics["Disk Bytes Spilled"] / 2**20, metrics["JVM GC Time"] / 1000,
    ]  # fmt: skip
