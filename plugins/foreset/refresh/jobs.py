"""What the entry points in `spark_jobs/` share: arguments, a session, one phase, one line of JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from foreset.errors import ForesetError
from foreset.refresh.context import Context
from foreset.refresh.failing import failures_told
from foreset.refresh.opening import reopen
from foreset.session.locations import absolute_warehouse
from foreset.session.open import open_session
from foreset.store.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Phase = Callable[[Context, argparse.Namespace], Mapping[str, Any]]


def parser(what: str) -> argparse.ArgumentParser:
    """The arguments that every job has."""
    found = argparse.ArgumentParser(description=what)
    found.add_argument("--warehouse", required=True, help="root of the warehouse")
    found.add_argument("--group", required=True)
    found.add_argument("--refresh-id", required=True, help="names the refresh: a retry goes on from its marks")
    found.add_argument("--spark", default=None, help="as FORESET_SPARK")
    return found


def run_phase(arguments: argparse.Namespace, phase: Phase) -> int:
    """Run one phase of an open refresh; its facts go to stdout, failures to stderr with their exit code."""

    def work(spark: SparkSession, layout: Layout) -> Mapping[str, Any]:
        context = reopen(spark, layout, arguments.refresh_id)
        with failures_told(context, f"stratum-{arguments.stratum}" if "stratum" in arguments else ""):
            return phase(context, arguments)

    return run(arguments, work)


def run(arguments: argparse.Namespace, work: Callable[[SparkSession, Layout], Mapping[str, Any]]) -> int:
    """Open a session, do the work, print one line of JSON."""
    try:
        with open_session(arguments.spark, arguments.warehouse) as handle:
            facts = work(handle.spark, Layout(absolute_warehouse(arguments.warehouse), arguments.group))
    except ForesetError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(dict(facts), default=str) + "\n")
    return 0
