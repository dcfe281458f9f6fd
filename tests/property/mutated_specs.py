"""Whole specs with mutated rules: well-formed YAML, so that analysis, rewriting and planning are reached.

A mutation works on a rule (mutated_rules.py), or on what stands around the rules: types, options, own aggregates,
domains, views that are kept by constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import yaml
from tests.property.mutated_rules import (
    RULE_MUTATIONS,
    TYPES,
    Spec,
    by_token,
    literals_of,
    more_in_braces,
    pool,
    rule_of,
    seeds,
    sound_seeds,
    text_of,
    variables_in,
)

_OWN_FORMS = ("N9 = own{{{v} | {b}}}", "setof(({v}, {w}), {b}, S9), own(S9, N9)", "N9 = own(1, 2){{{v}, {w} | {b}}}")


def _some_view(spec: Spec, rng: Random) -> tuple[str, Spec]:
    name = rng.choice(sorted(spec["views"]))
    return name, spec["views"][name]


def in_rule(spec: Spec, rng: Random) -> None:
    """One rule of one view."""
    _, view = _some_view(spec, rng)
    at = rng.randrange(len(view["rules"]))
    view["rules"][at] = rng.choice(RULE_MUTATIONS)(view["rules"][at], rng)


def in_columns(spec: Spec, rng: Random) -> None:
    """Another type of a column, or one column more or less."""
    relations = [one for one in (*spec["views"].values(), *(spec.get("sources") or {}).values()) if _has_columns(one)]
    if not relations:
        return
    columns = rng.choice(relations)["columns"]
    name = rng.choice(list(columns))
    if rng.random() < 0.8:
        columns[name] = rng.choice(TYPES)
    elif rng.random() < 0.5:
        columns["extra"] = rng.choice(TYPES)
    elif len(columns) > 1:
        del columns[name]


def _has_columns(relation: object) -> bool:
    return isinstance(relation, dict) and isinstance(relation.get("columns"), dict) and bool(relation["columns"])


def in_options(spec: Spec, rng: Random) -> None:
    """Strategies, engines, keys, evaluation and expectations."""
    name, view = _some_view(spec, rng)
    body = rng.choice(pool().literals)
    match rng.randrange(6):
        case 0:
            view["strategy"] = rng.choice(
                (
                    "auto",
                    "insert",
                    "counting",
                    "dred",
                    "dredf",
                    "dredc",
                    "spread",
                    "stdel",
                    "stdel-acyclic",
                    "recompute",
                    "strict",
                )
            )
        case 1:
            view["evaluate"] = rng.choice(("at_refresh", "on_read"))
        case 2:
            view["expectations"] = [{"deny": f"{name}({', '.join('XYZUVW'[: len(view['columns'])])}), {body}"}]
        case 3:
            for source in (spec.get("sources") or {}).values():
                if _has_columns(source):
                    source["key"] = rng.sample(sorted(source["columns"]), 1)
        case 4:
            rng.choice((spec, view))["engine"] = rng.choice(("auto", "spark", "duckdb", "sparc"))
        case _:
            view["rules"].append(rng.choice(pool().rules))


def in_aggregates(spec: Spec, rng: Random) -> None:
    """Own aggregates, composed and element by element, and their use."""
    made = spec.setdefault("aggregates", {})
    if not isinstance(made, dict):
        return
    made["own"] = rng.choice(
        (
            "sum(S) / count(S)",
            "max(S) - min(S)",
            "percentile(S, 0.9) - median(S)",
            "own(S) + 1",
            "count(S)",
            "avg(S, 2)",
            {"takes": "int", "state": "bigint", "zero": 0, "add": "A + X", "remove": "A - X", "merge": "A + B"},
            {"takes": ["int", "int"], "state": "bigint", "zero": 0, "add": "A + X1 * X2", "finish": "A * 2"},
            {"takes": rng.choice(TYPES), "state": rng.choice(TYPES), "zero": 0, "add": "A + X", "remove": "A - X"},
        )
    )
    for part, term in list(made["own"].items()) if isinstance(made["own"], dict) else ():
        if rng.random() < 0.2:
            made["own"][part] = by_token(str(term), rng)
    _, view = _some_view(spec, rng)
    at = rng.randrange(len(view["rules"]))
    head, literals = literals_of(view["rules"][at])
    names = variables_in(view["rules"][at])
    if literals:
        form = rng.choice(
            ("N9 = own{{{v} | {b}}}", "setof(({v}, {w}), {b}, S9), own(S9, N9)", "N9 = own(1, 2){{{v}, {w} | {b}}}")
        )
        literals.append(form.format(v=rng.choice(names), w=rng.choice(names), b=rng.choice(literals)))
        view["rules"][at] = rule_of(head, literals)


def in_regions(spec: Spec, rng: Random) -> None:
    """A view that is kept by constraints, and who reads it: beside relations, under `not`, in braces."""
    body = rng.choice(pool().literals)
    spec["views"]["region"] = rng.choice(
        (
            {"columns": {"x": "int"}, "rules": ["region(X) :- X >= 3"]},
            {"columns": {"x": "int", "y": "string"}, "rules": ['region(X, Y) :- X >= 3, X <= 9, Y != "a"']},
            {
                "columns": {"x": "int"},
                "evaluate": "at_refresh",
                "rules": [f"region(X) :- {body}"],
            },
        )
    )
    _with_literal(
        spec, rng, ("region({v})", "not region({v})", "region({v}, {w})", "region(x={v} + 1)", "region(_, {v})")
    )


def in_domains(spec: Spec, rng: Random) -> None:
    """A domain, and who asks it, of what."""
    functions = {
        "f": {"args": {"a": rng.choice(TYPES)}, "results": {"b": rng.choice(TYPES), "c": "string"}},
        "ok": {"args": {"a": "string", "b": "int"}},
        "all": {"results": {"x": "int"}},
    }
    options = {"path": "outside/a.csv", "format": "csv"}
    spec.setdefault("domains", {})["asked"] = {"provider": "files", "options": options, "functions": functions}
    _with_literal(
        spec,
        rng,
        (
            "in((N9, _), asked:f({v}))",
            "in(c={v}, asked:f({w}))",
            "not in(asked:ok({v}, {w}))",
            "in({v}, asked:all())",
            "in((N9, {v}), asked:f({w} + 1))",
            "in((_, M9), asked:f(count{{{v} | {b}}}))",
        ),
    )


def _with_literal(spec: Spec, rng: Random, forms: Sequence[str]) -> None:
    """One rule with one of these literals more, in its body or in its braces."""
    name, view = _some_view(spec, rng)
    at = rng.randrange(len(view["rules"]))
    head, literals = literals_of(view["rules"][at])
    names = variables_in(view["rules"][at])
    body = rng.choice(literals) if literals else f"{name}(_)"
    made = rng.choice(forms).format(v=rng.choice(names), w=rng.choice(names), b=body)
    if literals and rng.random() < 0.4:
        place = rng.randrange(len(literals))
        literals[place] = more_in_braces(literals[place], made)
    else:
        literals.append(made)
    view["rules"][at] = rule_of(head, literals)


MUTATIONS: tuple[Callable[[Spec, Random], None], ...] = (
    *(in_rule,) * 9,
    in_columns,
    in_options,
    in_aggregates,
    in_regions,
    in_domains,
)


def mutated(seed: int) -> str:
    """The spec of a seed, as text."""
    rng = Random(seed)
    spec = yaml.safe_load(text_of(rng.choice(sound_seeds() if rng.random() < 0.8 else seeds())))
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
        rng.choice(MUTATIONS)(spec, rng)
    return text_of(spec)
