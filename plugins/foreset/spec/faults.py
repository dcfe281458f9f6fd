"""Every fault of the YAML and of the shape of a spec, FS001 to FS099: one constructor each.

A message states the fact; its hint says what to do. Text that the user wrote is cut
before it enters a message, so that no diagnostic grows with its file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean

SHOWN = 40


def shown(text: str) -> str:
    """A user's text as a message quotes it: one line, not long."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def internal(span: Span, what: str) -> Diagnostic:
    """Foreset itself crashed."""
    hint = f"please report it with this file; `foreset --debug check {span.file}` shows the traceback"
    return Diagnostic(
        "FS640", f"internal error: {what}: this is a bug in Foreset, not an error in this spec", span, hint
    )


def broken_package(name: str, span: Span, what: str) -> Diagnostic:
    """An aggregate that an installed package offers and does not give."""
    message = f"aggregate `{name}` of an installed package cannot be loaded: {' '.join(what.split())[:200]}"
    hint = "repair or remove the package that has the entry point `foreset.aggregates`"
    return Diagnostic("FS643", message, span, hint)


# ---------------------------------------------------------------- the file
def unreadable(file: str, reason: str) -> Diagnostic:
    """The file is not there, or is no file."""
    return Diagnostic("FS001", f"the file cannot be read: {reason}", Span(file, 1, 1))


def too_big(file: str, size: int, limit: int) -> Diagnostic:
    """A spec is written by people: a megabyte is a mistake or an attack."""
    hint = "split the views into several groups, one file each"
    return Diagnostic("FS002", f"the file has {size:,} bytes; the limit is {limit:,}", Span(file, 1, 1), hint)


def not_utf8(span: Span, byte: int) -> Diagnostic:
    """Some editors still save other encodings."""
    return Diagnostic("FS003", f"the file is not UTF-8: byte 0x{byte:02x}", span, "save the file as UTF-8")


def yaml_syntax(span: Span, problem: str, context: str, line: str) -> Diagnostic:
    """The parser's words, with a hint for what people run into most."""
    message = "this is not YAML: " + ", ".join(part for part in (context, problem) if part)
    return Diagnostic("FS004", message, span, _yaml_hint(problem, line))


def _yaml_hint(problem: str, line: str) -> str:
    if "cannot start any token" in problem:
        if "\t" in line:
            return "indent with spaces: YAML takes no tabs"
        return "put quotes around a text that begins with `%`, `@` or a back quote"
    if "mapping values are not allowed" in problem:
        return "put quotes around the whole text, or use a `|` block: YAML reads `: ` in it as a key and its value"
    if "could not find expected ':'" in problem:
        return "write a `:` and a space after the key"
    if "unexpected end of stream" in problem:
        return "close the quote or the bracket"
    if "escape" in problem:
        return "double the backslash, or use single quotes"
    return "check the indent, the commas and the closing brackets before this place"


def bad_character(span: Span) -> Diagnostic:
    """YAML holds no control characters."""
    return Diagnostic("FS004", "this is not YAML: control characters are not allowed", span, "remove the character")


def empty_file(span: Span) -> Diagnostic:
    """Nothing but comments and space."""
    return Diagnostic("FS005", "the file has no spec in it", span, "begin with `group:`, `sources:` and `views:`")


def several_documents(span: Span) -> Diagnostic:
    """One file is one group."""
    return Diagnostic("FS006", "the file holds several YAML documents", span, "write one group per file")


def tag(span: Span, name: str) -> Diagnostic:
    """Tags can make objects: a spec is data."""
    return Diagnostic(
        "FS007", f"YAML tags are not allowed: `{shown(name)}`", span, "remove the tag; quote text instead"
    )


def alias(span: Span, name: str) -> Diagnostic:
    """Aliases are how a small file becomes a huge one."""
    hint = "write the value out at each place"
    return Diagnostic("FS008", f"YAML anchors and aliases are not allowed: `{shown(name)}`", span, hint)


def too_deep(span: Span, limit: int) -> Diagnostic:
    """No spec is that deep."""
    return Diagnostic("FS009", f"lists and mappings are nested more than {limit} deep", span)


def duplicate_key(name: str, span: Span, line: int) -> Diagnostic:
    """YAML readers keep one of the two in silence; which one, nobody knows."""
    hint = f"it is on line {line} already: remove or rename one of them"
    return Diagnostic("FS010", f"`{shown(name)}` is written twice", span, hint)


def key_is_not_text(span: Span) -> Diagnostic:
    """A list or mapping as a key."""
    return Diagnostic("FS011", "a key must be text", span)


