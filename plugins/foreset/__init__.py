"""Datalog views over Delta tables, refreshed exactly every night.

`import foreset` is light: neither Spark nor Airflow nor Arrow is loaded before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foreset.extras import needed_for

if TYPE_CHECKING:
    from foreset.diagnostics import Diagnostic
    from foreset.domains.builtin import PythonDomain
    from foreset.domains.registry import register as register_domain
    from foreset.errors import (
        EnvironmentFault,
        EvaluationError,
        Fenced,
        ForesetError,
        QualityFailed,
        SourceError,
        SpecError,
        UsageError,
        VerificationFailed,
    )
    from foreset.refresh.whole import RefreshResult, ViewResult
    from foreset.spec.registered import PythonAggregate, register_aggregate
    from foreset.store.snapshots import Snapshot, open_snapshot
    from foreset.warehouse import Warehouse
    from foreset.warehouse import open_warehouse as open  # noqa: A004 - `foreset.open` is the public name

_HOMES = {
    "Diagnostic": "diagnostics", "EnvironmentFault": "errors", "EvaluationError": "errors", "Fenced": "errors",
    "ForesetError": "errors", "QualityFailed": "errors", "SourceError": "errors", "SpecError": "errors",
    "UsageError": "errors", "VerificationFailed": "errors", "RefreshResult": "refresh.whole",
    "ViewResult": "refresh.whole", "Snapshot": "store.snapshots", "open_snapshot": "store.snapshots",
    "Warehouse": "warehouse", "open": "warehouse",
    "PythonDomain": "domains.builtin", "register_domain": "domains.registry",
    "PythonAggregate": "spec.registered", "register_aggregate": "spec.registered",
}  # fmt: skip

__all__ = [
    "Diagnostic", "EnvironmentFault", "EvaluationError", "Fenced", "ForesetError", "PythonAggregate", "PythonDomain",
    "QualityFailed", "RefreshResult", "Snapshot", "SourceError", "SpecError", "UsageError", "VerificationFailed",
    "ViewResult", "Warehouse", "open", "open_snapshot", "register_aggregate", "register_domain",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever stands under that name
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed_for(f"foreset.{name}"):
        home = import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(home, {"open": "open_warehouse", "register_domain": "register"}.get(name, name))


def __dir__() -> list[str]:
    """The public names: what Tab shows."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
