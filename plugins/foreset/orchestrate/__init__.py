"""Airflow: DAGs from specs, their tasks, triggers, and the embedded deployment.

Imported while DAGs are parsed, so nothing here imports Spark, Delta or Great Expectations at
the top of a module.
"""
