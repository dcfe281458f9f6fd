"""Runs Great Expectations over batches of rows; the only module that imports it.

Its context lives in memory: results are ours to keep, and suites are frozen in the plan.
Three of its ways are worked around here: it sorts results by column (each expectation
carries its number), it reads limits as doubles, and it takes NaN for a missing value.
"""

from __future__ import annotations

import datetime
import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from foreset.extras import needed_for
from foreset.ir.expectations import DENY, Expectation, Severity
from foreset.ir.terms import Row, Value
from foreset.quality import pages
from foreset.quality.batches import EXAMPLES, Batch, Finding
from foreset.quality.outcome import cell
from foreset.session.connect import make_active
from foreset.store.spark_values import collected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NUMBER, _ROW = "foreset", "_foreset_row"
_NO_ROWS = "expect_table_row_count_to_equal"
_WORDS = frozenset(("value_set", "regex", "regex_list"))
_PAIRS = frozenset(("expect_column_pair_values_a_to_be_greater_than_b", "expect_column_pair_values_to_be_equal"))


class Checker:
    """One context of Great Expectations, and the results that it gave by view."""

    def __init__(self) -> None:
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        with needed_for("checking expectations"):
            import great_expectations as gx
            from great_expectations.data_context.types.base import (
                DataContextConfig,
                InMemoryStoreBackendDefaults,
                ProgressBarsConfig,
            )

        config = DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False),
        )
        logging.getLogger("great_expectations").setLevel(logging.CRITICAL)  # it logs what we report
        self._gx = gx
        self._context = gx.get_context(mode="ephemeral", project_config=config)
        self._results: dict[str, list[Any]] = {}
        self._used = 0

    def check(self, batch: Batch) -> list[Finding]:
        """The outcome of each expectation of the batch, in their order."""
        self._used += 1
        in_process = batch.frame is None
        result = self._validate(batch, in_process=in_process)
        found: dict[int, Finding] = {}
        for one in result.results:
            number = one.expectation_config.meta[_NUMBER]
            found[number] = _finding(batch, batch.expectations[number], one)
            _for_pages(one, batch.expectations[number])
        if batch.on_pages:
            self._results.setdefault(batch.view, []).append(result)
        return [found[number] for number in range(len(batch.expectations))]

    def pages(self, group: str) -> dict[str, str]:
        """Great Expectations' pages by file name, with an index and a style sheet."""
        from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
        from great_expectations.render.view.view import DefaultJinjaPageView

        renderer: Any = ValidationResultsPageRenderer()
        view_of: Any = DefaultJinjaPageView()
        found, listed = {}, {}
        for view, results in self._results.items():
            document = renderer.render(_merged(f"{group}.{view}", results))
            html = view_of.render(document)
            file = f"{view}.html"
            back = '<p><a href="index.html">all views</a></p>'
            found[file] = pages.page(f"{group}.{view}", back + pages.cleaned(html))
            listed[view] = (file, all(result.success for result in results))
        return {"index.html": pages.index(f"Expectations of {group}", listed), **found, pages.STYLE: pages.style()}

    def _validate(self, batch: Batch, *, in_process: bool) -> Any:  # noqa: ANN401 - a class of Great Expectations
        name = f"{batch.view}-{batch.scope}-{self._used}"
        if batch.frame is not None:
            make_active(batch.frame.sparkSession)  # it looks for a session of its own to ask
        sources = self._context.data_sources
        source = sources.add_pandas(name) if in_process else sources.add_spark(name, persist=False)
        definition = source.add_dataframe_asset(batch.view).add_batch_definition_whole_dataframe("whole")
        frame = _pandas(batch) if in_process else _marked(batch)
        suite = self._gx.ExpectationSuite(
            name=name,
            expectations=[_built(number, one, in_process) for number, one in enumerate(batch.expectations)],
        )
        shape: dict[str, Any] = {"result_format": "SUMMARY", "partial_unexpected_count": EXAMPLES}
        if not in_process and not _counts_only(batch):
            shape["unexpected_index_column_names"] = [_ROW]
        return definition.get_batch(batch_parameters={"dataframe": frame}).validate(suite, result_format=shape)


