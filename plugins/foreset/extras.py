"""Which optional part of the package a library belongs to, so that one that is not installed is named with its remedy.

The parts are the extras of `pyproject.toml`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from foreset.errors import EnvironmentFault

EXTRA_OF = {
    "croniter": "refresh",
    "deltalake": "refresh",
    "duckdb": "refresh",
    "jinja2": "refresh",
    "markupsafe": "refresh",
    "numpy": "refresh",
    "pandas": "refresh",
    "pyarrow": "refresh",
    "grpc": "spark",
    "pyspark": "spark",
    "great_expectations": "quality",
    "airflow": "airflow",
    "fastapi": "airflow",
    "sqlalchemy": "airflow",
    "starlette": "airflow",
}  # the name that is imported, and the extra that installs it


def missing(error: ModuleNotFoundError, what: str) -> EnvironmentFault | None:
    """Return what to tell somebody who asked for `what`, if the library is one of ours that is not installed."""
    library = (error.name or "").partition(".")[0]
    return _fault(library, what) if library in EXTRA_OF else None


def require(library: str, what: str) -> None:
    """Stop before anything is begun that needs a library of ours that is not installed."""
    if find_spec(library) is None:
        raise _fault(library, what)


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Name the extra of a library that is imported here and is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        fault = missing(error, what)
        if fault is None:
            raise
        raise fault from error


def _fault(library: str, what: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"{what} needs the Python package `{library}`, which is not installed",
        f'install it with:  pip install "foreset[{EXTRA_OF[library]}]"  (or "foreset[all]" for everything)',
    )
