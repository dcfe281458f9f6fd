"""What a stratum is fed with is decided once, by its steps; and nothing is opened that no step asks for."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.refresh_cases import CASES, in_normal_form, load_program, read_case
from tests.roads import CLOSURE, DEAD_END, GROUP

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Part, Tables
from foreset.ir.steps import Ref
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.machine.stratum import Task, reads_of, run_stratum
from foreset.plan.translate import COUNTED, MAINTAINING, keeps_counters, refusal, translate
from foreset.relations import tables as relations
from foreset.relations.located import Located
from foreset.relations.tables import DuckDBPort
from foreset.rewrite.pipeline import prepare
from foreset.testing.replica import Delta, Held


def strata() -> Iterable[Stratum]:
    for path in sorted(CASES.glob("*.case")):
        prepared = prepare(read_case(path).program)
        assert prepared.layering is not None
        yield from (stratum for stratum in prepared.layering.strata if not stratum.own_way)


def test_the_steps_say_what_a_strategy_needs() -> None:
    """As it was said by the names of strategies, when each engine said it for itself."""
    seen = set[str]()
    for stratum in strata():
        for strategy in (*MAINTAINING, "aggregate", "recompute"):
            if refusal(stratum, strategy):
                continue
            seen.add(strategy)
            counted = keeps_counters(stratum)
            reads = reads_of(translate(stratum, strategy, counted=counted), stratum.reads)
            assert reads.building is (strategy == "recompute"), (stratum.title, strategy)
            assert reads.tallying is (strategy in COUNTED or (strategy == "recompute" and counted))
            assert reads.counters == (stratum.names if strategy in COUNTED else ())
            assert reads.own == (() if strategy == "spread" else stratum.names), (stratum.title, strategy)
    assert seen == {*MAINTAINING, "aggregate", "recompute"}


def test_nothing_is_opened_that_no_step_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of new rows is looked up among the old ones; where none came, nothing is."""
    opened: list[str] = []
    honest = relations.parts

    def noted(tables: Tables, located: Located, **how: object) -> tuple[Part, ...]:
        opened.append(f"{located.relation}.{located.version}")
        return honest(tables, located)

    monkeypatch.setattr(relations, "parts", noted)
    monkeypatch.setattr(relations, "EAGER", ())
    program, layering = in_normal_form(load_program(f"{GROUP}{CLOSURE}{DEAD_END}", "spec"))
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    closure = next(stratum for stratum in layering.strata if stratum.names == ("closure",))
    before = {"edge": frozenset({("a", "b")}), "closure": frozenset({("a", "b")})}
    for came, strategy, expected in (
        ({("b", "c")}, "insert", {"closure.old", "edge.old", "edge.plus"}),
        (set(), "insert", set()),
        ({("b", "c")}, "spread", {"edge.old", "edge.plus"}),
    ):
        opened.clear()
        procedure = translate(closure, strategy)
        port = DuckDBPort(DuckDBBackend(Tables(connect(), {**schemas, **procedure.helper_types})))
        held = Held(program.columns_of(), before, {"edge": Delta(frozenset(came))})
        run_stratum(Task(procedure, closure.reads, 10), port, held)
        assert set(opened) == expected, (came, strategy)
        assert set(port.rows(Ref("closure", Version.PLUS))) == ({("b", "c"), ("a", "c")} if came else set())
