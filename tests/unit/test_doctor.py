"""Each fault that the doctor knows has a fix, and the races tell a safe file system from an unsafe one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foreset import doctor
from foreset.doctor import Finding, Status, examine, java_major, race_findings
from foreset.session.race import Outcome, RaceResult, race


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_a_real_race_loses_nothing_but_by_rename(tmp_path: Path) -> None:
    result = race(tmp_path / "warehouse", 1.0)
    assert min(result.lock.acknowledged, result.link.acknowledged, result.table.acknowledged) > 0
    assert (result.lock.lost, result.link.lost, result.table.lost) == (0, 0, 0)
    assert not (tmp_path / "warehouse").exists()


def test_losses_are_faults() -> None:
    safe, unsafe = Outcome(100, 0), Outcome(100, 1)
    rename = unsafe
    assert all(f.status is Status.OK and not f.fix for f in race_findings(RaceResult(safe, safe, rename, safe)))
    assert all(f.status is Status.FAIL and f.fix for f in race_findings(RaceResult(unsafe, unsafe, rename, unsafe)))
    nothing = Outcome(0, 0)
    assert all(f.status is Status.FAIL for f in race_findings(RaceResult(nothing, nothing, rename, nothing)))


def test_every_fault_names_its_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("FORESET_JARS", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("FORESET_SPARK_MEMORY", "lots")
    monkeypatch.setitem(doctor.PINNED, "pyspark", "0.1")
    monkeypatch.setitem(doctor.PINNED, "no-such-package", "1")
    (tmp_path / "file").write_text("")
    found = by_name(examine(str(tmp_path / "file" / "warehouse"), race_seconds=0))
    bad = {name for name, finding in found.items() if finding.status is not Status.OK}
    assert bad >= {"java", "jars", "memory", "version of pyspark", "version of no-such-package", "warehouse"}
    assert all(found[name].fix for name in bad)
    assert "JAVA_HOME" in found["java"].fact


def test_a_healthy_machine_has_nothing_to_mend(tmp_path: Path) -> None:
    findings = examine(str(tmp_path), race_seconds=0)
    assert [f for f in findings if f.status is Status.FAIL] == []
    assert not list(tmp_path.iterdir()), "looking changes nothing"


def test_an_object_store_is_not_raced() -> None:
    found = by_name(examine("s3://bucket/warehouse"))
    assert found["log store"].status is Status.WARN
    assert found["log store"].fix


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_warehouse_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert by_name(examine(str(tmp_path), race_seconds=0))["warehouse"].status is Status.FAIL


@pytest.mark.parametrize(
    ("said", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25"', 25),
        ("", 0),
    ],
)
def test_java_versions(said: str, major: int) -> None:
    assert java_major(said) == major
