"""Whole specs with mutated rules: well-formed YAML, so that analysis, rewriting and planning are reached.

The seeds are all specs that stand anywhere here: documentation, cases, examples. A mutation works on tokens of a rule,
on its tree (literals, arguments, braces), or on what stands around the rules (types, options, own aggregates).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml
from tests.cases_runner import CASES, parse_blocks

from foreset.spec.load import load_text
from foreset.understand import understand

ROOT = Path(__file__).resolve().parents[2]
Spec = dict[str, Any]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\d+(?:\.\d+)?|\w+|:-|[<>!=]=|[^\w\s]|\s+')
_WORDS = (
    "not", "in", "setof", "count", "sum", "avg", "min", "max", "collect", "median", "percentile", "arg_max",
    "string_agg", "X", "Y", "N", "_", "_x", "S", "0", "1", "-1", "2.50", "1e3", '"a"', "true", "null",
    'date("2026-01-01")', "^", "|", "{", "}", "(", ")", ",", "&", "=", "!=", "<", ">=", "+", "*", "/", "%", "-",
    ":-", ".", ":", "is_null", "length",
)  # fmt: skip
_TYPES = (
    "int", "bigint", "string", "double", "decimal(10,2)", "boolean", "date", "timestamp", "array<string>",
    "tinyint",
)  # fmt: skip
_EXPRESSIONS = (
    "{} + 1", "-{}", "{} * {}", "{} / 2", "{} % 3", "length({})", "concat({}, {})", "abs({})", "string({})",
    "int({})", "least({}, {})", "coalesce({}, 0)", "decimal({}, 10, 2)", "is_null({})", "upper({})", "year({})",
    "{}", "_", "1", '"a"',
)  # fmt: skip
_AGGREGATES = (
    "count{{{v} | {b}}}", "sum{{{v}, {w} | {b}}}", "max{{{v} | {b}}}", "collect{{{v} | {b}}}",
    "arg_max{{{v}, {w} | {b}}}", "percentile(0.5){{{v} | {b}}}", "string_agg{{{v} | {b}}}", "bool_or{{{v} | {b}}}",
    "stddev{{{v}, {w} | {b}}}",
)  # fmt: skip
_OWN_FORMS = ("N9 = own{{{v} | {b}}}", "setof(({v}, {w}), {b}, S9), own(S9, N9)", "N9 = own(1, 2){{{v}, {w} | {b}}}")
_FORMS = (
    "setof({v}, {b}, S9), count(S9, {w})", "setof(({v}, {w}), {b}, S9), max(S9, M9, 2)", "setof({v}, {w}^{b}, S9)",
    "not ({v} >= 1, {w} < 3)", "{v} = {w}", "{v} != {w}", "{w} = {v} + 1", "{v} < 5", "is_null({v})",
    "not is_null({v})", 'contains({v}, "x")', '{v} = "a"', "N9 = {v} * {w}",
)  # fmt: skip


# ---------------------------------------------------------------- seeds
@cache
def seeds() -> tuple[Spec, ...]:
    """Every spec of the repository that is a mapping with views."""
    found = [_mapping(text) for text in _texts()]
    return tuple(spec for spec in found if spec is not None)


@cache
def sound_seeds() -> tuple[Spec, ...]:
    """Those that nothing refuses: one mutation leads deeper from there."""
    return tuple(spec for spec in seeds() if not understand(load_text(_text(spec))).errors)


def _text(spec: Spec) -> str:
    return yaml.safe_dump(spec, sort_keys=False, width=10_000, allow_unicode=True)


def _texts() -> Iterator[str]:
    for path in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        yield from re.findall(r"```yaml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    for path in (*sorted(ROOT.glob("view_specs/*.yaml")), *sorted(ROOT.glob("examples/*/view_specs/*.yaml"))):
        yield path.read_text(encoding="utf-8")
    for path in sorted(CASES.rglob("*.case")):
        for block in parse_blocks(path.read_text(encoding="utf-8")):
            yield from re.split(r"^--- file: .*\n", block.input, flags=re.MULTILINE)


def _mapping(text: str) -> Spec | None:
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
    views = found.get("views") if isinstance(found, dict) else None
    sound = isinstance(views, dict) and all(isinstance(view, dict) and _listed(view) for view in views.values())
    if not sound or not views:
        return None
    found.pop("nights", None)
    for view in views.values():
        view["rules"] = _listed(view)
    return found


def _listed(view: Spec) -> list[str] | None:
    rules = view.get("rules")
    if isinstance(rules, str):
        rules = [part.strip() for part in re.split(r"\.\s*(?:%[^\n]*)?\n", f"{rules}\n") if part.strip()]
    return [str(rule) for rule in rules] if isinstance(rules, list) and rules else None


# ---------------------------------------------------------------- texts of rules
@dataclass(frozen=True, slots=True)
class Pool:
    """What the seeds are made of, to put elsewhere."""

    rules: tuple[str, ...]
    literals: tuple[str, ...]
    words: tuple[str, ...]


@cache
def pool() -> Pool:
    """Of all seeds."""
    rules = tuple(rule for spec in seeds() for view in spec["views"].values() for rule in view["rules"])
    literals = tuple(literal for rule in rules for literal in literals_of(rule)[1])
    words = tuple(word for rule in rules for word in _TOKEN.findall(rule) if word.strip())
    return Pool(rules, literals, (*words, *_WORDS))


def split_top(text: str, separator: str = ",") -> list[str]:
    """Cut at separators outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if char == separator and depth <= 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def literals_of(rule: str) -> tuple[str, list[str]]:
    """The head, and the literals of the body."""
    head, _, body = rule.partition(":-")
    return head.strip(), [part for part in split_top(body) if part]


