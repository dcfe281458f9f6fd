"""The package that users install: each data file is in the wheel, and each import has a requirement."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreset.extras import EXTRA_OF, missing, needed_for

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "plugins" / "foreset"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
DISTRIBUTION_OF = {"yaml": "pyyaml", "z3": "z3-solver", "grpc": "pyspark", "airflow": "apache-airflow",
                   "great_expectations": "great-expectations"}  # fmt: skip
BY_WAY_OF = {"markupsafe": "jinja2", "fastapi": "apache-airflow", "starlette": "apache-airflow",
             "sqlalchemy": "apache-airflow"}  # what a requirement brings for itself and for us  # fmt: skip


def imported() -> set[str]:
    """The libraries that the package imports, wherever it does."""

    def modules(tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    yield from (alias.name for alias in names)
                case ast.ImportFrom(module=str(module), level=0):
                    yield module
                case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module))]):
                    yield module

    trees = (ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py"))
    names = {module.partition(".")[0] for tree in trees for module in modules(tree)}
    return names - set(sys.stdlib_module_names) - {"foreset", "_typeshed"}  # the last is there for type checkers alone


def required(extra: str | None) -> set[str]:
    """The distributions of the base, or of an extra and those that it includes."""
    found: set[str] = set()
    for line in PROJECT["dependencies"] if extra is None else EXTRAS[extra]:
        name = line.split(">")[0].split("=")[0].split("~")[0]
        if name.startswith("foreset["):
            found |= {one for other in name[8:-1].split(",") for one in required(other)}
        else:
            found.add(name.partition("[")[0])
    return found


def test_each_import_is_required_by_the_base_or_by_its_extra() -> None:
    lost = {
        name for name in imported()
        if BY_WAY_OF.get(name, DISTRIBUTION_OF.get(name, name)) not in required(EXTRA_OF.get(name))
    }  # fmt: skip
    assert lost == set()


def test_each_requirement_is_imported() -> None:
    everything = required(None) | required("all")
    used = {BY_WAY_OF.get(name, DISTRIBUTION_OF.get(name, name)) for name in imported()}
    assert everything - used == {"delta-spark"}  # named for its version, which is that of the jars


def test_each_requirement_is_locked_for_the_checkout() -> None:
    locked = (line for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line)
    assert required(None) | required("all") <= {line.split("==")[0].partition("[")[0].strip() for line in locked}


def test_what_is_not_installed_is_named_with_its_extra() -> None:
    fault = missing(ModuleNotFoundError("x", name="great_expectations.core"), "a check")
    assert fault is not None
    assert "a check needs the Python package `great_expectations`" in fault.message
    assert '"foreset[quality]"' in fault.hint
    assert missing(ModuleNotFoundError("x", name="foreset.nowhere"), "a check") is None
    with pytest.raises(ModuleNotFoundError), needed_for("a check"):
        __import__("no_such_library_at_all")


def test_the_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("plugins", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tree).mkdir(exist_ok=True)
        copy(ROOT / name, tree / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "."]
    subprocess.run([*command, "--wheel-dir", str(tmp_path)], cwd=tree, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        (points,) = (name for name in packed if name.endswith("entry_points.txt"))
        text = archive.read(points).decode()
    tracked = subprocess.check_output(["git", "ls-files", "plugins/foreset"], cwd=ROOT, text=True).split()
    assert {path.removeprefix("plugins/") for path in tracked} - packed == set()
    assert "foreset.reports.airflow_plugin:ForesetPlugin" in text
    assert "foreset.cli:main" in text