# ---------------------------------------------------------------- the shape
def wrong_kind(span: Span, where: str, wanted: str, found: str, hint: str = "") -> Diagnostic:
    """A list where a text belongs, and the like."""
    return Diagnostic("FS011", f"{where} must be {wanted}, not {found}", span, hint)


def unknown_key(name: str, span: Span, where: str, known: Sequence[str]) -> Diagnostic:
    """A key that no reader would look at: mostly a slip of the finger."""
    hint = did_you_mean(name, known, f"its keys are {_list(known)}")
    return Diagnostic("FS012", f"{where} has no key `{shown(name)}`", span, hint)


def missing_key(name: str, span: Span, where: str, example: str) -> Diagnostic:
    """A key that must be there."""
    return Diagnostic("FS013", f"{where} needs `{name}`", span, f"add `{example}`" if example else "")


def bad_name(name: str, span: Span, what: str) -> Diagnostic:
    """Names become table, task and DAG names: one alphabet for all."""
    hint = "use small letters, digits and `_`; begin with a letter; at most 63 characters"
    return Diagnostic("FS014", f"`{shown(name)}` cannot be the name of a {what}", span, hint)


def reserved_name(name: str, span: Span, what: str) -> Diagnostic:
    """Rules read these words as something else."""
    return Diagnostic("FS014", f"`{name}` cannot be the name of a {what}: it is a word of the rule language", span)


def bad_choice(value: str, span: Span, where: str, choices: Sequence[str]) -> Diagnostic:
    """None of the few words that are allowed."""
    hint = did_you_mean(value, choices, f"it is one of {_list(choices)}")
    return Diagnostic("FS015", f"{where} cannot be `{shown(value)}`", span, hint)


def out_of_range(value: str, span: Span, where: str, low: int, high: int) -> Diagnostic:
    """A number too small or too large."""
    return Diagnostic("FS016", f"{where} cannot be {shown(value)}: it goes from {low:,} to {high:,}", span)


def nothing_there(span: Span, where: str, hint: str) -> Diagnostic:
    """A list or mapping that must hold something."""
    return Diagnostic("FS017", f"{where} is empty", span, hint)


def bad_schedule(text: str, span: Span, reason: str) -> Diagnostic:
    """Airflow would find out only when it loads the DAG."""
    hint = 'write minute, hour, day, month and weekday, such as "0 2 * * *"; or a preset such as @daily; or null'
    return Diagnostic("FS018", f"`{shown(text)}` is not a schedule: {reason}", span, hint)


def unknown_timezone(text: str, span: Span, known: Collection[str]) -> Diagnostic:
    """Not in the tz database."""
    hint = did_you_mean(text, known, "write a name such as Europe/Berlin")
    return Diagnostic("FS019", f"`{shown(text)}` is not a time zone", span, hint)


def unknown_type(text: str, span: Span, column: str, known: Sequence[str]) -> Diagnostic:
    """No such column type, or one cut in two by the braces it stands in."""
    if "(" in text and ")" not in text:
        hint = 'quote a type with a comma inside braces: {amount: "decimal(10,2)"}'
    else:
        hint = did_you_mean(text, known, f"it is one of {_list(known)}")
    return Diagnostic("FS020", f"column `{column}` has the unknown type `{shown(text)}`", span, hint)


def table_or_view(span: Span, source: str, *, both: bool) -> Diagnostic:
    """A source reads exactly one thing."""
    message = f"source `{source}` has both `table` and `view`" if both else f"source `{source}` needs a `table`"
    hint = "keep one of them" if both else "add `table: folder/name`, or `view: group.view` to read another group"
    return Diagnostic("FS021", message, span, hint)


def bad_table(text: str, span: Span, reason: str, hint: str) -> Diagnostic:
    """A path that leaves the warehouse, or holds a secret."""
    return Diagnostic("FS022", f"`{shown(text)}` cannot be the table of a source: {reason}", span, hint)


def bad_view_reference(text: str, span: Span) -> Diagnostic:
    """Views of other groups have two names."""
    hint = "write it as `group.view`"
    return Diagnostic("FS023", f"`{shown(text)}` does not name a view of another group", span, hint)


def own_view(text: str, span: Span) -> Diagnostic:
    """A group reads itself directly, not through its last refresh."""
    hint = "rules read the views of their own group by name: remove this source"
    return Diagnostic("FS023", f"`{shown(text)}` is a view of this group", span, hint)


def key_of_nothing(column: str, span: Span, source: str, known: Sequence[str]) -> Diagnostic:
    """A key is made of columns that are declared."""
    hint = did_you_mean(column, known, f"it has {_list(known)}")
    return Diagnostic("FS029", f"source `{source}` has no column `{shown(column)}`, which its key names", span, hint)


def key_twice(column: str, span: Span) -> Diagnostic:
    """A column is part of a key once."""
    return Diagnostic("FS029", f"`{shown(column)}` is in this key already", span, "remove it here")


