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

from foreset.explain.graph import Graph, Kind
from foreset.explain.picture import RULES, Changes, drawing
from foreset.orchestrate.names import dag_id
from foreset.reports import charts, words
from foreset.reports.advice import advice
from foreset.reports.headline import Headline, group_headline, headline
from foreset.reports.model import Expectation, History, Run
from foreset.reports.tonight import tonight
from foreset.reports.views import ViewPage

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

MOST_NODES, MOST_BROKEN, MOST_ROWS = 200, 30, 300  # of a picture, told with rows, of a table
LONGEST, MESSAGE = 250, 20_000  # letters of a value, and of a message
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Links:
    """Where other pages are, relative to this one; a page in a file has none."""

    home: str = ""
    history: str = ""
    runs: str = ""  # the folder of the run pages
    docs: str = ""
    views: str = ""  # the folder of the view pages
    picture: str = ""  # alone
    groups: str = ""  # what stands before the name of another group's DAG
    suffix: str = ""  # of view pages: `.html` where they are files

    def view(self, name: str) -> str:
        """The page of a view."""
        return f"{self.views}{quote(name, safe='')}{self.suffix}" if self.views else ""

    def group(self, name: str) -> str:
        """The history of another group."""
        return f"{self.groups}{quote(dag_id(name), safe='')}" if self.groups else ""

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

    @property
    def advice(self) -> str:
        """The first thing to do, where it failed."""
        return next(iter(advice(self.latest)), "") if self.latest else ""


def run_page(run: Run, links: Links | None = None) -> str:
    """The report of one refresh."""
    found = links or Links()
    broken = run.quality.broken if run.quality else ()
    return _render(
        "run.html",
        run=run,
        headline=headline(run),
        links=found,
        broken=broken,
        shown_expectations=_most_telling(run),
        advice=advice(run),
        picture=_picture(run.graph, tonight(run), found),
    )


def _most_telling(run: Run) -> Sequence[Expectation]:
    """All expectations in the order of the spec; where they are too many, those that do not hold first."""
    every = run.quality.expectations if run.quality else ()
    return every if len(every) <= MOST_ROWS else sorted(every, key=lambda one: one.success)[:MOST_ROWS]


def history_page(history: History, latest: Run | None, links: Links | None = None, graph: Graph | None = None) -> str:
    """The history of a group; `latest` is the newest of its refreshes, for the first line and for the picture."""
    nights = charts.nights(history.runs)
    found = links or Links()
    drawn = (latest.graph if latest else None) or graph
    return _render(
        "history.html",
        history=history,
        headline=group_headline(latest),
        links=found,
        latest=latest,
        changes=charts.changes(nights),
        seconds=charts.seconds(nights),
        outcomes=charts.outcomes(nights),
        picture=_picture(drawn, tonight(latest) if latest else {}, found),
    )


def view_page(page: ViewPage, links: Links | None = None) -> str:
    """The page of one view."""
    nights = charts.nights_of(page.lines)
    found = links or Links()
    return _render(
        "view.html",
        page=page,
        headline=page.headline,
        links=found,
        changes=charts.changes(nights),
        rows=charts.rows(nights),
        outcomes=charts.outcomes(nights),
        picture=_picture(page.graph, {}, found, own=page.view.name),
    )


def _picture(graph: Graph | None, did: Changes, links: Links, own: str = "") -> Markup | None:
    """The picture as part of a page; None where it would be too big to be of use, or nothing is known."""
    from markupsafe import Markup

    if graph is None or not 1 < len(graph.nodes) <= MOST_NODES:
        return None
    names = [node.name for node in graph.nodes if node.kind is Kind.VIEW and node.name != own]
    led = {name: link for name in names if (link := links.view(name))}
    return Markup(drawing(graph, did, led))  # noqa: S704 - the drawing escapes every word of it


def groups_page(entries: Sequence[Entry]) -> str:
    """All groups that the reader may see."""
    return _render("groups.html", entries=entries, links=Links())


def message_page(title: str, text: str, links: Links | None = None) -> str:
    """A page that says one thing."""
    return _render("message.html", title=title, text=text, links=links or Links())


@functools.cache
def style() -> str:
    """The style sheet."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8") + RULES


@functools.cache
def policy(css: str = "") -> str:
    """The content security policy of every page: its own style sheet, and nothing else from anywhere."""
    digest = base64.b64encode(hashlib.sha256((css or style()).encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def visible(value: object) -> object:
    """Text without control characters and marks that turn the reading direction; other values as they are."""
    if not isinstance(value, str) or value.isprintable():
        return value
    kept = (char if char in "\n\t" or char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value)
    return type(value)("".join(kept))


def cell(value: object) -> str:
    """A value of a row, cut where it is long; NULL is told from an empty text by the template."""
    return "NULL" if value is None else cut(str(value), LONGEST)


def cut(text: str, most: int = MESSAGE) -> str:
    """A text of somebody else, as much of it as a page can bear."""
    return text if len(text) <= most else f"{text[:most]} …"


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
    # The sheet and the policy are ours, and must stand in the page as they are; beside them only pictures are marked.
    found.globals.update(
        w=words,
        charts=charts,
        cell=cell,
        cut=cut,
        MOST_BROKEN=MOST_BROKEN,
        MOST_ROWS=MOST_ROWS,
        style=Markup(style()),  # noqa: S704
        policy=policy(),
    )
    return found
