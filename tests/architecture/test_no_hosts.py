"""Nothing committed names a package registry or a path of one machine: mirrors and other machines must work."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Split so that this file does not find itself.
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "maven" + ".org", "maven" + ".apache.org",
              "spark-" + "packages.org", "npm" + "js.org", "anaconda" + ".org"]  # fmt: skip
HOMES = ["/" + "root/", "/" + "work/", "/home/" + r"(?!airflow\b|spark\b)\w", "/Users/" + r"\w", "/opt/" + "wheels"]
FORBIDDEN = re.compile("|".join([*map(re.escape, REGISTRIES), rf"(?<![\w.}}*-])(?:{'|'.join(HOMES)})"]))


def committed() -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.check_output(command, text=True).split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def test_no_registry_and_no_machine_path() -> None:
    found = []
    for path in committed():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # binary data
        found += [
            f"{path.relative_to(ROOT)}:{number}: {match[0]}"
            for number, line in enumerate(text.splitlines(), 1)
            if (match := FORBIDDEN.search(line))
        ]
    assert not found, "\n".join(found)


def test_the_search_finds_what_it_should() -> None:
    assert FORBIDDEN.search("https://repo1.maven" + ".org/x")
    assert FORBIDDEN.search("see /" + "root/.cache")
    assert not FORBIDDEN.search("warehouse/work/x and tests/home/y")
