"""Peers that need installing: a venv and a node folder below .cache, by locks with hashes, apart from Foreset's own."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
HOME = BENCH.parent / ".cache" / "bench-peers"
PYTHON = HOME / "venv" / "bin" / "python"
NODE = HOME / "node"
MINUTES = 15


def all_peers() -> list[str]:
    """Install what is not there yet; what failed, in words."""
    told = (_once("venv", "requirements-peers.txt", _venv), _once("node", "package-lock.json", _node))
    return [problem for problem in told if problem]


def _once(name: str, lock: str, act: Callable[[], str]) -> str:
    """Do it unless it was done for this lock."""
    seal, wanted = HOME / f"{name}.sealed", hashlib.sha256((BENCH / lock).read_bytes()).hexdigest()
    if seal.exists() and seal.read_text() == wanted:
        return ""
    print(f"bench: installing peers from {lock} (once) ...", flush=True)
    shutil.rmtree(HOME / name, ignore_errors=True)
    HOME.mkdir(parents=True, exist_ok=True)
    problem = act()
    if not problem:
        seal.write_text(wanted)
    return problem and f"peers of {lock} could not be installed: {problem}"


def _venv() -> str:
    uv = Path(sys.executable).parent / "uv"
    made = _told([uv, "venv", "--quiet", "--python", sys.executable, HOME / "venv"])
    wanted = [uv, "pip", "sync", "--quiet", "--python", PYTHON, "--require-hashes", BENCH / "requirements-peers.txt"]
    return made or _told(wanted)


def _node() -> str:
    NODE.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(BENCH / name, NODE / name)
    return _told(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", NODE])


def _told(command: Sequence[str | Path]) -> str:
    """Run it; the end of what it says if it fails."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=MINUTES * 60)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    return done.stderr.strip()[-300:] if done.returncode else ""
