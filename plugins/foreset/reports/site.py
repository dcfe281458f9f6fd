"""The pages of a group as a folder of files that lead to each other: for a web server, a mail, or an archive.

A page may show rows of views: whoever can read the folder can read those.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from foreset.explain import picture
from foreset.reports import pages, reading
from foreset.reports.definition import definition
from foreset.reports.model import Run
from foreset.reports.pages import Links
from foreset.reports.tonight import tonight
from foreset.reports.views import read_view, view_names
from foreset.store.layout import Layout

VIEWS = "views"


def write_site(layout: Layout, folder: Path, specs: Path, run: Run | None) -> list[Path]:
    """Write the report of `run` (default: the newest), the history, the picture and a page for each view.

    Returns the files, the one to open first.
    """
    history = reading.read_history(layout)
    latest = reading.latest_run(layout, history)
    found = definition(layout, history, specs)
    graph = (latest.graph if latest else None) or (found.graph if found else None)
    links = Links(history="history.html", views=f"{VIEWS}/", suffix=".html", picture="views.svg")
    shown = run or latest
    texts = {"index.html": pages.run_page(shown, links)} if shown else {}
    texts["history.html"] = pages.history_page(history, latest, replace(links, history=""), graph)
    if graph is not None:
        texts["views.svg"] = picture.file(graph, tonight(latest) if latest else {})
    beside = Links(history="../history.html", views="./", suffix=".html")
    for name in view_names(found):
        page = read_view(layout, name, specs)
        if page is not None:
            texts[f"{VIEWS}/{name}.html"] = pages.view_page(page, beside)
    for name, text in texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
