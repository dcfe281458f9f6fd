"""clingo computes all views anew: facts are parsed, rules grounded, and the one model is the result."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import clingo
import job


def facts(given: job.Job, step: int) -> Iterator[str]:
    """The tables as facts."""
    for table in given.tables:
        for row in given.rows(step, "full", table):
            values = ",".join(str(v) if isinstance(v, int) else json.dumps(v, ensure_ascii=False) for v in row)
            yield f"{given.predicates[table]}({values}).\n"


def plain(symbol: clingo.Symbol) -> int | str:
    """A number or a text."""
    return symbol.number if symbol.type is clingo.SymbolType.Number else symbol.string


given = job.read()
for step in range(given.steps):
    place = Path(given.results, str(step), "facts.lp")
    with place.open("w", encoding="utf-8") as stream:
        stream.writelines(facts(given, step))
    started = time.monotonic()
    control = clingo.Control(["--warn=none"])
    control.load(str(place))
    control.add("\n".join(given.program))
    control.ground()
    seconds = time.monotonic() - started
    for view, types in given.views.items():
        found = control.symbolic_atoms.by_signature(given.predicates[view], len(types))
        given.keep(step, view, (tuple(map(plain, atom.symbol.arguments)) for atom in found))
    place.unlink()
    job.tell(step, seconds)