def key_inexact(column: str, span: Span, kind: str) -> Diagnostic:
    """Rows are told apart by values that are equal or not."""
    hint = "use columns of whole numbers, decimals, text, dates or times"
    return Diagnostic("FS029", f"`{shown(column)}` cannot be part of a key: it is {kind}", span, hint)


def folded_rules(span: Span) -> Diagnostic:
    """Folding joins lines, so a comment would swallow the rest."""
    return Diagnostic("FS024", "rules cannot be in a folded `>` block", span, "use `|` instead of `>`")


def rule_became_mapping(span: Span) -> Diagnostic:
    """`: ` inside a list item makes a mapping of it."""
    hint = "put quotes around the whole rule, or use a `|` block: YAML reads `: ` as a key and its value"
    return Diagnostic("FS025", "this rule is not text but a YAML mapping", span, hint)


def rule_is_not_text(span: Span, found: str) -> Diagnostic:
    """A list in a list of rules, or nothing."""
    return Diagnostic("FS025", f"a rule must be text, not {found}", span)


def declared_twice(name: str, span: Span, line: int) -> Diagnostic:
    """A source and a view of one name."""
    return Diagnostic("FS026", f"`{name}` is a source on line {line} already", span, "rename the view or the source")


def duplicate_group(group: str, span: Span, other: str) -> Diagnostic:
    """Two files would fight for one DAG and one folder."""
    return Diagnostic(
        "FS027",
        f"group `{group}` is defined in {other} already",
        span,
        "each group has one file: rename one of the two groups",
    )


def group_is_not_file(group: str, span: Span, stem: str) -> Diagnostic:
    """Harmless, but nobody finds the file."""
    hint = f"rename the file to {group}.yaml, or the group to `{stem}`"
    message = f"the file of group `{group}` has another name"
    return Diagnostic("FS028", message, span, hint, Severity.WARNING)


# ---------------------------------------------------------------- unit tests
def test_of_unknown(name: str, span: Span, what: str, known: Collection[str]) -> Diagnostic:
    """A unit test speaks of a relation that is not there."""
    return Diagnostic("FS030", f"there is no {what} `{shown(name)}`", span, did_you_mean(name, known))


def test_gives_view(name: str, span: Span, key: str) -> Diagnostic:
    """Only rules fill a view."""
    hint = "give rows of sources here; write the rows of a view under `expect` or `state`"
    return Diagnostic("FS031", f"`{key}` names the view `{name}`, but only its rules can fill a view", span, hint)


def test_expects_source(name: str, span: Span, key: str) -> Diagnostic:
    """A source holds what it is given."""
    return Diagnostic(
        "FS031", f"`{key}` names the source `{name}`", span, "name a view: a source has the rows that the test gives it"
    )


def test_asserts_nothing(name: str, span: Span) -> Diagnostic:
    """It could never fail."""
    hint = "add `expect` (the rows that the change adds and removes) or `state` (the rows after it)"
    return Diagnostic("FS032", f"test `{shown(name)}` expects nothing", span, hint)


def duplicate_test(name: str, span: Span, line: int) -> Diagnostic:
    """Reports name tests."""
    return Diagnostic("FS033", f"test `{shown(name)}` is defined on line {line} already", span)


def row_width(span: Span, relation: str, found: int, columns: Sequence[str]) -> Diagnostic:
    """A row with too few or too many values."""
    hint = f"its columns are {_list(columns)}"
    return Diagnostic("FS034", f"`{relation}` has {len(columns)} columns, but this row has {found} values", span, hint)


def row_is_not_list(span: Span, relation: str, found: str) -> Diagnostic:
    """`[a, b]` where `[[a], [b]]` is meant."""
    hint = "write each row as a list: [[a], [b]]"
    return Diagnostic("FS034", f"a row of `{relation}` must be a list of values, not {found}", span, hint)


def cell_misfit(text: str, span: Span, column: str, kind: str, hint: str) -> Diagnostic:
    """A value that the column cannot hold."""
    return Diagnostic("FS035", f"column `{column}` is {kind}: it cannot hold {shown(text)}", span, hint)


# ---------------------------------------------------------------- domains
def function_of_nothing(name: str, span: Span) -> Diagnostic:
    """There would be nothing to ask and nothing to say."""
    hint = "give it `args:`, `results:`, or both, each as {name: type}"
    return Diagnostic("FS906", f"function `{name}` has neither arguments nor results", span, hint)


def argument_and_result(name: str, span: Span) -> Diagnostic:
    """As a relation it has each column once."""
    return Diagnostic("FS906", f"`{name}` is an argument and a result", span, "give the result another name")
