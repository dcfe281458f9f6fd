"""Domains: providers of each kind, answers typed, pinned and recorded, failures that stop or keep."""

from __future__ import annotations

import csv
import datetime as dt
import json
import sqlite3
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from foreset.domains import registry
from foreset.domains.asking import Calls, held_back, recorded
from foreset.domains.builtin import PythonDomain, inside
from foreset.domains.connections import from_environment
from foreset.domains.http import HttpPolicy
from foreset.domains.provider import Access, DomainFailed
from foreset.errors import EnvironmentFault
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.program import Column
from foreset.ir.types import parse_type


def columns(text: str) -> tuple[Column, ...]:
    """`columns("name string, price decimal(5;2)")`."""
    pairs = (part.split() for part in text.split(",") if part.strip())
    return tuple(Column(name, parse_type(kind.replace(";", ","))) for name, kind in pairs)


def function(name: str, args: str, results: str, **more) -> DomainFunction:
    return DomainFunction(name, columns(args), columns(results), **more)


class Counting:
    """Answers from a table, counts its calls, fails on demand."""

    def __init__(self, table: dict) -> None:
        self.table, self.calls, self.fail = table, [], None

    def answer(self, domain, function, arguments, access):  # noqa: ARG002 - as providers are called  # noqa: ARG002 - as providers are called
        self.calls.append(list(arguments))
        if self.fail is not None:
            raise self.fail
        return {args: self.table.get(args, []) for args in arguments}


ASK = function("of", "key int", "value int")
COUNTED = Domain("d", "counted", (ASK,))


def calls(tmp_path: Path, provider, run: str = "1", last: str | None = None, **more) -> Calls:
    return Calls(
        str(tmp_path / run), last and str(tmp_path / last), Access(str(tmp_path)), {"counted": provider}, **more
    )


# ---------------------------------------------------------------- asking
def test_each_argument_is_asked_once_and_in_batches(tmp_path: Path) -> None:
    provider = Counting({(1,): [10, 11], (2,): [20]})
    asking = calls(tmp_path, provider)
    assert asking.answers(COUNTED, ASK, [(1,), (2,), (1,)]) == {(1,): ((10,), (11,)), (2,): ((20,),)}
    assert asking.answers(COUNTED, ASK, [(2,), (3,)]) == {(2,): ((20,),), (3,): ()}
    assert provider.calls == [[(1,), (2,)], [(3,)]]


def test_a_retry_takes_what_was_recorded(tmp_path: Path) -> None:
    first, changed = Counting({(1,): [10]}), Counting({(1,): [99], (2,): [20]})
    calls(tmp_path, first).answers(COUNTED, ASK, [(1,)])
    again = calls(tmp_path, changed)
    assert again.answers(COUNTED, ASK, [(1,), (2,)]) == {(1,): ((10,),), (2,): ((20,),)}
    assert changed.calls == [[(2,)]], "what the source says by now does not matter any more"


def test_a_rival_that_wrote_first_is_believed(tmp_path: Path) -> None:
    mine, theirs = calls(tmp_path, Counting({(1,): [10]})), calls(tmp_path, Counting({(1,): [11]}))
    assert mine.answers(COUNTED, ASK, []) == {} == theirs.answers(COUNTED, ASK, [])
    assert theirs.answers(COUNTED, ASK, [(1,)]) == {(1,): ((11,),)}
    assert mine.answers(COUNTED, ASK, [(1,)]) == {(1,): ((11,),)}


def test_null_is_never_asked(tmp_path: Path) -> None:
    provider = Counting({(None,): [1]})
    assert calls(tmp_path, provider).answers(COUNTED, ASK, [(None,)]) == {}
    assert provider.calls == []


def test_failure_stops(tmp_path: Path) -> None:
    provider = Counting({})
    provider.fail = OSError("the line is cut")
    with pytest.raises(DomainFailed, match="d:of failed: OSError: the line is cut"):
        calls(tmp_path, provider).answers(COUNTED, ASK, [(1,)])
    assert recorded(str(tmp_path / "1"), COUNTED, ASK) == {}, "a failure is not an answer"


