"""No view may be made from its own negation, and declared strategies must suit their strata.

Works on programs as written, so that a fault elsewhere hides nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from foreset.analyse.faults import strata as faults
from foreset.analyse.faults.aggregates import aggregated_recursion, insert_with_aggregate
from foreset.analyse.faults.domains import asks_by_its_answers
from foreset.analyse.graph import components, dependencies, path
from foreset.analyse.supports import blurred, unseen_circles
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.program import SUPPORTED, Column, View
from foreset.ir.rules import Negation, Rule, atoms, atoms_of
from foreset.ir.strata import Layering
from foreset.ir.text import print_rule

Graph = Mapping[str, tuple[str, ...]]
_NOWHERE = Span("", 1, 1)
_LINE = 110  # characters of a rule in a note


def check(views: tuple[View, ...]) -> Iterator[Diagnostic]:
    """Negation in recursion, and strategies that cannot be, as far as the graph tells."""
    graph = dependencies(views)
    by_name = {view.name: view for view in views}
    for part in components(graph):
        members = tuple(by_name[name] for name in part)
        yield from _negations(members, graph)
        yield from _aggregates(members, graph)
        yield from _mixed(members)
        recursive = any(read in part for name in part for read in graph[name])
        for view in members:
            if view.strategy == "counting" and recursive:
                yield faults.counting_is_recursive(_place(view), part)
            if view.strategy == "insert" and (literal := _first_negation(view)):
                yield faults.insert_is_not_monotone(_place(view), view.name, literal.atom.relation)
            elif view.strategy == "insert" and any(rule.sets for rule in view.rules):
                yield insert_with_aggregate(_place(view), view.name)


def check_layering(layering: Layering, columns: Mapping[str, tuple[Column, ...]]) -> Iterator[Diagnostic]:
    """What only normal form shows: supports need derivations that end, and that can be told apart."""
    for stratum in layering.strata:
        for view in stratum.views:
            if view.strategy not in SUPPORTED:
                continue
            if view.strategy == "stdel" and stratum.cyclic:
                yield faults.stdel_is_cyclic(_place(view), stratum.names)
            elif unseen_circles(stratum):
                yield faults.circles_are_unseen(_place(view), stratum.names)
            if stratum.blurred and (found := blurred((view,), columns)):
                yield faults.supports_are_blurred(found.variable.span or _place(view), view.strategy, found)


def check_calls(layering: Layering) -> Iterator[Diagnostic]:
    """What a domain is asked may not wait for its own answers."""
    for stratum in layering.strata:
        for view in stratum.views:
            if view.called and stratum.recursive:
                graph = dependencies(stratum.views)
                asks = next(name for name in graph[view.name] if name in stratum.names)
                way = path(graph, asks, view.name, stratum.names)
                shown = [name for name in way if "~" not in name] or [view.called]
                yield asks_by_its_answers(view.called, _place(view), shown)


def _place(view: View) -> Span:
    return view.strategy_span or view.span or _NOWHERE


def _first_negation(view: View) -> Negation | None:
    return next((one for rule in view.rules for one in rule.body if isinstance(one, Negation)), None)


def _mixed(members: tuple[View, ...]) -> Iterator[Diagnostic]:
    first = members[0]
    for view in members[1:]:
        if view.strategy != first.strategy:
            yield faults.mixed_strategies(_place(view), view.name, view.strategy, first.name, first.strategy)


def _negations(members: tuple[View, ...], graph: Graph) -> Iterator[Diagnostic]:
    by_name = {view.name: view for view in members}
    for view in members:
        for rule in view.rules:
            for literal in rule.body:
                if isinstance(literal, Negation) and literal.atom.relation in by_name:
                    read = literal.atom.relation
                    way = path(graph, read, view.name, by_name.keys())
                    cycle = (_step(rule, read, negated=True), *_steps(way, by_name))
                    yield faults.negated_recursion(view.name, read, literal.span or rule.span or _NOWHERE, cycle)


def _aggregates(members: tuple[View, ...], graph: Graph) -> Iterator[Diagnostic]:
    by_name = {view.name: view for view in members}
    for view in members:
        for rule in view.rules:
            for one in rule.sets:
                read = next((a.relation for a, _ in atoms_of(one.body) if a.relation in by_name), None)
                if read is not None:
                    way = path(graph, read, view.name, by_name.keys())
                    cycle = (_step(rule, read, negated=False), *_steps(way, by_name))
                    yield aggregated_recursion(view.name, read, one.span or rule.span or _NOWHERE, cycle)


def _steps(way: tuple[str, ...], by_name: Mapping[str, View]) -> Iterator[str]:
    for reader, read in pairwise(way):
        rule = next(rule for rule in by_name[reader].rules if any(atom.relation == read for atom, _ in atoms(rule)))
        negated = all(sign for atom, sign in atoms(rule) if atom.relation == read)
        yield _step(rule, read, negated=negated)


def _step(rule: Rule, read: str, *, negated: bool) -> str:
    text = print_rule(rule)
    text = text if len(text) <= _LINE else f"{text[: _LINE - 3]}..."
    line = f", line {rule.span.line}" if rule.span else ""
    return f"`{rule.head.relation}` reads `{'not ' if negated else ''}{read}`{line}: {text}"
