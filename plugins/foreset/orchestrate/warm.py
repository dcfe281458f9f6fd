"""What every task needs, imported once: tasks are forked from the scheduler of `foreset up`, which imports this.

It saves each task the seconds that pyspark, pandas and Great Expectations take to import. Only modules are
loaded: no session, no channel and no thread may exist before a fork.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

MODULES = (
    "foreset.orchestrate.dags",
    "foreset.refresh.tasks",
    "foreset.quality.checker",
    "great_expectations",
    "pyspark.sql.connect.session",
    "pandas",
)
SETTINGS = '''"""Written by `foreset up`. Airflow imports this file when one of its parts starts."""

from foreset.orchestrate.warm import warm_up

__all__: list[str] = []  # no policy of Airflow is set here
warm_up()
'''


def warm_up() -> None:
    """Import, in the scheduler only."""
    if "scheduler" in sys.argv:
        for module in MODULES:
            import_module(module)


def write_settings(home: Path) -> None:
    """Have Airflow call `warm_up`: the folder `config` of its home is on its path."""
    folder = home / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "airflow_local_settings.py").write_text(SETTINGS, encoding="utf-8")
