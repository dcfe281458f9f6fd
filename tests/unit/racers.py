"""A racing process: `python racers.py MODE ROOT ME ROUNDS`. A round starts when its file `go-<round>` is there.

Processes of their own, because threads would share what a crash should take away.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from foreset.errors import Fenced
from foreset.store import epochs, files, manifest
from foreset.store.layout import Layout

PAUSE = 0.001


def commit(layout: Layout, me: str, k: int) -> object:
    row = manifest.ManifestRow(k + 1, f"r{k}-{me}", "a", 1, k)
    try:
        return manifest.commit(layout, row).seq
    except Fenced:
        return "fenced"


def opens(layout: Layout, me: str, k: int) -> object:
    """Being fenced right away by the next one is expected; an epoch is taken all the same."""
    try:
        epochs.open_run(layout, f"r{me}-{k}", lambda _: {}, force=True, attempt_id="a")
    except Fenced:
        return "fenced"
    return "opened"


def once(layout: Layout, me: str, k: int) -> object:
    return files.write_once(f"{layout.root}/once-{k}.json", me)


def once_remote(layout: Layout, me: str, k: int) -> object:
    return files.write_once(f"file://{layout.root}/once-{k}.json", me)


def forever(layout: Layout, me: str, k: int) -> object:
    """Commit until killed, and say each acknowledged seq."""
    while True:
        k += 1
        run = epochs.open_run(layout, f"{me}-{k}", lambda _: {}, force=True, attempt_id="a")
        assert isinstance(run, epochs.Run)
        row = manifest.ManifestRow(run.seq, run.refresh_id, run.attempt_id, run.epoch, run.prev_seq)
        print(json.dumps([manifest.commit(layout, row).seq, run.refresh_id]), flush=True)


def main() -> None:
    mode, root, me, rounds = sys.argv[1:]
    layout = Layout(root, "reach")
    for k in range(int(rounds)):
        print("ready", flush=True)
        while not Path(root, f"go-{k}").exists():
            time.sleep(PAUSE)
        print(json.dumps(globals()[mode](layout, me, k)), flush=True)


if __name__ == "__main__":
    main()
