"""The text form of constraints, read back; also what `foreset edit --delete 'X = 6'` is given.

conjunction := "true" | "false" | literal ("," literal)* ["for some" name type ("," name type)*]
literal     := sum op sum | "not(" conjunction ")" | "in(" [pattern ","] domain ":" function "(" args ")" ")"
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from foreset.constraints.build import comparison, lookup
from foreset.constraints.errors import BadConstraint
from foreset.constraints.form import FALSE, Constraint, Literal, Member, Not, Operand, constraint, linear
from foreset.constraints.sorts import NUMBER, Sort, Variable, sort_of
from foreset.ir.rules import Comparison
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.types import BOOLEAN, DATE, INT, STRING, TIMESTAMP, decimal, parse_type

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign><=|>=|!=|[=<>(),:+*-]))""",
    re.VERBOSE | re.ASCII,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_COMPARE = ("=", "!=", "<", "<=", ">", ">=")
MAX_DEPTH = 40


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class _Call:
    outputs: tuple[Term, ...]
    places: tuple[str, ...] | None
    domain: str
    function: str
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class _Body:
    """A conjunction as written; None for `false`."""

    literals: tuple[Comparison | _Call | _Body, ...] | None
    local: Mapping[str, Variable]


def read_constraint(written: str, columns: Iterable[Variable], *, in_capitals: bool = False) -> Constraint:
    """The constraint that `written` says about `columns`; BadConstraint says where it is none.

    `in_capitals` lets people write the column `x` as rules would: `X`.
    """
    named = {v.name: v for v in columns}
    quick = None if in_capitals else _of_numbers(written, named)
    if quick is not None:
        return quick
    reader = _Reader(written)
    body = reader.conjunction()
    reader.end()
    capitals = {name.upper(): v for name, v in named.items()} if in_capitals else {}
    first = {name.capitalize(): v for name, v in named.items()} if in_capitals else {}
    return _built(body, {**capitals, **first, **named})


_COMPARED = re.compile(r"([a-z][a-z0-9_]*) (=|!=|<=|>=|<|>) (-?\d+)", re.ASCII)


def _of_numbers(written: str, named: Mapping[str, Variable]) -> Constraint | None:
    """The same of a text that only compares whole numbers, as most entries do; None for others."""
    found: list[Literal | bool] = []
    for part in written.split(", "):
        match = _COMPARED.fullmatch(part)
        variable = named.get(match[1]) if match else None
        if match is None or variable is None or variable.sort != NUMBER:
            return None
        found.append(linear({variable: 1}, match[2], int(match[3])))
    return constraint(found)


def _built(body: _Body, outer: Mapping[str, Variable]) -> Constraint:
    if body.literals is None:
        return FALSE
    scope = {**outer, **body.local}
    return constraint((_literal(literal, scope) for literal in body.literals), body.local.values())


def _literal(written: Comparison | _Call | _Body, scope: Mapping[str, Variable]) -> Literal | bool:
    match written:
        case Comparison():
            return comparison(written, scope)
        case _Body():
            return Not(_built(written, scope))
        case _Call():
            outputs = tuple(_operand(term, scope) for term in written.outputs)
            args = tuple(_operand(term, scope) for term in written.args)
            return Member(outputs, written.domain, written.function, args, written.places)


