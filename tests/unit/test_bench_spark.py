"""The benchmark beside Spark: its processes may die or be late, its counts come from logs, its report adds up."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench import beside_spark, carried, curves, on_paper, scale_page, scales, spark_targets, suite
from bench.carried import Line, Lines, Side
from bench.core import FIRST, IDLE, PeerRun, Run
from bench.graphs import Graph, digraph
from bench.processes import Cost, Worker
from bench.spark_events import Counts, EventLog, asked_for
from bench.worlds import Fingerprints

ROOT = Path(__file__).resolve().parents[2]
ASKED = """
import os, sys, time
from bench.processes import answer, requests
answer({"ready": True})
print("not for us")
for request in requests():
    if request["do"] == "die":
        print("it hurts", file=sys.stderr)
        os._exit(3)
    if request["do"] == "sleep":
        time.sleep(60)
    if request["do"] == "grow":
        held = bytearray(100 << 20)
        time.sleep(0.5)
    answer({"died": "of shame"} if request["do"] == "tell" else {"did": request["do"], "by": os.getpid()})
"""
PHASES = {"stratum": 1.0, "commit": 0.5}
RUN = Run("committed", "counting", "spark", "", 2.0, PHASES, 2, 30, 0, 0, 5, 5, 0, 9, {"q": 30})


@pytest.fixture
def worker(tmp_path: Path):
    made = Worker([sys.executable, "-c", ASKED], tmp_path, {"PYTHONPATH": str(ROOT)})
    yield made
    made.end()


def test_a_process_answers_and_its_memory_is_seen(worker: Worker) -> None:
    first = worker.ask({"do": "add"}, 30)
    assert first.said is not None
    assert first.said["did"] == "add"
    grown = worker.ask({"do": "grow"}, 30)
    assert grown.said is not None
    assert grown.said["by"] == first.said["by"]
    assert grown.cost.peak_mb >= first.cost.peak_mb + 90
    assert grown.cost.seconds >= 0.5


def test_a_process_that_dies_says_of_what_and_the_next_one_goes_on(worker: Worker) -> None:
    before = worker.ask({"do": "add"}, 30).said
    died = worker.ask({"do": "die"}, 30)
    assert (died.said, died.died) == (None, "ended with 3: it hurts")
    assert worker.ask({"do": "tell"}, 30).died == "of shame"
    after = worker.ask({"do": "add"}, 30).said
    assert before is not None
    assert after is not None
    assert after["by"] != before["by"]


def test_a_process_that_is_late_is_ended(worker: Worker) -> None:
    worker.ask({"do": "add"}, 30)
    late = worker.ask({"do": "sleep"}, 0.3)
    assert late.died == "not done after 0 s"
    assert late.cost.seconds < 10


def test_a_log_of_spark_is_counted_from_where_the_last_look_ended(tmp_path: Path) -> None:
    log, file = EventLog(tmp_path), tmp_path / "local-1.inprogress"
    ended = {
        "Event": "SparkListenerTaskEnd",
        "Task End Reason": {"Reason": "Success"},
        "Task Metrics": {
            "Input Metrics": {"Records Read": 7, "Bytes Read": 3 << 20}, "Disk Bytes Spilled": 1 << 20,
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 2 << 20}, "JVM GC Time": 1500,
        },
    }  # fmt: skip
    lost = {"Event": "SparkListenerTaskEnd", "Task End Reason": {"Reason": "ExceptionFailure"}}
    lines = [{"Event": "SparkListenerJobStart"}, {"Event": "SparkListenerStageCompleted"}, ended, ended, lost]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    file.write_text(text + '{"Event":"SparkListenerJobSta')
    assert log.since() == Counts(1, 3, 1, 14, 6.0, 4.0, 2.0, 3.0)
    assert log.since() == Counts()
    file.rename(file.with_suffix(""))
    with file.with_suffix("").open("a") as more:
        more.write('rt","Job ID":1}\n')
    assert log.since() == Counts(jobs=1)
    assert f"spark.eventLog.dir={tmp_path.as_uri()}" in asked_for(tmp_path)["SPARK_SUBMIT_OPTS"]


def line(world: str, engine: str, change: str, kept: float | None, built: float | None) -> Line:
    run = RUN if kept is not None else None
    sides = (Side(kept, "" if kept else "boom", Cost(1.0, 9_000, 1.0, 10, 1)), Side(built, "" if built else "late"))
    return Line(world, engine, change, 50, 50, *sides, 20, run, {"q": 20})


def test_targets_are_judged_each_by_its_own_lines() -> None:
    found = {
        (one.benchmark, one.target): one
        for one in spark_targets.judged([
            line("TPC-H 1", "spark", FIRST, 13.0, 10.0),
            line("TPC-H 1", "spark", "mixed 0.1 %", 2.0, 3.9),
            line("TPC-H 1", "spark", "mixed 1 %", None, 10.0),
            line("TPC-H 1", "spark", "mixed 10 %", 2.0, None),
            line("TPC-H 10", "auto", "mixed 0.1 %", 2.0, 30.0),
        ])
    }  # fmt: skip

    def of(world: str, start: str) -> str:
        return next(one.verdict for (name, target), one in found.items() if name == world and target.startswith(start))

    assert of("TPC-H 1", "first load") == "met"
    assert of("TPC-H 1", "mixed 0.1 %") == "not met"
    assert of("TPC-H 1", "mixed 1 %") == "not met"  # it died
    assert of("TPC-H 1", "mixed 10 %") == "not measured"  # Spark did
    assert of("TPC-H 1", "rows read") == "not met"  # 30 of 20
    assert of("TPC-H 10", "first load") == "not measured"
    assert of("TPC-H 10, auto", "mixed 0.1 %") == "met"
    assert of("TPC-H 10, auto", "Python and JVM") == "not met"


def test_a_report_is_read_again_and_a_line_replaced(tmp_path: Path) -> None:
    kept = Lines("spark-day", {"cores": 2}, notes=["no time"])
    for one in (line("TPC-H 0.1", "spark", "mixed 0.1 %", 2.0, 3.0), line("TPC-H 1", "spark", FIRST, None, 3.0)):
        kept.take(one)
        kept.keep(tmp_path)
    found = Lines.read(tmp_path / "spark-day.json")
    assert found == kept
    again = replace(found.lines[0], peers={"DuckDB": PeerRun(1.0)})
    found.take(again)
    assert [one.world for one in found.lines] == ["TPC-H 1", "TPC-H 0.1"]
    text = (tmp_path / "spark-day.md").read_text()
    assert "| mixed 0.1 % | 100 | 20 | 2.00 | 3.00 | 1.5 |" in text
    assert "died: boom" in text
    assert Lines.read(tmp_path / "other.json").lines == []


def test_a_line_is_told_as_it_comes() -> None:
    assert "2.00 s  beside 3.00 s    1.5x" in carried.plain(line("TPC-H 1", "spark", FIRST, 2.0, 3.0))
    assert "q reads 1.50 of its sources" in carried.plain(line("TPC-H 1", "spark", FIRST, 2.0, 3.0))
    assert "died: boom" in carried.plain(line("TPC-H 1", "spark", FIRST, None, 3.0))
    assert "beside" not in carried.plain(line("TPC-H 1", "spark", IDLE, 2.0, None))


def test_growth_is_drawn_for_what_came_to_an_end() -> None:
    those = [line(f"TPC-H {scale}", "spark", "mixed 0.1 %", seconds, 3.0) for scale, seconds in ((0.1, 2.0), (1, None))]
    seconds = curves.points(those, lambda side: side.seconds or 0.0)
    assert seconds == {"Foreset, spark": [(0.1, 0.02)], "Spark": [(0.1, 0.03), (1.0, 0.03)]}
    assert curves.growth(those).count("<polyline") == 3  # bytes of Spark were not counted
    assert "not measured" in curves.growth([])


def test_the_command_measures_three_scales_in_spark() -> None:
    given = beside_spark.options([])
    assert [name for name, _ in beside_spark.makers(given, "spark")] == ["TPC-H 0.1", "TPC-H 1", "TPC-H 10"]
    both = beside_spark.options(["--engine", "both", "--world", "closures"])
    assert both.engine == ("spark", "auto")
    assert [name for name, _ in beside_spark.makers(both, "auto")] == ["random", "layered", "large"]


def test_a_line_through_measured_scales_is_carried_on() -> None:
    exact = on_paper.trend([(0.1, 3.0), (1.0, 12.0), (10.0, 102.0)])
    assert (exact.fixed, exact.each) == pytest.approx((2.0, 10.0))
    assert exact.at(1000) == pytest.approx(10_002)
    assert on_paper.trend([(1.0, 5.0), (10.0, 4.0)]).each == 0, "what shrinks is flat"
    assert on_paper.trend([(1.0, 1.0), (10.0, 20.0)]).fixed == 0
    lines = [line(f"TPC-H {scale}", "spark", "mixed 0.1 %", 2.0, 3.0) for scale in (1, 10)]
    (one,) = on_paper.carried([*lines, line("TPC-H 1", "spark", FIRST, 2.0, 3.0)])
    assert (one.change, one.alone.at(1000)) == ("mixed 0.1 %", 0.5)
    assert one.seconds[0] == pytest.approx(1 / (100 * 0.6) + 0.5)


def test_the_page_is_filled_from_a_report_and_from_nothing(tmp_path: Path) -> None:
    page = scale_page.PAGE.read_text()
    wanted = [line("TPC-H 1", "spark", "mixed 0.1 %", 2.0, 3.0), line("TPC-H 10", "spark", "mixed 0.1 %", None, 3.0)]
    told = scale_page.filled(page, scale_page.tables(Lines("spark-day", {"cores": 2}, wanted)))
    assert "| TPC-H 1 | spark | mixed 0.1 % | 100 | 2.00 s | 3.00 s | 1.5 |" in told
    assert "died: boom" in told
    assert "cores 2; all of it: `bench/results/spark-day.md`" in told
    assert scale_page.filled(told, scale_page.tables(Lines("spark-day", {"cores": 2}, wanted))) == told
    empty = scale_page.filled(told, scale_page.tables(Lines()))
    assert empty.count("Not measured yet.") == 3
    assert [text for text in empty.splitlines() if text.startswith("#")] == [
        text for text in page.splitlines() if text.startswith("#")
    ]


def test_make_bench_hands_over_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_spark, "main", lambda given: Lines(given[-1]))
    assert suite.main(["--engine", "spark", "--factor", "0.1"]) == Lines("0.1")
    assert suite.main(["--engine", "both"]) == Lines("both")


def test_a_world_without_its_data_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(factor: float, _: str) -> None:
        raise scales.Missing(f"no {factor:g}")

    monkeypatch.setattr(beside_spark, "tpch", missing)
    found = Lines()
    beside_spark.run(beside_spark.options(["--factor", "1,10", "--out", str(tmp_path)]), found)
    assert found.notes == ["TPC-H 1 was not run: no 1", "TPC-H 10 was not run: no 10"]


@pytest.mark.slow
def test_a_closure_is_measured_beside_its_recompute_and_wrong_results_have_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Foreset chooses, which starts no JVM: real processes, real refreshes, and one answer that is not expected."""
    world, right, asked = digraph(40, 60), Graph.expected, list[str]()

    def expected(graph: Graph, root: str) -> Fingerprints:
        asked.append(root)
        return {"closure": (1, "1")} if len(asked) == 3 else right(graph, root)

    monkeypatch.setattr(Graph, "expected", expected)
    both = beside_spark.Both(world, "auto", 120, ["insert 1", "delete 1"], tmp_path)
    try:
        first, one, wrong, idle = both.lines()
    finally:
        both.end()
    assert [line.change for line in (first, one, wrong, idle)] == [FIRST, "insert 1", "delete 1", IDLE]
    assert first.ratio is not None
    assert one.kept.cost.peak_mb > 50
    assert one.run is not None
    assert (one.run.status, one.came, one.kept.counts) == ("committed", 1, Counts())
    assert wrong.kept.died == "wrong result in closure"
    assert (wrong.ratio, idle.kept.died) == (None, "")
    assert "died: wrong result" in carried.plain(wrong)
