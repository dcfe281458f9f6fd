"""Runs the LALR table that Lark makes of rules.lark, in a loop of our own.

A spec has thousands of rules and every command reads them all: Lark's own loop
takes 0.6 s for a thousand, this one a sixth of it, because tokens are tuples,
words are told apart by one expression, and single-child reductions cost nothing.
Lark still reads the grammar, refuses conflicts and filters children.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lark import Lark
from lark.lexer import PatternStr, TerminalDef
from lark.parsers.lalr_analysis import Shift

END = "$END"


class Token(NamedTuple):
    """A word of the text."""

    type: str
    text: str
    start: int
    end: int


class StopError(Exception):
    """The first token that does not fit (its text is empty at the end), and what would."""

    def __init__(self, offset: int, text: str, row: Mapping[str, Any]) -> None:
        super().__init__(offset, text)
        self.offset = offset
        self.text = text
        self.expected = frozenset(word for word in row if not word.islower())


class _Reduction(NamedTuple):
    size: int
    call: Callable[[list[Any]], Any] | None  # None: the only child stands for the whole
    name: str


_States = list[dict[str, Any]]  # by token or rule name: the next state, or a reduction


_REMAINDER = "REMAINDER"  # asked for after an operand only; elsewhere the same sign starts a comment


@dataclass(frozen=True, slots=True)
class Automaton:
    """A grammar, ready to run."""

    states: _States
    start: int
    words: re.Pattern[str]
    keywords: Mapping[str, str]
    ignored: frozenset[str]

    def parse(self, text: str) -> Any:  # noqa: ANN401 - whatever the builder makes of the start rule
        """What the builder's methods made of `text`; raises `StopError`."""
        stack, values, position = [self.start], list[Any](), 0
        while True:
            token = self._next(text, position, self.states[stack[-1]])
            state = self._reduce(stack, values, token)
            if token.type == END:
                return values[-1]
            stack.append(state)
            values.append(token)
            position = token.end

    def _next(self, text: str, position: int, row: Mapping[str, Any]) -> Token:
        """The token at `position`, spaces and comments left out."""
        size, match, ignored = len(text), self.words.match, self.ignored
        while position < size:
            found = match(text, position)
            if found is None:
                raise StopError(position, text[position], row)
            kind, end = found.lastgroup or "", found.end()
            if kind in ignored:
                position = end
            elif kind == _REMAINDER and kind not in row:
                line = text.find("\n", end)
                position = size if line < 0 else line
            else:
                word = found.group()
                keyword = self.keywords.get(word)
                return Token(keyword if keyword in row else kind, word, position, end)  # type: ignore[arg-type]
        return Token(END, "", size, size)

    def _reduce(self, stack: list[int], values: list[Any], token: Token) -> int:
        """Reduce until `token` can be shifted; return the state in which it is."""
        states, kind = self.states, token.type
        row = states[stack[-1]]
        while True:
            action = row.get(kind)
            if type(action) is int:
                return action
            if action is None:
                raise StopError(token.start, token.text, row)
            count, call, name = action
            if call is None:
                stack.pop()
            else:
                children = values[-count:]
                del stack[-count:], values[-count:]
                values.append(call(children))
            state = states[stack[-1]][name]
            stack.append(state)
            row = states[state]


def compile_grammar(grammar: str, start: str, builder: object) -> Automaton:
    """The automaton of `grammar`; each alternative calls the method of `builder` that has its name."""
    lark = Lark(grammar, parser="lalr", start=start, maybe_placeholders=False)
    table = lark.parser.parser.parser.parse_table
    states: _States = [{} for _ in table.states]
    for number, row in table.states.items():
        for name, (action, target) in row.items():
            states[number][str(name)] = target if action is Shift else _reduction(target, builder)
    states[table.end_states[start]][END] = 0
    terminals = sorted(lark.terminals, key=_order)
    words = "|".join(f"(?P<{term.name}>{term.pattern.to_regexp()})" for term in terminals if not _keyword(term))
    keywords = {str(term.pattern.value): term.name for term in terminals if _keyword(term)}
    return Automaton(states, table.start_states[start], re.compile(words), keywords, frozenset(lark.ignore_tokens))


def _reduction(rule: Any, builder: object) -> _Reduction:  # noqa: ANN401 - Lark's Rule has no public type
    name = str(rule.origin.name)
    if rule.options.expand1 and not rule.alias and len(rule.expansion) == 1:
        return _Reduction(1, None, name)
    method = getattr(builder, str(rule.alias or name))
    kept = [index for index, symbol in enumerate(rule.expansion) if not symbol.name.startswith("_")]
    if len(kept) == len(rule.expansion):
        return _Reduction(len(kept), method, name)
    return _Reduction(len(rule.expansion), lambda parts: method([parts[index] for index in kept]), name)


def _keyword(term: TerminalDef) -> bool:
    return isinstance(term.pattern, PatternStr) and term.pattern.value.isalpha()


def _order(term: TerminalDef) -> tuple[int, int, str]:
    """Higher priority first, then what can be longer: as Lark orders them."""
    return -term.priority, -min(term.pattern.max_width, 1000), term.name
