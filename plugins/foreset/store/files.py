"""Small files beside the tables, on a local disk or any store that deltalake and pyarrow reach.

`write_once` is put-if-absent everywhere: a hard link on a local disk (fails if the name exists,
which a rename would not), and elsewhere version 0 of a Delta table without rows, which delta-rs
publishes with the store's own conditional write.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreset.store.layout import is_local, join

GUARD = ".once"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file below some folder: its path relative to the folder, its size and its age in seconds."""

    path: str
    size: int
    age: float = 0.0


def write_once(path: str, text: str) -> bool:
    """Store `text` at `path` unless something is there; says whether it was stored."""
    if not is_local(path):
        return _write_once_remote(path, text)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _durable_temporary(target, text)
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_folder(target.parent)
    return True


def read_once(path: str) -> str | None:
    """What `write_once` stored at `path`, or None."""
    return read_text(path) if is_local(path) else _read_once_remote(path)


def write_text(path: str, text: str) -> None:
    """Store `text` at `path` as a whole, replacing what is there."""
    if is_local(path):
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _durable_temporary(target, text).replace(target)
        return
    system, inner = filesystem(path)
    with system.open_output_stream(inner) as stream:
        stream.write(text.encode())


def read_text(path: str) -> str | None:
    """The text at `path`, or None when there is no such file."""
    if is_local(path):
        try:
            return Path(path).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
    system, inner = filesystem(path)
    try:
        with system.open_input_stream(inner) as stream:
            return bytes(stream.read()).decode()
    except FileNotFoundError:
        return None


def read_commit(table: str, version: int) -> dict[str, Any] | None:
    """The `commitInfo` of one version of a Delta table; None when it has no such log entry.

    Read from the entry itself: deltalake's `history` of a table that is not at its newest version
    numbers the newest commits as if they ended at the loaded one (seen with 1.6.6).
    """
    text = read_text(join(table, "_delta_log", f"{version:020d}.json"))
    actions = (json.loads(line) for line in (text or "").splitlines() if line.strip())
    info: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    return None if text is None else {**info, "version": version}


def give_name(path: str, other: str) -> int:
    """Give the file at `path` a second name, or a copy where there can be none; says its size.

    Whichever name is deleted, the other stays. No file that has two names may be written in place.
    """
    if is_local(path) and is_local(other):
        target = Path(other)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except FileExistsError:
            raise
        except OSError:  # on another disk, of another owner, or names cannot be shared there
            shutil.copyfile(path, target)
        return target.stat().st_size
    system, inner = filesystem(path)
    _, target_inner = filesystem(other)
    system.copy_file(inner, target_inner)
    return int(system.get_file_info(target_inner).size)


def list_files(folder: str) -> list[StoredFile]:
    """All files below `folder`, at any depth; none when it does not exist."""
    if is_local(folder):
        return sorted(_local_files(folder), key=lambda file: file.path)
    from pyarrow import fs

    system, inner = filesystem(folder)
    found = system.get_file_info(fs.FileSelector(inner, allow_not_found=True, recursive=True))
    start, now = len(inner.rstrip("/")) + 1, time.time()
    files = (StoredFile(one.path[start:], one.size, now - one.mtime_ns / 1e9) for one in found if one.is_file)
    return sorted(files, key=lambda file: file.path)


def list_folders(folder: str) -> list[str]:
    """The names of the folders directly below `folder`."""
    if is_local(folder):
        try:
            return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []
    return sorted({file.path.split("/", 1)[0] for file in list_files(folder) if "/" in file.path})


def delete(folder: str, paths: Iterable[str]) -> None:
    """Delete these files below `folder`; those that are gone already are fine."""
    if is_local(folder):
        for path in paths:
            (Path(folder) / path).unlink(missing_ok=True)
        return
    system, inner = filesystem(folder)
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            system.delete_file(join(inner, path))


def delete_tree(folder: str) -> None:
    """Delete a folder with all that is in it: logs first, so that no log points at missing data."""
    files = [file.path for file in list_files(folder)]
    delete(folder, sorted(files, key=lambda path: ("_delta_log/" not in path, path)))
    if is_local(folder) and Path(folder).is_dir():
        for inner, _, _ in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                Path(inner).rmdir()


def sync_file(path: str) -> None:
    """Make a local file and its name survive a power cut; elsewhere the store answers for that."""
    if is_local(path) and Path(path).is_file():
        with Path(path).open("rb") as stream:
            os.fsync(stream.fileno())
        sync_folder(Path(path).parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a local folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def filesystem(path: str) -> tuple[Any, str]:
    """pyarrow's file system of a path, and the path in its terms."""
    from pyarrow import fs

    if is_local(path):
        return fs.LocalFileSystem(), path
    system, inner = fs.FileSystem.from_uri(path)
    return system, str(inner)


def _durable_temporary(target: Path, text: str) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    return Path(name)


def _local_files(folder: str) -> Iterator[StoredFile]:
    for inner, _, names in os.walk(folder):
        for name in names:
            path = Path(inner) / name
            with contextlib.suppress(FileNotFoundError):
                facts = path.stat()
                yield StoredFile(str(path.relative_to(folder)), facts.st_size, time.time() - facts.st_mtime)


def _write_once_remote(path: str, text: str) -> bool:
    from deltalake import CommitProperties, DeltaTable, Field, Schema
    from deltalake.exceptions import DeltaError
    from deltalake.schema import PrimitiveType

    # Without `max_commit_retries=0` the loser of a race goes on to version 1 and believes it has created the table.
    token = uuid.uuid4().hex
    note = CommitProperties(custom_metadata={"text": text, "token": token}, max_commit_retries=0)
    try:
        schema = Schema([Field("unused", PrimitiveType("string"))])
        DeltaTable.create(path + GUARD, schema, mode="error", commit_properties=note)
    except DeltaError:
        if _guard(path) is None:
            raise
    return (_guard(path) or {}).get("token") == token


def _read_once_remote(path: str) -> str | None:
    guard = _guard(path)
    return None if guard is None else str(guard["text"])


def _guard(path: str) -> dict[str, Any] | None:
    return read_commit(path + GUARD, 0)
