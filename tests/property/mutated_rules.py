"""Mutations of rules, by tokens and by literals, and the specs to begin with.

The seeds are all specs that stand anywhere here: documentation, cases, examples. A mutation works on tokens of a rule
or on its tree: literals, arguments, braces.
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
TYPES = (
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
    return tuple(spec for spec in seeds() if not understand(load_text(text_of(spec))).errors)


def text_of(spec: Spec) -> str:
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


def rule_of(head: str, literals: Sequence[str]) -> str:
    return f"{head} :- {', '.join(literals)}" if literals else head


def variables_in(text: str) -> list[str]:
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
    names = variables_in(rule)
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
        return rule_of(head, [rng.choice(pool().literals)])
    at = rng.randrange(len(literals))
    one, names = literals[at], variables_in(rule)
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
        lambda: [more_in_braces(one, rng.choice(literals))],
    )
    return rule_of(head, [*literals[:at], *rng.choice(ways)(), *literals[at + 1 :]])


def more_in_braces(literal: str, more: str) -> str:
    return literal.replace("}", f", {more}}}", 1) if "}" in literal else f"{literal}, {more}"


def by_head(rule: str, rng: Random) -> str:
    """An argument of the head goes, comes, is named, or is an expression."""
    head, literals = literals_of(rule)
    name, _, inside = head.partition("(")
    args = split_top(inside.rstrip(" )"))
    at = rng.randrange(len(args))
    names = variables_in(rule)
    changed = rng.choice(
        (
            [*args[:at], *args[at + 1 :]],
            [*args, rng.choice(names)],
            [*args[:at], rng.choice(_EXPRESSIONS).replace("{}", rng.choice(names)), *args[at + 1 :]],
            [*args[:at], f"x={args[at]}", *args[at + 1 :]],
        )
    )
    return rule_of(f"{name}({', '.join(changed)})", literals)


RULE_MUTATIONS: tuple[Callable[[str, Random], str], ...] = (
    by_token,
    by_variable,
    by_variable,
    by_literal,
    by_literal,
    by_literal,
    by_head,
)
