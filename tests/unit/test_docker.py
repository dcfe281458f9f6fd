"""The files of a real deployment, as far as they can be read without a container runtime."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
AIRFLOW = ("api-server", "scheduler", "dag-processor", "triggerer")


def test_airflow_has_all_its_parts_and_spark_is_one() -> None:
    assert set(SERVICES) == {"postgres", "init", *AIRFLOW, "spark"}
    for name in AIRFLOW:
        assert SERVICES[name]["command"][:2] == ["airflow", name]
        assert SERVICES[name]["depends_on"]["init"]["condition"] == "service_completed_successfully"
        assert SERVICES[name]["environment"]["FORESET_SPARK"] == "sc://spark:15002"
    assert "deploy" not in SERVICES["spark"], "one JVM writes: never scale this service"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_each_service_heals_and_is_fenced_in(name: str) -> None:
    service = SERVICES[name]
    if name != "init":
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"
    if name != "postgres":
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
    assert service["networks"] == (["inside", "outside"] if name == "api-server" else ["inside"])
    assert ("ports" in service) is (name == "api-server")


def test_only_this_machine_reaches_it_unless_told_otherwise() -> None:
    assert SERVICES["api-server"]["ports"] == ["${AIRFLOW_BIND:-127.0.0.1:8080}:8080"]
    assert COMPOSE["networks"]["inside"]["internal"] is True, "Spark has no token: nobody else may be on its network"


def test_secrets_come_from_the_environment_and_have_no_default() -> None:
    text = (DOCKER / "compose.yaml").read_text()
    for name in ("POSTGRES_PASSWORD", "API_SECRET_KEY", "JWT_SECRET", "FERNET_KEY"):
        uses = re.findall(rf"\$\{{{name}[^}}]*\}}", text)
        assert uses, name
        assert all(":?" in use for use in uses), f"{name} must be given, never guessed"
    asked = set(re.findall(r"^([A-Z_]+)=", (DOCKER / ".env.example").read_text(), re.MULTILINE))
    needed = set(re.findall(r"\$\{([A-Z_]+):\?", text))
    assert needed <= asked
    assert not any(line.partition("=")[2] for line in (DOCKER / ".env.example").read_text().splitlines()
                   if line.startswith(tuple(needed)))  # fmt: skip


def test_what_is_mounted_and_copied_exists() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        for path in line.split()[:-1]:
            assert (ROOT / path).exists(), path
    for command in re.findall(r"/opt/foreset/(docker/\w+\.py)", (DOCKER / "compose.yaml").read_text()):
        assert (ROOT / command).is_file()
        assert command in text, f"{command} is run, so it must be copied into the image"
    assert "USER 50000:0" in text


def test_drivers_are_locked_with_hashes() -> None:
    text = (DOCKER / "requirements.txt").read_text()
    pinned = re.findall(r"^([a-z0-9-]+)==\S+ \\$", text, re.MULTILINE)
    assert {"psycopg2-binary", "asyncpg"} <= set(pinned)
    assert text.count("--hash=sha256:") > len(pinned)