def test_failure_keeps_the_last_answer_with_a_warning(tmp_path: Path) -> None:
    keeping = replace(ASK, on_error="keep")
    domain = Domain("d", "counted", (keeping,))
    provider = Counting({(1,): [10], (2,): [20]})
    calls(tmp_path, provider, "1").answers(domain, keeping, [(1,)])
    provider.fail = TimeoutError("no answer")
    second = calls(tmp_path, provider, "2", "1")
    assert second.answers(domain, keeping, [(1,)]) == {(1,): ((10,),)}
    assert second.warnings == [
        "d:of failed for 1 of 1 arguments (TimeoutError: no answer); the last answer is kept for 1, such as (1)"
    ]
    assert recorded(str(tmp_path / "2"), domain, keeping)[1,].status == "kept"


KEEP = replace(ASK, on_error="keep")
KEPT = Domain("d", "counted", (KEEP,))


def test_what_never_answered_has_nothing_to_keep(tmp_path: Path) -> None:
    provider = Counting({})
    provider.fail = OSError("the address is wrong")
    with pytest.raises(DomainFailed, match="the address is wrong"):
        calls(tmp_path, provider).answers(KEPT, KEEP, [(1,)])


def failing_for(*wrong: int) -> PythonDomain:
    def of(key: int) -> list[int]:
        if key in wrong:
            raise ValueError(f"no such key {key}")
        return [key * 100]

    return PythonDomain({"of": of})


def test_each_argument_is_kept_by_itself(tmp_path: Path) -> None:
    """Good answers are taken, a failed one stays as it was, and a new argument without one is held back."""
    calls(tmp_path, Counting({(n,): [n * 10] for n in range(4)}), "1").answers(KEPT, KEEP, [(n,) for n in range(4)])
    night = calls(tmp_path, failing_for(3, 7), "2", "1")
    found = night.answers(KEPT, KEEP, [(n,) for n in (0, 1, 2, 3, 7)])
    assert found == {(0,): ((0,),), (1,): ((100,),), (2,): ((200,),), (3,): ((30,),), (7,): ()}
    (warning,) = night.warnings
    assert warning == (
        "d:of failed for 2 of 5 arguments (ValueError: no such key 3); the last answer is kept for 1, such as (3); "
        "there is no answer yet for 1, such as (7): until then no row follows from it"
    )
    assert held_back(str(tmp_path / "2"), KEPT, KEEP) == {(7,)}

    retry = calls(tmp_path, failing_for(), "2", "1")
    assert retry.answers(KEPT, KEEP, [(n,) for n in (0, 1, 2, 3, 7)]) == found, "what is pinned counts"
    later = calls(tmp_path, failing_for(), "3", "2")
    assert later.answers(KEPT, KEEP, [(3,), (7,)]) == {(3,): ((300,),), (7,): ((700,),)}
    assert later.warnings == []
    down = calls(tmp_path, failing_for(3, 7), "4", "2")
    down.answers(KEPT, KEEP, [(3,), (7,)])
    assert held_back(str(tmp_path / "4"), KEPT, KEEP) == {(7,)}, "having been held back is no answer"


def test_a_bad_answer_is_a_failure_of_its_argument(tmp_path: Path) -> None:
    calls(tmp_path, Counting({(1,): [10], (2,): [20]}), "1").answers(KEPT, KEEP, [(1,), (2,)])
    night = calls(tmp_path, Counting({(1,): ["ten"], (2,): [21]}), "2", "1")
    assert night.answers(KEPT, KEEP, [(1,), (2,)]) == {(1,): ((10,),), (2,): ((21,),)}
    assert "for 1 of 2 arguments (`of` answered, as `value`: 'ten' is not a value of type int)" in night.warnings[0]


def test_stop_ends_with_the_first_failure(tmp_path: Path) -> None:
    asked: list[int] = []

    def of(key: int) -> list[int]:
        asked.append(key)
        raise ValueError(key)

    with pytest.raises(DomainFailed, match="d:of failed: ValueError: 1"):
        calls(tmp_path, PythonDomain({"of": of})).answers(COUNTED, ASK, [(1,), (2,)])
    assert asked == [1]


