"""Spec files to programs, with all faults of a file at once.

The program is in written form: names, arity, types and safety are for `analyse`.
It is None as soon as one error stands in the report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import cleandoc
from pathlib import Path

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.ir.aggregates import BUILTINS
from foreset.ir.expectations import Expectation
from foreset.ir.functions import FUNCTIONS
from foreset.ir.program import DEFAULT_MAX_ROUNDS, Column, Program, Source, View
from foreset.ir.rules import Atom, Literal, Negation, Rule, Test
from foreset.ir.terms import Call
from foreset.spec import faults, rule_faults
from foreset.spec.aggregates import called, read_aggregates
from foreset.spec.domains import columns, read_domains
from foreset.spec.expectations import Reading, read_expectation
from foreset.spec.gathering import Scope, with_aggregates
from foreset.spec.grammar import parse_rule
from foreset.spec.internal import internal_fault
from foreset.spec.model import SPEC
from foreset.spec.registered import registered
from foreset.spec.scalars import passage_of
from foreset.spec.shapes import Fields, Read, kind_of, read
from foreset.spec.source import SourceText
from foreset.spec.split import split_rules
from foreset.spec.suites import Files, strays, suite_files, with_suites
from foreset.spec.unit_tests import read_tests
from foreset.spec.yaml_nodes import MAX_BYTES, Entries, Items, Node, Scalar, compose

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file gave; `source` is there for those who print its lines."""

    program: Program | None
    report: Report
    file: str = ""
    source: str = ""
    duplicate: str = ""  # the group that another file has taken: then there is no program

    @property
    def group(self) -> str:
        """The group by its name, or by that of its file where the spec has faults."""
        return self.program.group if self.program else self.duplicate or Path(self.file).stem


# ---------------------------------------------------------------- files
def load_folder(path: str | Path) -> tuple[Loaded, ...]:
    """Every spec of a folder, sorted by name; names that begin with `_` or `.` are left out."""
    folder = Path(path)
    if not folder.is_dir():
        return (load_file(folder),)
    files = sorted(f for f in folder.iterdir() if f.suffix in SUFFIXES and f.name[0] not in "._" and f.is_file())
    loaded = tuple(load_file(file) for file in files)
    if loaded:
        names = {one.group for one in loaded}
        loaded[0].report.extend(strays(loaded[0].file, names))
    return _without_duplicates(loaded)


def load_file(path: str | Path) -> Loaded:
    """The spec in one file; a crash of Foreset itself is a fault of this file alone."""
    try:
        return _load_file(path)
    except Exception as error:  # noqa: BLE001 - whatever the cause
        return Loaded(None, _report(internal_fault(str(path), error)), str(path))


def _load_file(path: str | Path) -> Loaded:
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
            size = len(data) if len(data) <= MAX_BYTES else Path(path).stat().st_size
    except OSError as error:
        return Loaded(None, _report(faults.unreadable(file, error.strerror or "unknown reason")), file)
    except ValueError:
        return Loaded(None, _report(faults.unreadable(file, "this is not a file name")), file)
    if size > MAX_BYTES:
        return Loaded(None, _report(faults.too_big(file, size, MAX_BYTES)), file)
    loaded = load_bytes(data, file)
    if loaded.program is not None:
        loaded = and_suites(loaded, suite_files(file, loaded.program.group, loaded.report))
    program = loaded.program
    stem = Path(path).stem
    if program is not None and program.group != stem and program.span is not None:
        loaded.report.add(faults.group_is_not_file(program.group, program.span, stem))
    return loaded


def load_bytes(data: bytes, file: str) -> Loaded:
    """The spec in the bytes of a file."""
    if len(data) > MAX_BYTES:
        return Loaded(None, _report(faults.too_big(file, len(data), MAX_BYTES)), file)
    try:
        return load_text(data.decode("utf-8"), file)
    except UnicodeDecodeError as error:
        before = SourceText(file, data[: error.start].decode("utf-8"))
        span = before.span(len(before.text), len(before.text))
        return Loaded(None, _report(faults.not_utf8(span, data[error.start])), file)


def load_text(text: str, file: str = "spec.yaml") -> Loaded:
    """The spec in `text`; `file` is its name in diagnostics."""
    if len(text) > MAX_BYTES:
        return Loaded(None, _report(faults.too_big(file, len(text), MAX_BYTES)), file)
    bare = text.removeprefix("\ufeff")
    program, others, faulty = _parsed(bare, file)
    report = Report()
    report.extend(faulty)
    if program is not None and others:
        given = registered(others, program.span or Span(file, 1, 1), report)
        program = replace(program, aggregates=(*program.aggregates, *given))
    return Loaded(program if report.ok else None, report, file, bare)


