"""Names of the hidden relations that stand for what domains are asked and answer (rewrite/ask_domains.py)."""

from __future__ import annotations

import re
from collections.abc import Collection

from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.rules import Literal, Negation

MEMBER = "~"  # ends the name of a view that is kept by constraints and asked as if it were a domain
_HELD = "~held"


def answers_name(called: str) -> str:
    """The relation of what `domain:function` was asked and answered."""
    return called.replace(":", "~")


def asks_name(called: str) -> str:
    """The relation of the arguments that rules ask for."""
    return f"{answers_name(called)}~asks"


def functions_of(domains: Collection[Domain]) -> dict[str, tuple[str, DomainFunction]]:
    """The functions by the relations that stand for their calls."""
    return {
        answers_name(f"{domain.name}:{function.name}"): (domain.name, function)
        for domain in domains
        for function in domain.functions
    }


def held_name(called: str) -> str:
    """The relation of the arguments of `domain:function` that have no answer yet."""
    return f"{called.replace(':', '~')}{_HELD}"


def waits_for(literal: Literal) -> str:
    """The `domain:function` of whose answer a literal says that it is there; empty for other literals."""
    relation = literal.atom.relation if isinstance(literal, Negation) else ""
    return relation.removesuffix(_HELD).replace("~", ":") if relation.endswith(_HELD) else ""


def member_of(called: str) -> tuple[str, tuple[int, ...]] | None:
    """The view and its columns that are asked about; None for a function of a domain."""
    name, _, places = called.partition(":")
    if not name.endswith(MEMBER):
        return None
    return name.removesuffix(MEMBER), tuple(int(place) for place in places.split("_"))


def in_plain_words(text: str) -> str:
    """A text with `domain:function` for the relations that stand for it."""
    text = re.sub(r"`([a-z][a-z0-9_]*)~:[0-9_]+`", r"`\1`", text)
    text = re.sub(r"`([a-z][a-z0-9_]*)~~[0-9_]+(~asks)?\b", r"`\1", text)
    return re.sub(r"`([a-z][a-z0-9_]*)~([a-z][a-z0-9_]*)(~asks|~held)?\b", r"`\1:\2", text)
