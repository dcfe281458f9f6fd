"""Where the specs and the warehouse of a deployment are: FORESET_SPECS, FORESET_WAREHOUSE, or beside `dags/`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """What tasks and DAGs must agree on, whatever folder they run in."""

    specs: Path
    warehouse: str


def places_beside(dag_file: str, environment: Mapping[str, str] = os.environ) -> Places:
    """The places of the project that `dag_file` is part of; relative paths are relative to the project."""
    project = Path(dag_file).resolve().parents[1]
    specs = project / environment.get("FORESET_SPECS", "view_specs")
    warehouse = environment.get("FORESET_WAREHOUSE", "warehouse")
    return Places(specs, warehouse if "://" in warehouse else str(project / warehouse))
