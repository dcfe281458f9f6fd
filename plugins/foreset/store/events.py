"""Events of a run: JSON lines that are appended as things happen, for those who watch.

A line is written by one system call, so that tasks of one run may write side by side. A reader
leaves out a last line that is not finished yet, or that a crash has torn.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from foreset.store import files
from foreset.store.layout import is_local, join

NAME = "events.jsonl"


def emit(directory: str, kind: str, /, **facts: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Append one event to the run directory."""
    event = {"at": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), "kind": kind, **facts}
    line = json.dumps(event, default=str) + "\n"
    path = join(directory, NAME)
    if not is_local(path):
        # Object stores cannot append: one file per event, in the order of their names.
        stamp = str(event["at"]).replace(":", "").replace("+", "_")
        files.write_text(join(directory, "events", f"{stamp}-{os.getpid()}-{os.urandom(4).hex()}.json"), line)
        return
    Path(directory).mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"  # end what a crash left open
        os.write(handle, (("\n" if torn else "") + line).encode())
    finally:
        os.close(handle)


def read(directory: str) -> list[dict[str, Any]]:
    """All whole events, oldest first."""
    if is_local(directory):
        return list(_parsed((files.read_text(join(directory, NAME)) or "").split("\n")))
    folder = join(directory, "events")
    texts = (files.read_text(join(folder, file.path)) or "" for file in files.list_files(folder))
    return list(_parsed(texts))


def _parsed(lines: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any iterable of text
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, Mapping):
            yield dict(event)
