"""Makes the files in `printed/`: what commit 1699e4e prints with `--json`, and the events of one of its refreshes.

It was run once, in a checkout of that commit, as `python tests/data/records/make.py`, and must not be run with later
code: the files are there to show that later code prints the same. What it left on disk is in `../old_warehouse`.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

import foreset
from foreset.cli.app import run

HERE = Path(__file__).resolve().parent
NOWHERE = "sc://127.0.0.1:9"  # no Spark answers there
FEED = {"delta.enableChangeDataFeed": "true"}
SPEC = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  closure:
    columns: {src: string, dst: string}
    strategy: dredf
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
    expectations:
      - deny: closure(X, X)
        severity: warning
  two_steps:
    columns: {src: string, dst: string}
    strategy: counting
    rules:
      - two_steps(X, Y) :- edge(X, Z), edge(Z, Y)
    expectations:
      - not_null: src
"""


def write(root: str, words: str, mode: str = "overwrite") -> None:
    pairs = words.split()
    rows = pa.table({"src": [one[0] for one in pairs], "dst": [one[1] for one in pairs]})
    write_deltalake(f"{root}/sales/edge", rows, mode=mode, configuration=FEED)


def place(folder: str) -> tuple[str, str]:
    root, specs = f"{folder}/warehouse", f"{folder}/specs"
    Path(specs).mkdir()
    Path(specs, "reach.yaml").write_text(SPEC)
    write(root, "fe ed ea ab dc bc cg")
    return root, specs


def said(*words: str) -> str:
    with redirect_stdout(StringIO()) as found:
        assert run(words) == 0
    return found.getvalue()


def here(folder: str) -> None:
    """Two nights and one without a change, and what the command line says of them."""
    os.environ["FORESET_SPARK"] = NOWHERE
    root, specs = place(folder)
    places = ("--warehouse", root, "--specs", specs, "--json")
    said("refresh", "reach", "--refresh-id", "r1", *places)
    write(root, "hd", "append")
    out = HERE / "printed"
    out.mkdir(exist_ok=True)
    texts = {
        "refresh": said("refresh", "reach", "--refresh-id", "r2", "--note", "night", *places),
        "unchanged": said("refresh", "reach", "--refresh-id", "r3", *places),
        "status": said("status", "reach", *places),
        "verify": said("verify", "reach", *places),
        "manifest": json.dumps(foreset.open(root, specs).manifest("reach"), indent=1),
    }
    events = Path(root, "_foreset", "reach", "runs", "r2", "events.jsonl").read_text()
    texts["events"] = events
    for name, text in texts.items():
        (out / f"{name}.json").write_text(text.replace(folder, "@ROOT@"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        here(folder)
