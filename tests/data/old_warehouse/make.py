"""Makes `warehouses.tar.xz`: warehouses as commit 1699e4e leaves them, some with a refresh that was killed.

It was run once, in a checkout of that commit, as `python tests/data/old_warehouse/make.py`, and must not be run with
later code: what the archive is there for is that later code reads what earlier code wrote. A folder of the archive is
a warehouse with its specs; in texts the folder's own path stands as `@ROOT@`.
"""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import foreset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreset.warehouse import Warehouse

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
MADE = 1_795_000_000  # when all files say they were written
PLACE, TEXTS = b"@ROOT@", (".json", ".jsonl")
NOWHERE = "sc://127.0.0.1:9"  # no Spark answers there
FEED = {"delta.enableChangeDataFeed": "true"}

REACH = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  closure:
    columns: {src: string, dst: string}
    export: true
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
  linked:
    columns: {src: string, dst: string}
    strategy: dredc
    rules:
      - linked(X, Y) :- edge(X, Y)
      - linked(X, Y) :- linked(X, Z), linked(Z, Y)
  two_steps:
    columns: {src: string, dst: string}
    strategy: counting
    rules:
      - two_steps(X, Y) :- edge(X, Z), edge(Z, Y)
  dead_end:
    columns: {node: string}
    strategy: dred
    rules:
      - dead_end(X) :- edge(_, X), not edge(X, _)
    expectations:
      - deny: dead_end(X), closure(X, X)
      - deny: dead_end(X), closure("a", X)
        severity: warning
  sizes:
    columns: {src: string, n: bigint}
    strategy: incremental
    rules:
      - sizes(X, N) :- N = count{Y | closure(X, Y)}
"""
PEOPLE = """\
group: people
sources:
  person: {table: raw/person, columns: {name: string, age: int}}
domains:
  book:
    provider: files
    options: {path: raw/book.csv, format: csv}
    functions:
      city: {args: {name: string}, results: {city: string}}
views:
  grown:
    columns: {age: int}
    rules:
      - grown(A) :- A >= 18
  lives:
    columns: {name: string, city: string}
    rules:
      - lives(N, C) :- person(N, A), grown(A), in(C, book:city(N))
  invited:
    columns: {name: string, room: int}
    evaluate: at_refresh
    rules:
      - invited(N, R) :- person(N, A), grown(A), R >= 1, R <= 3
