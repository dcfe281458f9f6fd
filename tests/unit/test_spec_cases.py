"""Specs as text cases: what is said of a bad one, and what is read from a good one."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cases_runner import case_files, case_id, check_file

from foreset.ir.program import Change, Program
from foreset.ir.terms import Row
from foreset.ir.text import print_rule, print_value
from foreset.render import render_text
from foreset.spec.load import Loaded, load_bytes, load_file, load_folder

FILE_MARK = "--- file: "


def run_check(text: str, arguments: Mapping[str, str]) -> str:
    """Faults of one spec; `encoding`, `newline` and `repeat` change how the text becomes bytes."""
    text = text * int(arguments.get("repeat", "1"))
    text = text.replace("\n", {"crlf": "\r\n"}.get(arguments.get("newline", ""), "\n"))
    data = text.encode(arguments.get("encoding", "utf-8"))
    return shown((load_bytes(data, arguments.get("file", "spec.yaml")),))


def run_file(_text: str, arguments: Mapping[str, str]) -> str:
    """Faults of a file that may not be there."""
    return shown((load_file(arguments["path"]),))


def run_folder(text: str, _arguments: Mapping[str, str]) -> str:
    """Faults of a folder, or of its `specs/`; a line `--- file: name` begins each of its files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in text.split(FILE_MARK)[1:]:
            title, content = part.split("\n", 1)
            (folder / title).parent.mkdir(parents=True, exist_ok=True)
            (folder / title).write_text(content, encoding="utf-8")
        specs = folder / "specs" if (folder / "specs").is_dir() else folder
        found = shown(load_folder(specs))
        return found.replace(f"{folder}/", "")


def run_load(text: str, arguments: Mapping[str, str]) -> str:
    """What is read from a good spec."""
    loaded = load_bytes(text.encode(), arguments.get("file", "spec.yaml"))
    return shown((loaded,)) if loaded.program is None else "".join(f"{line}\n" for line in listed(loaded.program))


def shown(loaded: tuple[Loaded, ...]) -> str:
    found = [diagnostic for one in loaded for diagnostic in one.report]
    for one in loaded:
        assert (one.program is None) == (not one.report.ok)
    text = render_text(found, {one.file: one.source for one in loaded})
    return text or f"ok: {', '.join(one.program.group for one in loaded if one.program)}\n"


def listed(program: Program) -> list[str]:
    """A program line by line, with the places of rules."""
    head = f"{program.group} schedule={program.schedule} timezone={program.timezone} owner={program.owner}"
    lines = [f"{head} tags={','.join(program.tags)} max_rounds={program.max_rounds}"]
    for relation in (*program.sources, *program.views):
        columns = ", ".join(
            f"{column.name}: {column.type}{f' {print_value(column.description)}' if column.description else ''}"
            for column in relation.columns
        )
        lines.append(f"{type(relation).__name__.lower()} {relation.name}({columns})")
    for rule in program.rules:
        assert rule.span is not None
        lines.append(f"{rule.name} {rule.span.line}:{rule.span.column}+{rule.span.width} {print_rule(rule)}")
    lines += [
        f"{view.name} expects {one.text} ({one.type}, {one.severity}, {one.on}, {one.origin}) {one.note}".rstrip()
        for view in program.views
        for one in view.expectations
    ]
    for test in program.tests:
        lines.append(f"test {test.name}")
        lines += [f"  given {name} {rows(of)}" for name, of in test.given.items()]
        lines += [f"  change {name} {effect(of)}" for name, of in test.change.items()]
        lines += [f"  expect {name} {effect(of)}" for name, of in test.expect.items()]
        lines += [f"  state {name} {rows(of)}" for name, of in test.state.items()]
    return lines


def effect(change: Change) -> str:
    return f"+{rows(change.insert)} -{rows(change.delete)}"


def rows(found: tuple[Row, ...]) -> str:
    return "{" + ", ".join("(" + ", ".join(print_value(value) for value in row) + ")" for row in found) + "}"


DIRECTIVES = {"check": run_check, "file": run_file, "folder": run_folder, "load": run_load}


@pytest.mark.parametrize("path", case_files("spec"), ids=case_id)
def test_spec_case(path: Path) -> None:
    check_file(path, DIRECTIVES)
