"""`aggregates:` of a spec: what a group defines beside the aggregates that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from foreset.diagnostics import Report
from foreset.ir.aggregates import BUILTINS, ELEMENT, Definition, Fold
from foreset.ir.program import View
from foreset.ir.terms import Call, Term
from foreset.ir.types import Type, parse_type
from foreset.spec import rule_faults
from foreset.spec.grammar import parse_expression
from foreset.spec.model import AGGREGATE
from foreset.spec.scalars import passage_of
from foreset.spec.shapes import Fields, read
from foreset.spec.yaml_nodes import Entries, Items, Node, Scalar


def read_aggregates(fields: Fields, report: Report) -> dict[str, Definition]:
    """The definitions under `aggregates:` by name; faults go to `report`."""
    found: dict[str, Definition] = {}
    for name, node in fields.values.items():
        key = fields.keys[name]
        if name in BUILTINS:
            hint = "give yours another name"
            report.add(rule_faults.bad_fold(name, key.span, "there is one of this name already", hint))
        elif isinstance(node, Scalar) and not node.empty:
            composed = parse_expression(passage_of(node), report)
            if composed is not None:
                found[name] = Definition(name, composed=composed, span=key.span)
        elif isinstance(node, Entries | Scalar | Items) and (made := _inductive(name, key, node, report)):
            found[name] = made
    return found


def called(views: Iterable[View], definitions: Mapping[str, Definition]) -> set[str]:
    """The aggregates that rules name, also by way of composed ones."""
    sets = (one for view in views for rule in view.rules for one in rule.sets)
    terms = [one.composed for one in definitions.values() if one.composed is not None]
    return {made.function for one in sets for made in one.aggregates} | {
        name for term in terms for name in _calls(term)
    }


def _calls(term: Term) -> Iterator[str]:
    if isinstance(term, Call):
        yield term.function
        for arg in term.args:
            yield from _calls(arg)


def _inductive(name: str, key: Scalar, node: Node, report: Report) -> Definition | None:
    given = read(node, AGGREGATE, f"aggregate `{name}`", report, key)
    if not isinstance(given, Fields) or not {"takes", "state", "zero", "add"} <= given.values.keys():
        return None
    terms = {part: _term(given, part, report) for part in ("zero", "add", "remove", "merge", "finish")}
    zero, add, state = terms["zero"], terms["add"], parse_type(given.text("state"))
    if zero is None or add is None or state is None:
        return None
    takes = _takes(given.values["takes"])
    fold = Fold(name, takes, state, zero, add, terms["remove"], terms["merge"])
    return Definition(name, fold=fold, finish=terms["finish"], span=key.span)


def _term(given: Fields, part: str, report: Report) -> Term | None:
    node = given.values.get(part)
    return parse_expression(passage_of(node), report) if isinstance(node, Scalar) else None


def _takes(node: object) -> tuple[tuple[str, Type], ...]:
    """X for one value, X1, X2 ... for several."""
    if isinstance(node, Items):
        kinds = [parse_type(item.value) for item in node.items if isinstance(item, Scalar)]
        return tuple((f"{ELEMENT}{i}", kind) for i, kind in enumerate(kinds, 1) if kind is not None)
    assert isinstance(node, Scalar)
    kind = parse_type(node.value)
    assert kind is not None, "the shape has checked it"
    return ((ELEMENT, kind),)
