"""Foreset in a process of its own: each request is one refresh of a group, measured from open to publish.

    python -m bench.refreshes WAREHOUSE SPECS ENGINE
"""

from __future__ import annotations

import sys
from dataclasses import asdict

from bench import machine
from bench.core import measured
from bench.processes import answer, requests

import foreset
from foreset.session.lazy import lazy_session


def main(root: str, specs: str, engine: str) -> None:
    """Serve refreshes until the other side ends; Spark's server is warm where every step needs it."""
    machine.end_in_order()
    with lazy_session("embedded", root) as session:
        if engine == "spark":
            session.range(1).count()
        warehouse = foreset.open(root, specs, session)
        answer({"ready": True})
        for request in requests():
            try:
                run = measured(warehouse, root, request["group"], request["mode"], engine)
                answer(asdict(run))
            except Exception as problem:  # noqa: BLE001 - whatever it is, the line says it
                answer({"died": f"{type(problem).__name__}: {str(problem).strip()[:300]}"})


if __name__ == "__main__":
    main(*sys.argv[1:])