def _rule(head: str, literals: Sequence[str]) -> str:
    return f"{head} :- {', '.join(literals)}" if literals else head


def _variables(text: str) -> list[str]:
    return sorted(set(re.findall(r"\b[A-Z]\w*", text))) or ["X"]


# ---------------------------------------------------------------- mutations of a rule
def by_token(rule: str, rng: Random) -> str:
    """A token goes, doubles, changes its place, or is another."""
    words = _TOKEN.findall(rule)
    at = rng.randrange(len(words))
    other = rng.choice(
        ([], [words[at]] * 2, [rng.choice(words)], [rng.choice(pool().words)], [words[at], rng.choice(_WORDS)])
    )
    changed = [*words[:at], *other, *words[at + 1 :]]
    if rng.random() < 0.2 and len(changed) > 1:
        a, b = rng.sample(range(len(changed)), 2)
        changed[a], changed[b] = changed[b], changed[a]
    return "".join(changed)


def by_variable(rule: str, rng: Random) -> str:
    """One occurrence of a variable is another variable, an expression or an aggregate."""
    places = [found.span() for found in re.finditer(r"\b[A-Z]\w*", rule)]
    if not places:
        return rule
    start, end = rng.choice(places)
    names = _variables(rule)
    _, literals = literals_of(rule)
    if rng.random() < 0.3 and literals:
        made = rng.choice(_AGGREGATES).format(v=rng.choice(names), w=rng.choice(names), b=rng.choice(literals))
    elif rng.random() < 0.5:
        made = rng.choice(_EXPRESSIONS).replace("{}", rng.choice(names))
    else:
        made = rng.choice((*names, "Z9"))
    return rule[:start] + made + rule[end:]