@lru_cache(maxsize=64)  # who refreshes again reads the same specs again
def _parsed(text: str, file: str) -> tuple[Program | None, frozenset[str], tuple[Diagnostic, ...]]:
    """The program in a text, the aggregates that it calls and others must give, and its faults."""
    report = Report()
    node = compose(SourceText(file, text), report)
    program = None if node is None else _program(node, file, report)
    if program is None:
        return None, frozenset(), tuple(report)
    own = {one.name: one for one in program.aggregates}
    return program, frozenset(called(program.views, own) - own.keys() - BUILTINS.keys()), tuple(report)


def and_suites(loaded: Loaded, files: Files) -> Loaded:
    """What was loaded with the expectations of suite files; None for the program where they have faults."""
    if loaded.program is None or not files:
        return loaded if loaded.report.ok else replace(loaded, program=None)
    program = with_suites(loaded.program, files, loaded.report)
    return replace(loaded, program=program if loaded.report.ok else None)


def _report(fault: Diagnostic) -> Report:
    report = Report()
    report.add(fault)
    return report


def _without_duplicates(loaded: tuple[Loaded, ...]) -> tuple[Loaded, ...]:
    """Two groups of one name: the second file is refused, and says so."""
    seen: dict[str, str] = {}
    return tuple(_unless_seen(one, seen) for one in loaded)


def _unless_seen(loaded: Loaded, seen: dict[str, str]) -> Loaded:
    program = loaded.program
    if program is None:
        return loaded
    first = seen.setdefault(program.group, loaded.file)
    if first == loaded.file:
        return loaded
    loaded.report.add(faults.duplicate_group(program.group, program.span or Span(loaded.file, 1, 1), first))
    return replace(loaded, program=None, duplicate=program.group)


# ---------------------------------------------------------------- the program
def _program(node: Node, file: str, report: Report) -> Program | None:
    fields = read(node, SPEC, "the spec", report)
    if not isinstance(fields, Fields):
        return None
    sources = tuple(_source(name, source, report) for name, source in fields.fields("sources").records())
    names = fields.fields("views").keys
    _check_relations(fields, report)
    domains = read_domains(fields.fields("domains"), report)
    aggregates = read_aggregates(fields.fields("aggregates"), report)
    scope = Scope(frozenset((*fields.fields("sources").keys, *names)), frozenset((*BUILTINS, *aggregates)))
    views = tuple(_view(name, view, scope, tuple(names), report) for name, view in fields.fields("views").records())
    rounds = fields.values.get("max_rounds")
    program = Program(
        group=fields.text("group"),
        sources=sources,
        views=views,
        description=fields.text("description"),
        owner=fields.text("owner"),
        schedule=fields.text("schedule") or None,
        timezone=fields.text("timezone", "UTC"),
        tags=tuple(tag.value for tag in fields.list("tags") if isinstance(tag, Scalar)),
        max_rounds=int(rounds.value) if isinstance(rounds, Scalar) else DEFAULT_MAX_ROUNDS,
        aggregates=tuple(aggregates.values()),
        domains=domains,
        engine=fields.text("engine"),
        file=file,
        span=fields.span_of("group"),
        engine_span=fields.span_of("engine") if "engine" in fields.values else None,
    )
    own = [source for source in sources if source.view and source.view.split(".")[0] == program.group]
    for source in own:
        entry = fields.fields("sources").fields(source.name)
        report.add(faults.own_view(source.view or "", entry.span_of("view")))
    return replace(program, tests=read_tests(fields.list("tests"), program, report))


def _check_relations(fields: Fields, report: Report) -> None:
    sources = fields.fields("sources").keys
    for name, key in fields.fields("views").keys.items():
        if name in sources:
            report.add(faults.declared_twice(name, key.span, sources[name].span.line))


def _source(name: Scalar, fields: Fields, report: Report) -> Source:
    table, view = fields.text("table"), fields.text("view")
    both = "table" in fields.keys and "view" in fields.keys
    if both or not ("table" in fields.keys or "view" in fields.keys):
        report.add(faults.table_or_view(name.span, name.value, both=both))
    declared = columns(fields.fields("columns"))
    return Source(
        name.value,
        declared,
        table or None,
        view or None,
        fields.text("description"),
        _key(name.value, fields, declared, report),
        span=name.span,
        place_span=fields.span_of("view" if view else "table"),
    )


