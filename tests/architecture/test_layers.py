"""The import contracts of pyproject.toml hold, and no package escapes them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "plugins" / "foreset"

# Packages and modules that may import Spark or Airflow; everything else must be in the contract "the core is pure".
IMPURE = {
    "backends",
    "cli",
    "doctor",
    "domains",
    "intake",
    "orchestrate",
    "quality",
    "questions",
    "refresh",
    "relations",
    "reports",
    "session",
    "store",
    "verify",
    "warehouse",
}


def contract(name: str) -> dict[str, list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    return next(c for c in contracts if c["id"] == name)


def children() -> set[str]:
    packages = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    return packages | {p.stem for p in PACKAGE.glob("*.py") if p.stem not in {"__init__", "__main__"}}


def test_contracts_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_package_is_pure_or_known_to_be_impure() -> None:
    pure = {name.removeprefix("foreset.").removesuffix(".**") for name in contract("pure")["source_modules"]}
    assert children() - IMPURE <= pure, "add the new package to the contract `pure`, or say here why it is impure"


def test_each_directory_is_a_package() -> None:
    """A directory without `__init__.py` would be invisible to import-linter, and so to every contract."""
    bare = {path.parent for path in PACKAGE.rglob("*.py") if not (path.parent / "__init__.py").is_file()}
    assert not bare, sorted(str(path.relative_to(ROOT)) for path in bare)
