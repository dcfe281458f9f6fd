"""Nothing unbounded is brought to one place: where Spark's rows come here, go from here to all of its tasks, or are
gathered in one row, a list says how many there can be, and which function sees to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

# Place and call: a bound (a name in the code), and the function that holds to it, where that is another one.
LISTED: dict[tuple[str, str], tuple[str, str]] = {
    # ---- rows that come here
    ("backends.spark.aggregates:_collected", "collected"): ("LOOKED_AT", ""),
    ("backends.spark.backend:SparkBackend.circles", "collected"): ("MOST_EDGES", ""),
    ("backends.spark.backend:SparkBackend.impossible", "collected"): ("limit", ""),
    ("backends.spark.backend:SparkBackend.spread", "toArrow"): ("MOST_SPREAD", "plan.giving_up:check_spread"),
    ("backends.spark.cutting:Keeper.keep", "toArrow"): ("AT_HAND", ""),
    ("backends.spark.trace_failure:_culprit", "collected"): ("LOOKED_AT", ""),
    ("domains.builtin:SparkReader.answer", "collected"): ("max_rows", ""),
    ("quality.checker:_examples", "collected"): ("EXAMPLES", ""),
    ("refresh.denying:_found", "collected"): ("EXAMPLES", "refresh.quality:_deny"),
    ("refresh.key_check:in_spark", "collected"): ("SHOWN", ""),
    ("refresh.located:here", "toArrow"): ("MAX_ENTRIES", "refresh.constraining:_rows"),
    ("relations.far:SparkRows._taken", "toArrow"): ("most", ""),  # MOST_ROWS, or FEW_FAR_VALUES
    ("relations.frames:SparkPort.rows", "collected"): ("SHOWN", "refresh.recounting:_Recount._compared"),
    ("relations.frames:SparkPort.changes", "collected"): ("changes", "testing.replica:Replica"),  # small programs
    ("store.capture.by_key:Alone._stand_once", "first"): ("agg", ""),
    ("store.capture.by_key:Alone.told", "first"): ("agg", ""),
    ("store.capture.spark_log:SparkLog.names", "collect"): ("_delta_log", ""),  # names of a log's files, no rows
    ("store.capture.spark_log:SparkLog.read", "collect"): ("_delta_log", ""),
    ("store.capture.spark_log:_checkpoint_action", "first"): ("metaData", ""),  # one action
    ("store.counted:write_seeing", "first"): ("agg", ""),
    ("store.spark_values:collected", "collect"): ("collected", ""),  # its callers are listed
    # ---- rows that go to every task
    ("backends.spark.aggregates:_with_new", "broadcast"): ("small", ""),  # a row for each touched group
    ("backends.spark.aggregates:_with_old", "broadcast"): ("small", ""),
    ("backends.spark.backend:SparkBackend.circles", "from_arrow"): ("MOST_EDGES", ""),
    ("backends.spark.compile:SparkJoin._sent", "broadcast"): ("BROADCAST_BYTES", "backends.spark.frames:sent"),
    ("backends.spark.compile:SparkJoin.exclude", "broadcast"): ("sent", ""),
    ("backends.spark.cutting:_put_back", "createDataFrame"): ("createDataFrame", ""),
    ("backends.spark.frames:Frames.hinted", "broadcast"): ("BROADCAST_BYTES", "backends.spark.frames:sent"),
    ("backends.spark.frames:Frames.without", "broadcast"): ("sent", ""),  # no more than the rows looked for
    ("backends.spark.frames:Piece.hinted", "broadcast"): ("BROADCAST_ROWS", "backends.spark.frames:Piece.small"),
    ("backends.spark.frames:from_arrow", "createDataFrame"): ("from_arrow", ""),  # its callers are listed
    ("backends.spark.support_lookup:_linked", "broadcast"): ("few", ""),
    ("relations.far:SparkRows.meeting", "broadcast"): ("MOST_KEYS", ""),
    ("relations.far:SparkRows.meeting", "from_arrow"): ("MOST_KEYS", ""),
    ("relations.frames:_at_hand", "from_arrow"): ("AtHand", "testing.replica:Held"),  # its small programs alone
    ("relations.frames:_nothing", "createDataFrame"): ("createDataFrame", ""),  # no rows
    ("store.capture.by_key:Alone._stand_once", "broadcast"): ("FEW", ""),
    ("store.capture.feed:crossings", "broadcast"): ("FEW", "store.capture.stage:stage_net"),
    ("store.counters:read", "broadcast"): ("few", "relations.frames:_lookup"),
    ("store.signed:read", "broadcast"): ("BROADCAST_ROWS", ""),
    # ---- rows in one row: the members of a group whose accumulator holds them all, or needs them in order
    ("backends.spark.aggregates:_changes", "collect_list"): ("SET", ""),
    ("backends.spark.aggregates:_fold_changes", "collect_list"): ("fold", ""),
    ("backends.spark.gathering:_fold", "collect_list"): ("fold", ""),
    ("backends.spark.gathering:_of_doubles", "collect_list"): ("sort_array", ""),
    ("backends.spark.gathering:refold", "udf"): ("members", ""),
    ("backends.spark.gathering:whole", "collect_list"): ("LIST", ""),
}
NOT_SPARK = {  # calls that have a name of Spark's
    ("reports.airflow_state:of_run", "first"),
    ("session.embedded:embedded_session", "tail"),
    ("session.jvm:start_jvm", "tail"),
    ("session.launch:start_supervisor", "tail"),
    ("store.snapshots:Snapshot.polars", "from_arrow"),
    ("warehouse:Warehouse.gc", "collect"),
}

PACKAGE = Path(__file__).resolve().parents[2] / "plugins" / "foreset"
BRINGS = {"collect", "toPandas", "toArrow", "toLocalIterator", "first", "head", "tail", "isEmpty", "collected"}
SENDS = {"broadcast", "createDataFrame", "from_arrow"}
GATHERS = {"collect_list", "collect_set", "udf", "pandas_udf", "applyInPandas", "mapInPandas", "mapInArrow"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the package, or a class: what it calls, and every name and text in it."""

    calls: frozenset[str]
    names: frozenset[str]


