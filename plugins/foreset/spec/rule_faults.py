"""Every fault of the text of a rule, FS200 to FS299: one constructor each."""

from __future__ import annotations

from collections.abc import Collection

from foreset.diagnostics import Diagnostic, Span, did_you_mean
from foreset.spec.faults import shown
from foreset.spec.sql_words import aggregate_hint


# ---------------------------------------------------------------- syntax
def unexpected(text: str, span: Span, hint: str = "") -> Diagnostic:
    """Something that cannot stand at its place."""
    return Diagnostic("FS200", f"unexpected `{shown(text)}`", span, hint)


def unexpected_end(span: Span, hint: str) -> Diagnostic:
    """The rule stops in the middle."""
    return Diagnostic("FS200", "the rule ends too early", span, hint)


def unterminated_text(span: Span, hint: str) -> Diagnostic:
    """A quote without its fellow on the same line."""
    return Diagnostic("FS201", "this text constant has no closing quote", span, hint)


def bad_symbol(text: str, span: Span, hint: str) -> Diagnostic:
    """A character without meaning in rules."""
    return Diagnostic("FS202", f"`{shown(text)}` is not allowed in a rule", span, hint)


def missing_comma(span: Span, between: str) -> Diagnostic:
    """Two things side by side."""
    return Diagnostic("FS203", f"a comma is missing between {between}", span, "write a `,` before this")


def stray_comma(span: Span, place: str) -> Diagnostic:
    """A comma with nothing on one of its sides."""
    return Diagnostic(
        "FS203", f"there is nothing {place} this comma", span, "remove the comma, or write what is missing"
    )


def missing_dot(span: Span, hint: str) -> Diagnostic:
    """In a block a dot ends each rule."""
    return Diagnostic("FS204", "the rule has no `.` at its end", span, hint)


def unclosed(span: Span) -> Diagnostic:
    """An opening parenthesis without its fellow."""
    return Diagnostic("FS205", "this `(` is never closed", span, "add a `)`")


def unclosed_in_brackets(span: Span) -> Diagnostic:
    """A YAML list in brackets cuts rules at their commas."""
    hint = "inside `[...]` YAML cuts at commas: put quotes around each rule, or write each on its own line after `- `"
    return Diagnostic("FS205", "this `(` is never closed", span, hint)


def unopened(span: Span) -> Diagnostic:
    """A closing parenthesis without its fellow."""
    return Diagnostic("FS206", "this `)` closes nothing", span, "remove it, or add the `(`")


def missing_implies(span: Span, hint: str) -> Diagnostic:
    """Head and body are divided by `:-`."""
    return Diagnostic("FS207", "`:-` is missing between head and body", span, hint)


def empty_body(span: Span) -> Diagnostic:
    """`p(X) :-` and nothing more."""
    return Diagnostic("FS208", "the body is empty", span, "write the conditions after `:-`; for a fact, leave `:-` out")


# ---------------------------------------------------------------- words
def capital_relation(name: str, span: Span) -> Diagnostic:
    """Capitals are for variables."""
    hint = aggregate_hint(name) or f"names of relations and functions have small letters: `{name.lower().lstrip('_')}`"
    return Diagnostic("FS209", f"`{shown(name)}` is a variable and takes no arguments", span, hint)


def capital_column(name: str, span: Span) -> Diagnostic:
    """Column names are written small."""
    hint = f"column names have small letters, as in `{name.lower().lstrip('_')}=X`; write a condition outside"
    return Diagnostic("FS209", f"`{shown(name)}` is a variable, not a column", span, hint)


def bare_word(word: str, span: Span) -> Diagnostic:
    """Neither variable nor constant."""
    if word.lower() in ("null", "none", "nil"):
        return Diagnostic("FS211", "there is no null constant", span, "test for it with `is_null(X)`")
    hint = f'write "{shown(word)}" for the text, or {shown(word[:1].upper() + word[1:])} for a variable'
    return Diagnostic("FS210", f"`{shown(word)}` is neither a variable nor a constant", span, hint)


def capital_constant(word: str, span: Span) -> Diagnostic:
    """As a variable it would match anything, in silence."""
    if word.lower() in ("true", "false"):
        return Diagnostic("FS210", f"`{word}` would be a variable", span, f"write `{word.lower()}` for the constant")
    return bare_word(word, span)


def wrong_operator(written: str, right: str, span: Span) -> Diagnostic:
    """An operator of another language."""
    return Diagnostic("FS212", f"there is no operator `{written}`", span, f"write `{right}`")


def wrong_negation(written: str, span: Span) -> Diagnostic:
    """A negation of another language."""
    return Diagnostic("FS213", f"`{written}` is not a negation here", span, "write `not p(X)`, or `!=` to compare")


def negated_comparison(span: Span, hint: str) -> Diagnostic:
    """`not X = 1`."""
    return Diagnostic("FS213", "`not` is allowed only before a relation or a boolean function", span, hint)


def wrong_connective(written: str, span: Span) -> Diagnostic:
    """And, or in the words of other languages."""
    conjunction = written.lower() in ("and", "&", "&&")
    hint = "write a comma" if conjunction else "write a rule for each alternative"
    if written == "||":
        hint += "; texts are joined by concat(X, Y)"
    return Diagnostic("FS214", f"`{written}` does not join conditions", span, hint)


# ---------------------------------------------------------------- arguments and constants
def mixed_arguments(span: Span) -> Diagnostic:
    """Either all by place or all by name."""
    hint = "name all arguments, or none"
    return Diagnostic("FS215", "some arguments are named and some are not", span, hint)


