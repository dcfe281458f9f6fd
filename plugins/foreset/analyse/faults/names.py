"""Faults of names, FS101 to FS199."""

from __future__ import annotations

from collections.abc import Collection

from foreset.diagnostics import Diagnostic, Span, did_you_mean
from foreset.ir.functions import FUNCTIONS, OPERATORS
from foreset.spec import sql_words

_FUNCTION_NAMES = tuple(name for name in FUNCTIONS if name not in OPERATORS)
_SHOWN = 12


def listed(names: Collection[str]) -> str:
    """Names in a row, not too many of them."""
    shown = ", ".join(f"`{name}`" for name in list(names)[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def no_rules(view: str, span: Span) -> Diagnostic:
    """A block with nothing but comments."""
    return Diagnostic("FS101", f"view `{view}` has no rules", span, f"write at least one: `{view}(...) :- ...`")


def missing_relation(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """Neither source nor view, nor a function."""
    hint = did_you_mean(name, known, "declare it under `sources:` or `views:`")
    return Diagnostic("FS103", f"relation `{name}` does not exist", span, hint)


def wrong_arity(name: str, span: Span, given: int, columns: Collection[str]) -> Diagnostic:
    """More or fewer arguments than columns."""
    message = f"`{name}` has {_count(len(columns), 'column')}, but {_count(given, 'argument')} here"
    hint = f"its columns are {listed(columns)}"
    if given < len(columns) > 1:
        hint += f"; to name some of them write `{name}({next(iter(columns))}=X)`"
    return Diagnostic("FS104", message, span, hint)


def missing_column(name: str, span: Span, relation: str, columns: Collection[str]) -> Diagnostic:
    """An argument for a column that is not there."""
    hint = did_you_mean(name, columns, f"its columns are {listed(columns)}")
    return Diagnostic("FS105", f"`{relation}` has no column `{name}`", span, hint)


def head_lacks_column(name: str, span: Span, view: str) -> Diagnostic:
    """Every column of a view needs a value."""
    return Diagnostic("FS107", f"the head gives no value for column `{name}` of `{view}`", span, f"add `{name}=...`")


def missing_function(name: str, span: Span, aggregate: str = "") -> Diagnostic:
    """A function that is not on the list; `aggregate` says how it is written if it is one."""
    otherwise = sql_words.FUNCTIONS.get(name.lower())
    hint = aggregate or otherwise or did_you_mean(name, _FUNCTION_NAMES, "docs/spec.md lists the functions")
    return Diagnostic("FS108", f"there is no function `{name}`", span, hint)


def wrong_arguments(name: str, span: Span, given: int) -> Diagnostic:
    """Too many or too few for a function."""
    least, most = FUNCTIONS[name].arity
    taken = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
    noun = "argument" if taken == "1" else "arguments"
    return Diagnostic("FS109", f"`{name}` takes {taken} {noun}, not {given}", span, FUNCTIONS[name].doc)


def not_a_condition(name: str, span: Span, text: str) -> Diagnostic:
    """A value where something true or false must stand."""
    message = f"`{name}` gives a value, and a value is not a condition"
    return Diagnostic("FS110", message, span, f"compare it: `{text} = ...`")


def blank_in_expression(span: Span) -> Diagnostic:
    """`_` has no value to compute with."""
    return Diagnostic("FS111", "`_` has no value here", span, "use a variable of a literal without `not`")


def blank_in_head(span: Span, view: str) -> Diagnostic:
    """`_` gives a column no value."""
    message = f"`_` gives a column of `{view}` no value"
    return Diagnostic("FS111", message, span, "use a constant, or a variable of a literal without `not`")


def numbered_blank(name: str, span: Span) -> Diagnostic:
    """These names are for `_` once it is told apart."""
    message = f"`{name}` is here twice, but `_` with a number means any value: the two do not join"
    return Diagnostic("FS112", message, span, f"call it `X{name[1:]}`")
