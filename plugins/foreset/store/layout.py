"""Where everything lies in a warehouse: paths only, nothing is opened.

References inside a manifest are relative to the root, so that a warehouse can be copied or
moved as a whole and still be read.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from foreset.ir.program import HIDDEN, is_hidden

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.~+:-]*")
PRIVATE = "_foreset"
CAME_OR_WENT = "foreset_sign"


def is_local(path: str) -> bool:
    """True for paths of this machine's file system, where links and fsync work."""
    return "://" not in path


def normal_root(root: str) -> str:
    """`root` without a trailing slash; `file:` URIs become plain paths, and those absolute: servers run elsewhere."""
    if root.startswith("file:"):
        root = unquote(urlsplit(root).path)
    return os.path.abspath(root) if is_local(root) else root.rstrip("/")  # noqa: PTH100 - no links are followed


def join(base: str, *parts: str) -> str:
    """`base` and `parts` with single slashes between them."""
    return "/".join([base.rstrip("/"), *(part.strip("/") for part in parts)])


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one group in one warehouse."""

    root: str
    group: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", normal_root(str(self.root)))
        _checked(self.group)

    def view(self, name: str) -> str:
        """The view's Delta table; a hidden view is a state of others."""
        if is_hidden(name):
            return self.state(f"{name}{HIDDEN}rows")  # beside its own counters
        return join(self.root, self.group, _checked(name))

    def state(self, name: str) -> str:
        """A table that helps to maintain a view (counters, supports): never read by users."""
        return join(self.root, self.group, "_state", _checked(name))

    def export(self, name: str) -> str:
        """The plain Delta table for tools that cannot resolve a manifest."""
        return join(self.root, self.group, "_export", _checked(name))

    @property
    def tables(self) -> str:
        """The folder above all tables of the group."""
        return join(self.root, self.group)

    @property
    def private(self) -> str:
        """The folder of what Foreset keeps of the group beside its tables."""
        return join(self.root, PRIVATE, self.group)

    @property
    def manifest(self) -> str:
        """The Delta table whose rows are the committed refreshes."""
        return join(self.private, "manifest")

    @property
    def runs(self) -> str:
        """The folder above the run directories."""
        return join(self.private, "runs")

    def run(self, run_id: str) -> str:
        """The directory of one run: plan, staged differentials, events, report."""
        return join(self.runs, _checked(run_id))

    @property
    def epochs(self) -> str:
        """The folder of what runs say of themselves: which directory, alive, closed."""
        return join(self.private, "epochs")

    @property
    def leases(self) -> str:
        """The folder of readers' leases."""
        return join(self.private, "leases")

    def relative(self, path: str) -> str:
        """`path` as a manifest keeps it."""
        path = normal_root(path)
        if not path.startswith(self.root.rstrip("/") + "/"):
            raise ValueError(f"{path} does not lie in the warehouse {self.root}")
        return path[len(self.root.rstrip("/")) + 1 :]

    def resolve(self, reference: str) -> str:
        """The full path of a reference from a manifest; it cannot lead out of the warehouse."""
        parts = reference.split("/")
        if reference.startswith("/") or "://" in reference or ".." in parts or not reference:
            raise ValueError(f"{reference!r} is not a path inside the warehouse")
        return join(self.root, reference)


def change_folder(capture: str, sign: int | None = None) -> str:
    """Below the folder of a capture, where the rows lie that came (+1) or went (-1), or both."""
    both = join(capture, "differential")
    return both if sign is None else join(both, f"{CAME_OR_WENT}={sign}")


def table_path(root: str, table: str) -> str:
    """The path of a source's `table:`, which is relative to the warehouse or a URI or absolute."""
    if "://" in table or table.startswith("/"):
        return normal_root(table)
    return join(normal_root(root), table)


def is_name(name: str) -> bool:
    """Whether a group, a table or a run can have this name; folders of Foreset's own begin with `_`."""
    return bool(_NAME.fullmatch(name)) and ".." not in name


def _checked(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{name!r} cannot be the name of a file in a warehouse")
    return name
