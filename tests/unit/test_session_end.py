"""The garbage collector ends no session of ours: where it comes by, that can hang every call of the process."""

from __future__ import annotations

import gc

import pytest
from pyspark.sql.connect.session import SparkSession

from foreset.session.connect import never_collected


class Client:
    """Notes that it was closed."""

    def __init__(self, closed: list[str]) -> None:
        self.closed = closed

    def close(self) -> None:
        self.closed.append("closed")


@pytest.mark.parametrize("ours", [True, False])
def test_only_sessions_of_others_are_closed_by_the_collector(*, ours: bool) -> None:
    closed: list[str] = []
    session = object.__new__(SparkSession)
    session._client = Client(closed)  # type: ignore[assignment]
    if ours:
        never_collected(session)
    assert isinstance(session, SparkSession)
    del session
    gc.collect()
    assert closed == ([] if ours else ["closed"]), "where pyspark closes nothing any more, we need not prevent it"