@cache
def functions() -> dict[str, Function]:
    """All of them, as `module:Class.function`."""
    found: dict[str, Function] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = str(path.relative_to(PACKAGE).with_suffix("")).replace("/", ".")
        found |= _within(ast.parse(path.read_text(encoding="utf-8")), f"{module}:")
    return found


def _within(node: ast.AST, name: str) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            own = f"{name}{'' if name.endswith(':') else '.'}{child.name}"
            inner = _within(child, own) if isinstance(child, ast.ClassDef) else {}
            calls = frozenset() if inner else frozenset(_calls(child))
            found |= {own: Function(calls, frozenset(_names(child))), **inner}
    return found


def _calls(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            yield one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")


def _names(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Constant(value=str(text)):
                yield from re.split(r"\W+", text)


def bringing() -> set[tuple[str, str]]:
    """Every function that brings rows together, with the call by which it does."""
    found = {(name, call) for name, one in functions().items() for call in one.calls & (BRINGS | SENDS | GATHERS)}
    return found - NOT_SPARK


def test_every_place_that_brings_rows_together_is_listed() -> None:
    new = bringing() - set(LISTED)
    assert not new, f"say how many rows there can be, and where that is checked: {sorted(new)}"
    gone = set(LISTED) - bringing()
    assert not gone, f"these are there no longer: {sorted(gone)}"
    assert set(NOT_SPARK) <= {(name, call) for name, one in functions().items() for call in one.calls}


@pytest.mark.parametrize("place", LISTED, ids=lambda place: f"{place[0]}-{place[1]}")
def test_the_bound_stands_where_it_is_said_to_be_checked(place: tuple[str, str]) -> None:
    bound, elsewhere = LISTED[place]
    assert bound in functions()[elsewhere or place[0]].names