def argument_twice(name: str, span: Span) -> Diagnostic:
    """One column cannot be two terms."""
    hint = "compare the two values in a separate literal"
    return Diagnostic("FS216", f"the argument `{shown(name)}` is given twice", span, hint)


def named_in_function(function: str, span: Span) -> Diagnostic:
    """Functions know their arguments by place."""
    return Diagnostic("FS216", f"the function `{function}` takes no named arguments", span, "give them by place")


def bad_number(text: str, span: Span) -> Diagnostic:
    """Digits and letters in one."""
    hint = "write numbers as 12, 1.5 or 1e3; begin names with a letter; put quotes around text"
    return Diagnostic("FS217", f"`{shown(text)}` is not a number", span, hint)


def number_too_large(text: str, span: Span) -> Diagnostic:
    """Beyond what any column type holds."""
    hint = "numbers have at most 38 digits, and doubles end at 1.8e308"
    return Diagnostic("FS217", f"no column type can hold the number {shown(text)}", span, hint)


def bad_escape(text: str, span: Span) -> Diagnostic:
    """An unknown letter after a backslash."""
    hint = r"the escapes are \n, \t, \r, \\, \' and " + r"\"; write \\ for a backslash"
    return Diagnostic("FS218", f"`{shown(text)}` is not an escape", span, hint)


def bad_moment(function: str, text: str, span: Span) -> Diagnostic:
    """No such day or time."""
    example = "2026-11-18" if function == "date" else "2026-11-18 20:15:00"
    return Diagnostic("FS219", f'"{shown(text)}" is not a {function}', span, f'write it as {function}("{example}")')


# ---------------------------------------------------------------- rules as a whole
def other_head(name: str, view: str, span: Span, views: Collection[str]) -> Diagnostic:
    """A rule in the wrong place."""
    hint = f"move the rule to view `{name}`" if name in views else did_you_mean(name, [view], f"write `{view}(...)`")
    return Diagnostic("FS220", f"a rule of view `{view}` has the head `{shown(name)}`", span, hint)


def fact_not_ground(variable: str, span: Span) -> Diagnostic:
    """A fact is for all values of a variable: not a relation that can be stored."""
    hint = "add a body after `:-` that gives it a value"
    return Diagnostic(
        "FS221", f"the variable `{shown(variable)}` has no value, because the rule has no body", span, hint
    )


def bad_head(span: Span, hint: str) -> Diagnostic:
    """A negation, a comparison, or several heads."""
    return Diagnostic("FS222", "the head must be one relation with its arguments", span, hint)


def not_supported(what: str, span: Span) -> Diagnostic:
    """Announced, but not in this version."""
    return Diagnostic("FS223", f"{what} are not supported yet", span)


def not_a_condition(span: Span, hint: str) -> Diagnostic:
    """A value on its own."""
    return Diagnostic("FS224", "a value by itself is not a condition", span, hint)


def nested_too_deeply(span: Span, limit: int) -> Diagnostic:
    """Nobody writes that by hand."""
    hint = "split it: give parts of it a name, as in `Y = ...`"
    return Diagnostic("FS225", f"this expression is nested more than {limit} deep", span, hint)


def bad_braces(text: str, span: Span) -> Diagnostic:
    """Braces hold what an aggregate is made of."""
    hint = "write an aggregate as `N = count{X | p(G, X)}`: the values, a bar, and the literals that they come from"
    return Diagnostic("FS227", f"unexpected `{text}`", span, hint)


def unclosed_brace(span: Span) -> Diagnostic:
    """An opening brace without its fellow."""
    return Diagnostic("FS227", "this `{` is never closed", span, "add a `}`")


def call_in_set(called: str, span: Span) -> Diagnostic:
    """What is gathered stands in relations."""
    hint = f"call it in a separate view, `asked(X, Y) :- ..., in(Y, {called}(X))`, and aggregate that view"
    return Diagnostic("FS907", f"`{called}` cannot be called inside an aggregate", span, hint)


def call_in_deny(called: str, span: Span) -> Diagnostic:
    """Expectations look at what is staged, and ask nobody."""
    hint = "call it in a separate view, and deny rows of that view"
    return Diagnostic("FS907", f"`{called}` cannot be called in `deny:`", span, hint)


def nested_aggregate(span: Span) -> Diagnostic:
    """A set is taken from relations."""
    hint = "compute the inner aggregate in a separate view, and read that view"
    return Diagnostic("FS228", "an aggregate cannot stand inside another", span, hint)


def not_a_set(function: str, span: Span) -> Diagnostic:
    """`count(X, N)` where X is no set."""
    hint = f"write `setof(X, p(G, X), S), {function}(S, N)`, or `N = {function}{{X | p(G, X)}}`"
    return Diagnostic("FS229", f"`{function}` needs a set, and this is not a set", span, hint)


def set_twice(name: str, span: Span) -> Diagnostic:
    """Two sets under one name."""
    return Diagnostic("FS229", f"`{name}` already names a set in this rule", span, "give each set a name of its own")


def bad_fold(name: str, span: Span, what: str, hint: str) -> Diagnostic:
    """An aggregate that a spec defines, and that cannot be read."""
    return Diagnostic("FS230", f"aggregate `{name}`: {what}", span, hint)


def rule_too_long(span: Span, length: int, limit: int) -> Diagnostic:
    """One rule as long as a book."""
    return Diagnostic(
        "FS226", f"the rule has {length:,} characters; the limit is {limit:,}", span, "split it into two views"
    )
