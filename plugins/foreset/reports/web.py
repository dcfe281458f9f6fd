"""The reports inside Airflow: a small application that its API server mounts under /foreset.

Every route needs a login and the permission on the DAG in its path. Pages are rendered here;
no folder is served. Links are relative, so that they hold under any base URL.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from foreset.explain import picture
from foreset.explain.graph import Graph
from foreset.orchestrate.names import dag_id as dag_of
from foreset.orchestrate.names import group_of, refresh_id
from foreset.orchestrate.places import Places
from foreset.reports import airflow_state, datadocs, pages
from foreset.reports.definition import definition
from foreset.reports.model import History, Run
from foreset.reports.pages import Entry, Links
from foreset.reports.permission import Permitted, User, readable_dags
from foreset.reports.reading import latest_run, read_history, read_run
from foreset.reports.tonight import tonight
from foreset.reports.views import read_view
from foreset.session.locations import absolute_warehouse
from foreset.store.layout import Layout

log = logging.getLogger(__name__)

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
OTHER_DAG = ("No view refresh in this DAG", "Only the DAGs that Foreset makes of view specs have such a report.")
NO_VIEW = ("No such view", "This group has no view of that name; the history of the group shows its views.")
BROKEN = "The warehouse cannot be read just now. The log of the API server says why."


def build(places: Places) -> FastAPI:
    """The application over one warehouse."""
    app = FastAPI(title="Foreset reports", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.middleware("http")(_with_headers)
    app.add_exception_handler(HTTPException, _plain_fault)
    app.add_exception_handler(Exception, _broken)
    routes = Routes(places)
    app.get("/", response_class=HTMLResponse)(routes.groups)
    app.get("/dags/{dag_id}", response_class=HTMLResponse)(routes.history)
    app.get("/dags/{dag_id}/views.svg", response_class=Response)(routes.picture)
    app.get("/dags/{dag_id}/views/{view}", response_class=HTMLResponse)(routes.view)
    app.get("/dags/{dag_id}/runs/{run_id}", response_class=HTMLResponse)(routes.run)
    app.get("/dags/{dag_id}/runs/{run_id}/docs/{path:path}", response_class=Response)(routes.docs)
    return app


class Routes:
    """The pages; each method is a route."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def groups(self, user: User) -> str:
        """All groups whose DAG the user may read."""
        found = [(dag, layout) for dag in readable_dags(user) if (layout := self._layout(dag)) is not None]
        return pages.groups_page([_entry(dag, layout) for dag, layout in found])

    def history(self, dag_id: Permitted) -> str:
        """The history of a group: the tab of a DAG."""
        layout = self._layout(dag_id)
        if layout is None:
            return pages.message_page(*OTHER_DAG, Links(home="../"))
        below = quote(dag_id, safe="")
        links = Links(home="../", runs=f"{below}/runs/", views=f"{below}/views/", picture=f"{below}/views.svg")
        found = read_history(layout)
        latest = latest_run(layout, found)
        return pages.history_page(found, latest, links, self._graph(layout, found, latest))

    def picture(self, dag_id: Permitted) -> Response:
        """The picture of a group for the page of its DAG: who reads whom, and what the last refresh changed."""
        layout = self._layout(dag_id)
        found = read_history(layout) if layout else None
        latest = latest_run(layout, found) if layout else None
        graph = self._graph(layout, found, latest) if layout and found else None
        if graph is None:
            raise HTTPException(404, "Not Found")
        headers = {datadocs.POLICY_NAME: f"{pages.policy(picture.sheet())}; frame-ancestors 'self'"}
        svg = picture.file(graph, tonight(latest) if latest else {})
        return Response(svg, media_type="image/svg+xml", headers=headers)

    def view(self, dag_id: Permitted, view: str, user: User) -> str:
        """The page of one view."""
        layout = self._layout(dag_id)
        home = "../../../"
        if layout is None:
            return pages.message_page(*OTHER_DAG, Links(home=home))
        found = read_view(layout, view, self._places.specs)
        own = f"../../{quote(dag_id, safe='')}"
        if found is None:
            return pages.message_page(*NO_VIEW, Links(home=home, history=own))
        known = set(readable_dags(user)) if found.elsewhere else set()
        shown = [one for one in found.elsewhere if dag_of(one.group) in known]  # of other groups not even the name
        links = Links(home=home, history=own, runs="../runs/", views="./", groups="../../")
        return pages.view_page(replace(found, elsewhere=shown), links)

    def run(self, dag_id: Permitted, run_id: str) -> str:
        """The report of one refresh: the tab of a DAG run."""
        layout = self._layout(dag_id)
        if layout is None:
            return pages.message_page(*OTHER_DAG, Links(home="../../../"))
        told = airflow_state.of_run(dag_id, run_id)
        run = read_run(layout, refresh_id(run_id), told.state)
        if not run.failures and told.failure is not None:
            run = airflow_state.with_failure(run, told.failure)
        docs = f"{quote(run_id, safe='')}/docs/index.html" if run.quality and run.quality.docs else ""
        history = f"../../{quote(dag_id, safe='')}"
        beside = Links(home="../../../", history=history, docs=docs, views="../views/", picture="../views.svg")
        return pages.run_page(run, beside)

    def docs(self, dag_id: Permitted, run_id: str, path: str) -> Response:
        """A page of Great Expectations' Data Docs of a run."""
        layout = self._layout(dag_id)
        found = datadocs.fetch(layout, refresh_id(run_id), path) if layout else None
        if found is None:
            raise HTTPException(404, "Not Found")
        return Response(found.content, media_type=found.media_type, headers={datadocs.POLICY_NAME: datadocs.POLICY})

    def _graph(self, layout: Layout, history: History, latest: Run | None) -> Graph | None:
        """Who reads whom: as the last refresh had it, or as the spec has it now."""
        if latest is not None and latest.graph is not None:
            return latest.graph
        found = definition(layout, history, self._places.specs)
        return found.graph if found else None

    def _layout(self, dag_id: str) -> Layout | None:
        """Where the group of a DAG lies; None for a DAG that is not ours."""
        group = group_of(dag_id)
        try:
            return Layout(absolute_warehouse(self._places.warehouse), group) if group else None
        except ValueError:  # no group can have this name
            return None


def _entry(dag_id: str, layout: Layout) -> Entry:
    link = f"dags/{quote(dag_id, safe='')}"
    try:
        return Entry(layout.group, link, latest_run(layout))
    except Exception:  # one broken folder must not hide the other groups
        log.exception("the reports of group %s cannot be read", layout.group)
        return Entry(layout.group, link, None, BROKEN)


async def _with_headers(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    return _guarded(await call(request))


def _guarded(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault(datadocs.POLICY_NAME, f"{pages.policy()}; frame-ancestors 'self'")
    return response


async def _plain_fault(_: Request, fault: Exception) -> Response:
    """401, 403 and 404 in a word: nothing of the request is repeated."""
    assert isinstance(fault, HTTPException)
    return PlainTextResponse(f"{fault.status_code} {fault.detail}\n", fault.status_code, fault.headers)


async def _broken(_: Request, __: Exception) -> Response:
    """A fault of ours or of the warehouse; its traceback goes to the log of the API server."""
    return _guarded(HTMLResponse(pages.message_page("The report cannot be shown", BROKEN), 500))
