"""Words of SQL in rules, and what rules say in their place."""

from __future__ import annotations

from foreset.ir.aggregates import BUILTINS

_TABLE = "write a table as a literal of the body, `t(X, Y)`; the same variable in two literals joins them"
_CONDITION = "put a comma here, and the condition as a literal: `t(X, Y), X > 3`"
CLAUSES = {
    "select": "a rule is `view(X, Y) :- t(X, Y, _), X > 3`: the columns in the head, tables and conditions after `:-`",
    "from": _TABLE,
    "join": _TABLE,
    "inner": _TABLE,
    "left": "write two rules: one that joins, and one with `not t(X, _)`",
    "outer": "write two rules: one that joins, and one with `not t(X, _)`",
    "cross": _TABLE,
    "on": _CONDITION,
    "where": _CONDITION,
    "having": "compare the aggregate: `count{X | t(K, X)} > 2`",
    "group": "variables that the head also has make the groups: `v(K, N) :- N = count{X | t(K, X)}`",
    "order": "rows of a view have no order",
    "limit": "a view has all rows that its rules derive; there is no limit",
    "distinct": "a view has each row only once already",
    "union": "write one rule for each part; the view has the rows of all its rules",
    "as": "use a variable: `t(X, Y)`, or `N = X + 1`",
    "case": "write one rule for each case",
    "when": "write one rule for each case",
    "exists": "write the literal itself, `t(X, _)`; or `not t(X, _)`",
    "over": "count the rows that come before: `count{J | t(J, B), B < A}`",
    "values": 'write one fact for each row: `v(1, "a")`',
}  # fmt: skip
FUNCTIONS = {
    **dict.fromkeys(("array_sort", "sort_array"), "the value of a set is a sorted array already"),
    **dict.fromkeys(("size", "cardinality", "array_size"), "write `setof(X, p(X), S), count(S, N)`"),
    **dict.fromkeys(("nvl", "ifnull"), "write `coalesce(X, Y)`"),
    **dict.fromkeys(("if", "iff", "case", "decode"), "write one rule for each case"),
    "isnull": "write `is_null(X)`",
    "isnotnull": "write `not is_null(X)`",
    "array_contains": "do not make the set first: join with the relation that its elements come from",
    "cast": "write a cast with the name of the type: `bigint(X)`, `decimal(X, 10, 2)`",
    "now": "rules have no clock: read the time from a source or a domain",
    "current_date": "rules have no clock: read the time from a source or a domain",
    "row_number": "count the rows that come before: `count{J | t(J, B), B < A}`",
    "rank": "count the rows that come before: `count{J | t(J, B), B < A}`",
}  # fmt: skip


def clause(word: str) -> str:
    """What to write in place of a word that begins a clause of SQL; empty for other words."""
    return CLAUSES.get(word.lower(), "") if word.isupper() or word.islower() else ""


def aggregate_hint(name: str, element: str = "X", literal: str = "") -> str:
    """How an aggregate is written that was called as a function; empty for what is none."""
    name = name.lower()
    if name not in BUILTINS:
        return ""
    pattern = "Value, Key" if BUILTINS[name].components == 2 else element
    wanted = BUILTINS[name].parameter
    parameter = "(0.9)" if wanted is not None and wanted.default is None else ""
    return f"an aggregate is made of a set: write `{name}{parameter}{{{pattern} | {literal or f'p({element})'}}}`"
