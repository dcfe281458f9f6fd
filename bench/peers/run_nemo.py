"""Nemo computes all views anew: it reads the tables and reasons; that it writes results is not counted."""

import csv
import json
import tempfile
import time
from pathlib import Path

import job
import nmo_python as nemo

KINDS = {"int": "int", "bigint": "int"}


def text(given: job.Job, step: int) -> str:
    """Imports, rules and exports."""
    lines = []
    for table, types in given.tables.items():
        format_ = ", ".join(KINDS.get(kind, "string") for kind in types.values())
        place = given.file(step, "full", table)
        name = given.predicates[table]
        lines.append(f'@import {name} :- csv{{resource="{place}", format=({format_}), ignore_headers=true}} .')
    lines += given.program
    lines += [f'@export {given.predicates[view]} :- csv{{resource="{view}.csv"}} .' for view in given.views]
    return "\n".join(lines)


def plain(value: str) -> str:
    """Without the quotes in which Nemo writes texts."""
    return json.loads(value) if value.startswith('"') else value


given = job.read()
for step in range(given.steps):
    with tempfile.TemporaryDirectory() as folder:
        output = nemo.NemoOutputManager(folder, overwrite=True)
        started = time.monotonic()
        engine = nemo.NemoEngine(nemo.load_string(text(given, step)))
        engine.reason()
        seconds = time.monotonic() - started
        for view in given.views:
            engine.write_result(given.predicates[view], output)
            with Path(folder, f"{view}.csv").open(newline="", encoding="utf-8") as stream:
                given.keep(step, view, (tuple(map(plain, row)) for row in csv.reader(stream)))
    job.tell(step, seconds)
