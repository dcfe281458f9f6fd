"""Airflow: broken specs as an import error of this file alone, so that sound specs keep their DAGs."""

from foreset.orchestrate.dags import report_faults
from foreset.orchestrate.places import places_beside

report_faults(places_beside(__file__))