def _operand(term: Term, scope: Mapping[str, Variable]) -> Operand:
    match term:
        case Var():
            return lookup(term, scope)
        case Const(value=value):
            return value
        case Call(function="neg", args=(Const(value=int() | Decimal() as value),)):
            return -value
        case _:
            raise BadConstraint("an argument of a call is a variable or a constant", "give the expression a name first")


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, written: str) -> None:
        self.tokens = list(_tokens(written))
        self.at = 0
        self.depth = 0

    # ------------------------------------------------------------ tokens
    def peek(self, ahead: int = 0) -> _Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self, *texts: str) -> _Token | None:
        token = self.peek()
        if token.text not in texts or token.kind == "text":
            return None
        self.at += 1
        return token

    def need(self, *texts: str) -> _Token:
        token = self.take(*texts)
        if token is None:
            raise self.fault(f"expected {' or '.join(f'`{t}`' for t in texts)}")
        return token

    def name(self) -> str:
        token = self.peek()
        if token.kind != "name":
            raise self.fault("expected a name")
        self.at += 1
        return token.text

    def fault(self, what: str) -> BadConstraint:
        token = self.peek()
        found = f"`{token.text}`" if token.text else "the end"
        return BadConstraint(
            f"{what}, found {found} at column {token.column}", "as in `X >= 5, X != 6`", column=token.column
        )

    def end(self) -> None:
        if self.peek().kind != "end":
            raise self.fault("expected `,` or the end")

    # ------------------------------------------------------------ conjunctions
    def conjunction(self) -> _Body:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fault("nested too deeply")
        literals: list[Comparison | _Call | _Body] = []
        false = bool(self._word("false"))
        if not false and not self._word("true"):
            literals.append(self.literal())
            while self.take(","):
                literals.append(self.literal())
        self.depth -= 1
        return _Body(None if false else tuple(literals), self._locals())

    def _word(self, word: str) -> _Token | None:
        """`true` or `false` for a whole conjunction, not as a side of a comparison."""
        return None if self.peek(1).text in _COMPARE else self.take(word)

    def _locals(self) -> dict[str, Variable]:
        local: dict[str, Variable] = {}
        if self.take("for"):
            self.need("some")
            while True:
                name = self.name()
                local[name] = Variable(name, self._sort())
                if not (self.peek().text == "," and self.peek(1).kind == "name" and self.peek(2).kind == "name"):
                    break
                self.need(",")
        return local

    def _sort(self) -> Sort:
        written = self.name()
        if self.take("("):
            numbers = [self.peek().text]
            self.at += 1
            while self.take(","):
                numbers.append(self.peek().text)
                self.at += 1
            self.need(")")
            written += f"({','.join(numbers)})"
        kind = parse_type(written)
        sort = sort_of(kind) if kind else None
        if sort is None:
            raise self.fault(f"constraints do not know the type `{written}`")
        return sort

    def literal(self) -> Comparison | _Call | _Body:
        if self.peek().text in ("not", "in") and self.peek(1).text == "(":
            word = self.take("not", "in")
            assert word is not None
            self.need("(")
            inner: _Body | _Call = self.conjunction() if word.text == "not" else self.call()
            self.need(")")
            return inner
        left = self.sum()
        op = self.need(*_COMPARE).text
        return Comparison(op, left, self.sum())

    def call(self) -> _Call:
        outputs: list[Term] = []
        places: list[str] | None = None
        if self.take("("):
            places = [] if self.peek(1).text == "=" else None
            while True:
                if places is not None:
                    places.append(self.name())
                    self.need("=")
                outputs.append(self.sum())
                if not self.take(","):
                    break
            self.need(")")
            self.need(",")
        elif not (self.peek().kind == "name" and self.peek(1).text == ":"):
            if self.peek(1).text == "=":
                places = [self.name()]
                self.need("=")
            outputs.append(self.sum())
            self.need(",")
        domain = self.name()
        self.need(":")
        function = self.name()
        self.need("(")
        args = []
        while not self.take(")"):
            args.append(self.sum())
            if self.peek().text != ")":
                self.need(",")
        return _Call(tuple(outputs), tuple(places) if places is not None else None, domain, function, tuple(args))

    # ------------------------------------------------------------ terms
    def sum(self) -> Term:
        total = self.product()
        while sign := self.take("+", "-"):
            total = Call(sign.text, (total, self.product()))
        return total

    def product(self) -> Term:
        total = self.factor()
        while self.take("*"):
            total = Call("*", (total, self.factor()))
        return total

    def factor(self) -> Term:
        if self.take("-"):
            return Call("neg", (self.factor(),))
        token = self.peek()
        if token.kind in ("end", "sign"):
            raise self.fault("expected a value")
        self.at += 1
        match token.kind:
            case "number":
                return _number(token.text)
            case "text":
                return Const(_unquoted(token.text), STRING)
            case _ if token.text in ("true", "false"):
                return Const(token.text == "true", BOOLEAN)
            case _ if token.text in ("date", "timestamp") and self.peek().text == "(":
                return self.moment(token.text)
            case _:
                return Var(token.text)

    def moment(self, function: str) -> Const:
        self.need("(")
        token = self.peek()
        self.at += 1
        try:
            written = _unquoted(token.text)
            value = dt.date.fromisoformat(written) if function == "date" else dt.datetime.fromisoformat(written)
        except ValueError:
            self.at -= 1
            raise self.fault(f'expected a {function} such as "2026-11-18"') from None
        self.need(")")
        return Const(value, DATE if function == "date" else TIMESTAMP)


def _number(written: str) -> Const:
    if "." not in written:
        return Const(int(written), INT)
    return Const(Decimal(written), decimal(38, len(written.split(".")[1])))


def _unquoted(written: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), written[1:-1], flags=re.DOTALL)


def _tokens(written: str) -> Iterable[_Token]:
    at = 0
    while rest := written[at:].strip():
        found = _TOKEN.match(written, at)
        if found is None:
            column = written.index(rest, at) + 1
            raise BadConstraint(
                f"`{rest[0]}` at column {column} has no meaning here", "as in `X >= 5, X != 6`", column=column
            )
        kind = str(found.lastgroup)
        yield _Token(kind, found[kind], found.start(kind) + 1)
        at = found.end()
    yield _Token("end", "", len(written) + 1)
