"""Airflow: the plugin of a checkout on the plugins path, unless Airflow finds that of the installed package."""

from foreset.reports import airflow_plugin

if not airflow_plugin.is_entry_point():
    ForesetPlugin = airflow_plugin.ForesetPlugin
