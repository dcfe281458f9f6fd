"""Airflow: one DAG `foreset_<group>` for each spec in view_specs/, or in FORESET_SPECS."""

from foreset.orchestrate.dags import load_dags
from foreset.orchestrate.places import places_beside

for dag in load_dags(places_beside(__file__)):
    globals()[dag.dag_id] = dag
