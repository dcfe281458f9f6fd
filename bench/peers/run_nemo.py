"""Nemo computes all views anew: it reads the tables and reasons; that it writes results is not counted."""

import shutil
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
            shutil.move(Path(folder, f"{view}.csv"), Path(given.results, str(step), f"{view}.csv"))
    job.tell(step, seconds)
