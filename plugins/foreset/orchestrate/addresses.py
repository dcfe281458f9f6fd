"""Where Foreset's own pages are inside Airflow: below one path, which pages, tabs and DAGs share."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

PREFIX = "/foreset"


def base() -> str:
    """The path of Foreset's pages; a proxy may show Airflow below the path of `[api] base_url`."""
    from airflow.configuration import conf

    path = urlsplit(conf.get("api", "base_url", fallback="") or "").path
    return f"{path.rstrip('/')}{PREFIX}"


def of_dag(dag_id: str) -> str:
    """The pages of one DAG."""
    return f"{base()}/dags/{quote(dag_id, safe='')}"