def test_nobody_there_is_not_asked_for_each_argument(tmp_path: Path) -> None:
    """A network that fails may take its time for each call; three in a row are enough, wherever they stand."""
    asked: list[int] = []

    def of(key: int) -> list[int]:
        asked.append(key)
        if key > 1:
            raise TimeoutError("no answer")
        return [key]

    night = calls(tmp_path, PythonDomain({"of": of}))
    found = night.answers(KEPT, KEEP, [(n,) for n in range(100)])
    assert asked == [0, 1, 2, 3, 4]
    assert (found[0,], found[1,], found[99,]) == (((0,),), ((1,),), ())
    assert len(held_back(str(tmp_path / "1"), KEPT, KEEP)) == 98


def test_an_edit_takes_what_the_last_refresh_was_told(tmp_path: Path) -> None:
    calls(tmp_path, Counting({(1,): [10]}), "1", now=lambda: 1000).answers(COUNTED, ASK, [(1,)])
    provider = Counting({(1,): [11], (2,): [20]})
    edit = calls(tmp_path, provider, "2", "1", now=lambda: 900_000, correcting=True)
    assert edit.answers(COUNTED, ASK, [(1,), (2,)]) == {(1,): ((10,),), (2,): ((20,),)}
    assert provider.calls == [[(2,)]], "only what nobody was told yet is asked"
    assert recorded(str(tmp_path / "2"), COUNTED, ASK)[1,].at == 1000


def test_answers_to_another_question_are_not_taken(tmp_path: Path) -> None:
    """Where a function is declared anew, older answers are those of another source, or of other types."""
    aged = replace(ASK, max_age=1e9)
    old = Domain("d", "counted", (aged,), options={"path": "a"})
    provider = Counting({(1,): [10], ("1",): [10]})
    calls(tmp_path, provider, "1").answers(old, aged, [(1,)])
    moved, retyped = replace(old, options={"path": "b"}), replace(aged, args=columns("key string"))
    for domain, asked, key in ((moved, aged, (1,)), (replace(old, functions=(retyped,)), retyped, ("1",))):
        provider.calls.clear()
        calls(tmp_path, provider, f"2{key}", "1").answers(domain, asked, [key])
        assert provider.calls == [[key]]
    provider.calls.clear()
    calls(tmp_path, provider, "3", "1").answers(old, aged, [(1,)])
    assert provider.calls == []


def test_records_of_earlier_releases_are_read(tmp_path: Path) -> None:
    calls(tmp_path, Counting({(1,): [10]}), "1").answers(COUNTED, ASK, [(1,)])
    (batch,) = (tmp_path / "1/domains/d.of").glob("*.json")
    batch.write_text(json.dumps(json.loads(batch.read_text())["answers"]))
    assert recorded(str(tmp_path / "1"), COUNTED, ASK)[1,].rows == ((10,),)


def test_records_of_later_releases_are_refused(tmp_path: Path) -> None:
    calls(tmp_path, Counting({(1,): [10]}), "1").answers(COUNTED, ASK, [(1,)])
    (batch,) = (tmp_path / "1/domains/d.of").glob("*.json")
    told = json.loads(batch.read_text())
    batch.write_text(json.dumps({**told, "format": told["format"] + 1}))
    with pytest.raises(EnvironmentFault, match="an answer of domain `d` was written by a newer Foreset"):
        recorded(str(tmp_path / "1"), COUNTED, ASK)


def test_young_answers_serve_again(tmp_path: Path) -> None:
    aged = replace(ASK, max_age=60)
    domain = Domain("d", "counted", (aged,))
    provider = Counting({(1,): [10]})
    calls(tmp_path, provider, "1", now=lambda: 1000).answers(domain, aged, [(1,)])
    provider.table = {(1,): [11]}
    soon = calls(tmp_path, provider, "2", "1", now=lambda: 1059)
    assert soon.answers(domain, aged, [(1,)]) == {(1,): ((10,),)}
    assert recorded(str(tmp_path / "2"), domain, aged)[1,].at == 1000, "its age counts on"
    late = calls(tmp_path, provider, "3", "2", now=lambda: 1061)
    assert late.answers(domain, aged, [(1,)]) == {(1,): ((11,),)}