def _key(source: str, fields: Fields, declared: Sequence[Column], report: Report) -> tuple[str, ...]:
    """The columns of a declared key, each of which is there and has values that are equal or not."""
    if "key" not in fields.values:
        return ()
    types = {column.name: column.type for column in declared}
    named = [one for one in fields.list("key") if isinstance(one, Scalar)]
    if not named:
        where = f"`key` of source `{source}`"
        report.add(faults.nothing_there(fields.span_of("key"), where, "name a column, or leave it out"))
    for place, one in enumerate(named):
        if one.value not in types:
            report.add(faults.key_of_nothing(one.value, one.span, source, tuple(types)))
        elif one.value in (before.value for before in named[:place]):
            report.add(faults.key_twice(one.value, one.span))
        elif types[one.value].is_fractional or types[one.value].name == "array":
            report.add(faults.key_inexact(one.value, one.span, str(types[one.value])))
    return tuple(one.value for one in named)


def _view(name: Scalar, fields: Fields, scope: Scope, views: tuple[str, ...], report: Report) -> View:
    rules = (_in_context(rule, name.value, scope, views, report) for rule in _rules(fields.values.get("rules"), report))
    export = fields.values.get("export")
    return View(
        name.value,
        columns(fields.fields("columns")),
        tuple(replace(rule, name=f"{name.value}#{number}") for number, rule in enumerate(rules, 1)),
        strategy=fields.text("strategy", "auto"),
        evaluate=fields.text("evaluate"),
        engine=fields.text("engine"),
        export=isinstance(export, Scalar) and export.value == "true",
        description=fields.text("description"),
        expectations=_expectations(name.value, fields, scope.relations, report),
        span=name.span,
        strategy_span=fields.span_of("strategy") if "strategy" in fields.values else None,
        engine_span=fields.span_of("engine") if "engine" in fields.values else None,
    )


def _expectations(view: str, fields: Fields, relations: Collection[str], report: Report) -> tuple[Expectation, ...]:
    def in_context(rule: Rule) -> Rule:
        for call in rule.calls:
            report.add(rule_faults.call_in_deny(call.called, call.called_span or Span("", 1, 1)))
        return replace(rule, body=tuple(_as_test(literal, relations, report) for literal in rule.body))

    reading = Reading(view, {column.name: column for column in columns(fields.fields("columns"))}, report, in_context)
    return tuple(found for item in fields.list("expectations") for found in read_expectation(item, reading))


# ---------------------------------------------------------------- rules
def _rules(node: Read | None, report: Report) -> Iterator[Rule]:
    if isinstance(node, Scalar):
        yield from _rules_of(node, report, block=node.style == "literal", flow=False)
    if not isinstance(node, Items):
        return
    for item in node.items:
        if not isinstance(item, Scalar) or item.empty:
            mapping = isinstance(item, Entries) and not item.source.text.startswith("{", item.start)
            fault = (
                faults.rule_became_mapping(item.span) if mapping else faults.rule_is_not_text(item.span, kind_of(item))
            )
            report.add(fault)
        elif item.style == "folded":
            report.add(faults.folded_rules(item.span))
        else:
            yield from _rules_of(item, report, block=False, flow=node.flow)


def _rules_of(node: Scalar, report: Report, *, block: bool, flow: bool) -> Iterator[Rule]:
    passage = passage_of(node)
    for part, dotted in split_rules(passage):
        rule = parse_rule(part, report, flow=flow)
        if rule is not None and block and not dotted:
            end = len(part.text.rstrip())
            report.add(rule_faults.missing_dot(part.span(end - 1, end), "in a block a `.` ends each rule"))
        if rule is not None:
            yield replace(rule, text=cleandoc(part.text).strip())


def _in_context(rule: Rule, view: str, scope: Scope, views: tuple[str, ...], report: Report) -> Rule:
    """`rule` with its boolean functions as tests and its aggregates beside their sets, if it is a rule of `view`."""
    if rule.head.relation != view and rule.head.span is not None:
        name = rule.head.relation
        span = replace(rule.head.span, width=len(name))
        report.add(rule_faults.other_head(name, view, span, views))
    return with_aggregates(rule, scope, lambda literal: _as_test(literal, scope.relations, report), report)


def _as_test(literal: Literal, relations: Collection[str], report: Report) -> Literal:
    """A function that no relation hides is a test; the parser could not tell."""
    atom = literal.atom if isinstance(literal, Negation) else literal
    if not isinstance(atom, Atom) or atom.relation in relations or atom.relation not in FUNCTIONS:
        return literal
    if atom.columns is not None and atom.span is not None:
        report.add(rule_faults.named_in_function(atom.relation, atom.span))
    return Test(Call(atom.relation, atom.args, atom.span), isinstance(literal, Negation), span=literal.span)
