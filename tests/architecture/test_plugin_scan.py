"""Airflow's scan of the plugins folder must find the plugin and nothing of the package.

The scan imports each file it finds under its bare name, so `ir/types.py` would replace the standard `types`.
`plugins/.airflowignore` prevents that; these tests run Airflow's own discovery on our files.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
PLUGIN = "foreset_plugin.py"

pytestmark = pytest.mark.airflow


def scan(folder: Path) -> list[str]:
    from airflow._shared.module_loading import find_path_from_directory

    found = map(Path, find_path_from_directory(str(folder), ".airflowignore", "glob"))
    return sorted(path.relative_to(folder).as_posix() for path in found if path.suffix == ".py")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    shutil.copytree(PLUGINS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / PLUGIN).touch()
    return folder


def test_only_the_plugin_is_found(copy: Path) -> None:
    assert scan(copy) == [PLUGIN]


def test_without_the_ignore_file_the_package_would_be_scanned(copy: Path) -> None:
    (copy / ".airflowignore").unlink()
    assert "foreset/__init__.py" in scan(copy)


def test_airflow_reads_ignore_files_as_glob() -> None:
    from airflow.configuration import conf

    assert conf.get_mandatory_value("core", "dag_ignore_file_syntax", fallback="glob") == "glob"