def test_a_hanging_domain_ends_in_time(tmp_path: Path) -> None:
    slow = function("of", "key int", "value int", seconds=0.05)
    provider = PythonDomain({"of": lambda _: time.sleep(5) or []})
    with pytest.raises(DomainFailed, match=r"d:of took more than 0.05 s"):
        calls(tmp_path, provider).answers(Domain("d", "counted", (slow,)), slow, [(1,)])


@pytest.mark.parametrize(
    ("results", "answer", "says"),
    [
        ("value int", ["x"], "'x' is not a value of type int"),
        ("value int", [2**31], "is not a value of type int"),
        ("value int", [(1, 2)], "2 values for 1 columns"),
        ("value int", 7, "failed: TypeError"),
        ("a int, b int", [{"a": 1}], "a record without `b`"),
        ("value date", ["yesterday"], "is not a value of type date"),
    ],
)
def test_rubbish_is_refused(tmp_path: Path, results: str, answer: object, says: str) -> None:
    asked = function("of", "key int", results)
    with pytest.raises(DomainFailed) as failed:
        calls(tmp_path, Counting({(1,): answer})).answers(Domain("d", "counted", (asked,)), asked, [(1,)])
    assert says in str(failed.value)


def test_too_many_rows_are_refused(tmp_path: Path) -> None:
    asked = function("of", "key int", "value int", max_rows=2)
    with pytest.raises(DomainFailed, match="more than 2 rows"):
        calls(tmp_path, Counting({(1,): [1, 2, 3]})).answers(Domain("d", "counted", (asked,)), asked, [(1,)])


def test_every_type_comes_back_from_the_record(tmp_path: Path) -> None:
    asked = function("of", "at date", "t timestamp, p decimal(5;2), w string, b boolean, x double, r array<binary>")
    values = [["2026-11-18T02:00:00", "1.50", 'é\n"', True, 0.5, [b"\xff\x00", b""]], [None] * 6]
    key = (dt.date(2026, 11, 18),)
    domain = Domain("d", "counted", (asked,))
    given = calls(tmp_path, Counting({key: values})).answers(domain, asked, [key])
    assert recorded(str(tmp_path / "1"), domain, asked)[key].rows == given[key]
    assert len(given[key]) == 2


def test_differential_of_two_refreshes(tmp_path: Path) -> None:
    provider = Counting({(1,): [10, 11]})
    calls(tmp_path, provider, "1").answers(COUNTED, ASK, [(1,), (2,)])
    provider.table = {(1,): [11, 12]}
    calls(tmp_path, provider, "2").answers(COUNTED, ASK, [(1,)])
    before, after = (
        {(*args, *row) for args, answer in recorded(str(tmp_path / run), COUNTED, ASK).items() for row in answer.rows}
        for run in "12"
    )
    assert (after - before, before - after) == ({(1, 12)}, {(1, 10)})


def test_unknown_providers_have_a_hint() -> None:
    with pytest.raises(DomainFailed, match="did you mean `sqlite`"):
        registry.provider_of("sqlit")
    with pytest.raises(DomainFailed, match="no provider is called `os.system`"):
        registry.provider_of("os.system")
    with pytest.raises(ValueError, match="provider of Foreset"):
        registry.register("http", Counting({}))


# ---------------------------------------------------------------- tables and files
PEOPLE = [("ann", 30), ("bob", 40), ("ann", 31)]
AGE = function("age", "name string", "age int")


def write_parquet(path: Path) -> None:
    names, ages = zip(*PEOPLE, strict=True)
    pq.write_table(pa.table({"name": names, "age": ages, "other": ages}), path)


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("name", "age"), *PEOPLE])


