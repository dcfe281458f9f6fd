"""Great Expectations' own pages of a run, as the quality phase left them beside its facts.

`quality.pages` has taken scripts and outside resources out of them; the policy here would stop
whatever was left.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from foreset.reports import directory, facts
from foreset.store import files
from foreset.store.layout import Layout, is_local, join

POLICY_NAME = "Content-Security-Policy"
# `allow-same-origin` only lets the reader's login go with a click to the next page: nothing can run here.
POLICY = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
MEDIA = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it is sent."""

    content: bytes
    media_type: str


def fetch(layout: Layout, refresh_id: str, path: str) -> Page | None:
    """A file of the run's Data Docs; None for whatever is not one of them."""
    found = directory.newest_of(layout, refresh_id)
    folder, media = _folder(layout, found) if found else None, MEDIA.get(Path(path).suffix)
    if found is None or folder is None or media is None or path not in {file.path for file in files.list_files(folder)}:
        return None
    content = _content(folder, path)
    if content is None:
        return None
    return Page(_with_way_back(content, found.refresh_id, path) if media.startswith("text/html") else content, media)


def _with_way_back(page: bytes, refresh_id: str, path: str) -> bytes:
    """The page with a link to the report above it: a frame shows no address and no button."""
    report = "../" * (path.count("/") + 2) + quote(refresh_id, safe="")
    link = f'<body><p><a href="{escape(report)}">Back to the report</a></p>'
    return page.replace(b"<body>", link.encode(), 1)


def _folder(layout: Layout, found: directory.Directory) -> str | None:
    """Where the quality phase says that it left them; a reference cannot lead out of the run directory."""
    told = facts.quality(directory.quality_of(layout, found))
    docs = told.docs if told else None
    if not docs or docs.startswith("/") or "://" in docs or ".." in docs.split("/"):
        return None
    return join(layout.run(found.run_id), docs)


def _content(folder: str, path: str) -> bytes | None:
    if not is_local(folder):
        system, inner = files.filesystem(join(folder, path))
        with system.open_input_stream(inner) as stream:
            return bytes(stream.read())
    target = (Path(folder) / path).resolve()
    inside = target.is_relative_to(Path(folder).resolve()) and target.is_file()
    return target.read_bytes() if inside else None
