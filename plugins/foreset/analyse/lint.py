"""What a spec may say, and probably does not mean: warnings stop nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from foreset.analyse.binding import occurrences
from foreset.analyse.bounds import contradiction
from foreset.analyse.faults import warnings as faults
from foreset.analyse.faults.domains import never_asked
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.program import Program, View
from foreset.ir.renaming import numbered
from foreset.ir.rules import Atom, Literal, Negation, Rule, atoms, literal_variables, set_variables
from foreset.ir.text import print_atom, print_literal

_NOWHERE = Span("", 1, 1)


# ---------------------------------------------------------------- rules as written
def of_written(rule: Rule) -> Iterator[Diagnostic]:
    """Variables that stand alone."""
    found = list(occurrences(rule))
    counts = Counter(var.name for var, _ in found)
    counts.update(var.name for one in rule.sets for var in (one.var, *set_variables(one)))
    yield from _of_sets(rule, counts)
    for var, literal in found:
        if counts[var.name] == 1 and not var.name.startswith("_") and literal is not rule.head:
            span = var.span or rule.span or _NOWHERE
            match literal:
                case Negation():
                    yield faults.existential_variable(var.name, span)
                case Atom():
                    yield faults.single_variable(var.name, span)
                case _:
                    yield faults.unused_value(var.name, span)


def _of_sets(rule: Rule, counts: Mapping[str, int]) -> Iterator[Diagnostic]:
    """Where variables are local, one that stands alone says nothing; in `setof` it groups."""
    for one in rule.sets:
        for var in (v for literal in one.body for v in literal_variables(literal)) if one.local else ():
            if counts[var.name] == 1 and not var.name.startswith("_"):
                yield faults.single_variable(var.name, var.span or one.span or _NOWHERE)


# ---------------------------------------------------------------- rules in normal form
def of_rule(rule: Rule) -> Iterator[Diagnostic]:
    """Conditions that exclude each other, and literals that say nothing new."""
    if reason := contradiction(rule):
        yield faults.never_holds(rule.span or _NOWHERE, reason)
    seen: list[Literal] = []
    for literal in rule.body:
        if literal in seen:
            yield faults.repeated_literal(print_literal(literal), literal.span or rule.span or _NOWHERE)
        seen.append(literal)
    if rule.head in rule.body:
        yield faults.derives_itself(rule.span or _NOWHERE, print_atom(rule.head))


def of_views(views: tuple[View, ...]) -> Iterator[Diagnostic]:
    """Rules that say the same, and views that stay empty."""
    for view in views:
        seen: dict[Rule, Rule] = {}
        for rule in view.rules:
            first = seen.setdefault(numbered(rule), rule)
            if first is not rule and first.span is not None:
                yield faults.duplicate_rule(rule.span or _NOWHERE, first.span.line)
    yield from _empty(views)


def _empty(views: tuple[View, ...]) -> Iterator[Diagnostic]:
    empty = {view.name for view in views if view.given is None}
    settled = False
    while not settled:
        filled = {v.name for v in views if v.name in empty and any(_may_hold(rule, empty) for rule in v.rules)}
        empty -= filled
        settled = not filled
    for view in views:
        if view.name in empty and not view.hidden:
            reads = dict.fromkeys(
                a.relation for r in view.rules for a, no in atoms(r) if not no and a.relation in empty
            )
            if reads:  # otherwise each rule has its own warning
                yield faults.always_empty(view.name, view.span or _NOWHERE, tuple(reads))


def _may_hold(rule: Rule, empty: set[str]) -> bool:
    return not any(atom.relation in empty and not negated for atom, negated in atoms(rule)) and not contradiction(rule)


# ---------------------------------------------------------------- the program
def of_program(program: Program) -> Iterator[Diagnostic]:
    """Sources that neither a rule nor a `deny:` reads, and domains that nobody asks."""
    denials = (one.rule for view in program.views for one in view.expectations if one.rule is not None)
    read = {atom.relation for rule in (*program.rules, *denials) for atom, _ in atoms(rule)}
    for source in program.sources:
        if source.name not in read:
            yield faults.source_not_read(source.name, source.span or _NOWHERE)
    asked = {call.domain for rule in program.rules for call in rule.calls}
    for domain in program.domains:
        if domain.name not in asked:
            yield never_asked(domain.name, domain.span or _NOWHERE)