def write_json(path: Path) -> None:
    path.write_text("\n".join(json.dumps({"name": name, "age": age}) for name, age in PEOPLE))


def write_delta(path: Path) -> None:
    names, ages = zip(*PEOPLE, strict=True)
    write_deltalake(str(path), pa.table({"name": names, "age": ages}))


def write_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table people (name text, age integer)")
        connection.executemany("insert into people values (?, ?)", PEOPLE)


WRITERS = {"parquet": write_parquet, "csv": write_csv, "json": write_json, "delta": write_delta, "sqlite": write_sqlite}


@pytest.mark.parametrize("kind", WRITERS)
def test_tables_and_files_answer_by_their_columns(tmp_path: Path, kind: str) -> None:
    WRITERS[kind](tmp_path / "people")
    provider, options = ("sqlite", {"table": "people"}) if kind == "sqlite" else ("files", {"format": kind})
    whole, test = function("all", "", "name string, age int"), function("has", "name string, age int", "")
    domain = Domain("people", provider, (AGE, whole, test), options={**options, "path": "people"})
    asking = calls(tmp_path, None)
    found = asking.answers(domain, AGE, [("ann",), ("it's",), ("bob",)])
    assert found == {("ann",): ((30,), (31,)), ("bob",): ((40,),), ("it's",): ()}
    assert asking.answers(domain, whole, [()])[()] == tuple(sorted(PEOPLE))
    assert asking.answers(domain, test, [("ann", 31), ("ann", 40)]) == {("ann", 31): ((),), ("ann", 40): ()}


def test_columns_of_every_kind(tmp_path: Path) -> None:
    at = dt.datetime(2026, 11, 18, 2)
    row = {"k": 1, "tags": ["a", "b"], "local": at, "utc": at, "raw": b"\x00", "p": 2.5}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "rows")
    asked = function(
        "of", "k int", "tags array<string>, local timestamp_ntz, utc timestamp, raw binary, p decimal(5;2)"
    )
    domain = Domain("d", "files", (asked,), options={"path": "rows"})
    assert calls(tmp_path, None).answers(domain, asked, [(1,)]) == {
        (1,): ((("a", "b"), at, at, b"\x00", Decimal("2.50")),)
    }


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "", ".", "a/../../b"])
def test_paths_stay_below_the_warehouse(tmp_path: Path, path: str) -> None:
    with pytest.raises(DomainFailed, match="not below the warehouse"):
        inside(str(tmp_path), path)


def test_links_out_of_the_warehouse_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(DomainFailed, match="not below the warehouse"):
        inside(str(root), "link/secret")


# ---------------------------------------------------------------- connections
def test_connections_are_read_as_airflow_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_GEO", "https://me:s%40cret@geo.example.com:8443/api?region=dc")
    uri = from_environment("geo")
    assert (uri.kind, uri.host, uri.port, uri.path, uri.password) == (
        "https",
        "geo.example.com",
        8443,
        "/api",
        "s@cret",
    )
    told = {"conn_type": "http", "host": "h", "password": "s@cret", "extra": {"url": "jdbc:x"}}
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps(told))
    assert from_environment("db").extra == {"url": "jdbc:x"}
    assert "s@cret" not in repr(uri) + repr(from_environment("db"))


@pytest.mark.parametrize("name", ["missing", "broken", "https://evil", "../x"])
def test_bad_connections_say_no_secret(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_BROKEN", '{"password": "canary"')
    with pytest.raises(EnvironmentFault) as fault:
        from_environment(name)
    assert "canary" not in str(fault.value)


def test_nothing_is_allowed_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("FORESET_HTTP_HOSTS", "FORESET_HTTP_PRIVATE_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AIRFLOW_CONN_GEO", "https://geo.example.com")
    asked = function("near", "zip string", "city string")
    domain = Domain("geo", "http", (asked,), connection="geo")
    with pytest.raises(DomainFailed, match=r"host `geo.example.com` is not in FORESET_HTTP_HOSTS"):
        calls(tmp_path, None).answers(domain, asked, [("1",)])
    assert Access().http == HttpPolicy()
