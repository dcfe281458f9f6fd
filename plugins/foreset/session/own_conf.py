"""Spark settings of a user's own, and which of them Foreset has to refuse.

`FORESET_SPARK_CONF` names a file with a setting in each line, as spark-defaults.conf has them: `key value` or
`key=value`. `FORESET_SPARK_SET` has single ones, `key=value` with a `;` between, and has the last word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from foreset.errors import UsageError

FILE, SINGLE = "FORESET_SPARK_CONF", "FORESET_SPARK_SET"
_SERVER = "Foreset starts this server, and finds it again by it"
_CATALOG = "tables are read and written through Delta's catalog"
FIXED: Mapping[str, str] = {
    "spark.sql.session.timeZone": "all times are UTC: in another zone the same rows would be different ones",
    "spark.sql.ansi.enabled": "arithmetic that fails has to stop the refresh",
    "spark.sql.runSQLOnFiles": "no text of a spec may open a file",
    "spark.sql.constraintPropagation.enabled": "with it Spark 4.1 stops at some unions with `key not found`",
    "spark.sql.parquet.outputTimestampType": "files become those of tables, where readers skip by their bounds",
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration":
        "versions that the manifest pins have to stay readable",
    "spark.sql.catalogImplementation": _CATALOG,
    "spark.sql.catalog.spark_catalog": _CATALOG,
    "spark.master": "FORESET_SPARK says where Spark runs, and FORESET_SPARK_CORES on how many cores",
    "spark.plugins": _SERVER,
    "spark.driver.host": "nobody but this machine may reach Spark",
    "spark.driver.bindAddress": "nobody but this machine may reach Spark",
    "spark.connect.grpc.binding.address": "nobody but this machine may reach Spark",
    "spark.connect.grpc.binding.port": _SERVER,
    "spark.connect.authenticate.token": "each server gets a token of its own, which no file knows",
    "spark.local.dir": "it is swept at each start: FORESET_STATE says where it lies",
}  # fmt: skip
JOINED: Mapping[str, str] = {"spark.jars": ",", "spark.sql.extensions": ",", "spark.driver.extraJavaOptions": " "}
_SECRET = re.compile("(?i)secret|password|token|access[.]?key")  # as spark.redaction.regex has it


def own_conf(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What the file and the variable say; raises at what cannot be read, and at what is not theirs to say."""
    named, single = environment.get(FILE), environment.get(SINGLE, "")
    found = _from_file(Path(named)) if named else {}
    for entry in filter(None, map(str.strip, single.split(";"))):
        found |= _setting(entry, SINGLE)
    return found


def joined(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """All settings: theirs instead of ours, but for lists, which hold both."""
    both = {key: f"{theirs[key]}{sign}{ours[key]}" for key, sign in JOINED.items() if key in ours and key in theirs}
    return {**ours, **theirs, **both}


def shown(key: str, value: str) -> str:
    """A setting for a message; what may be a secret is not told."""
    return f"{key}={'...' if _SECRET.search(key) else value}"


def _from_file(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        told = getattr(fault, "strerror", None) or str(fault)
        raise UsageError(f"{FILE} names {path}, which cannot be read: {told}", "name a file of settings") from fault
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found |= _setting(line.strip(), f"{path}:{number}")
    return found


def _setting(entry: str, place: str) -> dict[str, str]:
    match = re.fullmatch(r"(spark\.[^\s=]+)\s*[\s=]\s*(.*)", entry)
    if match is None:
        word = re.split(r"[\s=]", entry, maxsplit=1)[0]  # what follows may be a secret
        raise UsageError(f"{place}: {word!r} is no setting of Spark", "write spark.some.key=value")
    key, value = match.groups()
    if key in FIXED:
        raise UsageError(f"{place}: {key} cannot be set: {FIXED[key]}", "take this line out")
    return {key: value}
