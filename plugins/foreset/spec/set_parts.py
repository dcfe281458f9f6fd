"""Sets and what is made of them, as the automaton finds them: a part of the builder of rules."""

from __future__ import annotations

from typing import Any

from foreset.ir.rules import Aggregated, DomainCall, Literal, SetOf, literal_variables
from foreset.ir.terms import Term, Var
from foreset.spec import rule_faults as faults
from foreset.spec.lalr import Token
from foreset.spec.work import WORK, at, begun, fault, more, place


def set_name(result: Var) -> str:
    """A name for the set of a short form, which nobody else can write."""
    return f"{result.name}."


class SetParts:
    """One method for each alternative of rules.lark about sets."""

    conjunction, more_conjunction = begun, more
    one_free, more_free = begun, more
    elements, more_elements = begun, more

    def several(self, parts: list[Any]) -> list[Term]:
        return [parts[0], *parts[1]]

    def set_of(self, parts: list[Any]) -> SetOf:
        return self.set_of_free([parts[0], parts[1], [], *parts[2:]])

    def set_of_free(self, parts: list[Any]) -> SetOf:
        word, elements, free, body, var, close = parts
        span = WORK.get().span(word.start, close.end)
        names = tuple(token.text for token in free)
        return SetOf(tuple(elements), self._inside(body), Var(var.text, place(var)), free=names, span=span)

    def gathered(self, parts: list[Any]) -> Var:
        called, elements, body, close = parts
        work = WORK.get()
        start = called.start if isinstance(called, Token) else called.token.start
        name = called.text if isinstance(called, Token) else called.name
        args = () if isinstance(called, Token) else called.args
        if not isinstance(called, Token) and called.columns is not None:
            fault(faults.named_in_function(called.name, called.span))
        span = work.span(start, close.end)
        inside = self._inside(body)
        result = Var(work.fresh(name.capitalize()), span)
        made = Aggregated(name, args, result, span)
        work.gathered[result.name] = SetOf(
            tuple(elements), inside, Var(set_name(result), span), (made,), local=True, span=span
        )
        return result

    def _inside(self, body: list[Any]) -> tuple[Literal, ...]:
        """The literals of a set, which cannot hold another one."""
        work = WORK.get()
        inner = next((one for one in body if isinstance(one, SetOf)), None)
        if inner is not None:
            fault(faults.nested_aggregate(at(inner)))
        for name, one in tuple(work.gathered.items()):
            plain = (literal for literal in body if not isinstance(literal, SetOf | DomainCall))
            named = {v.name for literal in plain for v in literal_variables(literal)}
            if name in named:
                fault(faults.nested_aggregate(at(one)))
                del work.gathered[name]
        for one in body:
            if isinstance(one, DomainCall):
                fault(faults.call_in_set(one.called, at(one)))
        return tuple(one for one in body if not isinstance(one, SetOf | DomainCall))
