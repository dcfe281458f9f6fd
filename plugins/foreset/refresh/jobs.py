"""What the entry points in `spark_jobs/` share: arguments, one phase, one line of JSON, an exit code."""

from __future__ import annotations

import argparse
import json
import sys

from foreset.errors import ForesetError, Held
from foreset.plan.frozen import Request
from foreset.refresh.phases import Job, perform


def parser(what: str) -> argparse.ArgumentParser:
    """The arguments that every job has."""
    found = argparse.ArgumentParser(description=what)
    found.add_argument("--warehouse", required=True, help="root of the warehouse")
    found.add_argument("--group", required=True)
    found.add_argument("--refresh-id", required=True, help="names the refresh: a retry goes on from its marks")
    found.add_argument("--again", action="store_true", help="not the first try: take over from the one before")
    found.add_argument("--spark", default=None, help="as FORESET_SPARK")
    return found


def run(given: argparse.Namespace, phase: str) -> int:
    """Run one phase; its facts go to stdout, a failure to stderr with its exit code."""
    words = {name: getattr(given, name) for name in ("mode", "verify", "note") if name in given}
    job = Job(
        phase=phase,
        warehouse=given.warehouse,
        group=given.group,
        request=Request(given.refresh_id, **words),
        stratum=getattr(given, "stratum", 0),
        spec=str(getattr(given, "spec", "")),
        spark=given.spark,
        again=given.again,
    )
    try:
        facts = perform(job)
    except ForesetError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(dict(facts), default=str) + "\n")
    return Held.exit_code if phase == "open" and facts["status"] == "held" else 0  # no other job has anything to do
