"""Pages from templates: escaped by default, complete in themselves, without a script.

A page carries its style sheet, and the policy that goes with it allows that one sheet by its
hash and nothing else. So a page is the same in a file and in a frame, and what a source row
contains can never run.
"""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from foreset.reports import charts, words
from foreset.reports.headline import Headline, group_headline, headline
from foreset.reports.model import History, Run

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Links:
    """Where other pages are, relative to this one; a page in a file has none."""

    home: str = ""
    history: str = ""
    runs: str = ""  # the folder of the run pages
    docs: str = ""

    def run(self, refresh_id: str) -> str:
        """The page of a refresh."""
        return f"{self.runs}{quote(refresh_id, safe='')}" if self.runs else ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A group in the list of groups."""

    group: str
    link: str
    latest: Run | None
    fault: str = ""

    @property
    def headline(self) -> Headline:
        """Its first line."""
        return group_headline(self.latest) if not self.fault else Headline("Unknown", self.fault, "bad")


def run_page(run: Run, links: Links | None = None) -> str:
    """The report of one refresh."""
    found = Links() if links is None else links
    broken = run.quality.broken if run.quality else ()
    return _render("run.html", run=run, headline=headline(run), links=found, broken=broken)


def history_page(history: History, latest: Run | None, links: Links | None = None) -> str:
    """The history of a group; `latest` is the newest of its refreshes, for the first line."""
    oldest_first = list(reversed(history.runs))
    return _render(
        "history.html",
        history=history,
        headline=group_headline(latest),
        links=Links() if links is None else links,
        changes=charts.changes(oldest_first),
        seconds=charts.seconds(oldest_first),
        outcomes=charts.outcomes(oldest_first),
    )


def groups_page(entries: Sequence[Entry]) -> str:
    """All groups that the reader may see."""
    return _render("groups.html", entries=entries, links=Links())


def message_page(title: str, text: str, links: Links | None = None) -> str:
    """A page that says one thing."""
    return _render("message.html", title=title, text=text, links=Links() if links is None else links)


@functools.cache
def style() -> str:
    """The style sheet."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


@functools.cache
def policy() -> str:
    """The content security policy of every page: its own style sheet, and nothing else from anywhere."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def visible(value: object) -> object:
    """Text without control characters and marks that turn the reading direction; other values as they are."""
    if not isinstance(value, str) or value.isprintable():
        return value
    kept = (char if char in "\n\t" or char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value)
    return type(value)("".join(kept))


def cell(value: object) -> str:
    """A value of a row; NULL is told from an empty text by the template."""
    return "NULL" if value is None else str(value)


def _render(template: str, **given: object) -> str:
    now = datetime.datetime.now(datetime.UTC)
    return _environment().get_template(template).render(now=now, **given)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    # The sheet and the policy are ours, and must stand in the page as they are; nothing else is marked safe.
    found.globals.update(w=words, charts=charts, cell=cell, style=Markup(style()), policy=policy())  # noqa: S704
    return found
