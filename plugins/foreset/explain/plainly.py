"""What is said of strata, with words for the relations that rewrite made: they are not in the spec."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from foreset.explain.strata import StratumFacts, ViewFacts
from foreset.ir.hidden import in_words
from foreset.ir.program import Program, is_hidden


def for_people(strata: Sequence[StratumFacts], program: Program) -> tuple[StratumFacts, ...]:
    """The same facts; rules of the spec stand as they were written, and those of hidden relations not at all."""
    written = {rule.name: " ".join(rule.text.split()) for view in program.views for rule in view.rules if rule.text}
    names = _names([view.name for stratum in strata for view in stratum.views])
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)")

    def told(text: str) -> str:
        return pattern.sub(lambda found: names[found[0]], text)

    def view(found: ViewFacts) -> ViewFacts:
        rules = {} if is_hidden(found.name) else _rules(found, written)
        return replace(found, rules=rules)

    plain = (replace(stratum, views=tuple(map(view, stratum.views))) for stratum in strata)
    return tuple(_mapped(stratum, told) for stratum in plain)


def _rules(found: ViewFacts, written: Mapping[str, str]) -> dict[str, str]:
    """A rule that reads hidden relations as it was written."""
    return {name: written.get(name, text) if "~" in text else text for name, text in found.rules.items()}


def _names(names: Sequence[str]) -> dict[str, str]:
    """Words for each hidden name; where several have the same, they are numbered."""
    words = {name: in_words(name) for name in names if is_hidden(name)}
    many, seen = Counter(words.values()), Counter[str]()
    for name, said in words.items():
        seen[said] += 1
        words[name] = f"{said} ({seen[said]})" if many[said] > 1 else said
    return words


def _mapped(value: Any, told: Callable[[str], str]) -> Any:  # noqa: ANN401 - facts of any shape
    """The value with every text in it told."""
    if type(value) is str:
        return told(value)
    if isinstance(value, tuple):
        return tuple(_mapped(one, told) for one in value)
    if isinstance(value, dict):
        return {told(key): _mapped(one, told) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _mapped(getattr(value, field.name), told) for field in fields(value)})
    return value
