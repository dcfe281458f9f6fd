"""Suites of Great Expectations as files: `expectations/suites/<group>/<view>.json` beside the folder of specs.

The files are Great Expectations' own (a suite named `group.view` is stored there by the
context in `expectations/`). JSON reads as YAML, so each fault has its place.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.ir.expectations import KNOWN, Expectation, Scope, Severity, sentence
from foreset.ir.program import Program
from foreset.spec import expectation_faults as faults
from foreset.spec.expectations import Reading, scope_fault
from foreset.spec.faults import bad_choice, not_utf8, too_big, unreadable
from foreset.spec.shapes import kind_of
from foreset.spec.source import SourceText
from foreset.spec.yaml_nodes import MAX_BYTES, Entries, Items, Node, Scalar, compose

FOLDER = "FORESET_EXPECTATIONS"
SEVERITIES = {"critical": Severity.CRITICAL, "warning": Severity.WARNING, "info": Severity.WARNING}
_ON_ALL = 'add `"meta": {"foreset": {"on": "all"}}`'
_T = TypeVar("_T")
Files = Mapping[str, str]  # name of the file -> its text


def folder_of(spec_file: str) -> Path:
    """Where the suites of the specs beside `spec_file` are."""
    given = os.environ.get(FOLDER)
    return Path(given or os.path.normpath(Path(spec_file).parent / ".." / "expectations")) / "suites"


def suite_files(spec_file: str, group: str, report: Report | None = None) -> dict[str, str]:
    """The suites of a group by file name; what cannot be read is told in `report`."""
    found: dict[str, str] = {}
    for path in sorted((folder_of(spec_file) / group).glob("*.json")):
        fault = _read(path, found)
        if fault is not None and report is not None:
            report.add(fault)
    return found


def _read(path: Path, found: dict[str, str]) -> Diagnostic | None:
    file = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return unreadable(file, error.strerror or "unknown reason")
    if len(data) > MAX_BYTES:
        return too_big(file, len(data), MAX_BYTES)
    try:
        found[file] = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return not_utf8(Span(file, 1, 1), data[error.start])
    return None


def strays(spec_file: str, groups: Collection[str]) -> Iterator[Diagnostic]:
    """A warning for each folder of suites that no spec would read."""
    folder = folder_of(spec_file)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()
    for name in names:
        if name not in groups and any((folder / name).glob("*.json")):
            yield faults.no_such_group(Span(str(folder / name), 1, 1), name, groups)


def with_suites(program: Program, files: Files, report: Report) -> Program:
    """The program with the expectations of these suites after its own."""
    added: dict[str, tuple[Expectation, ...]] = {}
    views = {view.name: view for view in program.views}
    for file, text in files.items():
        name = Path(file).stem
        if name not in views:
            report.add(faults.no_such_view(Span(file, 1, 1), name, program.group, tuple(views)))
            continue
        columns = {column.name: column for column in views[name].columns}
        added[name] = tuple(read_suite(SourceText(file, text), Reading(name, columns, report, lambda rule: rule)))
    if not any(added.values()):
        return program
    changed = (replace(v, expectations=(*v.expectations, *added.get(v.name, ()))) for v in program.views)
    return replace(program, views=tuple(changed))


def read_suite(source: SourceText, reading: Reading) -> Iterator[Expectation]:
    """The expectations of one file."""
    root = compose(source, reading.report)
    if root is None:
        return
    listed = root.get("expectations") if isinstance(root, Entries) else None
    if not isinstance(listed, Items):
        reading.report.add(faults.not_a_suite(root.span, "it has no list `expectations`"))
        return
    for item in listed.items:
        found = _expectation(item, reading)
        if found is not None:
            yield found


def _expectation(item: Node, reading: Reading) -> Expectation | None:
    type_ = item.get("type") if isinstance(item, Entries) else None
    if not isinstance(item, Entries) or not isinstance(type_, Scalar):
        reading.report.add(faults.not_a_suite(item.span, "an expectation is a mapping with `type` and `kwargs`"))
        return None
    if type_.value not in KNOWN:
        reading.report.add(faults.unknown(type_.value, type_.span, tuple(KNOWN)))
        return None
    given = _arguments(item, type_, reading)
    values = None if given is None else reading.fits(type_.value, type_.value, given, type_.span)
    if values is None:
        return None
    description = _text(item.get("description"))
    severity = _choice(item.get("severity"), SEVERITIES, Severity.CRITICAL, reading.report)
    scopes = {str(scope): scope for scope in Scope}
    on = _choice(_inside(item, "meta", "foreset", "on"), scopes, Scope.CHANGES, reading.report)
    found = Expectation(type_.value, values, description or sentence(type_.value, values), severity, on,
                        _text(item.get("notes")), span=type_.span)  # fmt: skip
    scope_fault(found, type_.value, type_.span, _ON_ALL, reading.report)
    return found


def _arguments(item: Entries, type_: Scalar, reading: Reading) -> dict[str, tuple[str, Node]] | None:
    signature, kwargs = KNOWN[type_.value], item.get("kwargs")
    given: dict[str, tuple[str, Node]] = {}
    for key, value in kwargs.entries if isinstance(kwargs, Entries) else ():
        if key.value not in signature.arguments:
            known = tuple(signature.arguments)
            reading.report.add(faults.unknown_argument(key.value, key.span, type_.value, known))
            return None
        if not (isinstance(value, Scalar) and value.empty):
            given[key.value] = (key.value, value)
    for name in signature.required:
        if name not in given:
            reading.report.add(faults.missing_argument(name, type_.span, type_.value, f'"{name}": ...'))
            return None
    return given


def _inside(node: Node | None, *path: str) -> Node | None:
    for key in path:
        node = node.get(key) if isinstance(node, Entries) else None
    return node


def _choice(node: Node | None, words: Mapping[str, _T], default: _T, report: Report) -> _T:
    if node is None or (isinstance(node, Scalar) and node.empty):
        return default
    text = node.value if isinstance(node, Scalar) else kind_of(node)
    if text not in words:
        report.add(bad_choice(text, node.span, "this", tuple(words)))
    return words.get(text, default)


def _text(node: Node | None) -> str:
    """A text, or a list of texts, as Great Expectations writes notes."""
    parts = node.items if isinstance(node, Items) else (node,)
    return "\n".join(part.value for part in parts if isinstance(part, Scalar) and not part.empty)
