"""The spec file, declared once: which keys there are, what they hold, and what they mean.

Read by `shapes.read` (faults with positions) and by schema.py (JSON Schema for
editors), so the two cannot disagree.
"""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from foreset.diagnostics import Diagnostic
from foreset.ir.domains import DEFAULT_MAX_ROWS, DEFAULT_SECONDS
from foreset.ir.program import DEFAULT_MAX_ROUNDS, ENGINES, STRATEGIES
from foreset.ir.types import TYPE_NAMES, parse_type
from foreset.spec import faults
from foreset.spec.expectation_schema import expectation_schema
from foreset.spec.schedule import schedule_fault
from foreset.spec.shapes import (
    NAME,
    Anything,
    Brief,
    Flag,
    Key,
    ListOf,
    MapOf,
    Record,
    Text,
    Whole,
    check_name,
    kind_of,
)
from foreset.spec.yaml_nodes import Items, Node, Scalar

_URI = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_USER = re.compile(r"://[^/@]*:[^/@]*@")
_VIEW = re.compile(r"[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}")
MOST_ROUNDS = 1_000_000


# ---------------------------------------------------------------- checks of single values
def _check_group(node: Scalar, _where: str) -> Diagnostic | None:
    return check_name(node, "group")


def _check_schedule(node: Scalar, _where: str) -> Diagnostic | None:
    reason = schedule_fault(node.value)
    return faults.bad_schedule(node.value, node.span, reason) if reason else None


