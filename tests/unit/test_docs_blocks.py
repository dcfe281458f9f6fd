"""Each block of code in the documents runs as written, or is marked as an excerpt.

A block of YAML is a sound spec whose tests pass. Blocks of Python of one page run one after the other in a project with
some refreshes behind it. Blocks of shell run in that project too. Console blocks, with what the commands print, are run
by the tests of their pages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.docs_blocks import BLOCKS, DOCUMENTS, ROOT, Block, unprinted

import foreset
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.testing.run import run_tests

LANGUAGES = {"yaml", "python", "sh", "sql", "console", "text", "json", "csv"}
CONSOLE = {"README.md", "docs/your-data.md"}  # their own tests run them and compare what is printed
NIGHTS = (("ab", "bc"), ("cd",), ("de",), ("ef",), ("bd",), ("xy",), ("yz",))  # a load each

YAML = [block for block in BLOCKS if block.language == "yaml" and not block.excerpt]
CODE = [block for block in BLOCKS if block.language in {"python", "sh"} and not block.excerpt]
PAGES = sorted({block.page for block in CODE})


def test_each_block_says_what_it_is() -> None:
    unknown = [block.name for block in BLOCKS if not block.excerpt and block.language not in LANGUAGES]
    assert unknown == [], "name the language, or mark the block: ```yaml excerpt"


def test_blocks_that_nothing_runs_are_marked() -> None:
    shown = [block for block in BLOCKS if block.language in {"console", "sql", "json"} and not block.excerpt]
    silent = [block.name for block in shown if str(block.page.relative_to(ROOT)) not in CONSOLE]
    assert silent == [], "nothing runs these: mark them as excerpts, or run them"


def test_lines_are_short_enough_to_be_read_beside_code() -> None:
    """Tables cannot be wrapped, and what a command prints is not ours to wrap."""
    long = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in (*DOCUMENTS, ROOT / "SECURITY.md", *(ROOT / "docs" / "adr").glob("*.md"))
        for number, line in unprinted(page)
        if len(line) > 120 and not line.startswith("|")
    ]
    assert long == []


@pytest.mark.parametrize("block", YAML, ids=[block.name for block in YAML])
def test_a_spec_is_sound_and_its_tests_pass(block: Block) -> None:
    loaded = load_text(block.text)
    assert loaded.program is not None, list(loaded.report)
    found = prepare(loaded.program)
    assert not list(loaded.report)
    assert not list(found.report)
    assert all(outcome.passed for outcome in run_tests(loaded.program, found.program, found.layering))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with six refreshes of `reach` and a load that waits, and the folders that the pages' commands name."""
    folder = tmp_path_factory.mktemp("docs") / "project"
    (folder / "view_specs").mkdir(parents=True)
    shutil.copy(ROOT / "plugins" / "foreset" / "cli" / "templates" / "reach.yaml", folder / "view_specs")
    shutil.copy(ROOT / "view_specs" / "law_enforcement.yaml", folder / "view_specs")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "expectations").mkdir()
    shutil.copy(ROOT / "expectations" / "great_expectations.yml", folder / "expectations")
    warehouse = foreset.open(warehouse=str(folder / "warehouse"), specs=str(folder / "view_specs"), spark="nowhere")
    sample = (ROOT / "plugins" / "foreset" / "cli" / "templates" / "edge.csv").read_text().split()[1:]
    first = [tuple(line.split(",")) for line in sample]  # what `foreset init` begins with
    for number, night in enumerate(NIGHTS, start=1):
        edges = [*first, *night] if number == 1 else night
        table = pa.table({"src": [edge[0] for edge in edges], "dst": [edge[1] for edge in edges]})
        feed = {"delta.enableChangeDataFeed": "true"}
        write_deltalake(folder / "warehouse" / "sales" / "edge", table, mode="append", configuration=feed)
        if number < len(NIGHTS):  # what docs/python.md refreshes is the last load
            warehouse.refresh("reach")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_code_runs_as_written(page: Path, project: Path, tmp_path: Path) -> None:
    here = tmp_path / "project"
    shutil.copytree(project, here)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "foreset"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m foreset "$@"\n')
    command.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FORESET_")}
    path = os.pathsep.join((str(bin_folder), str(Path(sys.executable).parent), kept["PATH"]))
    environment = {**kept, "PATH": path, "PYTHONPATH": str(ROOT / "plugins"), "FORESET_SPARK": "nowhere"}
    mine = [block for block in CODE if block.page == page]
    python = "\n".join(f"# {block.name}\n{block.text}" for block in mine if block.language == "python")
    shell = "\n".join(f"# {block.name}\n{block.text}" for block in mine if block.language == "sh")
    for program, text in (([sys.executable, "-"], python), (["bash", "-e"], shell)):
        if text:
            done = subprocess.run(
                program, input=text, cwd=here, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
