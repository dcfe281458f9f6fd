"""Random programs over real tables: between nights columns change, and views are edited.

After each refresh and each edit every view holds what full evaluation of the corrected program says, and its published
differences are exact. A view whose columns have changed is another view to readers: they see all of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import write_deltalake
from tests.property.programs import Maker, random_case
from tests.property.respecs import Correction, corrected, correction, respecced, with_sets
from tests.refresh_cases import Case, in_normal_form, spec_text
from tests.roads import FEED

import foreset
from foreset.ir.program import Program, Source
from foreset.ir.terms import Row
from foreset.ir.values import canonical
from foreset.oracle.naive import evaluate
from foreset.store.types import arrow_type
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NIGHTS = 4
Rows = frozenset[Row]


@dataclass
class Nights:
    """A warehouse under a program that changes, and what must be in it."""

    wh: Warehouse
    specs: Path
    root: str
    case: Case
    rng: Random
    program: Program
    sources: dict[str, Rows] = field(default_factory=dict)
    edits: dict[int, Correction] = field(default_factory=dict)
    before: dict[str, tuple[dict[str, str], Rows]] = field(default_factory=dict)  # columns and rows as published
    done: Counter[str] = field(default_factory=Counter)

    def truth(self) -> dict[str, Rows]:
        """Every view, by full evaluation."""
        program, layering = in_normal_form(corrected(self.program, list(self.edits.values())))
        kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
        found = evaluate(layering.strata, self.sources, kinds, program.max_rounds)
        return {view.name: found[view.name] for view in self.program.views}

    def holds(self, what: str) -> None:
        """Contents and differences, since the publication before."""
        now = self.truth()
        published = self.wh.manifest("found")[-1]["seq"] == self.done["published"] + 1
        for view in self.program.views:
            place = f"seed {self.case.seed}, {what}, view {view.name}, edits {self.edits}"
            columns = {column.name: str(column.type) for column in view.columns}
            kinds = [column.type for column in view.columns]
            assert self.rows(self.wh.read(f"found.{view.name}"), kinds) == now[view.name], place
            if not published:
                continue
            plus, minus = (self.rows(one, kinds) for one in self.wh.changes(f"found.{view.name}"))
            old_columns, old = self.before.get(view.name, (columns, frozenset()))
            if old_columns != columns:
                assert (plus, minus) == (now[view.name], frozenset()), place
            else:
                places = [list(old_columns).index(name) for name in columns]
                old = frozenset(tuple(row[i] for i in places) for row in old)
                assert (plus, minus) == (now[view.name] - old, old - now[view.name]), place
            self.before[view.name] = columns, now[view.name]
        self.done["published"] += published

    @staticmethod
    def rows(table: pa.Table, kinds: list) -> Rows:
        found = (tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in table.to_pylist())
        return frozenset(tuple(canonical(v, kind) for v, kind in zip(row, kinds, strict=True)) for row in found)

    # ------------------------------------------------------------ what happens
    def write(self, number: int) -> None:
        """The sources of a night."""
        for source in self.program.sources:
            delta = self.case.nights[number].get(source.name)
            if number == 0 or delta:
                old = self.sources.get(source.name, frozenset())
                self.sources[source.name] = (old - delta.minus) | delta.plus if delta else old
                _write(f"{self.root}/{source.table}", source, sorted(self.sources[source.name], key=repr), number == 0)

    def respec(self) -> None:
        """Other columns; edits that do not fit them are taken back."""
        tried = (respecced(self.rng, self.program) for _ in range(5))  # rules often allow no other type
        found = next((one for one in tried if one is not None), None)
        if found is None:
            return
        self.program = found
        self.done["respecced"] += 1
        self.specs.write_text(spec_text(found, "found"))
        for number in [number for number, one in self.edits.items() if not one.fits(found)]:
            self.undo(number)

    def edit(self) -> None:
        """One more edit."""
        view = self.rng.choice(self.program.views)
        maker = Maker(Random(self.case.seed))
        rows = sorted(self.before[view.name][1], key=repr)
        found = correction(self.rng, view, rows, maker.domain)
        if found is None:
            return
        self.wh.edit(f"found.{view.name}", **{found.kind: found.text})
        self.edits[1 + self.done["edited"]] = found
        self.done["edited"] += 1
        self.holds(f"edit {self.done['edited']}: {found.kind} {found.text}")

    def undo(self, number: int) -> None:
        """One edit less."""
        view = self.edits.pop(number).view
        self.wh.edit(f"found.{view}", undo=number)
        self.done["undone"] += 1
        if all(one.fits(self.program) for one in self.edits.values()):
            self.holds(f"edit {number} is undone")
        else:  # only the list has changed
            self.done["published"] += 1


def _write(path: str, source: Source, rows: list[Row], first: bool) -> None:
    columns = [pa.array([row[i] for row in rows], arrow_type(c.type)) for i, c in enumerate(source.columns)]
    table = pa.table(columns, names=[column.name for column in source.columns])
    write_deltalake(path, table, mode="overwrite", configuration=FEED if first else None)


def random_nights(seed: int, warehouse: str, specs: Path, spark: SparkSession | str) -> None:
    """The nights that `seed` names."""
    case, rng = random_case(seed), Random(seed)
    case = replace(case, program=with_sets(rng, case.program))
    specs.mkdir()
    spec = specs / "found.yaml"
    spec.write_text(spec_text(case.program, "found"))
    wh = foreset.open(warehouse, str(specs), spark)
    nights = Nights(wh, spec, warehouse, case, rng, case.program)
    for number in range(NIGHTS):
        if number and rng.random() < 0.85:
            nights.respec()  # what it takes back is published with the sources as they were read last
        nights.write(number)
        wh.refresh("found", rng.choice(("auto", "auto", "incremental", "recompute")), verify=200)
        nights.holds(f"night {number + 1}")
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            if nights.edits and rng.random() < 0.25:
                nights.undo(rng.choice(list(nights.edits)))
            else:
                nights.edit()