def _check_timezone(node: Scalar, _where: str) -> Diagnostic | None:
    try:
        if node.value != "UTC":
            ZoneInfo(node.value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return faults.unknown_timezone(node.value, node.span, available_timezones())
    return None


def _check_type(node: Scalar, where: str) -> Diagnostic | None:
    if parse_type(node.value) is None:
        column = where.rpartition("column ")[2].strip("`")
        return faults.unknown_type(node.value, node.span, column, TYPE_NAMES)
    return None


def _check_table(node: Scalar, where: str) -> Diagnostic | None:
    text = node.value
    if not text.strip():
        return faults.nothing_there(node.span, where, "write a folder below the warehouse, or a URI")
    if not text.isprintable() or "`" in text:
        return faults.bad_table(text, node.span, "it is not a path", "write a folder below the warehouse, or a URI")
    if _USER.search(text):
        hint = "give credentials to Spark's configuration, never to a spec"
        return faults.bad_table("...", node.span, "it holds a password", hint)
    if not _URI.match(text) and text.startswith(("/", "~", "\\")):
        hint = "write a folder below the warehouse, or a URI as file:///data/edge"
        return faults.bad_table(text, node.span, "it is an absolute path", hint)
    if ".." in re.split(r"[/\\]", text):
        return faults.bad_table(text, node.span, "`..` leaves the warehouse", "write the path without `..`, or a URI")
    return None


def _check_provider(node: Scalar, _where: str) -> Diagnostic | None:
    return None if NAME.fullmatch(node.value) else faults.bad_name(node.value, node.span, "provider or connection")


def _check_view(node: Scalar, _where: str) -> Diagnostic | None:
    return None if _VIEW.fullmatch(node.value) else faults.bad_view_reference(node.value, node.span)


def _check_rules(node: Node, where: str) -> Diagnostic | None:
    if isinstance(node, Scalar) and not node.empty:
        return faults.folded_rules(node.span) if node.style == "folded" else None
    if isinstance(node, Items) and node.items:
        return None
    if isinstance(node, Items) or (isinstance(node, Scalar) and node.empty):
        return faults.nothing_there(node.span, where, "write at least one rule: a view holds what its rules derive")
    hint = "write one rule a line after `- `, or all in a `|` block"
    return faults.wrong_kind(node.span, where, "a list of rules or a `|` block", kind_of(node), hint)


def _check_rows(node: Node, where: str) -> Diagnostic | None:
    if isinstance(node, Items) or (isinstance(node, Scalar) and node.empty):
        return None
    return faults.wrong_kind(node.span, where, "a list of rows", kind_of(node), "write [[a, b], [c, d]]")


def _check_takes(node: Node, where: str) -> Diagnostic | None:
    kinds = node.items if isinstance(node, Items) else (node,)
    if isinstance(node, Items) and not node.items:
        return faults.nothing_there(node.span, where, "write a type, or a list of types")
    for kind in kinds:
        if not isinstance(kind, Scalar) or kind.empty:
            return faults.wrong_kind(kind.span, where, "a type or a list of types", kind_of(kind))
        if fault := _check_type(kind, where):
            return fault
    return None


# ---------------------------------------------------------------- the shapes
_ROWS = Anything(
    (("type", ["array", "null"]), ("items", {"type": "array", "description": "one value for each column"})),
    _check_rows,
)
_RULES = Anything(
    (("anyOf", [{"type": "array", "items": {"type": "string"}, "minItems": 1}, {"type": "string", "minLength": 1}]),),
    _check_rules,
)
_TYPE_PATTERN = (
    r"^\s*(boolean|bool|string|binary|tinyint|byte|smallint|short|int|integer|bigint|long|float|real|double|date|"
    r"timestamp|timestamp_ltz|timestamp_ntz|(decimal|dec|numeric)\s*(\(.*\))?|array\s*<.*>)\s*$"
)
COLUMN = Record(
    "column",
    (
        Key("type", Text(pattern=_TYPE_PATTERN, check=_check_type, examples=("string", "bigint", "decimal(10,2)")),
            "its Spark SQL type", "type: string"),
        Key("description", Text(nullable=True), "what a value of it means"),
    ),
    "A column: its type alone, or with what it means.",
)  # fmt: skip
COLUMNS = MapOf(Brief(COLUMN), "column", "write `name: type` for each column")
CHANGE = Record(
    "change",
    (
        Key("insert", _ROWS, "rows that come"),
        Key("delete", _ROWS, "rows that go"),
    ),
)
SOURCE = Record(
    "source",
    (
        Key("table", Text(pattern=r"\S", check=_check_table, examples=("sales/edge",)),
            "the Delta table: a folder below the warehouse, or a URI"),
        Key("view", Text(pattern=f"^{_VIEW.pattern}$", check=_check_view, examples=("reach.closure",)),
            "instead of a table: a view of another group, as its last refresh published it"),
        Key("columns", COLUMNS, "the columns that rules use, by name and Spark SQL type", "columns: {name: string}"),
        Key("key", ListOf(Text(), "a column"),
            "columns that identify a row: refreshes check new rows for it, and cost less"),
        Key("description", Text(nullable=True), "what a row of it means"),
    ),
    one_of=("table", "view"),
)  # fmt: skip
_OPTIONS = MapOf(Text(), "option")
FUNCTION = Record(
    "function",
    (
        Key("args", MapOf(COLUMNS.value, "column"), "the arguments, by name and type, in order"),
        Key("results", MapOf(COLUMNS.value, "column"),
            "the columns of an answer, by name and type; without them the answer is yes or no"),
        Key("options", _OPTIONS, "settings of the provider for this function"),
        Key("on_error", Text(choices=("stop", "keep")),
            "if the domain fails: stop the refresh, or keep the last answer, with a warning", default="stop"),
        Key("max_age", Whole(0, 31_622_400), "for how many seconds an earlier answer is used again", default=0),
        Key("seconds", Whole(1, 86_400), "how many seconds one batch of calls may take", default=int(DEFAULT_SECONDS)),
        Key("max_rows", Whole(1, 1_000_000_000), "how many rows one answer may have", default=DEFAULT_MAX_ROWS),
    ),
    any_of=("args", "results"),
)  # fmt: skip
DOMAIN = Record(
    "domain",
    (
        Key("provider", Text(pattern=f"^{NAME.pattern}$", check=_check_provider, examples=("files", "http")),
            "who answers: files, sqlite, spark, http, or a name that the deployment registers", "provider: files"),
        Key("connection", Text(pattern=f"^{NAME.pattern}$", check=_check_provider),
            "the name of an Airflow connection; a spec contains no address and no secret"),
        Key("options", _OPTIONS, "settings of the provider, such as `path`, `format`, `table`"),
        Key("functions", MapOf(FUNCTION, "function", "declare at least one function"),
            "the functions that rules can call", "functions: {name: {args: ..., results: ...}}"),
        Key("description", Text(nullable=True), "what it knows"),
    ),
)  # fmt: skip
VIEW = Record(
    "view",
    (
        Key("columns", COLUMNS, "the columns of the view, by name and Spark SQL type", "columns: {name: string}"),
        Key("rules", _RULES, "what is in the view: a list of rules, or a `|` block in which each rule ends with a dot",
            "rules: [...]"),
        Key("strategy", Text(choices=STRATEGIES), "how the view is kept up to date", default="auto"),
        Key("engine", Text(choices=ENGINES), "where the view is computed; default: as the group"),
        Key("evaluate", Text(choices=("at_refresh", "on_read")),
            "when domains are asked: at each refresh, or when the view is read", default="at_refresh"),
        Key("export", Flag(), "also write a plain Delta table, for tools that cannot read a view", default=False),
        Key("description", Text(nullable=True), "what a row of it means"),
        Key("expectations", ListOf(Anything(tuple(expectation_schema().items())), "an expectation"),
            "what rows must be like; checked before each refresh is published"),
    ),
)  # fmt: skip
TEST = Record(
    "test",
    (
        Key("name", Text(), "what the test shows", "name: what it shows"),
        Key("given", MapOf(_ROWS, "relation"), "the rows of the sources before the change"),
        Key("change", MapOf(CHANGE, "relation"), "what happens to the sources"),
        Key("expect", MapOf(CHANGE, "relation"), "the exact effects on views"),
        Key("state", MapOf(_ROWS, "relation"), "the exact contents of views after the change"),
    ),
    "A unit test of the views, run by `foreset test` without Spark.",
    any_of=("expect", "state"),
)
EXPRESSION = Text()
AGGREGATE = Record(
    "aggregate",
    (
        Key("takes", Anything((("type", ("string", "array")),), _check_takes),
            "the type of an element X; a list of types for tuples X1, X2, ...", "takes: bigint"),
        Key("state", Text(pattern=_TYPE_PATTERN, check=_check_type, examples=("bigint",)),
            "the type of A, the accumulator", "state: bigint"),
        Key("zero", EXPRESSION, "A without elements", "zero: 0"),
        Key("add", EXPRESSION, "A with one element more", "add: A + X"),
        Key("remove", EXPRESSION, "A with one element less: makes the aggregate invertible"),
        Key("merge", EXPRESSION, "A and B, each of a part of the elements, as one"),
        Key("finish", EXPRESSION, "the result; default: A itself"),
    ),
    "An aggregate that is defined element by element.",
)  # fmt: skip
SPEC = Record(
    "",
    (
        Key("group", Text(pattern=r"^[a-z][a-z0-9_]{0,62}$", check=_check_group),
            "the name of the group: one file, one DAG `foreset_<group>`", "group: name"),
        Key("description", Text(nullable=True), "what the views are for"),
        Key("owner", Text(nullable=True), "who answers for them"),
        Key("schedule", Text(check=_check_schedule, nullable=True, examples=("0 2 * * *", "@daily")),
            "when to refresh: cron with five fields, or a preset; null: only by hand or by assets"),
        Key("timezone", Text(check=_check_timezone, examples=("Europe/Berlin",)),
            "the time zone of the schedule", default="UTC"),
        Key("tags", ListOf(Text(), "a tag"), "tags of the DAG"),
        Key("engine", Text(choices=ENGINES),
            "where the views are computed: in Spark, in process by DuckDB, or as it pays", default="auto"),
        Key("max_rounds", Whole(1, MOST_ROUNDS), "after how many rounds a recursion stops with an error",
            default=DEFAULT_MAX_ROUNDS),
        Key("sources", MapOf(SOURCE, "source"), "the relations that the rules read"),
        Key("domains", MapOf(DOMAIN, "domain"), "outside sources that rules can ask: `in(X, domain:function(args))`"),
        Key("views", MapOf(VIEW, "view", "write at least one view"), "the relations that Foreset keeps",
            "views: {name: {columns: ..., rules: ...}}"),
        Key("aggregates", MapOf(Anything((("type", ("string", "object")),)), "aggregate"),
            "own aggregates: an expression over others, such as `sum(S) / count(S)`, or element by element"),
        Key("tests", ListOf(TEST, "a test"), "unit tests of the views"),
    ),
    "A group of Datalog views over Delta tables.",
)  # fmt: skip