# ---------------------------------------------------------------- expectations
def _built(number: int, expectation: Expectation, in_process: bool) -> Any:  # noqa: ANN401, FBT001 - theirs
    from great_expectations.expectations.registry import get_expectation_impl

    severity = "critical" if expectation.severity is Severity.CRITICAL else "warning"
    kind: Any = get_expectation_impl(_NO_ROWS if expectation.type == DENY else expectation.type)
    about: dict[str, Any] = {"severity": severity, "meta": {_NUMBER: number}, "notes": expectation.note or None}
    if expectation.type == DENY:
        return kind(value=0, description=expectation.text, **about)
    given = {name: _given(value, in_process) for name, value in expectation.arguments.items()}
    if in_process:
        given |= {name: _ascii(given[name]) for name in ("regex", "regex_list") if name in given}
    if expectation.type in _PAIRS:
        given["ignore_row_if"] = "either_value_is_missing"
    return kind(**given, **about)


def _given(value: Any, in_process: bool) -> Any:  # noqa: ANN401, FBT001 - an argument
    """An argument as the engine compares it."""
    if isinstance(value, list | tuple):
        return [_given(item, in_process) for item in value]
    if in_process:
        return _plain(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC)
    return value


def _ascii(regex: Any) -> Any:  # noqa: ANN401 - one or several
    r"""Python's `\w` takes every alphabet where Java's takes ASCII: one meaning for both."""
    if isinstance(regex, list):
        return [_ascii(one) for one in regex]
    return f"(?a){regex}" if "\\" in regex or "(?" in regex else regex


# ---------------------------------------------------------------- rows
class _NotANumber:
    """NaN as Spark has it: a value like any other, equal to itself and above all numbers."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NotANumber)

    def __hash__(self) -> int:
        return 1

    def __lt__(self, other: object) -> bool:
        return False

    def __le__(self, other: object) -> bool:
        return self == other

    def __gt__(self, other: object) -> bool:
        return self != other

    def __ge__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "nan"


_NAN = _NotANumber()


def _plain(value: Value) -> Any:  # noqa: ANN401 - a value in a column of Python objects
    if isinstance(value, float) and math.isnan(value):
        return _NAN
    return float(value) if isinstance(value, Decimal) else value


def _pandas(batch: Batch) -> Any:  # noqa: ANN401 - a DataFrame of pandas
    """Columns of Python objects: pandas' own types would change whole numbers beside a NULL, and dates."""
    import pandas as pd

    assert batch.rows is not None
    names = [column.name for column in batch.columns]
    return pd.DataFrame(
        {name: pd.Series([_plain(row[i]) for row in batch.rows], dtype=object) for i, name in enumerate(names)},
        columns=names,
    )


def _marked(batch: Batch) -> DataFrame:
    """The rows with a hash of each, by which an example is found again."""
    assert batch.frame is not None
    return batch.frame if _counts_only(batch) else batch.frame.withColumn(_ROW, _hash(batch))


def _counts_only(batch: Batch) -> bool:
    return all(expectation.type == DENY for expectation in batch.expectations)


def _hash(batch: Batch) -> Any:  # noqa: ANN401 - a column
    from pyspark.sql import functions as F

    named = [F.col(column.name) for column in batch.columns]
    return F.xxhash64(*named, *(column.isNull() for column in named))  # by itself it skips NULLs


