"""The entry points in `spark_jobs/`: arguments, one stage, one line of JSON, an exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from foreset.errors import ForesetError, Held
from foreset.plan.frozen import Request
from foreset.plan.stages import EachStratum, Opening, Stage, Status
from foreset.records import codec
from foreset.records.results import state_of
from foreset.refresh.tasks import Job, perform


def run(stage: Stage, what: str, given: Sequence[str] | None = None) -> int:
    """Do one stage; its facts go to stdout, a failure to stderr with its exit code. `what` is for `--help`."""
    told = _parser(stage, what).parse_args(given)
    words = {name: getattr(told, name) for name in ("mode", "verify", "note") if name in told}
    job = Job(
        stage=stage,
        warehouse=told.warehouse,
        group=told.group,
        request=Request(told.refresh_id, **words),
        stratum=getattr(told, "stratum", 0),
        spec=str(getattr(told, "spec", "")),
        spark=told.spark,
        again=told.again,
    )
    try:
        result = perform(job)
    except ForesetError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(codec.to_plain(result)) + "\n")
    held = isinstance(stage, Opening) and state_of(result) == Status.HELD
    return Held.exit_code if held else 0  # no other job has anything to do


def _parser(stage: Stage, what: str) -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=what)
    found.add_argument("--warehouse", required=True, help="root of the warehouse")
    found.add_argument("--group", required=True)
    found.add_argument("--refresh-id", required=True, help="names the refresh: a retry goes on from its marks")
    found.add_argument("--again", action="store_true", help="not the first try: take over from the one before")
    found.add_argument("--spark", default=None, help="as FORESET_SPARK")
    if isinstance(stage, EachStratum):
        found.add_argument("--stratum", type=int, required=True, help="its number; those that it reads are finished")
    if isinstance(stage, Opening):
        found.add_argument("--spec", type=Path, required=True, help="the spec file")
        found.add_argument("--mode", default="auto")
        found.add_argument("--verify", default="200")
        found.add_argument("--note", default="")
    return found
