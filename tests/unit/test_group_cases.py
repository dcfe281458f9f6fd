"""Folders of specs as text cases: what `foreset check` says of groups that read each other."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from tests.cases_runner import case_files, case_id, check_file
from tests.cli_runner import foreset

PART = re.compile(r"^--- (file|table): (.+)$", re.MULTILINE)


def run_check(text: str, arguments: Mapping[str, str]) -> str:
    """The output of `check`; `--- file: name` begins each file of the folder, `--- table: name` a table's columns."""
    with tempfile.TemporaryDirectory() as name:
        root = f"{name}/warehouse"
        _, *parts = PART.split(text)
        for kind, title, content in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            if kind == "file":
                (Path(name) / title).write_text(content.removeprefix("\n"), encoding="utf-8")
            elif content.strip() == "damaged":
                log = Path(f"{root}/{title}/_delta_log")
                log.mkdir(parents=True)
                (log / f"{0:020d}.json").write_text("{damaged", encoding="utf-8")
            else:
                schema = {
                    "type": "struct",
                    "fields": [_field(*line.split(" ", 1)) for line in content.split("\n") if line],
                }
                DeltaTable.create(f"{root}/{title}", Schema.from_json(json.dumps(schema)))
        more = ["--warehouse", root] if "--against-warehouse" in arguments.get("targets", "") else []
        shown = foreset("check", *arguments.get("targets", "").split(), "--specs", name, *more)
        said = f"{shown.out}{shown.err}exit {shown.code}\n".replace(root, "WAREHOUSE")
        return said.replace(f"{name}/", "").replace(name, "SPECS")


def _field(name: str, kind: str) -> dict[str, object]:
    nested = {"type": "struct", "fields": []} if kind == "struct" else kind
    return {"name": name, "type": nested, "nullable": True, "metadata": {}}


@pytest.mark.parametrize("path", case_files("groups"), ids=case_id)
def test_group_case(path: Path) -> None:
    check_file(path, {"check": run_check})
