"""The locks agree with each other: one Spark, one Delta, each file with its hash."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^ ;\\\n]+)", re.MULTILINE)
LOCKED = dict(PIN.findall((ROOT / "requirements.txt").read_text()))
JARS = [
    line.split()
    for line in (ROOT / "plugins" / "foreset" / "session" / "jars.lock").read_text().splitlines()
    if line and not line.startswith(("#", "exclude "))
]


def test_spark_and_its_client_share_a_folder_and_so_a_version() -> None:
    assert LOCKED["pyspark"] == LOCKED["pyspark-client"]


def test_delta_jars_match_the_wheel() -> None:
    versions = {coordinate.split(":")[2] for coordinate, _, _ in JARS if coordinate.startswith("io.delta:")}
    assert versions == {LOCKED["delta-spark"]}


def test_delta_jar_is_built_for_our_spark() -> None:
    spark = ".".join(LOCKED["pyspark"].split(".")[:2])
    assert JARS[0][0].startswith(f"io.delta:delta-spark_{spark}_")


def test_each_direct_requirement_is_locked_as_pinned() -> None:
    pins = PIN.findall((ROOT / "requirements.in").read_text())
    assert pins
    assert {name: LOCKED[name] for name, _ in pins} == dict(pins)


def test_every_locked_package_has_hashes() -> None:
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements.txt").read_text())
    assert not [block for block in blocks if not block.startswith("#") and "--hash=sha256:" not in block]
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for _, _, sha256 in JARS)
