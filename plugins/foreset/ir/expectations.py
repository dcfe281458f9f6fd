"""What a view's rows are expected to be: an expectation of Great Expectations, or a body that nothing may match.

`KNOWN` is the part of Great Expectations that Foreset takes, with the arguments of each, so
that `foreset check` need not import it (that takes seconds). tests/unit/test_quality_known.py
holds the table to the installed version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from foreset.diagnostics import Span
from foreset.ir.rules import Rule

if TYPE_CHECKING:
    from foreset.ir.program import Column

DENY = "deny"


class Severity(StrEnum):
    """What a failure does: stop the refresh before it publishes, or be reported."""

    CRITICAL = "critical"
    WARNING = "warning"


class Scope(StrEnum):
    """Which rows are looked at: those that the refresh inserts, or the whole new state."""

    CHANGES = "changes"
    ALL = "all"


class Arg(Enum):
    """What an argument holds."""

    COLUMN = auto()
    COLUMNS = auto()
    VALUE = auto()  # of the type of the column
    VALUES = auto()  # a list of such
    NUMBER = auto()
    WHOLE = auto()
    SHARE = auto()  # from 0 to 1
    FLAG = auto()
    REGEX = auto()
    REGEXES = auto()
    ANY_OR_ALL = auto()


class Of(Enum):
    """Which columns an expectation can speak of."""

    ANYTHING = auto()
    TEXT = auto()
    NUMBERS = auto()
    ORDERED = auto()
    MEASURED = auto()  # what Great Expectations takes limits for


@dataclass(frozen=True, slots=True)
class Signature:
    """An expectation: its arguments in the order of the sentence, and the sentence itself."""

    sentence: str
    arguments: Mapping[str, Arg]
    required: tuple[str, ...] = ()
    row_local: bool = True  # a row is as expected or not, whatever the other rows are
    of: Of = Of.ANYTHING


@dataclass(frozen=True, slots=True)
class Short:
    """A short name: `words` are the arguments' names in specs, `bare` is the one that may stand alone."""

    type: str
    words: Mapping[str, str]
    bare: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation of one view."""

    type: str  # Great Expectations' name for it, or `deny`
    arguments: Mapping[str, Any] = field(hash=False)  # its arguments, values in the canonical form of the columns
    text: str  # a plain sentence
    severity: Severity = Severity.CRITICAL
    on: Scope = Scope.CHANGES
    note: str = ""
    rule: Rule | None = None  # of `deny`: its body derives the offending rows
    columns: tuple[Column, ...] = ()  # of the head of `rule`, once it is typed
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def origin(self) -> str:
        """Where it is written."""
        return f"{self.span.file}:{self.span.line}" if self.span else ""


_COLUMN: dict[str, Arg] = {"column": Arg.COLUMN}
_PAIR: dict[str, Arg] = {"column_A": Arg.COLUMN, "column_B": Arg.COLUMN}
_SET: dict[str, Arg] = {**_COLUMN, "value_set": Arg.VALUES}
_MOSTLY: dict[str, Arg] = {"mostly": Arg.SHARE}
_STRICT: dict[str, Arg] = {"strict_min": Arg.FLAG, "strict_max": Arg.FLAG}


def _range(kind: Arg) -> dict[str, Arg]:
    return {"min_value": kind, "max_value": kind, **_STRICT}


def _rows(sentence: str, arguments: dict[str, Arg], *required: str, of: Of = Of.ANYTHING) -> Signature:
    return Signature(sentence, MappingProxyType({**arguments, **_MOSTLY}), required, of=of)


def _table(sentence: str, arguments: dict[str, Arg], *required: str, of: Of = Of.ANYTHING) -> Signature:
    return Signature(sentence, MappingProxyType(arguments), required, row_local=False, of=of)


KNOWN: Mapping[str, Signature] = MappingProxyType({
    # of each row
    "expect_column_values_to_not_be_null": _rows("{column} is never null", _COLUMN, "column"),
    "expect_column_values_to_be_null": _rows("{column} is always null", _COLUMN, "column"),
    "expect_column_values_to_be_in_set": _rows("{column} is one of {value_set}", _SET, "column", "value_set"),
    "expect_column_values_to_not_be_in_set": _rows("{column} is none of {value_set}", _SET, "column", "value_set"),
    "expect_column_values_to_be_between": _rows(
        "{column} is {range}", {**_COLUMN, **_range(Arg.VALUE)}, "column", of=Of.MEASURED),
    "expect_column_value_lengths_to_be_between": _rows(
        "the length of {column} is {range}", {**_COLUMN, **_range(Arg.WHOLE)}, "column", of=Of.TEXT),
    "expect_column_value_lengths_to_equal": _rows(
        "the length of {column} is {value}", {**_COLUMN, "value": Arg.WHOLE}, "column", "value", of=Of.TEXT),
    "expect_column_values_to_match_regex": _rows(
        "{column} matches {regex}", {**_COLUMN, "regex": Arg.REGEX}, "column", "regex", of=Of.TEXT),
    "expect_column_values_to_not_match_regex": _rows(
        "{column} never matches {regex}", {**_COLUMN, "regex": Arg.REGEX}, "column", "regex", of=Of.TEXT),
    "expect_column_values_to_match_regex_list": _rows(
        "{column} matches {match_on} of {regex_list}",
        {**_COLUMN, "regex_list": Arg.REGEXES, "match_on": Arg.ANY_OR_ALL}, "column", "regex_list", of=Of.TEXT),
    "expect_column_values_to_not_match_regex_list": _rows(
        "{column} matches none of {regex_list}", {**_COLUMN, "regex_list": Arg.REGEXES}, "column", "regex_list",
        of=Of.TEXT),
    "expect_column_pair_values_a_to_be_greater_than_b": _rows(
        "{column_A} is {greater} {column_B}", {**_PAIR, "or_equal": Arg.FLAG}, *_PAIR, of=Of.ORDERED),
    "expect_column_pair_values_to_be_equal": _rows("{column_A} equals {column_B}", _PAIR, *_PAIR),
    # of the table as a whole
    "expect_column_values_to_be_unique": _table("{column} is unique", {**_COLUMN, **_MOSTLY}, "column"),
    "expect_compound_columns_to_be_unique": _table(
        "{column_list} together are unique", {"column_list": Arg.COLUMNS, **_MOSTLY}, "column_list"),
    "expect_table_row_count_to_be_between": _table("the number of rows is {range}", _range(Arg.WHOLE)),
    "expect_table_row_count_to_equal": _table("the number of rows is {value}", {"value": Arg.WHOLE}, "value"),
    "expect_column_distinct_values_to_be_in_set": _table(
        "the values of {column} are among {value_set}", _SET, "column", "value_set"),
    "expect_column_distinct_values_to_contain_set": _table(
        "{column} takes each of the values {value_set}", _SET, "column", "value_set"),
    "expect_column_distinct_values_to_equal_set": _table(
        "the values of {column} are exactly {value_set}", _SET, "column", "value_set"),
    "expect_column_unique_value_count_to_be_between": _table(
        "the number of different values of {column} is {range}", {**_COLUMN, **_range(Arg.WHOLE)}, "column"),
    "expect_column_proportion_of_non_null_values_to_be_between": _table(
        "the share of rows with a {column} is {range}", {**_COLUMN, **_range(Arg.SHARE)}, "column"),
    "expect_column_min_to_be_between": _table(
        "the smallest {column} is {range}", {**_COLUMN, **_range(Arg.VALUE)}, "column", of=Of.MEASURED),
    "expect_column_max_to_be_between": _table(
        "the largest {column} is {range}", {**_COLUMN, **_range(Arg.VALUE)}, "column", of=Of.MEASURED),
    "expect_column_sum_to_be_between": _table(
        "the sum of {column} is {range}", {**_COLUMN, **_range(Arg.NUMBER)}, "column", of=Of.NUMBERS),
    "expect_column_mean_to_be_between": _table(
        "the mean of {column} is {range}", {**_COLUMN, **_range(Arg.NUMBER)}, "column", of=Of.NUMBERS),
})  # fmt: skip

_RANGE_WORDS = {"column": "column", "min": "min_value", "max": "max_value", "strict_min": "strict_min",
                "strict_max": "strict_max", "mostly": "mostly"}  # fmt: skip
_ONE = {"column": "column", "mostly": "mostly"}

SHORT: Mapping[str, Short] = MappingProxyType({
    "not_null": Short("expect_column_values_to_not_be_null", _ONE, "column"),
    "is_null": Short("expect_column_values_to_be_null", _ONE, "column"),
    "in_set": Short("expect_column_values_to_be_in_set", {**_ONE, "values": "value_set"}),
    "not_in_set": Short("expect_column_values_to_not_be_in_set", {**_ONE, "values": "value_set"}),
    "between": Short("expect_column_values_to_be_between", _RANGE_WORDS),
    "length": Short("expect_column_value_lengths_to_be_between", _RANGE_WORDS),
    "matches": Short("expect_column_values_to_match_regex", {**_ONE, "regex": "regex"}),
    "never_matches": Short("expect_column_values_to_not_match_regex", {**_ONE, "regex": "regex"}),
    "greater": Short("expect_column_pair_values_a_to_be_greater_than_b",
                     {"column": "column_A", "than": "column_B", "or_equal": "or_equal", "mostly": "mostly"}),
    "unique": Short("expect_compound_columns_to_be_unique", {"columns": "column_list"}, "column_list"),
    "row_count": Short("expect_table_row_count_to_be_between",
                       {name: word for name, word in _RANGE_WORDS.items() if name not in _ONE}),
})  # fmt: skip


def sentence(type_: str, arguments: Mapping[str, Any]) -> str:
    """What an expectation says, for people who do not know its name."""
    words = {name: _word(value) for name, value in arguments.items()}
    words.setdefault("match_on", "any")
    words["greater"] = "at least" if arguments.get("or_equal") else "greater than"
    words["range"] = _range_text(arguments)
    text = KNOWN[type_].sentence.format_map(words)
    mostly = arguments.get("mostly")
    return text if mostly is None or mostly == 1 else f"{text}, in at least {100 * mostly:.6g} % of the rows"


def _range_text(arguments: Mapping[str, Any]) -> str:
    low, high = arguments.get("min_value"), arguments.get("max_value")
    parts = []
    if low is not None:
        parts.append(f"{'above' if arguments.get('strict_min') else 'at least'} {_word(low)}")
    if high is not None:
        parts.append(f"{'below' if arguments.get('strict_max') else 'at most'} {_word(high)}")
    return " and ".join(parts)


def _word(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(_word(item) for item in value)
    return f'"{value}"' if value == "" else str(value)
