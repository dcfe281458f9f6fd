"""Aggregates in Python: those that the deployment registers, and those of installed packages.

A package offers one by an entry point of the group `foreset.aggregates`, which names a
`PythonAggregate`. A spec can only say a name that is here; it never holds an import path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from foreset.diagnostics import Report, Span
from foreset.ir.aggregates import BUILTINS, ELEMENT, Definition, Fold, InPython
from foreset.ir.types import parse_type
from foreset.spec.faults import broken_package
from foreset.spec.grammar import parse_expression
from foreset.spec.source import Passage, SourceText

GROUP = "foreset.aggregates"
_registered: dict[str, Definition] = {}


@dataclass(frozen=True, slots=True)
class PythonAggregate:
    """An aggregate whose parts are Python functions on plain values.

    `add(a, x, ...)` gives the next accumulator; `remove(a, x, ...)`, if given, must undo it and
    makes the aggregate invertible; `finish` is an expression over A as in a spec. Raise
    `version` when the functions change their meaning: then what was stored is gathered anew.
    """

    takes: str | Sequence[str]
    state: str
    zero: Any
    add: Callable[..., Any]
    remove: Callable[..., Any] | None = None
    merge: Callable[..., Any] | None = None
    finish: str = ""
    version: str = "1"


def register_aggregate(name: str, aggregate: PythonAggregate) -> None:
    """Offer `aggregate` under `name` in this process; for deployments and tests."""
    if name in BUILTINS:
        raise ValueError(f"`{name}` is an aggregate of Foreset")
    _registered[name] = _definition(name, aggregate)


def registered(names: Set[str], span: Span, report: Report) -> tuple[Definition, ...]:
    """The definitions behind those of `names` that are offered; packages are asked only where some are not known."""
    found = []
    for name in sorted(name for name in names if name in _registered or name in _offered()):
        try:
            found.append(_found(name))
        except Exception as error:  # noqa: BLE001 - whatever a package that is not ours does
            report.add(broken_package(name, span, f"{type(error).__name__}: {error}"))
    return tuple(found)


def _found(name: str) -> Definition:
    if name in _registered:
        return _registered[name]
    loaded = _offered()[name].load()
    if not isinstance(loaded, PythonAggregate):
        raise TypeError(f"the entry point {name} of {GROUP} gives no PythonAggregate but {type(loaded).__name__}")
    return _registered.setdefault(name, _definition(name, loaded))


@cache
def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _definition(name: str, aggregate: PythonAggregate) -> Definition:
    kinds = (aggregate.takes,) if isinstance(aggregate.takes, str) else tuple(aggregate.takes)
    types = [parse_type(kind) for kind in (*kinds, aggregate.state)]
    if None in types:
        raise ValueError(f"aggregate {name}: {', '.join((*kinds, aggregate.state))} are not all types")
    *taken, state = (kind for kind in types if kind is not None)
    single = isinstance(aggregate.takes, str)
    takes = tuple((ELEMENT if single else f"{ELEMENT}{i}", kind) for i, kind in enumerate(taken, 1))

    def part(what: str, function: Callable[..., Any] | None) -> InPython | None:
        return None if function is None else InPython(f"{name}.{what}", aggregate.version, function)

    zero, add = part("zero", lambda: aggregate.zero), part("add", aggregate.add)
    assert zero is not None
    assert add is not None
    fold = Fold(name, takes, state, zero, add, part("remove", aggregate.remove), part("merge", aggregate.merge))
    report = Report()
    source = SourceText(f"aggregate {name}", aggregate.finish)
    finish = parse_expression(Passage(source, aggregate.finish, 0), report) if aggregate.finish else None
    if not report.ok:
        raise ValueError(f"aggregate {name}: {next(iter(report)).message}")
    return Definition(name, fold=fold, finish=finish)
