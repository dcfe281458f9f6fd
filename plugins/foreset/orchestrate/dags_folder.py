"""The folders that Airflow looks through: the project's own, or ones that are made for it."""

from __future__ import annotations

from pathlib import Path

import foreset

DAGS = "foreset_dags.py"
FAULTS = "foreset_faults.py"
FILES = {
    DAGS: '''"""Airflow: one DAG `foreset_<group>` for each spec in view_specs/, or in FORESET_SPECS."""

from foreset.orchestrate.dags import load_dags
from foreset.orchestrate.places import places_beside

for dag in load_dags(places_beside(__file__)):
    globals()[dag.dag_id] = dag
''',
    FAULTS: '''"""Airflow: broken specs as an import error of this file alone, so that sound specs keep their DAGs."""

from foreset.orchestrate.dags import report_faults
from foreset.orchestrate.places import places_beside

report_faults(places_beside(__file__))
''',
}


def dags_folder(project: Path, home: Path) -> Path:
    """`dags/` of the project if it has Foreset's DAGs; else a folder in `home` with nothing but those."""
    own = project.resolve() / "dags"
    if (own / DAGS).is_file():
        return own
    made = home / "dags"
    made.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def plugins_folder(home: Path) -> Path:
    """The checkout that the package lies in, if it does; else an empty folder in `home`.

    Airflow imports every file below its plugins folder, so that must never be `site-packages`.
    """
    beside = Path(foreset.__file__).resolve().parents[1]
    if (beside / "foreset_plugin.py").is_file():
        return beside
    made = home / "plugins"
    made.mkdir(parents=True, exist_ok=True)
    return made
