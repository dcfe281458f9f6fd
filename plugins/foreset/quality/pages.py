"""Great Expectations' own pages, made fit to be served inside Airflow: no script, no style, nothing from outside.

The pages are taken apart and written anew from a short list of elements, so that what a value
might smuggle into them is not in the list. They load one file: our style sheet beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

STYLE = "style.css"
_KEPT = frozenset(("a", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "pre", "span",
                   "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"))  # fmt: skip
_DROPPED = frozenset(("script", "style", "head", "nav", "footer", "svg", "iframe", "object", "template", "label",
                      "button", "select", "textarea", "form"))  # fmt: skip
_VEILS: Mapping[int, str] = {60: "\ue000", 62: "\ue001", 38: "\ue002"}  # < > &: some values are escaped, and some not
_CONTROLS = "sticky"  # the class of the box of buttons, which need scripts
_VERDICTS = {True: "✓ as expected", False: "✗ not as expected"}
_ICONS = (("fa-check", "✓ "), ("fa-times", "✗ "), ("fa-exclamation", "! "))  # fmt: skip


def index(title: str, views: Mapping[str, tuple[str, bool]]) -> str:
    """The first page: each view with its page and whether all was as expected."""
    rows = "".join(
        f'<tr><td><a href="{escape(file)}">{escape(view)}</a></td><td>{_VERDICTS[ok]}</td></tr>'
        for view, (file, ok) in views.items()
    )
    return page(title, f"<h1>{escape(title)}</h1><table><tbody>{rows}</tbody></table>")


def page(title: str, body: str) -> str:
    """A whole page around `body`."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{STYLE}"></head>\n<body>{body}</body></html>\n'
    )


def cleaned(html: str) -> str:
    """The body of a page with the kept elements only."""
    cleaner = _Cleaner()
    cleaner.feed(html)
    cleaner.close()
    return cleaner.text


def veiled(text: str) -> str:
    """A value as it passes through the page renderer unharmed, whether that escapes it or not."""
    return text.translate(_VEILS)


def _unveiled(text: str) -> str:
    return text.translate({ord(veil): code for code, veil in _VEILS.items()})


def style() -> str:
    """The style sheet."""
    return Path(__file__).with_name(STYLE).read_text(encoding="utf-8")


class _Cleaner(HTMLParser):
    """Writes what it keeps; inside a dropped element it keeps nothing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._open: list[str] = []
        self._dropping: list[str] = []

    @property
    def text(self) -> str:
        """What was kept, with every element closed."""
        return "".join(self._parts) + "".join(f"</{tag}>" for tag in reversed(self._open))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.append(tag)
        elif tag in _DROPPED or _CONTROLS in (dict(attrs).get("class") or "").split():
            self._dropping.append(tag)
        elif tag == "i":
            self._parts.append(_icon(dict(attrs).get("class") or ""))
        elif tag in _KEPT:
            self._parts.append(f"<{tag}{_attributes(tag, dict(attrs))}>")
            if tag != "br":
                self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.pop()
        elif tag in self._open:
            while self._open:
                closed = self._open.pop()
                self._parts.append(f"</{closed}>")
                if closed == tag:
                    break

    def handle_data(self, data: str) -> None:
        if not self._dropping:
            self._parts.append(escape(_unveiled(data), quote=False) if data.strip() else " ")


def _attributes(tag: str, found: Mapping[str, Any]) -> str:
    kept = {name: found[name] or "" for name in ("id", "class", "title", "hidden", "colspan") if name in found}
    href = found.get("href") or ""
    if tag == "a" and href.startswith("#"):
        kept["href"] = href
    return "".join(f' {name}="{escape(value)}"' for name, value in kept.items())


def _icon(names: str) -> str:
    return next((text for part, text in _ICONS if part in names), "")
