"""`expectations:` of a view: names, arguments and values, each checked at its place.

Suite files of Great Expectations (suites.py) come here too: they write the same in JSON,
which reads as YAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from foreset.diagnostics import Report, Span
from foreset.ir.expectations import (
    DENY,
    KNOWN,
    SHORT,
    Arg,
    Expectation,
    Of,
    Scope,
    Severity,
    Short,
    Signature,
    sentence,
)
from foreset.ir.program import Column
from foreset.ir.rules import Atom, Rule
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import BOOLEAN, Type, widen
from foreset.ir.values import Misfit, coerce, sort_key
from foreset.spec import expectation_faults as faults
from foreset.spec.faults import bad_choice, nothing_there, shown, wrong_kind
from foreset.spec.grammar import parse_rule
from foreset.spec.scalars import passage_of, plain_values
from foreset.spec.shapes import Read, kind_of
from foreset.spec.source import Passage
from foreset.spec.split import split_rules
from foreset.spec.yaml_nodes import Entries, Items, Node, Scalar

BESIDE = ("severity", "on", "note")
_HEAD = "deny() :- "
_WANTED = {
    Of.TEXT: "text",
    Of.NUMBERS: "numbers",
    Of.MEASURED: "numbers or dates",
    Of.ORDERED: "numbers, text or dates",
}
_EXACT = 1 << 53  # limits become doubles: whole numbers up to here are told apart


@dataclass(frozen=True, slots=True)
class Reading:
    """What the expectations of one view may speak of, and where their faults go."""

    view: str
    columns: Mapping[str, Column]
    report: Report
    in_context: Callable[[Rule], Rule]  # gives a body the meaning that it has among the relations of the group

    def fits(self, type_: str, what: str, given: Mapping[str, tuple[str, Node]], span: Span) -> dict[str, Any] | None:
        """The arguments as values; `given` maps Great Expectations' names to what the user wrote."""
        before = len(self.report.errors)
        signature = KNOWN[type_]
        columns = self._columns(signature, what, given)
        values = {
            name: self._value(signature.arguments[name], written, node, columns)
            for name, (written, node) in given.items()
        }
        if len(self.report.errors) == before:
            self._limits(signature, what, values, span)
        return values if len(self.report.errors) == before else None

    def _columns(self, signature: Signature, what: str, given: Mapping[str, tuple[str, Node]]) -> tuple[Column, ...]:
        """The columns that it speaks of, where they are of its kind."""
        found: list[Column] = []
        for name, (_, node) in given.items():
            if signature.arguments[name] in (Arg.COLUMN, Arg.COLUMNS):
                found += [
                    column for one in _items(node) if (column := self._column(one, signature.of, what)) is not None
                ]
        if "column_B" in given and len(found) == 2 and widen(found[0].type, found[1].type) is None:
            pairs = [(column.name, str(column.type)) for column in found]
            self.report.add(faults.do_not_mix(given["column_B"][1].span, pairs[0], pairs[1]))
        return tuple(found)

    def _column(self, node: Node, of: Of, what: str) -> Column | None:
        if not isinstance(node, Scalar) or node.empty:
            self.report.add(faults.misfit(kind_of(node), node.span, what, "the name of a column"))
            return None
        column = self.columns.get(node.value)
        if column is None:
            self.report.add(faults.missing_column(node.value, node.span, self.view, tuple(self.columns)))
        elif not _is(column.type, of):
            kind, wanted = str(column.type), _WANTED[of]
            self.report.add(faults.wrong_column(node.span, what, column.name, kind, wanted))
        return column

    def _value(self, kind: Arg, name: str, node: Node, columns: tuple[Column, ...]) -> object:  # noqa: PLR0911 - a case each
        match kind:
            case Arg.COLUMN:
                return node.value if isinstance(node, Scalar) else None
            case Arg.COLUMNS:
                return [one.value for one in _items(node) if isinstance(one, Scalar)]
            case Arg.VALUE:
                return self._of_column(name, node, columns)
            case Arg.VALUES:
                return [self._of_column(name, one, columns) for one in self._list(name, node)]
            case Arg.REGEX:
                return self._regex(name, node)
            case Arg.REGEXES:
                return [self._regex(name, one) for one in self._list(name, node)]
            case Arg.FLAG:
                return self._plain(name, node, "`true` or `false`", lambda value: isinstance(value, bool))
            case Arg.WHOLE:
                return self._plain(name, node, "a whole number from 0", lambda value: _whole(value) and value >= 0)
            case Arg.NUMBER:
                return self._number(name, node, "a number", lambda _: True)
            case Arg.SHARE:
                return self._number(name, node, "a number from 0 to 1", lambda value: 0 <= value <= 1)
            case Arg.ANY_OR_ALL:
                return self._plain(name, node, "`any` or `all`", lambda value: value in ("any", "all"))

    def _of_column(self, name: str, node: Node, columns: tuple[Column, ...]) -> object:
        if not columns:
            return None  # the fault of the column says enough
        column = columns[0]
        try:
            value = coerce(plain_values(node), column.type)
        except (Misfit, OverflowError):
            value = None
        if value is None:
            hint = f"`{column.name}` is {column.type}"
            self.report.add(faults.misfit(kind_of(node), node.span, name, f"a value of type {column.type}", hint))
        return value

    def _regex(self, name: str, node: Node) -> object:
        value = self._plain(name, node, "a regular expression", lambda value: isinstance(value, str))
        try:
            re.compile(value if isinstance(value, str) else "")
        except (re.error, RecursionError, OverflowError) as error:
            self.report.add(faults.bad_regex(node.span, shown(str(error))))
        if isinstance(value, str) and "(?P" in value:
            self.report.add(faults.bad_regex(node.span, "Java has no `(?P`"))
        return value

    def _number(self, name: str, node: Node, wanted: str, holds: Callable[[Any], bool]) -> object:
        value = self._plain(name, node, wanted, lambda value: _is_number(value) and holds(value))
        return value if value is None or _whole(value) else float(value)  # type: ignore[arg-type]

    def _plain(self, name: str, node: Node, wanted: str, holds: Callable[[Any], bool]) -> object:
        value = plain_values(node)
        if isinstance(value, Node) or not holds(value):
            self.report.add(faults.misfit(kind_of(node), node.span, name, wanted))
            return None
        return value

    def _list(self, name: str, node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Items) or not node.items:
            text = "an empty one" if isinstance(node, Items) else kind_of(node)
            self.report.add(faults.misfit(text, node.span, name, "a list of values", "write [a, b]"))
            return ()
        return node.items

    def _limits(self, signature: Signature, what: str, values: Mapping[str, Any], span: Span) -> None:
        if "min_value" not in signature.arguments:
            return
        low, high = values.get("min_value"), values.get("max_value")
        limits = [limit for limit in (low, high) if isinstance(limit, int)]
        beyond = next((limit for limit in limits if abs(limit) >= _EXACT), None)
        if beyond is not None:
            self.report.add(faults.beyond_doubles(span, what, beyond))
        if low is None and high is None:
            self.report.add(faults.missing_argument("min` or `max", span, what, "min: 1"))
        elif low is not None and high is not None and sort_key((low,)) > sort_key((high,)):
            self.report.add(faults.empty_range(span, what))


