"""Faults of the machine in plain words, and a damaged manifest that is never taken for an older one."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli_runner import foreset
from tests.unit.test_forecast import World

from foreset.errors import EnvironmentFault, EvaluationError, SourceError
from foreset.plan.stages import STRATA
from foreset.records.events import Failed
from foreset.refresh.machine_faults import explained, plain_words
from foreset.refresh.record_failure import at_stage, failures_told
from foreset.store import epochs, manifest
from foreset.store.layout import Layout


class GrpcError(Exception):
    """As pyspark passes gRPC's errors on: as text."""


GONE = 'StatusCode.UNAVAILABLE\n\tdetails = "failed to connect to all addresses; last error: Connection refused"'


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/w/x"), "the disk is full"),
        (OSError(errno.EDQUOT, "quota"), "the disk is full"),
        (RuntimeError("Task failed\njava.io.IOException: No space left on device\nat x"), "the disk is full"),
        (PermissionError(errno.EACCES, "no", "/w/x"), "access is denied"),
        (RuntimeError("Generic LocalFileSystem error: Permission denied (os error 13)"), "access is denied"),
        (GrpcError(GONE), "Spark went away"),
    ],
)
def test_who_must_put_it_right(error: Exception, told: str) -> None:
    found = explained(error, "stratum-1 of group reach")
    assert isinstance(found, EnvironmentFault)
    assert found.exit_code == 5
    assert told in found.message
    assert "stratum-1 of group reach" in found.message
    assert "run the same refresh again" in found.hint
    assert found.worth_retrying is (told != "access is denied"), "who may write changes by a person only"


def lost() -> None:
    try:
        raise GrpcError(GONE)  # noqa: TRY301 - as the engine meets it
    except GrpcError as error:
        raise EvaluationError("Spark stopped: UNAVAILABLE") from error


def test_the_cause_behind_an_evaluation_error_counts() -> None:
    """The engine takes a lost server for a failed query: the cause says more."""
    with pytest.raises(EnvironmentFault, match="Spark went away") as caught, plain_words("stratum-2"):
        lost()
    assert isinstance(caught.value.__cause__, EvaluationError)


def test_what_is_plain_already_stays() -> None:
    for error in (SourceError("no permission: Permission denied"), EvaluationError("1 / 0"), ValueError("ours")):
        assert explained(error, "x") is error
    interrupt = KeyboardInterrupt()
    assert explained(interrupt, "x") is interrupt


def test_the_stage_that_failed_is_named_and_not_the_first_without_a_mark() -> None:
    """Of strata side by side, an earlier one may be unfinished when a later one fails."""
    heard: list[Failed] = []
    context = SimpleNamespace(layout=SimpleNamespace(group="reach"), listen=heard.append)
    with (
        pytest.raises(EnvironmentFault, match="during stratum-4 of group reach"),
        failures_told(context, STRATA),  # type: ignore[arg-type]
        at_stage("stratum-4"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    (event,) = heard
    assert (event.phase, event.error) == ("stratum-4", "EnvironmentFault")


def garbage(log: Path) -> None:
    log.write_text("garbage")


def emptied(log: Path) -> None:
    log.write_text("")


def torn(log: Path) -> None:
    log.write_text(log.read_text()[:100])


def lost_between(log: Path) -> None:
    (log.parent / f"{1:020d}.json").unlink()


@pytest.mark.parametrize("damage", [garbage, emptied, torn, lost_between])
def test_a_damaged_manifest_is_an_error_and_never_an_older_state(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.commit()
    layout = Layout(world.root, "reach")
    folder = Path(layout.manifest) / "_delta_log"
    kept = {log: log.read_bytes() for log in folder.glob("*.json")}
    damage(max(kept))
    with pytest.raises(EnvironmentFault, match="the manifest of group reach cannot be read"):
        manifest.newest(layout.root, "reach")
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        epochs.open_run(layout, "another", lambda _: {})
    for command in ("status", "check --against-warehouse", "show reach.closure"):
        shown = foreset(*command.split(), "--specs", str(world.specs), "--warehouse", world.root)
        assert shown.code == 5, command
        assert "_delta_log from a backup" in shown.err, command
    for log, text in kept.items():
        log.write_bytes(text)
    assert [row.seq for row in manifest.history(layout.root, "reach")] == [1]
