"""Charts: dates below, round numbers at the side, and nothing drawn that was not published."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from foreset.reports import charts, pages, words
from foreset.reports.model import History, Run, State, Step, ViewLine

START = dt.datetime(2026, 12, 20, 2, 1, tzinfo=dt.UTC)


def refresh(day: float, plus: int = 0, minus: int = 0, state: State = State.COMMITTED, seconds: float = 1.0) -> Run:
    seq = int(day) + 1 if state is State.COMMITTED else None
    line = ViewLine("v", 1, done=state is not State.UNCHANGED, inserted=plus, deleted=minus, rows=plus, seconds=seconds)
    when = START + dt.timedelta(days=day)
    return Run(
        "g", f"n{day}", state, seq=seq, opened_at=when, views=(line,), steps=(Step("stratum-1", "done", seconds),)
    )


def drawn(*runs: Run) -> list[charts.Night]:
    """As the history gives them: newest first."""
    return charts.nights(list(reversed(runs)))


def test_a_first_load_and_a_small_night_stand_side_by_side() -> None:
    chart = charts.changes(drawn(refresh(0, 50_000), refresh(1, 3, 1)))
    (load, nothing), (plus, minus) = (place.bars for place in chart.places)
    assert load.height > 4 * plus.height > 4 * minus.height > 0 == nothing.height
    assert plus.y + plus.height == minus.y == chart.base
    assert [tick.label for tick in chart.scale] == ["+100,000", "+1,000", "0", "−1,000", "−100,000"]


def test_what_failed_has_a_mark_and_no_rows() -> None:
    runs = [refresh(0, 10), refresh(1, 999_999, 5, State.FAILED), refresh(2, state=State.UNCHANGED)]
    chart = charts.changes(drawn(*runs))
    good, failed, quiet = chart.places
    assert [bool(place.bars) for place in chart.places] == [True, False, False]
    assert [place.sign for place in chart.places] == ["", "bad", ""]
    assert chart.scale[0].label == "+10", "a load that was never published does not stretch the scale"
    assert good.title == "refresh 1, 20 Dec 2026, 02:01 UTC: published, +10 rows"
    assert failed.title == "run of 21 Dec 2026, 02:01 UTC: failed, nothing was published"
    assert quiet.title.endswith("nothing new, nothing was published")
    assert [bar.kind for place in charts.seconds(drawn(*runs)).places for bar in place.bars] == ["time", "lost", "time"]
    assert [bool(place.bars) for place in charts.rows(charts.nights_of([(runs[1], runs[1].views[0])])).places] == [
        False
    ]
    assert [place.sign for place in charts.outcomes(drawn(*runs)).places] == ["caution", "bad", "good"]


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_dates_have_room_and_say_the_year_once(count: int) -> None:
    chart = charts.changes(drawn(*(refresh(day, day + 1) for day in range(count))))
    labels = [tick.label for tick in chart.dates]
    assert labels[0] == "20 Dec 2026"
    assert all(b.at - a.at >= charts.APART for a, b in pairwise(chart.dates))
    assert all(tick.at + 24 <= chart.width for tick in chart.dates)
    middles = [place.middle for place in chart.places]
    assert all(tick.at in middles for tick in chart.dates), "a date stands below its refresh"
    if count == 60:
        assert sum("2027" in label for label in labels) == 1
        assert chart.width < 1000


def test_refreshes_of_one_day_show_their_times() -> None:
    chart = charts.changes(drawn(*(refresh(hour / 24, 1) for hour in range(6))))
    assert [tick.label for tick in chart.dates] == ["20 Dec 2026", "05:01", "07:01"]


@pytest.mark.parametrize(
    ("most", "labels"),
    [(0.03, ["0.1 s", "0"]), (2.4, ["3 s", "2 s", "1 s", "0"]), (14, ["15 s", "10 s", "5 s", "0"]),
     (95, ["2 min", "1 min", "0"]), (5000, ["1.5 h", "1 h", "30 min", "0"])],
)  # fmt: skip
def test_time_is_counted_in_round_steps(most: float, labels: list[str]) -> None:
    chart = charts.seconds(drawn(refresh(0, 1, seconds=most)))
    assert [tick.label for tick in chart.scale] == labels
    (bar,) = chart.places[0].bars
    assert 0 < bar.height <= charts.TALL


@pytest.mark.parametrize(
    ("most", "labels"),
    [(1, ["1", "0"]), (38, ["40", "20", "0"]), (14_204, ["15,000", "10,000", "5,000", "0"]),
     (2_500_000, ["3 M", "2 M", "1 M", "0"])],
)  # fmt: skip
def test_rows_are_counted_in_round_steps(most: int, labels: list[str]) -> None:
    run = refresh(0, most)
    chart = charts.rows(charts.nights_of([(run, run.views[0])]))
    assert [tick.label for tick in chart.scale] == labels


@pytest.mark.parametrize("most", [1, 9, 10, 11, 99, 1000, 123_456, 10**9, 10**15])
def test_numbers_at_the_side_are_few_and_never_touch(most: int) -> None:
    chart = charts.changes(drawn(refresh(0, most, most)))
    assert 3 <= len(chart.scale) <= 7
    assert all(b.at - a.at >= 12 for a, b in pairwise(chart.scale)), chart.scale
    assert all(0 <= bar.y <= bar.y + bar.height <= chart.height for bar in chart.places[0].bars)


def test_no_refresh_gives_an_empty_chart() -> None:
    assert charts.changes([]).places == []
    assert charts.seconds([]).places == []
    assert charts.rows([]).dates == ()


def test_the_page_says_each_value_when_pointed_at_and_draws_failures_as_such() -> None:
    runs = [refresh(1, 77, 0, State.FAILED), refresh(0, 12, 3)]
    page = pages.history_page(History("g", None, [replace(run, group="g") for run in runs]), None)
    assert page.count("<title>refresh 1, 20 Dec 2026, 02:01 UTC: published, +12 −3 rows</title>") == 1
    (failed,) = re.findall(
        r"<g class=\"place\"><title>run of 21 Dec 2026[^<]*nothing was published</title>.*?</g>", page, re.DOTALL
    )
    assert "sign bad" in failed
    assert 'class="plus"' not in failed
    assert '<text class="date"' in page
    assert '<text class="scale"' in page


def test_counts_in_words() -> None:
    assert [words.both(1, 0), words.both(1200, 3), words.both(0, 0), words.both(0, 1)] == [
        "+1 row", "+1,200 −3 rows", "0 rows", "−1 row"
    ]  # fmt: skip