def read_expectation(item: Read, reading: Reading) -> tuple[Expectation, ...]:
    """One item of `expectations:`; several expectations where it names several columns, none where it has faults."""
    assert isinstance(item, Scalar | Items | Entries)
    if not isinstance(item, Entries):
        reading.report.add(wrong_kind(item.span, "an expectation", "a mapping", kind_of(item), faults.FORM))
        return ()
    names = [key for key, _ in item.entries if key.value not in BESIDE]
    if len(names) != 1:
        several = len(names) > 1
        fault = faults.names_two(names[1].span, names[0].value, names[1].value) if several else None
        reading.report.add(fault or faults.names_nothing(item.span))
        return ()
    key = names[0]
    node = item.get(key.value)
    assert node is not None
    about = _about(item, reading)
    if key.value == DENY:
        found = _denial(node, reading)
        return () if found is None else (replace(found, **about, span=key.span),)
    short = SHORT.get(key.value) or (Short(key.value, {}) if key.value in KNOWN else None)
    if short is None:
        reading.report.add(faults.unknown(key.value, key.span, (DENY, *SHORT, *KNOWN)))
        return ()
    found_all = tuple(_named(key, one, short, reading) for one in _each(node, short))
    sound = tuple(replace(found, **about, span=key.span) for found in found_all if found is not None)
    where = item.get("on")
    for found in sound[:1]:
        scope_fault(found, key.value, where.span if where else key.span, "add `on: all`", reading.report)
    return sound


def scope_fault(found: Expectation, what: str, span: Span, hint: str, report: Report) -> None:
    """Changed rows cannot tell about the whole."""
    if found.on is Scope.CHANGES and found.type != DENY and not KNOWN[found.type].row_local:
        report.add(faults.needs_all(span, what, hint))


def _each(node: Node, short: Short) -> tuple[Node, ...]:
    """The columns of `not_null: [a, b]` one by one."""
    one_column = short.bare == "column" and isinstance(node, Items) and node.items
    return node.items if one_column and isinstance(node, Items) else (node,)


