"""Why a row is not in a view: of each rule, the literal without which it would give the row.

Where leaving out one literal is enough, that literal is what fails: `closest` rules are those. Otherwise the
body is followed as far as it holds, and the literal at which it ends is named, with the values that led there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from foreset.ir.asked import waits_for
from foreset.ir.program import View
from foreset.ir.rules import Atom, Literal, Negation, Rule
from foreset.ir.terms import Row, Value
from foreset.ir.text import print_literal
from foreset.questions.bodies import Bodies
from foreset.render import visible

SHOWN = 3  # literals of one rule, any of which would do


@dataclass(frozen=True, slots=True)
class Missing:
    """A literal that does not hold, with the values under which it was asked."""

    literal: str
    why: str
    values: Mapping[str, Value]
    relation: str = ""  # of a row that is missing, or in the way
    unknown: tuple[str, ...] = ()  # what could not be asked without it


@dataclass(frozen=True, slots=True, repr=False)
class Miss:
    """A rule that does not give the row. `close`: any one of `missing` is all that it lacks."""

    rule: str
    text: str
    file: str
    line: int
    close: bool
    missing: tuple[Missing, ...]
    passed: int  # literals that hold together
    literals: int

    def __repr__(self) -> str:
        from foreset.questions.proof_text import rule_lines

        return visible("\n".join(rule_lines(self)))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def why_not(view: View, row: Row, bodies: Bodies) -> tuple[Miss, ...]:
    """Each rule's miss, the closest first; a rule that gives the row is left out."""
    found = (_miss(rule, row, bodies) for rule in view.rules)
    return tuple(sorted((one for one in found if one), key=lambda one: (not one.close, one.passed - one.literals)))


def _miss(rule: Rule, row: Row, bodies: Bodies) -> Miss | None:
    start = bodies.start(rule, row)
    if start is None:
        return _told(rule, bodies, (Missing("the head", f"its head is {_head(rule)}", {}),), close=False, passed=0)
    whole = bodies.run(rule, rule.body, start)
    if bodies.giving(rule, row, whole.bindings):
        return None
    one_away = [found for literal in rule.body if (found := _without(literal, rule, row, start, bodies))]
    if one_away:
        best = min(len(one.unknown) for one in one_away)
        fewest = tuple(one for one in one_away if len(one.unknown) == best)[:SHOWN]
        return _told(rule, bodies, fewest, close=True, passed=len(rule.body) - 1 - best)
    if whole.failed is None:
        values = whole.bindings[0] if whole.bindings else {}
        wrong = Missing("the head", f"it gives another row: its head is {_head(rule)}", values)
        return _told(rule, bodies, (wrong,), close=False, passed=whole.passed)
    return _told(
        rule, bodies, (_missing(whole.failed, whole.before[0], rule, bodies),), close=False, passed=whole.passed
    )


def _without(literal: Literal, rule: Rule, row: Row, start: Mapping[str, Value], bodies: Bodies) -> Missing | None:
    """What is known of the literal where all others hold; None where they do not."""
    rest = [one for one in rule.body if one is not literal]
    outcome = bodies.run(rule, rest, dict(start))
    bindings = bodies.giving(rule, row, outcome.bindings)
    return _missing(literal, bindings[0], rule, bodies, outcome.unknown) if bindings else None


def _missing(
    literal: Literal, binding: Mapping[str, Value], rule: Rule, bodies: Bodies, unknown: tuple[Literal, ...] = ()
) -> Missing:
    shown = bodies.told(literal, binding, rule)
    open_too = tuple(bodies.told(one, binding, rule) for one in unknown)
    match literal:
        case Atom(relation=relation):
            return Missing(shown, "there is no such row", dict(binding), relation, open_too)
        case Negation(atom=atom):
            why = "not yet" if waits_for(literal) else "there is such a row"
            return Missing(shown, why, dict(binding), atom.relation, open_too)
        case _:
            return Missing(shown, "this does not hold", dict(binding), unknown=open_too)


def _told(rule: Rule, bodies: Bodies, missing: tuple[Missing, ...], *, close: bool, passed: int) -> Miss:
    span = rule.span
    return Miss(rule.name, bodies.text(rule), span.file if span else "", span.line if span else 0, close, missing,
                max(passed, 0), len(rule.body))  # fmt: skip


def _head(rule: Rule) -> str:
    return print_literal(rule.head)
