"""Install the wheel into fresh virtual environments outside the repository, one for each extra, and use it there.

Run by `make test-install`; needs the package index. Each command runs in an empty project with nothing of the checkout
on its path. What an extra lacks must be named with the extra to install, never be an internal error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = ROOT / ".venv" / "bin" / "uv"
LOADER = """
import sys
import pyarrow as pa
from deltalake import write_deltalake
rows = [row.split("-") for row in sys.argv[1].split()]
table = pa.table({"src": [row[0] for row in rows], "dst": [row[1] for row in rows]})
write_deltalake("warehouse/sales/edge", table, mode="append", configuration={"delta.enableChangeDataFeed": "true"})
"""
EXPECTATION = """    expectations:
      - not_null: [src, dst]
"""
MISSING = 5  # the exit code of a machine that is not ready


@dataclass(frozen=True, slots=True)
class Try:
    """A command, how it must end, and what it must say."""

    command: str
    code: int = 0
    says: str = ""


PURE = (
    Try("foreset --version", says="foreset 0."),
    Try("python -m foreset --help", says="Exit codes"),
    Try("foreset check", says="ok"),
    Try("foreset test", says="passed"),
    Try("foreset explain reach --rules", says="closure"),
    Try("foreset doctor", code=MISSING, says="fix"),
)
WITHOUT_REFRESH = tuple(
    Try(f"foreset {command}", code=MISSING, says='pip install "foreset[refresh]"')
    for command in ("refresh reach", "status", "show reach.closure", "changes reach.closure", "why reach.closure a,b",
                    "verify reach", "rollback reach 1", "gc reach", "report reach", "edits reach",
                    "import data/edge.csv other --no-key", "source add sales/edge")
)  # fmt: skip
IN_PROCESS = (
    Try("foreset import data/edge.csv roads --key src,dst", says="made table roads"),
    Try("foreset source add roads --group roads", says="made view_specs/roads.yaml"),
    Try("foreset check --against-warehouse", says="ok"),
    Try("load a-b b-c"),
    Try("foreset refresh reach", says="committed"),
    Try("load c-d"),
    Try("foreset refresh reach", says="committed"),
    Try("foreset status", says="reach"),
    Try("foreset show reach.closure", says="d"),
    Try("foreset changes reach.closure", says="d"),
    Try("foreset why reach.closure a,d", says="edge"),
    Try("foreset why-not reach.closure d,a"),
    Try("foreset verify reach", says="none differ"),
    Try("foreset report reach"),
    Try("foreset edit reach.closure --delete 'src = \"a\", dst = \"d\"' --who me --why test"),
    Try("foreset edits reach", says="me"),
    Try("foreset rollback reach 2", says="seq"),
    Try("foreset gc reach"),
)
WITHOUT_SPARK = (
    Try("load e-f"),
    Try("env FORESET_ENGINE=spark foreset refresh reach", code=MISSING, says='pip install "foreset[spark]"'),
)
IN_SPARK = (
    Try("foreset doctor --fix --json", says="jars"),
    Try("load e-f"),
    Try("env FORESET_ENGINE=spark foreset refresh reach", says="committed"),
)
WITHOUT_QUALITY = (
    Try("expect"),
    Try("load g-h"),
    Try("foreset refresh reach --force", code=MISSING, says='pip install "foreset[quality]"'),
)
WITH_QUALITY = (Try("expect"), Try("load g-h"), Try("foreset refresh reach --force", says="committed"))
WITHOUT_AIRFLOW = (Try("foreset up --detach", code=MISSING, says='pip install "foreset[airflow]"'),)
WITH_AIRFLOW = (
    Try("airflow plugins", says="foreset"),
    Try("load i-j"),
    Try("foreset up --detach", says="Airflow answers"),
    Try("foreset trigger reach --wait"),
    Try("foreset down"),
    Try("foreset status", says="reach"),
)
EXTRAS = {
    "": PURE + WITHOUT_REFRESH + WITHOUT_AIRFLOW,
    "refresh": PURE + IN_PROCESS + WITHOUT_SPARK + WITHOUT_QUALITY + WITHOUT_AIRFLOW,
    "spark": PURE[:-1] + IN_PROCESS + IN_SPARK + WITHOUT_QUALITY + WITHOUT_AIRFLOW,
    "quality": PURE[:-1] + IN_PROCESS + WITH_QUALITY + WITHOUT_SPARK + WITHOUT_AIRFLOW,
    "airflow": PURE[:-1] + IN_PROCESS + IN_SPARK + WITH_QUALITY + WITH_AIRFLOW,
    "all": PURE[:-1] + IN_PROCESS,
}


def main(chosen: list[str]) -> int:
    """Try the extras that are named, or all; say each fault."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="foreset-install-") as folder:
        work = Path(folder)
        wheel = build(work)
        for extra in chosen or list(EXTRAS):
            began = time.monotonic()
            found = try_extra(wheel, extra.removeprefix("base"), work / (extra or "base"))
            print(f"{extra or 'base'}: {len(EXTRAS[extra.removeprefix('base')])} commands, {len(found)} faults, "
                  f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
            faults += found
    print("\n".join(faults))
    return 1 if faults else 0


def build(work: Path) -> Path:
    """The wheel of what git tracks."""
    tree = work / "tree"
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if name.startswith("plugins/") or name in {"pyproject.toml", "README.md", "LICENSE"}:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", work, tree], check=True)
    return next(work.glob("*.whl"))


def try_extra(wheel: Path, extra: str, place: Path) -> list[str]:
    """A fresh environment with the wheel and this extra; return what went wrong there."""
    project = place / "project"
    project.mkdir(parents=True)
    wanted = f"foreset[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, place / "venv"], check=True)
    subprocess.run([UV, "pip", "install", "--quiet", "--python", place / "venv" / "bin" / "python", wanted], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FORESET", "AIRFLOW", "PYTHON"))}
    environment = {
        **kept,
        "PATH": f"{place / 'venv' / 'bin'}{os.pathsep}{os.defpath}",
        "HOME": str(place),
        "AIRFLOW_HOME": str(place / "airflow"),
        "FORESET_SPARK_MEMORY": "1g",
    }
    (place / "loader.py").write_text(LOADER)
    steps = (Try("foreset init ."), *EXTRAS[extra])
    try:
        faults = [fault for step in steps if (fault := run(step, project, environment))]
    finally:
        run(Try("foreset down"), project, environment)
    return [f"[{extra or 'base'}] {fault}" for fault in faults]


def run(step: Try, project: Path, environment: dict[str, str]) -> str:
    """One command; return what is wrong with how it ended, or an empty string."""
    if step.command == "expect":
        spec = project / "view_specs" / "reach.yaml"
        spec.write_text(spec.read_text().replace("\ntests:", f"{EXPECTATION}\ntests:"))
        return ""
    command = step.command
    if command.startswith("load "):
        command = f"python ../loader.py '{command.removeprefix('load ')}'"
    done = subprocess.run(["bash", "-c", command], cwd=project, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=400, check=False)  # fmt: skip
    said = done.stdout + done.stderr
    good = done.returncode == step.code and step.says in said and "error: internal error" not in said
    wanted = f"wanted {step.code} and {step.says!r}"
    return "" if good else f"{step.command}: ended with {done.returncode}, {wanted}: {json.dumps(said[-1500:])}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
