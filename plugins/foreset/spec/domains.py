"""`domains:` of a spec: what outside sources can be asked, and who answers."""

from __future__ import annotations

from foreset.diagnostics import Report
from foreset.ir.domains import DEFAULT_MAX_ROWS, DEFAULT_SECONDS, Domain, DomainFunction
from foreset.ir.program import Column
from foreset.ir.types import parse_type
from foreset.spec import faults
from foreset.spec.shapes import Fields
from foreset.spec.yaml_nodes import Scalar


def read_domains(fields: Fields, report: Report) -> tuple[Domain, ...]:
    """The domains that a spec declares; faults go to `report`."""
    return tuple(_domain(name, domain, report) for name, domain in fields.records())


def _domain(name: Scalar, fields: Fields, report: Report) -> Domain:
    functions = tuple(_function(key, one, report) for key, one in fields.fields("functions").records())
    connection = fields.text("connection") or None
    return Domain(name.value, fields.text("provider"), functions, connection, _options(fields), name.span)


def _function(name: Scalar, fields: Fields, report: Report) -> DomainFunction:
    args, results = columns(fields.fields("args")), columns(fields.fields("results"))
    if not (args or results) and not (fields.fields("args").keys or fields.fields("results").keys):
        report.add(faults.function_of_nothing(name.value, name.span))
    known = {column.name for column in args}
    for column in results:
        if column.name in known and column.span is not None:
            report.add(faults.argument_and_result(column.name, column.span))
    return DomainFunction(
        name.value,
        args,
        results,
        _options(fields),
        on_error="keep" if fields.text("on_error") == "keep" else "stop",
        max_age=float(_number(fields, "max_age", 0)),
        seconds=float(_number(fields, "seconds", int(DEFAULT_SECONDS))),
        max_rows=_number(fields, "max_rows", DEFAULT_MAX_ROWS),
        span=name.span,
    )


def _number(fields: Fields, key: str, default: int) -> int:
    found = fields.values.get(key)
    return int(found.value) if isinstance(found, Scalar) else default


def _options(fields: Fields) -> dict[str, str]:
    given = fields.fields("options").values
    return {key: value.value for key, value in given.items() if isinstance(value, Scalar)}


def columns(fields: Fields) -> tuple[Column, ...]:
    """Columns as `name: type`, or with a description; those with faults are left out."""
    return tuple(
        Column(name.value, kind, written.text("description"), name.span)
        for name, written in fields.records()
        if (kind := parse_type(written.text("type"))) is not None
    )