"""

# What `edge` holds at each refresh of `reach`; the third one is the edit, which takes in nothing.
NIGHTS = ("ab bc cd de ea ef", "ab bc de ea ef fg", "ab bc de ea ef fg", "ab bc de ef fg gh")
STRATA, BEGUN = 7, 2  # of `reach` with its edit; and of which the first part only is done
PENDING = "ab bc ef fg gh hb"  # what it holds for the refresh that is killed: `de` has gone, `hb` has come


def edges(roads: set[str]) -> pa.Table:
    """Rows of `edge`."""
    return pa.table({"src": [road[0] for road in sorted(roads)], "dst": [road[1] for road in sorted(roads)]})


def move(root: Path, before: str, after: str) -> None:
    """Bring `edge` from one state to another, row by row."""
    old, new = set(before.split()), set(after.split())
    for road in sorted(old - new):
        DeltaTable(root / "wh/sales/edge").delete(f"src = '{road[0]}' and dst = '{road[1]}'")
    if new - old:
        write_deltalake(root / "wh/sales/edge", edges(new - old), mode="append", configuration=FEED)


def people(root: Path, **ages: int) -> None:
    """More people."""
    table = pa.table({"name": list(ages), "age": pa.array(ages.values(), pa.int32())})
    write_deltalake(root / "wh/raw/person", table, mode="append", configuration=FEED)


def book(root: Path, *lines: str) -> None:
    """Who lives where."""
    (root / "wh/raw/book.csv").write_text("\n".join(["name,city", *lines]) + "\n")


def opened(root: Path) -> Warehouse:
    """As a user has it; the specs have a relative path, for the manifest names it."""
    os.chdir(root)
    return foreset.open("wh", "specs", NOWHERE)


def calm(root: Path) -> None:
    """A warehouse with two groups, and nothing unfinished."""
    (root / "specs").mkdir(parents=True)
    (root / "specs/reach.yaml").write_text(REACH)
    (root / "specs/people.yaml").write_text(PEOPLE)
    wh = opened(root)
    before = ""
    for number, roads in enumerate(NIGHTS, 1):
        move(root, before, roads)
        before = roads
        if number == 3:
            wh.edit("reach.closure", insert='src = "x", dst = "a"', who="eve", why="seen", refresh_id="r3")
        else:
            wh.refresh("reach", refresh_id=f"r{number}", note=f"night {number}")
    people(root, ann=30, bob=40, kid=3)
    book(root, "ann,Rome", "bob,Oslo", "bob,Rome")
    wh.refresh("people", refresh_id="p1")
    people(root, eve=50)
    book(root, "ann,Rome", "bob,Oslo", "eve,Bonn")
    wh.refresh("people", refresh_id="p2")


def job(root: Path, name: str, *more: str, killed_at: str = "", in_spark: bool = False) -> None:
    """One phase in a process of its own; `killed_at` names a function of the package in which it dies."""
    spark = "embedded" if in_spark else NOWHERE
    common = ("--spark", spark, "--warehouse", str(root / "wh"), "--group", "reach", "--refresh-id", "night")
    program = CHECKOUT / "spark_jobs" / f"{name}.py"
    arguments = [str(program), *common, *more]
    module, _, function = killed_at.rpartition(".")
    dies = f"import os, {module}; {module}.{function} = lambda *_, **__: os._exit(9)" if killed_at else ""
    code = f"import runpy, sys; {dies}\nsys.argv = {arguments}\nrunpy.run_path({str(program)!r}, run_name='__main__')"
    engine = {"FORESET_ENGINE": "spark" if in_spark else "auto"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=root, env=os.environ | engine
    )
    if done.returncode != (9 if killed_at else 0):
        raise SystemExit(f"{name}: {done.returncode}\n{done.stdout}{done.stderr}")


def stratum(root: Path, number: int, part: str, *, in_spark: bool = False) -> None:
    """One part of a stratum."""
    job(root, "maintain_stratum", "--stratum", str(number), "--part", part, in_spark=in_spark)


def made(root: Path) -> Iterator[str]:
    """Makes each warehouse in turn, at the same place, and says what to keep it as."""
    calm(root)
    yield "calm"

    move(root, NIGHTS[-1], PENDING)
    job(root, "open_run", "--spec", "specs/reach.yaml", killed_at="foreset.refresh.opening._planned")
    yield "opening"
    job(root, "open_run", "--spec", "specs/reach.yaml", "--note", "killed", "--again")
    job(root, "capture")
    yield "captured"
    for number in range(1, STRATA + 1):
        stratum(root, number, "delete")
        if number == BEGUN:
            yield "begun"
        stratum(root, number, "insert")
    yield "maintained"
    job(root, "verify")
    yield "verified"
    job(root, "quality")
    yield "checked"
    job(root, "commit", killed_at="foreset.store.manifest.commit")
    yield "committing"
    restore(root, "checked")
    job(root, "commit")
    yield "unpublished"

    restore(root, "captured")
    stratum(root, 1, "delete", in_spark=True)
    stratum(root, 1, "insert", in_spark=True)
    stratum(root, BEGUN, "delete", in_spark=True)
    yield "begun_in_spark"

    restore(root, "calm")
    opened(root).rollback("reach", 2, hold=True, why="gh is wrong")
    yield "held"


def restore(root: Path, name: str) -> None:
    """Put one that was kept back where it was made."""
    rmtree(root)
    copytree(root.parent / name, root)


def main() -> None:
    """Make all of them and pack them."""
    with tempfile.TemporaryDirectory() as place:
        root, kept = Path(place, "now"), []
        for name in made(root):
            copytree(root, root.parent / name)
            kept.append(name)
        pack(root, kept, HERE / "warehouses.tar.xz")


def pack(root: Path, names: list[str], archive: Path) -> None:
    """All files of what was kept in one archive that says nothing of this machine."""
    with lzma.open(archive, "wb", preset=9) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for file in sorted(path for name in names for path in (root.parent / name).rglob("*") if path.is_file()):
            data = file.read_bytes()
            if file.suffix in TEXTS:
                data = data.replace(str(root).encode(), PLACE)
            assert str(root.parent).encode() not in data, file
            entry = tarfile.TarInfo(str(file.relative_to(root.parent)))
            entry.size, entry.mtime = len(data), MADE
            tar.addfile(entry, BytesIO(data))


if __name__ == "__main__":
    main()
