"""Aggregates with parameters and those that a spec defines: drawn at random, and as SQL.

Names are like those of built-in accumulators on purpose, and one aggregate is called twice with other parameters: what
tells accumulators apart must be all that they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from foreset.ir.aggregates import Definition
from foreset.ir.terms import Call, Const, Term, Var
from foreset.spec.load import load_text

PARAMETERS = {"percentile": ("0.25", "0.50", "0.75", "0.90"), "string_agg": ('"-"', '"+"', '","')}
PAIRS = ("arg_min", "arg_max")
INEXACT = ("avg", "stddev", "median", "percentile")  # other steps, other last digits
_SPEC = "group: g\nsources: {s: {table: a/s, columns: {x: int}}}\naggregates:\n%s\nviews: {v: {columns: {x: int}, rules: [v(X) :- s(X)]}}\n"  # noqa: E501
_FOLDS = {  # what each adds, what it takes away, and what DuckDB calls it
    "total": ("int", "A + X * X", "A - X * X", "coalesce(sum(CAST({0} AS HUGEINT) * {0}), 0)"),
    "total_1": ("int", "A + 2 * X", "A - 2 * X", "coalesce(sum(2 * CAST({0} AS HUGEINT)), 0)"),
    "filled": ("int", "A + 1", "A - 1", "count({0})"),
    "weigh": ("[int, int]", "A + X1 * X2", "A - X1 * X2", "coalesce(sum(CAST({0} AS HUGEINT) * {1}), 0)"),
}


def definitions(rng: Random) -> tuple[Definition, ...]:
    """Some aggregates of a spec: element by element, and composed of others."""
    lines = []
    for name, (takes, add, remove, _) in _FOLDS.items():
        back = f", remove: {remove}" if rng.random() < 0.6 else ""
        lines.append(f"  {name}: {{takes: {takes}, state: bigint, zero: 0, add: {add}{back}}}")
    first, second = (rng.sample(PARAMETERS[name], 2) for name in ("percentile", "string_agg"))
    parts = {
        "apart": f"percentile(S, {first[0]}) - percentile(S, {first[1]})",
        "both": f"concat(string_agg(S, {second[0]}), string_agg(S, {second[1]}))",
        "mix": f"{rng.choice(('total', 'total_1', 'filled'))}(S) - {rng.choice(('sum(S)', 'count(S)', 'total(S)'))}",
        "average": "sum(S) / count(S)",
        "spread": "max(S) - min(S)",
        "above": f"percentile(S, {first[0]}) - {rng.choice(('median(S)', 'average(S)', 'percentile(S, 0.5)'))}",
        "beside": f"weigh(S) + {rng.choice(('total', 'sum', 'max', 'filled'))}(S, 2)",
    }
    chosen = {"average", *rng.sample(sorted(parts), 4)}
    lines += [f"  {name}: {text}" for name, text in parts.items() if name in chosen]
    loaded = load_text(_SPEC % "\n".join(lines))
    assert loaded.program is not None, [fault.message for fault in loaded.report]
    return loaded.program.aggregates


def places_asked(rng: Random, name: str, width: int, known: Mapping[str, Definition]) -> tuple[int, ...]:
    """Components of an element of `width` values by which to ask an aggregate; none for the first ones."""
    if name in PAIRS or name == "count" or width == 1 or (name in known and rng.random() < 0.4):
        return ()
    fold = known[name].fold if name in known else None
    wanted = len(fold.takes) if fold else 2 if name == "beside" else 1
    return tuple(rng.randint(1, width) for _ in range(wanted))


def is_inexact(name: str, known: Mapping[str, Definition]) -> bool:
    """Whether DuckDB may come to other last digits."""
    composed = known[name].composed if name in known else None
    return name in INEXACT or (composed is not None and any(
        call == "/" or is_inexact(call, known) for call in _functions(composed)
    ))  # fmt: skip


def in_sql(name: str, args: Sequence[Term], elements: Sequence[str], known: Mapping[str, Definition]) -> str:
    """An aggregate of a spec over these columns."""
    asked = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)]
    seen = [elements[place - 1] for place in asked] or list(elements)
    definition = known[name]
    if definition.fold is not None:
        taken = seen[: len(definition.fold.takes)]
        there = " AND ".join(f"{each} IS NOT NULL" for each in taken)
        return f"({_FOLDS[name][3].format(*(f'CASE WHEN {there} THEN {each} END' for each in taken))})"
    assert definition.composed is not None
    return _composed(definition.composed, seen, known)


def built_in(name: str, args: Sequence[Term], elements: Sequence[str]) -> str:
    """A built-in aggregate over these columns."""
    places = [a.value - 1 for a in args if isinstance(a, Const) and isinstance(a.value, int)]
    parameter = next((a.value for a in args if isinstance(a, Const) and not isinstance(a.value, int)), None)
    x = elements[(places or [0])[0]]
    y = elements[(places or [0, 1])[1]] if name in PAIRS else ""
    separator = "," if parameter is None else str(parameter)
    texts = {
        "count": "count(*)", "sum": f"sum({x})", "avg": f"avg({x})", "min": f"min({x})", "max": f"max({x})",
        "stddev": f"stddev_samp({x})", "bool_and": f"bool_and({x})", "bool_or": f"bool_or({x})",
        "arg_min": f"(list({x} ORDER BY {y}, {x}) FILTER ({x} IS NOT NULL AND {y} IS NOT NULL))[1]",
        "arg_max": f"(list({x} ORDER BY {y} DESC, {x} DESC) FILTER ({x} IS NOT NULL AND {y} IS NOT NULL))[1]",
        "string_agg": f"string_agg({x}, '{separator}' ORDER BY {x})", "collect": f"list({x} ORDER BY {x} NULLS FIRST)",
        "median": f"quantile_cont(CAST({x} AS DOUBLE), 0.5)",
        "percentile": f"quantile_cont(CAST({x} AS DOUBLE), {parameter})",
    }  # fmt: skip
    return texts[name]


def _composed(term: Term, seen: Sequence[str], known: Mapping[str, Definition]) -> str:
    match term:
        case Call(function=name, args=(Var(name="S"), *rest)):
            return in_sql(name, rest, seen, known) if name in known else built_in(name, rest, seen)
        case Call(function="concat", args=parts):
            return f"({' || '.join(_composed(part, seen, known) for part in parts)})"
        case Call(function="/", args=(left, right)):
            return f"(CAST({_composed(left, seen, known)} AS DOUBLE) / {_composed(right, seen, known)})"
        case Call(function="+" | "-" as op, args=(left, right)):
            return f"({_composed(left, seen, known)} {op} {_composed(right, seen, known)})"
        case _:
            raise AssertionError(f"{term} is not drawn")


def _functions(term: Term) -> list[str]:
    if not isinstance(term, Call):
        return []
    return [term.function, *(name for arg in term.args for name in _functions(arg))]
