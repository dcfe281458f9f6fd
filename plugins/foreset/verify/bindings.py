"""One binding of a rule's variables: what it asks an atom for, what a row adds to it, and whether a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Set

from foreset.ir.rules import Atom, Comparison, Let, Rule, Test
from foreset.ir.terms import Const, Row, Value, Var
from foreset.values.failure import Failure
from foreset.values.terms import compile_comparison, compile_test, equal, read_as
from foreset.values.widen import widened
from foreset.verify.binding_order import Asked, Schemas

Binding = dict[str, Value]


def key_at(atom: Atom, known: Asked, binding: Binding, may_be_null: Set[str] = frozenset()) -> Row | None:
    """The values at the known positions; None if a NULL stands there which joins with nothing."""
    values: list[Value] = []
    for arg in (atom.args[position] for position in known):
        assert isinstance(arg, (Const, Var)), f"{atom} is not in normal form"
        values.append(arg.value if isinstance(arg, Const) else binding[arg.name])
        if values[-1] is None and not (isinstance(arg, Var) and arg.name in may_be_null):
            return None
    return tuple(values)


def matched(
    atom: Atom, row: Row, binding: Binding, rule: Rule, schemas: Schemas, may_be_null: Set[str] = frozenset()
) -> Binding | None:
    """The binding with what `row` says of the atom's variables; None where the two do not meet."""
    extended = dict(binding)
    for arg, value, kind in zip(atom.args, row, schemas[atom.relation], strict=True):
        if isinstance(arg, Const):
            if value != arg.value:
                return None
        elif isinstance(arg, Var):
            wide = value if rule.types[arg.name] == kind else widened(value, rule.types[arg.name])
            if arg.name in extended:
                if wide is None:
                    if arg.name not in may_be_null or extended[arg.name] is not None:
                        return None
                elif not equal(extended[arg.name], wide):
                    return None
            else:
                extended[arg.name] = wide
    return extended


def tested(literal: object, binding: Binding, rule: Rule) -> Binding | None:
    """The binding with what a value or a condition says; None where it does not hold."""
    return tester(literal, tuple(binding), rule)(tuple(binding.values()))


def tester(literal: object, names: tuple[str, ...], rule: Rule) -> Callable[[Row], Binding | None]:
    """`tested` for many bindings of the same names: what they say is read from the literal once."""
    slots = {name: i for i, name in enumerate(names)}

    def binding(values: Row) -> Binding:
        return dict(zip(names, values, strict=True))

    def attempt(found: Callable[[Row], Binding | None]) -> Callable[[Row], Binding | None]:
        def tried(values: Row) -> Binding | None:
            try:
                return found(values)
            except Failure:  # the refresh itself would have stopped, had this binding met all other literals
                return None

        return tried

    match literal:
        case Let(var=var, term=term):
            read = read_as(term, rule.types[var.name], slots, rule.types)
            return attempt(lambda values: {**binding(values), var.name: read(values)})
        case Comparison():
            compared = compile_comparison(literal, slots, rule.types)
            return attempt(lambda values: binding(values) if compared(values) else None)
        case Test():
            holds = compile_test(literal, slots, rule.types)
            return attempt(lambda values: binding(values) if holds(values) else None)
        case _:
            raise AssertionError(f"{literal} is no condition")


def head_row(rule: Rule, binding: Binding, kinds: tuple[object, ...]) -> Row:
    """The row that a binding gives."""
    values = []
    for arg, kind in zip(rule.head.args, kinds, strict=True):
        if isinstance(arg, Const):
            values.append(arg.value)
        elif isinstance(arg, Var):
            value = binding[arg.name]
            values.append(value if rule.types[arg.name] == kind else widened(value, kind))  # type: ignore[arg-type]
    return tuple(values)
