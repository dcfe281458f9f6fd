"""Diagnostics as text, JSON and annotations: carets stand right, and no text escapes its place."""

from __future__ import annotations

import json

import pytest

from foreset.diagnostics import Diagnostic, Severity, Span
from foreset.render import render_github, render_json, render_text, summary


def fault(line: int = 1, column: int = 1, width: int = 1, **more: object) -> Diagnostic:
    given = {"code": "FS210", "message": "it is so", "hint": "mend it", **more}
    return Diagnostic(span=Span("a.yaml", line, column, width), **given)  # type: ignore[arg-type]


def excerpt(line: str, column: int, width: int = 1) -> list[str]:
    text = render_text([fault(1, column, width)], {"a.yaml": line})
    return [part[4:] for part in text.splitlines() if part.startswith("  | ")]


def test_a_fault_has_place_line_caret_notes_and_hint() -> None:
    text = render_text([fault(2, 3, 2, notes=("because",))], {"a.yaml": "first\nabcdef\n"})
    assert text == ("a.yaml:2:3: error[FS210]: it is so\n  | abcdef\n  |   ^^\n  = note: because\n  = hint: mend it\n")


def test_without_the_source_or_the_line_the_place_must_do() -> None:
    bare = "a.yaml:2:3: warning[FS210]: it is so\n"
    warning = fault(2, 3, hint="", severity=Severity.WARNING)
    assert render_text([warning], {}) == bare
    assert render_text([warning], {"a.yaml": "only one line"}) == bare


@pytest.mark.parametrize(
    ("line", "column", "width", "shown", "caret"),
    [
        ("\tab", 2, 1, "    ab", "    ^"),
        ("a\tb", 3, 1, "a    b", "     ^"),
        ("日本x", 3, 1, "日本x", "    ^"),
        ("日本x", 2, 1, "日本x", "  ^^"),
        ("e\u0301x", 3, 1, "e\u0301x", " ^"),
        ("a\x1b[31mb", 3, 1, "a\ufffd[31mb", "  ^"),
        ("abc", 4, 1, "abc", "   ^"),
        ("abc", 99, 9, "abc", "   ^"),
        ("abc", 2, 99, "abc", " ^^"),
    ],
)
def test_carets_count_cells(line: str, column: int, width: int, shown: str, caret: str) -> None:
    assert excerpt(line, column, width) == [shown, caret]


@pytest.mark.parametrize("column", [1, 5, 60, 150, 296, 300])
def test_long_lines_are_cut_around_the_caret(column: int) -> None:
    line = "".join(chr(ord("a") + index % 26) for index in range(300))
    shown, caret = excerpt(line, column, 5)
    assert len(shown) <= 112
    assert shown[caret.index("^") :].startswith(line[column - 1 : column + 4])
    assert ("..." in shown[: caret.index("^")]) == (column > 100) or 50 < column <= 100


def test_json_is_the_public_form() -> None:
    assert json.loads(render_json([fault(2, 3)])) == [
        {"severity": "error", "code": "FS210", "file": "a.yaml", "line": 2, "column": 3,
         "message": "it is so", "hint": "mend it"}
    ]  # fmt: skip
    assert json.loads(render_json([])) == []


def test_annotations_escape_what_would_end_them() -> None:
    text = render_github([fault(message="100%\n::error::x", hint="")])
    assert text == "::error file=a.yaml,line=1,col=1,endColumn=2,title=FS210::100%25%0A::error::x\n"


def test_summary_counts() -> None:
    warning = fault(severity=Severity.WARNING)
    assert summary([]) == "no faults"
    assert summary([fault(), fault(), warning]) == "2 errors, 1 warning"
