"""What is said of a source that cannot be read: by what the error tells, not by numbers that happen to stand in it."""

from __future__ import annotations

import pytest

from foreset.store.capture.versions import fault_of

STACK = "\n\nJVM stacktrace:\norg.apache.spark.sql.AnalysisException\n\tat org.apache.spark.Plan.run(Plan.scala:403)"


@pytest.mark.parametrize(("error", "says"), [
    ("[PATH_NOT_FOUND] Path does not exist: file:/lake/edge/_delta_log. SQLSTATE: 42K03" + STACK, "there is no table"),
    ("[PATH_NOT_FOUND] Path does not exist: file:/lake/403/area-401. SQLSTATE: 42K03", "there is no table"),
    ("Access Denied (Service: Amazon S3; Status Code: 403; Request ID: 9)", "no permission"),
    ("java.nio.file.AccessDeniedException: /lake/edge", "no permission"),
    ("Client error with status 401 Unauthorized", "no permission"),
    ("the host does not answer" + STACK, "cannot read"),
])  # fmt: skip
def test_the_cause_is_told_apart(error: str, says: str) -> None:
    assert says in str(fault_of("edge", "/lake/edge", RuntimeError(error), missing=False))