def by_literal(rule: str, rng: Random) -> str:
    """A literal goes, doubles, is negated, put into braces, or comes from elsewhere."""
    head, literals = literals_of(rule)
    if not literals:
        return _rule(head, [rng.choice(pool().literals)])
    at = rng.randrange(len(literals))
    one, names = literals[at], _variables(rule)
    v, w = rng.choice(names), rng.choice(names)
    ways: tuple[Callable[[], list[str]], ...] = (
        list,
        lambda: [one, one],
        lambda: [f"not {one}"],
        lambda: [one.removeprefix("not ")],
        lambda: [f"N9 = {rng.choice(_AGGREGATES).format(v=v, w=w, b=one)}"],
        lambda: [one, f"{v} = {rng.choice(_AGGREGATES).format(v=w, w=v, b=rng.choice(literals))}"],
        lambda: [f"setof({v}, {one}, S9)", "count(S9, N9)"],
        lambda: [one, rng.choice(_FORMS).format(v=v, w=w, b=rng.choice(literals))],
        lambda: [one, rng.choice(pool().literals)],
        lambda: [rng.choice(pool().literals)],
        lambda: [_more_in_braces(one, rng.choice(literals))],
    )
    return _rule(head, [*literals[:at], *rng.choice(ways)(), *literals[at + 1 :]])


def _more_in_braces(literal: str, more: str) -> str:
    return literal.replace("}", f", {more}}}", 1) if "}" in literal else f"{literal}, {more}"


def by_head(rule: str, rng: Random) -> str:
    """An argument of the head goes, comes, is named, or is an expression."""
    head, literals = literals_of(rule)
    name, _, inside = head.partition("(")
    args = split_top(inside.rstrip(" )"))
    at = rng.randrange(len(args))
    names = _variables(rule)
    changed = rng.choice(
        (
            [*args[:at], *args[at + 1 :]],
            [*args, rng.choice(names)],
            [*args[:at], rng.choice(_EXPRESSIONS).replace("{}", rng.choice(names)), *args[at + 1 :]],
            [*args[:at], f"x={args[at]}", *args[at + 1 :]],
        )
    )
    return _rule(f"{name}({', '.join(changed)})", literals)


RULE_MUTATIONS: tuple[Callable[[str, Random], str], ...] = (
    by_token,
    by_variable,
    by_variable,
    by_literal,
    by_literal,
    by_literal,
    by_head,
)


# ---------------------------------------------------------------- mutations around rules
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
        columns[name] = rng.choice(_TYPES)
    elif rng.random() < 0.5:
        columns["extra"] = rng.choice(_TYPES)
    elif len(columns) > 1:
        del columns[name]


def _has_columns(relation: object) -> bool:
    return isinstance(relation, dict) and isinstance(relation.get("columns"), dict) and bool(relation["columns"])


def in_options(spec: Spec, rng: Random) -> None:
    """Strategies, keys, evaluation and expectations."""
    name, view = _some_view(spec, rng)
    body = rng.choice(pool().literals)
    match rng.randrange(5):
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
            {"takes": rng.choice(_TYPES), "state": rng.choice(_TYPES), "zero": 0, "add": "A + X", "remove": "A - X"},
        )
    )
    for part, term in list(made["own"].items()) if isinstance(made["own"], dict) else ():
        if rng.random() < 0.2:
            made["own"][part] = by_token(str(term), rng)
    _, view = _some_view(spec, rng)
    at = rng.randrange(len(view["rules"]))
    head, literals = literals_of(view["rules"][at])
    names = _variables(view["rules"][at])
    if literals:
        form = rng.choice(
            ("N9 = own{{{v} | {b}}}", "setof(({v}, {w}), {b}, S9), own(S9, N9)", "N9 = own(1, 2){{{v}, {w} | {b}}}")
        )
        literals.append(form.format(v=rng.choice(names), w=rng.choice(names), b=rng.choice(literals)))
        view["rules"][at] = _rule(head, literals)


MUTATIONS: tuple[Callable[[Spec, Random], None], ...] = (*(in_rule,) * 8, in_columns, in_options, in_aggregates)


def mutated(seed: int) -> str:
    """The spec of a seed, as text."""
    rng = Random(seed)
    spec = yaml.safe_load(_text(rng.choice(sound_seeds() if rng.random() < 0.8 else seeds())))
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
        rng.choice(MUTATIONS)(spec, rng)
    return _text(spec)
