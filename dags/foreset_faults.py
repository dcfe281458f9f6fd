"""Airflow: broken specs as an import error of this file alone, so that sound specs keep their DAGs."""

from foreset.orchestrate.places import places_beside
from foreset.orchestrate.specs import report_faults

report_faults(places_beside(__file__))
