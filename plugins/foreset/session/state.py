"""What a running server writes down about itself, and what a client makes of it.

A state file is a claim, not a fact: the server may have crashed, its process
id may belong to a stranger, the warehouse may have been made anew.
`judge` tells these apart, since each calls for another act.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from foreset.session.locations import StateFiles
from foreset.session.processes import ProcessIdentity, process_space


@dataclass(frozen=True, slots=True)
class ServerState:
    """One running server: whose it is, which processes it is, and how to reach it."""

    launch: str  # names this start; a server that no longer finds it in the file ends itself
    warehouse: str
    guard: str  # which file its writer lock is
    space: str
    fingerprint: str
    supervisor: ProcessIdentity
    jvm: ProcessIdentity
    port: int
    token: str = field(repr=False)


class Fit(StrEnum):
    """What a state file turns out to be."""

    FITS = "running"
    CRASHED = "crashed"
    OTHER_SETTINGS = "running with other settings"
    OTHER_WAREHOUSE = "of a warehouse folder that is gone or was made again"
    ELSEWHERE = "started before a reboot, in another container or on another machine"


def judge(state: ServerState, warehouse: str, guard: str, fingerprint: str) -> Fit:
    """Say what the server of a state file is to a client of `warehouse`, with this writer lock and these settings."""
    if (state.warehouse, state.guard) != (warehouse, guard):
        return Fit.OTHER_WAREHOUSE
    if state.space != process_space():
        return Fit.ELSEWHERE
    if not (state.supervisor.alive() and state.jvm.alive()):
        return Fit.CRASHED
    return Fit.FITS if state.fingerprint == fingerprint else Fit.OTHER_SETTINGS


def write_state(files: StateFiles, state: ServerState) -> None:
    """Publish the state in one act, readable by this user only."""
    partial = files.state.with_suffix(f".{os.getpid()}")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as out:
        json.dump(asdict(state), out)
    partial.replace(files.state)


def read_state(files: StateFiles) -> ServerState | None:
    """Return the state, or None when there is none or it is damaged (then it is worth nothing)."""
    try:
        raw = json.loads(files.state.read_text())
        return ServerState(
            **{**raw, "supervisor": ProcessIdentity(**raw["supervisor"]), "jvm": ProcessIdentity(**raw["jvm"])}
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget_state(files: StateFiles, launch: str | None = None) -> None:
    """Remove the state file; with `launch`, only if it is still that server's."""
    found = read_state(files)
    if launch is None or (found is not None and found.launch == launch):
        files.state.unlink(missing_ok=True)