# ---------------------------------------------------------------- results
def _finding(batch: Batch, expectation: Expectation, one: Any) -> Finding:  # noqa: ANN401 - theirs
    error = _error(one.exception_info)
    if error:
        return Finding(success=False, error=error)
    result = one.result
    if expectation.type == DENY:
        examples = () if one.success else tuple(batch.rows or ())[:EXAMPLES]
        return Finding(one.success, 0 if one.success else batch.count, examples)
    if "element_count" not in result:  # of the table as a whole
        return Finding(one.success, observed="" if one.success else _found(result))
    examples = () if one.success else tuple(_examples(batch, result.get("partial_unexpected_index_list") or ()))
    return Finding(one.success, result.get("unexpected_count") or 0, examples)


def _examples(batch: Batch, marks: Sequence[Any]) -> Iterator[Row]:
    if batch.rows is not None:
        yield from (batch.rows[mark] for mark in marks[:EXAMPLES])
    elif marks and batch.frame is not None:
        hashes = [mark[_ROW] for mark in marks]
        names = [column.name for column in batch.columns]
        found = batch.frame.where(_hash(batch).isin(hashes)).select(*names).limit(EXAMPLES)
        yield from collected(found, [column.type for column in batch.columns])


def _found(result: Mapping[str, Any]) -> str:
    """What was found of the table as a whole."""
    value = result.get("observed_value")
    if value is not None:
        return _observed(value)
    kinds = (("unexpected", "partial_unexpected_list"), ("missing", "partial_missing_list"))
    return "; ".join(f"{kind}: {_observed(result[name])}" for kind, name in kinds if result.get(name)) or "no value"


def _observed(value: Any) -> str:  # noqa: ANN401 - a number, a text, a list, a mapping
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_observed(item)}" for name, item in value.items())
    if isinstance(value, list | tuple | set):
        return ", ".join(sorted(cell(item) for item in value)[:EXAMPLES])
    return cell(value.item() if hasattr(value, "item") else value)


def _error(info: Any) -> str:  # noqa: ANN401 - one mapping, or one for each metric
    parts = [info] if "raised_exception" in info else [part for part in info.values() if isinstance(part, dict)]
    raised = [str(part.get("exception_message") or "").strip() for part in parts if part.get("raised_exception")]
    return cell((raised[0] or "an exception without a message").splitlines()[0]) if raised else ""


def _for_pages(one: Any, expectation: Expectation) -> None:  # noqa: ANN401 - theirs
    """Make a result fit for the page renderer: values as text, no marks of ours, no numpy."""
    result = one.result
    for name in ("unexpected_index_column_names", "partial_unexpected_index_list", "unexpected_index_query"):
        result.pop(name, None)
    if "unexpected_percent" not in result:
        result.pop("unexpected_count", None)
    for name in ("partial_unexpected_list", "partial_missing_list"):
        if result.get(name):
            result[name] = [_shown(value) for value in result[name]]
    for counted in result.get("partial_unexpected_counts") or ():
        counted["value"] = _shown(counted["value"])
    config = one.expectation_config
    config.kwargs.update({n: _shown(value) for n, value in expectation.arguments.items() if n in _WORDS})
    config.description = config.description and pages.veiled(config.description)
    if hasattr(result.get("observed_value"), "item"):
        result["observed_value"] = result["observed_value"].item()


def _shown(value: Any) -> Any:  # noqa: ANN401 - a value, or one for each column
    if isinstance(value, dict):
        return {name: _shown(one) for name, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, list) else pages.veiled(cell(value))


def _merged(name: str, results: Sequence[Any]) -> Any:  # noqa: ANN401 - theirs
    """All that was found of one view as one result: a page for each view."""
    whole = results[0]
    for other in results[1:]:
        whole.results.extend(other.results)
        whole.success = whole.success and other.success
    passed = sum(bool(one.success) for one in whole.results)
    whole.statistics = {
        "evaluated_expectations": len(whole.results),
        "successful_expectations": passed,
        "unsuccessful_expectations": len(whole.results) - passed,
        "success_percent": 100.0 * passed / len(whole.results),
    }
    whole.suite_name = name
    return whole
