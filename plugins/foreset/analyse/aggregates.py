"""What an aggregate comes to for elements of given types: accumulators, and a term over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from foreset.analyse.constants import adapt, folded, settled
from foreset.analyse.faults import aggregates as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.aggregates import BUILTINS, STATE, THE_SET, Aggregate, Definition, Fold, InPython, Kind, Need, Part
from foreset.ir.functions import FUNCTIONS, type_of
from foreset.ir.renaming import substituted
from foreset.ir.rules import Aggregated
from foreset.ir.terms import Call, Const, Term, Value, Var, names_in
from foreset.ir.text import print_term
from foreset.ir.types import Type, array, fits

Definitions = Mapping[str, Definition]
Element = tuple[Type, ...]
_NOWHERE = Span("", 1, 1)
_DEEPEST = 20  # aggregates composed of aggregates composed of ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """`needs` with inputs that are positions in the element; `term` calls the n-th of them by its number."""

    needs: tuple[Need, ...]
    term: Term


@dataclass(frozen=True, slots=True)
class Tuple:
    """The elements of a set as one aggregate sees them: `places` are the components that it may name, from 1.

    A composed aggregate that is asked of some components shows only these to what it is made of.
    """

    element: Element
    places: tuple[int, ...]

    @property
    def narrowed(self) -> bool:
        """True where somebody has said which components are meant."""
        return self.places != tuple(range(len(self.element)))


def resolve(made: Aggregated, element: Element, definitions: Definitions, span: Span) -> Resolved | Diagnostic:
    """The accumulators and the finish of one aggregate of a rule."""
    return _resolved(made, Tuple(element, tuple(range(len(element)))), definitions, span)


def _resolved(made: Aggregated, seen: Tuple, definitions: Definitions, span: Span) -> Resolved | Diagnostic:
    name = made.function
    if name in BUILTINS:
        return _builtin(BUILTINS[name], made.args, seen, span)
    definition = definitions.get(name)
    if definition is None:
        return faults.missing_aggregate(name, span, (*BUILTINS, *definitions))
    if definition.fold is not None:
        return _fold(definition, definition.fold, made.args, seen, span)
    assert definition.composed is not None
    places = _places(name, made.args, len(made.args) or len(seen.places), seen, span)
    if isinstance(places, Diagnostic):
        return places
    needs: list[Need] = []
    term = _composed(definition.composed, Tuple(seen.element, places), definitions, span, needs)
    return term if isinstance(term, Diagnostic) else Resolved(tuple(needs), term)


# ---------------------------------------------------------------- built in
def _builtin(aggregate: Aggregate, args: tuple[Term, ...], seen: Tuple, span: Span) -> Resolved | Diagnostic:
    element = seen.element
    parameter, rest = _parameter(aggregate, args)
    if parameter is _BAD:
        return faults.wrong_parameters(aggregate, span, _parameter_fault(aggregate))
    if aggregate.components == 0 and rest:
        return faults.wrong_parameters(aggregate, span, "takes nothing beside the set")
    if aggregate.name == "collect" and not rest and len(element) > 1 and not seen.narrowed:
        return faults.set_of_tuples(span, element)
    places = _places(aggregate.name, rest, aggregate.components, seen, span)
    if isinstance(places, Diagnostic):
        return places
    kinds = tuple(element[place] for place in places)
    plan = aggregate.plan(kinds, parameter)  # type: ignore[arg-type]
    if plan is None:
        return faults.aggregate_of_type(aggregate.name, span, kinds, aggregate.takes)
    needs = tuple(replace(need, inputs=tuple(places[i] for i in need.inputs)) for need in plan.needs)
    if aggregate.name == "collect" and len(element) > 1:
        needs = (Need(Kind.LIST, array(kinds[0]), places),)
    return Resolved(needs, plan.finish(tuple(Var(str(i)) for i in range(len(needs)))))


_BAD = object()


def _parameter(aggregate: Aggregate, args: tuple[Term, ...]) -> tuple[object, tuple[Term, ...]]:
    """The constant beside the set, and the other arguments."""
    wanted = aggregate.parameter
    if wanted is None:
        return None, args
    first = args[0] if args else None
    given = isinstance(first, Const) and first.type.name in wanted.kinds
    if not given or not isinstance(first, Const):
        return (_BAD if wanted.default is None else wanted.default), args
    value: Value = first.value
    if wanted.low is not None and wanted.high is not None:
        value = float(value)  # type: ignore[arg-type]
        if not wanted.low <= value <= wanted.high:
            return _BAD, args
    return value, args[1:]


def _parameter_fault(aggregate: Aggregate) -> str:
    wanted = aggregate.parameter
    assert wanted is not None
    between = f" from {wanted.low:g} to {wanted.high:g}" if wanted.low is not None else ""
    return f"needs a {wanted.name}{between}, as a constant"


def _places(name: str, args: tuple[Term, ...], wanted: int, seen: Tuple, span: Span) -> tuple[int, ...] | Diagnostic:
    """Where in the element the components stand that are asked for; without a word the first ones."""
    if not args:
        if wanted > len(seen.places):
            return faults.wrong_components(name, span, wanted, len(seen.places))
        return seen.places[:wanted]
    places: list[int] = []
    for arg in args:
        place = arg.value if isinstance(arg, Const) else None
        if not isinstance(place, int) or isinstance(place, bool) or not 1 <= place <= len(seen.places):
            return faults.no_component(name, span, print_term(arg), len(seen.places))
        places.append(seen.places[place - 1])
    if len(places) != wanted:
        return faults.wrong_components(name, span, wanted, len(places))
    return tuple(places)


# ---------------------------------------------------------------- defined in the spec
def _fold(definition: Definition, fold: Fold, args: tuple[Term, ...], seen: Tuple, span: Span) -> Resolved | Diagnostic:
    places = _places(fold.name, args, len(fold.takes), seen, span)
    if isinstance(places, Diagnostic):
        return places
    kinds = tuple(seen.element[place] for place in places)
    if not all(fits(kind, taken) for kind, (_, taken) in zip(kinds, fold.takes, strict=True)):
        return faults.aggregate_of_type(fold.name, span, kinds, ", ".join(str(kind) for _, kind in fold.takes))
    need = Need(Kind.FOLD, fold.state, places, fold=fold)
    return Resolved((need,), substituted(definition.finish or Var(STATE), {STATE: Var("0")}))


def _composed(term: Term, seen: Tuple, definitions: Definitions, span: Span, needs: list[Need]) -> Term | Diagnostic:
    """`term` with the finishes of the aggregates that it calls; their needs are added to `needs`."""
    if not isinstance(term, Call):
        return term
    if _on_set(term):
        found = _resolved(Aggregated(term.function, term.args[1:], Var("_")), seen, definitions, span)
        if isinstance(found, Diagnostic):
            return found
        first = len(needs)
        needs.extend(found.needs)
        return substituted(found.term, {str(i): Var(str(first + i)) for i in range(len(found.needs))})
    parts: list[Term] = []
    for arg in term.args:
        part = _composed(arg, seen, definitions, span, needs)
        if isinstance(part, Diagnostic):
            return part
        parts.append(part)
    return replace(term, args=tuple(parts))


def _on_set(term: Call) -> bool:
    return bool(term.args) and term.args[0] == Var(THE_SET)


# ---------------------------------------------------------------- are the definitions sound?
def prepared(definitions: tuple[Definition, ...]) -> tuple[dict[str, Definition], tuple[Diagnostic, ...]]:
    """The definitions that are sound, with their constants typed, and the faults of the others."""
    known = {one.name: one for one in definitions}
    sound: dict[str, Definition] = {}
    found: list[Diagnostic] = []
    for one in definitions:
        made, wrong = _inductive(one, one.fold) if one.fold else (one, tuple(_composition(one, known)))
        found += wrong
        if not wrong:
            sound[one.name] = made
    return sound, tuple(found)


def _composition(one: Definition, known: Definitions) -> Iterator[Diagnostic]:
    span = one.span or _NOWHERE
    called: set[str] = set()
    assert one.composed is not None
    for call in _calls(one.composed):
        if _on_set(call):
            called.add(call.function)
            if call.function not in BUILTINS and call.function not in known:
                yield faults.missing_aggregate(call.function, span, (*BUILTINS, *known))
        elif call.function not in FUNCTIONS:
            hint = "call aggregates on the set, as in `sum(S)`; docs/spec.md lists the functions"
            yield faults.bad_definition(one.name, span, f"there is no function `{call.function}`", hint)
    strays = names_in(one.composed) - {THE_SET}
    if strays or not called:
        hint = "use aggregates of the set S, as in `sum(S) / count(S)`"
        yield faults.bad_definition(one.name, span, "it uses no aggregate", hint)
    if one.name in _reached(one.name, known):
        yield faults.bad_definition(one.name, span, "it uses itself", "define it without itself")


def _calls(term: Term) -> Iterator[Call]:
    if isinstance(term, Call):
        yield term
        for arg in term.args:
            yield from _calls(arg)


def _reached(name: str, known: Definitions) -> set[str]:
    """The definitions that one is made of, directly or not."""
    reached: set[str] = set()
    todo = [name]
    while todo:
        one = known.get(todo.pop())
        if one is not None and one.composed is not None:
            fresh = {call.function for call in _calls(one.composed) if _on_set(call)} - reached
            reached |= fresh
            todo.extend(fresh)
    return reached


def _inductive(one: Definition, fold: Fold) -> tuple[Definition, tuple[Diagnostic, ...]]:
    typed: dict[str, Any] = {}
    found: list[Diagnostic] = []
    elements = {name: kind for name, kind in fold.types.items() if name in dict(fold.takes)}
    scopes: dict[str, tuple[Part | None, dict[str, Type]]] = {
        "zero": (fold.zero, {}),
        "add": (fold.add, {STATE: fold.state, **elements}),
        "remove": (fold.remove, {STATE: fold.state, **elements}),
        "merge": (fold.merge, {name: kind for name, kind in fold.types.items() if name not in elements}),
    }
    for part, (term, scope) in scopes.items():
        if term is not None and not isinstance(term, InPython):
            made, wrong = _expression(one, part, term, scope, fold.state)
            typed[part] = made
            found += wrong
    finish = one.finish
    if finish is not None:
        finish, wrong = _expression(one, "finish", finish, {STATE: fold.state}, None)
        found += wrong
    return replace(one, fold=replace(fold, **typed), finish=finish), tuple(found)


def _expression(
    one: Definition, part: str, term: Term, scope: Mapping[str, Type], wanted: Type | None
) -> tuple[Term, tuple[Diagnostic, ...]]:
    """One expression of a definition, typed; it must give a value that fits `wanted`."""
    span = term.span or one.span or _NOWHERE
    made = settled(folded(term), scope)
    if wanted is not None and isinstance(made, Const):
        made = adapt(made, wanted) or made
    strays = sorted(names_in(term) - scope.keys())
    if strays:
        names = ", ".join(scope) or "constants only"
        what = f"`{strays[0]}` has no value in `{part}`"
        return made, (faults.bad_definition(one.name, span, what, f"it may use {names}"),)
    kind = type_of(made, scope)
    if kind is None:
        hint = "docs/spec.md lists the functions and what they take"
        return made, (faults.bad_definition(one.name, span, f"`{print_term(term)}` is not defined", hint),)
    if wanted is not None and not fits(kind, wanted):
        what = f"`{part}` gives a value of type {kind}, and A is of type {wanted}"
        return made, (faults.bad_definition(one.name, span, what, "declare `state:` wider, or cast it"),)
    return made, ()
