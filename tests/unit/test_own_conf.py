"""Spark settings of a user's own: read from a file and from a variable, refused where Foreset needs another."""

from __future__ import annotations

from pathlib import Path

import pytest

from foreset.doctor import Status, examine
from foreset.errors import UsageError
from foreset.session.config import SESSION_CONF, Settings, connect_conf, fingerprint, jvm_conf
from foreset.session.jars import JarSet
from foreset.session.own_conf import FILE, FIXED, JOINED, SINGLE, own_conf, shown

TUNABLE = {"spark.sql.autoBroadcastJoinThreshold", "spark.sql.adaptive.autoBroadcastJoinThreshold"}


def read(tmp_path: Path, text: str, single: str = "") -> dict[str, str]:
    file = tmp_path / "spark.conf"
    file.write_text(text)
    return own_conf({FILE: str(file), SINGLE: single})


def test_lines_of_a_file_and_the_variable_that_has_the_last_word(tmp_path: Path) -> None:
    text = "# ours\n\nspark.executor.memory  4g\n spark.a.b=x = y\nspark.c = \nspark.d\t1\n"
    found = {"spark.executor.memory": "4g", "spark.a.b": "x = y", "spark.c": "", "spark.d": "1"}
    assert read(tmp_path, text) == found
    assert read(tmp_path, text, "spark.d=2; spark.e=3;") == {**found, "spark.d": "2", "spark.e": "3"}
    assert own_conf({}) == {}


@pytest.mark.parametrize("key", FIXED)
def test_what_foreset_relies_on_is_refused_with_the_reason(key: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"spark.conf:2: {key} cannot be set: \w+"):
        read(tmp_path, f"# a comment\n{key}=x\n")
    with pytest.raises(UsageError, match=rf"{SINGLE}: {key} cannot be set"):
        own_conf({SINGLE: f"{key}=x"})


def test_every_setting_that_results_depend_on_is_fixed() -> None:
    assert set(SESSION_CONF) - set(FIXED) == TUNABLE
    assert {key for key in connect_conf() if "grpc" in key or "plugins" in key} <= set(FIXED)


@pytest.mark.parametrize("line", ["executor.memory 4g", "spark.executor.memory", "=4g", "password hunter2"])
def test_what_is_no_setting_is_told_without_its_value(line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no setting of Spark") as caught:
        read(tmp_path, f"{line}\n")
    assert "hunter2" not in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"FORESET_SPARK_CONF names .*gone.conf, which cannot be read: No such file"):
        own_conf({FILE: str(tmp_path / "gone.conf")})


def test_they_reach_the_server_and_make_another_one(tmp_path: Path) -> None:
    def conf_of(single: str) -> dict[str, str]:
        settings = Settings.from_environment({SINGLE: single})
        return jvm_conf(settings, JarSet((tmp_path / "delta.jar",), "f"), tmp_path, "local[2]")

    ours = conf_of("")
    assert conf_of("spark.sql.shuffle.partitions=7") == {**ours, "spark.sql.shuffle.partitions": "7"}
    lists = {key: f"mine{sign}{ours[key]}" for key, sign in JOINED.items()}
    assert conf_of(";".join(f"{key}=mine" for key in JOINED)) == {**ours, **lists}
    jars = JarSet((), "f")
    assert fingerprint(conf_of("spark.x=1"), jars) != fingerprint(ours, jars)


def test_secrets_are_not_shown() -> None:
    assert shown("spark.hadoop.fs.s3a.secret.key", "s") == "spark.hadoop.fs.s3a.secret.key=..."
    assert shown("spark.executor.memory", "4g") == "spark.executor.memory=4g"


def test_doctor_shows_them_and_what_is_wrong_with_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def told() -> list[tuple[Status, str]]:
        found = examine(str(tmp_path), race_seconds=0)
        return [(one.status, one.fact) for one in found if one.name == "Spark settings"]

    assert told() == []
    monkeypatch.setenv(SINGLE, "spark.executor.cores=4;spark.x.password=hunter2")
    assert told() == [(Status.OK, "of your own: spark.executor.cores=4, spark.x.password=...")]
    monkeypatch.setenv(SINGLE, "spark.master=yarn")
    ((status, fact),) = told()
    assert (status, "spark.master cannot be set" in fact) == (Status.FAIL, True)
