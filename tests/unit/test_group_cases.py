"""Folders of specs as text cases: what `foreset check` says of groups that read each other."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cases_runner import case_files, case_id, check_file
from tests.cli_runner import foreset

FILE_MARK = "--- file: "


def run_check(text: str, arguments: Mapping[str, str]) -> str:
    """The output of `check`; a line `--- file: name` begins each file of the folder."""
    with tempfile.TemporaryDirectory() as name:
        for part in text.split(FILE_MARK)[1:]:
            title, content = part.split("\n", 1)
            (Path(name) / title).write_text(content, encoding="utf-8")
        shown = foreset("check", *arguments.get("targets", "").split(), "--specs", name)
        return f"{shown.out}{shown.err}exit {shown.code}\n".replace(f"{name}/", "").replace(name, "SPECS")


@pytest.mark.parametrize("path", case_files("groups"), ids=case_id)
def test_group_case(path: Path) -> None:
    check_file(path, {"check": run_check})
