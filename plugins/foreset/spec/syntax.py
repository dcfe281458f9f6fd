"""Where the parser stopped, told in the words of the writer.

The parser knows what could have stood there; people want to know what they
forgot. This looks at the words around the stop and names the slip.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from foreset.diagnostics import Diagnostic, Span
from foreset.spec import rule_faults as faults
from foreset.spec.lalr import StopError
from foreset.spec.source import Passage
from foreset.spec.sql_words import aggregate_hint, clause

_WORD = re.compile(
    r"(?P<skip>\s+|%[^\r\n]*)|(?P<text>\"(?:[^\"\\\r\n]|\\.|\"\")*\"|'(?:[^'\\\r\n]|\\.|'')*')"
    r"|(?P<name>[A-Za-z_0-9]+(?:\.[0-9]+)?)|(?P<open>\()|(?P<close>\))|(?P<comma>,)|(?P<implies>:-)"
    r"|(?P<operator><=|>=|!=|==|<>|=<|=>|:=|=~|[-=<>+*/])|(?P<symbol><-|->|&&|\|\||\\\+|.)",
    re.DOTALL,
)
_CONNECTIVES = (";", "|", "||", "&", "&&")
_NEGATIONS = ("!", "~", "\\+", "\\")
_ARROWS = ("<-", "->", ":", "if", "IF", "::-")
_CUT = "YAML reads ` #` as a comment: put quotes around the rule, or use a `|` block; comments in rules begin with `%`"
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "==", "<>", "=<", "=>", ":=", "=~")
_FOREIGN_OPERATORS = ("**", "//", "<<", ">>", "++", "--", "->", "!==", "===")
_FOREIGN_WORDS = {
    "in": "write one rule for each value, or facts for the list",
    "like": "write starts_with(X, ...), ends_with(X, ...) or contains(X, ...)",
    "between": "write two comparisons",
    "is": "write `=`, or is_null(X)",
    "mod": "write `%`, as in X % 2",
    "div": "write div(X, Y)",
}
_OPERANDS = ("name", "text", "open")


class _Word(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Scene:
    """The words of a rule around the one that does not fit."""

    passage: Passage
    before: tuple[_Word, ...]
    here: _Word | None  # None at the end
    after: tuple[_Word, ...]
    expected: frozenset[str]
    flow: bool

    @property
    def last(self) -> _Word | None:
        """The word before."""
        return self.before[-1] if self.before else None

    @property
    def open(self) -> tuple[_Word, ...]:
        """The parentheses that are open here."""
        stack: list[_Word] = []
        for word in self.before:
            if word.kind == "open":
                stack.append(word)
            elif word.kind == "close" and stack:
                stack.pop()
        return tuple(stack)

    @property
    def in_body(self) -> bool:
        """True after `:-`."""
        return any(word.kind == "implies" for word in self.before)

    @property
    def implies_ahead(self) -> bool:
        """True where a `:-` is still to come."""
        return any(word.kind == "implies" for word in self.after)

    def previous(self, word: _Word) -> _Word | None:
        """The word before one of those that were read."""
        at = self.before.index(word)
        return self.before[at - 1] if at else None

    def at(self, word: _Word) -> Span:
        """The place of a word."""
        return self.passage.span(word.start, word.end)


def syntax_fault(passage: Passage, stop: StopError, *, flow: bool) -> Diagnostic:
    """The one fault that made the parser stop."""
    words = tuple(
        _Word(match.lastgroup or "", match.group(), match.start(), match.end())
        for match in _WORD.finditer(passage.text)
        if match.lastgroup != "skip"
    )
    before = tuple(word for word in words if word.start < stop.offset)
    rest = words[len(before) :]
    scene = _Scene(passage, before, rest[0] if rest else None, rest[1:], stop.expected, flow)
    return _at_end(scene) if scene.here is None else _at_word(scene, scene.here)


# ---------------------------------------------------------------- the rule ends too early
def _at_end(scene: _Scene) -> Diagnostic:
    fault = _end(scene)
    return replace(fault, hint=_CUT) if _cut_by_comment(scene) else fault


def _in_braces(scene: _Scene) -> bool:
    """True inside of `{...}`."""
    return sum({"{": 1, "}": -1}.get(word.text, 0) for word in scene.before if word.kind == "symbol") > 0


def _cut_by_comment(scene: _Scene) -> bool:
    """True where YAML has taken the rest of the line for a comment of its own."""
    source, end = scene.passage.source, scene.passage.at(len(scene.passage.text))
    line = source.line_of(end)
    rest = source.line(line)[end - source.starts[line - 1] :]
    return rest[:1] == " " and rest.lstrip().startswith("#")


def _end(scene: _Scene) -> Diagnostic:
    last = scene.last
    if last is None:
        start = len(scene.passage.text) - len(scene.passage.text.lstrip())
        return faults.unexpected_end(scene.passage.span(start, start), "remove the `.`, or write a rule before it")
    if scene.open:
        unclosed = scene.at(scene.open[-1])
        return faults.unclosed_in_brackets(unclosed) if scene.flow else faults.unclosed(unclosed)
    if _in_braces(scene):
        return faults.unclosed_brace(scene.at(next(word for word in scene.before[::-1] if word.text == "{")))
    if last.kind == "comma":
        return faults.stray_comma(scene.at(last), "after")
    if _alone(scene):
        return _value_alone(scene)
    hint = f"write what follows `{last.text}`" if last.kind in ("operator", "implies") else "write the rest of it"
    return faults.unexpected_end(scene.at(last), hint)


# ---------------------------------------------------------------- a word that does not fit
def _at_word(scene: _Scene, here: _Word) -> Diagnostic:  # noqa: PLR0911 - a list of slips, one return each
    if foreign := _of_sql(scene, here):
        return foreign
    if scene.expected == {"_COLON"}:
        return faults.unexpected(here.text, scene.at(here), "write the domain before it: `in(X, facedb:find(Name))`")
    if here.kind == "symbol":
        return _symbol(scene, here)
    if here.kind in ("comma", "close", "implies"):
        return _punctuation(scene, here)
    if here.text.lower() in ("and", "or") and _ends_operand(scene.last):
        return faults.wrong_connective(here.text, scene.at(here))
    if here.text.lower() in _FOREIGN_WORDS and _ends_operand(scene.last):
        return faults.unexpected(here.text, scene.at(here), _FOREIGN_WORDS[here.text.lower()])
    if here.text in _ARROWS and not scene.in_body:
        return faults.missing_implies(scene.at(here), f"write `:-`, not `{here.text}`")
    if here.kind in _OPERANDS and _ends_operand(scene.last):
        return _side_by_side(scene, here)
    if here.kind == "open" and scene.last is None:
        return faults.bad_head(scene.at(here), "begin with the name of the view")
    if here.kind == "operator":
        return _operator(scene, here)
    if scene.open and scene.last and scene.last.text == "not":
        return faults.unclosed(scene.at(scene.open[-1]))
    return faults.unexpected(here.text, scene.at(here), _wanted(scene))


def _of_sql(scene: _Scene, here: _Word) -> Diagnostic | None:
    """A word of SQL at the stop or just before it, read as a variable so far."""
    last = scene.last
    caller = _caller(scene)
    for word in (last, caller):
        if word is not None and word.text in ("NOT", "Not") and not _ends_operand(scene.previous(word)):
            return faults.wrong_negation(word.text, scene.at(word))
    if here.text == "*" and caller is not None and last is not None and last.kind == "open":
        hint = aggregate_hint(caller.text)
        return faults.unexpected(here.text, scene.at(here), hint) if hint else None
    if here.text.lower() == "is" and last is not None and _ends_operand(last):
        following = [word.text.lower() for word in scene.after[:2]]
        sign = "not " if following[:1] == ["not"] else ""
        if "null" in following:
            subject = last.text if last.kind == "name" else "X"
            return faults.unexpected(here.text, scene.at(here), f"write `{sign}is_null({subject})`")
    follows = here.kind in ("name", "text", "comma") and not scene.open
    if follows and last is not None and last.kind == "name" and clause(last.text):
        return faults.unexpected(last.text, scene.at(last), clause(last.text))
    if here.kind == "name" and _ends_operand(last) and clause(here.text):
        return faults.unexpected(here.text, scene.at(here), clause(here.text))
    return None


def _caller(scene: _Scene) -> _Word | None:
    """The name before the parenthesis that is open."""
    return scene.previous(scene.open[-1]) if scene.open else None


def _operator(scene: _Scene, here: _Word) -> Diagnostic:
    last, span = scene.last, scene.at(here)
    both = last.text + here.text if last and last.kind == "operator" and last.end == here.start else ""
    if both in ("->", "-->") and not scene.in_body:
        return faults.missing_implies(span, f"write `:-`, not `{both}`")
    if both in _FOREIGN_OPERATORS:
        return faults.unexpected(here.text, span, f"rules have no operator `{both}`")
    if here.text in _COMPARISONS and _ends_operand(last):
        inside = "write the comparison outside the parentheses, as a separate literal"
        twice = "write two comparisons, with a comma between them"
        return faults.unexpected(here.text, span, inside if scene.open else twice)
    return faults.unexpected(here.text, span, _wanted(scene))


def _wanted(scene: _Scene) -> str:
    return "" if _ends_operand(scene.last) else "write a variable, a constant or a function here"


def _ends_operand(word: _Word | None) -> bool:
    return word is not None and word.kind in ("name", "text", "close") and word.text != "not"


def _alone(scene: _Scene) -> bool:
    """True where a value was read to its end, and a comparison is all that could follow."""
    return not scene.open and _ends_operand(scene.last) and "COMPARE" in scene.expected


def _value_alone(scene: _Scene) -> Diagnostic:
    last = scene.last
    assert last is not None
    if not scene.in_body and not (scene.here and scene.here.kind == "comma"):
        return faults.bad_head(scene.at(last), "write a relation with its arguments, as in `view(X, Y)`")
    if scene.passage.text[last.end :].lstrip().startswith("%"):
        hint = "between two values `%` is the remainder: write the comment on a separate line"
        return faults.not_a_condition(scene.at(last), hint)
    variable = last.text[0].isupper() or last.text[0] == "_"
    hint = (
        f"write `{last.text} = true` for a boolean" if variable else "write a relation with arguments, or a comparison"
    )
    return faults.not_a_condition(scene.at(last), hint)


def _side_by_side(scene: _Scene, here: _Word) -> Diagnostic:
    """Two operands without anything between."""
    last = scene.last
    assert last is not None
    if scene.open:
        if scene.implies_ahead or _is_call(scene, here):
            unclosed = scene.at(scene.open[-1])
            return faults.unclosed_in_brackets(unclosed) if scene.flow else faults.unclosed(unclosed)
        return faults.missing_comma(scene.at(here), "these arguments")
    if here.kind == "open":
        return faults.unexpected("(", scene.at(here), "only the names of relations and functions take arguments")
    if scene.in_body and scene.implies_ahead:
        return faults.missing_dot(
            scene.at(last), "end the first rule with a `.`, or write the second as a new list item"
        )
    if not scene.in_body and last.kind == "close":
        return faults.missing_implies(scene.at(here), "write `:-` before this")
    if last.kind == "name" and not scene.in_body:
        return faults.bad_head(scene.at(last), "write a relation with its arguments, as in `view(X, Y)`")
    return faults.missing_comma(scene.at(here), "these conditions")


def _is_call(scene: _Scene, here: _Word) -> bool:
    """True where a literal of the body begins, as far as one can see."""
    if here.text == "not":
        return True
    return scene.in_body and here.text[0].islower() and bool(scene.after) and scene.after[0].kind == "open"


_SET_BODY = "write the body of a set without parentheses: `setof(X, p(G, X), X > 2, S)`"


def _punctuation(scene: _Scene, here: _Word) -> Diagnostic:  # noqa: PLR0911 - a list of slips, one return each
    last, span = scene.last, scene.at(here)
    if here.kind == "close" and not scene.open:
        return faults.unopened(span)
    if here.kind != "close" and scene.open and _ends_operand(last):
        unclosed = scene.at(scene.open[-1])
        if here.kind == "implies":
            return faults.unclosed(unclosed)
        if any(scene.passage.text[: word.start].rstrip().endswith("setof") for word in scene.open):
            return faults.unexpected(here.text, span, _SET_BODY)
        return faults.unexpected(here.text, span, "parentheses can hold only one value here")
    if last is not None and last.kind == "comma":
        return faults.stray_comma(scene.at(last), "after")
    if here.kind == "comma" and (last is None or last.kind in ("open", "implies")):
        return faults.stray_comma(span, "before")
    if here.kind == "implies" and scene.in_body:
        return faults.missing_dot(span, "a second `:-` begins another rule: end the first with a `.`")
    if here.kind == "implies" and last is None:
        return faults.bad_head(span, "write the head before `:-`, as in `view(X, Y)`")
    if _alone(scene):
        return _value_alone(scene)
    if here.kind == "comma" and not scene.in_body:
        if scene.implies_ahead:
            return faults.bad_head(span, "write one rule for each head")
        return faults.missing_implies(span, "write `:-` after the head")
    return faults.unexpected(here.text, span, _wanted(scene))


# ---------------------------------------------------------------- foreign signs
def _symbol(scene: _Scene, here: _Word) -> Diagnostic:
    span = scene.at(here)
    if here.text in ('"', "'"):
        return faults.unterminated_text(span, _quote_hint(scene, here))
    if here.text in ("{", "}", "|") and (_in_braces(scene) or here.text != "|"):
        return faults.bad_braces(here.text, span)
    if here.text in ("[", "]"):
        return faults.not_supported("lists", span)
    if here.text in _CONNECTIVES:
        return faults.wrong_connective(here.text, span)
    if here.text in _NEGATIONS:
        return faults.wrong_negation(here.text, span)
    if here.text in _ARROWS and not scene.in_body and not scene.open:
        return faults.missing_implies(span, f"write `:-`, not `{here.text}`")
    return faults.bad_symbol(here.text, span, _symbol_hint(scene, here))


def _quote_hint(scene: _Scene, here: _Word) -> str:
    if _cut_by_comment(scene) and "\n" not in scene.passage.text[here.start :]:
        return _CUT
    return f"add a {here.text} on the same line; a line break inside a text is written \\n"


def _symbol_hint(scene: _Scene, here: _Word) -> str:
    if here.text == "." and _ends_operand(scene.last) and scene.after:
        words = [word.kind for word in scene.after[:2]]
        if scene.last is not None and scene.last.kind == words[0] == "name" and words[1:] != ["open"]:
            relation, column = scene.last.text.lower(), scene.after[0].text.lower()
            return f"columns are arguments: `{relation}({column}=X)` gives X the value of `{column}`"
        return "name a view of another group under `sources:` with `view: group.view`, and use that name"
    if here.text == "#":
        return "a comment begins with `%`"
    if here.text in "“”„‘’«»`":
        return "write straight quotes: \" or '"
    if here.text == "?":
        return "write `_` for a value that does not matter"
    return "" if here.text.isascii() else "outside of quotes, rules are written in ASCII"