def _named(key: Scalar, node: Node, short: Short, reading: Reading) -> Expectation | None:
    type_, words = short.type, short.words or {name: name for name in KNOWN[short.type].arguments}
    given: dict[str, tuple[str, Node]] = {}
    if isinstance(node, Entries):
        for word, value in node.entries:
            if word.value in words:
                if not (isinstance(value, Scalar) and value.empty):
                    given[words[word.value]] = (word.value, value)
            else:
                reading.report.add(faults.unknown_argument(word.value, word.span, key.value, tuple(words)))
                return None
    elif short.bare:
        given |= {} if isinstance(node, Scalar) and node.empty else {short.bare: (short.bare, node)}
    else:
        listed = [word for word, meant in words.items() if meant in KNOWN[type_].required] or list(words)[:1]
        example = f"{key.value}: {{{', '.join(f'{word}: ...' for word in listed)}}}"
        reading.report.add(wrong_kind(node.span, f"`{key.value}`", "a mapping", kind_of(node), f"write `{example}`"))
        return None
    alone = given.get("column_list")
    if alone is not None and len(_items(alone[1])) == 1:  # one column is unique by itself
        type_, given = "expect_column_values_to_be_unique", {"column": (alone[0], _items(alone[1])[0])}
    for name in KNOWN[type_].required:
        if name not in given:
            missing = next(word for word, meant in words.items() if meant == name)
            reading.report.add(faults.missing_argument(missing, key.span, key.value, f"{missing}: ..."))
            return None
    values = reading.fits(type_, key.value, given, key.span)
    return None if values is None else Expectation(type_, values, sentence(type_, values))


def _about(item: Entries, reading: Reading) -> dict[str, Any]:
    """What stands beside the name."""
    found: dict[str, Any] = {}
    choices: tuple[tuple[str, type[Severity | Scope]], ...] = (("severity", Severity), ("on", Scope))
    for name, kind in choices:
        node = item.get(name)
        if node is not None:
            words = tuple(kind)
            if isinstance(node, Scalar) and node.value in words:
                found[name] = kind(node.value)
            else:
                text = node.value if isinstance(node, Scalar) else kind_of(node)
                reading.report.add(bad_choice(text, node.span, f"`{name}` of an expectation", words))
    note = item.get("note")
    if isinstance(note, Scalar):
        found["note"] = "" if note.empty else note.value
    elif note is not None:
        reading.report.add(wrong_kind(note.span, "`note` of an expectation", "text", kind_of(note)))
    return found


# ---------------------------------------------------------------- deny
def _denial(node: Node, reading: Reading) -> Expectation | None:
    if not isinstance(node, Scalar):
        hint = "quote the body: YAML reads `: `, `{` and `[` as its own"
        reading.report.add(wrong_kind(node.span, "`deny`", "the body of a rule", kind_of(node), hint))
        return None
    bodies = [part for part, _ in split_rules(passage_of(node))]
    if len(bodies) != 1:
        example = "write what no row may match: `deny: closure(X, X)`"
        fault = faults.several_bodies(node.span) if bodies else nothing_there(node.span, "`deny`", example)
        reading.report.add(fault)
        return None
    body = bodies[0]
    rule = parse_rule(_headed(body), reading.report)
    if rule is None:
        return None
    if rule.sets:
        reading.report.add(faults.gathers(node.span))
        return None
    rule = reading.in_context(rule)
    text = " ".join(body.text.split())
    return Expectation(DENY, {"body": text}, f"no row matches {text}", rule=_with_witness(rule, reading.view))


def _headed(body: Passage) -> Passage:
    """The body as a rule: what is put before it stands nowhere."""
    offsets = body.offsets or tuple(range(body.start, body.start + len(body.text) + 1))
    return Passage(body.source, _HEAD + body.text, body.at(0), (body.at(0),) * len(_HEAD) + offsets)


def _with_witness(rule: Rule, view: str) -> Rule:
    """A head that shows the offending values: every variable that a positive literal binds."""
    bound = [arg for literal in rule.body if isinstance(literal, Atom) for arg in literal.args]
    names = dict.fromkeys(arg.name for arg in bound if isinstance(arg, Var) and not arg.name.startswith("_"))
    args: tuple[Term, ...] = tuple(Var(name) for name in names) or (Const(True, BOOLEAN),)
    return replace(rule, head=Atom(f"{view}~denied", args, span=rule.body[0].span), name=f"deny of {view}")


# ---------------------------------------------------------------- values
def _is(kind: Type, of: Of) -> bool:
    match of:
        case Of.ANYTHING:
            return True
        case Of.TEXT:
            return kind.name == "string"
        case Of.NUMBERS:
            return kind.is_numeric
        case Of.MEASURED:
            return kind.is_numeric or kind.is_temporal
        case Of.ORDERED:
            return kind.is_numeric or kind.is_temporal or kind.name == "string"


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Items) else (node,)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return not isinstance(value, bool | str | tuple) and value is not None
