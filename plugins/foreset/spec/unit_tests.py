"""`tests:` of a spec: rows become values of the declared column types, or faults at their cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from foreset.diagnostics import Report
from foreset.ir.program import Change, Column, Program, UnitTest
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.ir.values import Misfit, coerce
from foreset.spec import faults
from foreset.spec.scalars import plain_values
from foreset.spec.shapes import Fields, Read, kind_of
from foreset.spec.yaml_nodes import Items, Node, Scalar


@dataclass(frozen=True, slots=True)
class _Scope:
    """What tests may speak of."""

    sources: Mapping[str, tuple[Column, ...]]
    views: Mapping[str, tuple[Column, ...]]
    report: Report


def read_tests(items: tuple[Read, ...], program: Program, report: Report) -> tuple[UnitTest, ...]:
    """The unit tests, without the parts that have faults."""
    scope = _Scope(
        {source.name: source.columns for source in program.sources}
        | {f"{domain.name}:{one.name}": one.columns for domain in program.domains for one in domain.functions},
        {view.name: view.columns for view in program.views},
        report,
    )
    tests = tuple(_test(item, scope) for item in items if isinstance(item, Fields))
    _check_names(tests, report)
    return tests


def _check_names(tests: tuple[UnitTest, ...], report: Report) -> None:
    seen: dict[str, UnitTest] = {}
    for test in tests:
        first = seen.setdefault(test.name, test)
        if first is not test and test.name and test.span and first.span:
            report.add(faults.duplicate_test(test.name, test.span, first.span.line))


def _test(item: Fields, scope: _Scope) -> UnitTest:
    name = item.text("name")
    if "expect" not in item.keys and "state" not in item.keys:
        scope.report.add(faults.test_asserts_nothing(name, item.span_of("name")))
    return UnitTest(
        name,
        given=dict(_tables(item.fields("given"), "given", scope)),
        change=dict(_changes(item.fields("change"), "change", scope)),
        expect=dict(_changes(item.fields("expect"), "expect", scope)),
        state=dict(_tables(item.fields("state"), "state", scope)),
        span=item.span_of("name"),
    )


def _tables(fields: Fields, key: str, scope: _Scope) -> Iterator[tuple[str, tuple[Row, ...]]]:
    for name, value in fields.values.items():
        columns = _columns(fields.keys[name], key, scope)
        if columns is not None and isinstance(value, Items | Scalar):
            yield name, tuple(_rows(value, name, columns, scope.report))


def _changes(fields: Fields, key: str, scope: _Scope) -> Iterator[tuple[str, Change]]:
    for name, change in fields.records():
        columns = _columns(name, key, scope)
        if columns is None:
            continue
        insert, delete = (
            tuple(_rows(part, name.value, columns, scope.report)) if isinstance(part, Items | Scalar) else ()
            for part in (change.values.get("insert"), change.values.get("delete"))
        )
        yield name.value, Change(insert, delete)


def _columns(name: Scalar, key: str, scope: _Scope) -> tuple[Column, ...] | None:
    """The columns of the relation that `key` may speak of; None, with its fault, where there is none."""
    of_source = key in ("given", "change")
    mine, other = (scope.sources, scope.views) if of_source else (scope.views, scope.sources)
    if name.value in mine:
        return mine[name.value]
    if name.value not in other:
        scope.report.add(faults.test_of_unknown(name.value, name.span, "source" if of_source else "view", list(mine)))
    elif of_source:
        scope.report.add(faults.test_gives_view(name.value, name.span, key))
    else:
        scope.report.add(faults.test_expects_source(name.value, name.span, key))
    return None


def _rows(node: Items | Scalar, relation: str, columns: tuple[Column, ...], report: Report) -> Iterator[Row]:
    for row in node.items if isinstance(node, Items) else ():
        if not isinstance(row, Items):
            report.add(faults.row_is_not_list(row.span, relation, kind_of(row)))
        elif len(row.items) != len(columns):
            report.add(faults.row_width(row.span, relation, len(row.items), [column.name for column in columns]))
        else:
            yield tuple(_cell(cell, column, report) for cell, column in zip(row.items, columns, strict=True))


def _cell(node: Node, column: Column, report: Report) -> Value:
    value = plain_values(node)
    try:
        return coerce(value, column.type)
    except (Misfit, OverflowError):
        shown = f"`{faults.shown(node.value)}`" if isinstance(node, Scalar) else kind_of(node)
        report.add(faults.cell_misfit(shown, node.span, column.name, str(column.type), _hint(node, value, column.type)))
        return None


def _hint(node: Node, value: object, kind: Type) -> str:
    if not isinstance(node, Scalar):
        return ""
    if kind.name == "string" and not isinstance(value, str):
        return f'quote it: "{faults.shown(node.value)}"'
    if kind.name == "boolean":
        return "write true or false"
    if kind.is_numeric and isinstance(value, str) and node.style != "plain":
        return "write the number without quotes"
    if kind.name == "date":
        return "write it as 2026-11-18"
    return "write it as 2026-11-18 20:15:00" if kind.is_temporal else ""
