"""`foreset import`: files as tables, with types that say every value exactly, keys that hold, and modes."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import pty
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.cli_runner import foreset

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = 'id,Full Name,zip\n1,Ann,007\n2,"Bob, Jr",012\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def taken(text: str, *options: str, name: str = "t.csv") -> DeltaTable:
    """The table made of a file with this text."""
    Path(name).write_text(text, encoding="utf-8")
    shown = foreset("import", name, "t", *(options or ("--no-key",)))
    assert shown.code == 0, shown.err
    return DeltaTable("warehouse/t")


def types(table: DeltaTable) -> dict[str, str]:
    return {field.name: str(field.type.type if hasattr(field.type, "type") else field.type)
            for field in table.schema().fields}  # fmt: skip


def rows(table: DeltaTable) -> list[dict]:
    found = table.to_pyarrow_table()
    return found.sort_by(found.column_names[0]).to_pylist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-20", ""], "long"),
        (["007", "12"], "string"),
        (["1", "+2"], "string"),
        (["9223372036854775808"], "decimal(19,0)"),
        (["1" * 39], "double"),
        (["1.10", "-20"], "decimal(18,2)"),
        (["12345678901234567.123"], "decimal(20,3)"),
        (["1.5", "2e3"], "double"),
        (["1,5"], "string"),
        (["true", "FALSE"], "boolean"),
        (["true", "1"], "string"),
        (["2024-02-29", ""], "date"),
        (["2024-02-30"], "string"),
        (["24-01-01"], "string"),
        (["2024-01-01", "2024-01-01 10:00"], "string"),
        (["2024-01-01 10:00", "2024-01-01T10:00:05.123456"], "timestamp"),
        (["2024-01-01 10:00:05.1234567"], "string"),
        (["2024-01-01T10:00:00+02:00", "2024-01-01T10:00:00Z"], "timestamp"),
        (["2024-01-01T10:00:00Z", "2024-01-01T10:00:00"], "string"),
        (["NULL", "1"], "string"),
        ([" 1"], "string"),
        (["", ""], "string"),
    ],
)
def test_a_type_is_taken_only_where_it_says_every_value(values: list[str], expected: str) -> None:
    lines = "".join(f'{i},"{value}"\n' if value else f"{i},\n" for i, value in enumerate(values))
    table = taken(f"n,v\n{lines}")
    assert types(table)["v"] == expected


def test_values_are_exact() -> None:
    table = taken(
        "id,money,day,at,zoned,empty,quoted\n"
        '1,1234567890123456.10,2024-02-29,2024-01-01 10:00:05.5,2024-07-01T10:00:00+02:00,,""\n'
        "2,0.01,,,,,x\n"
    )
    (first, second) = rows(table)
    utc = datetime.UTC
    assert first == {
        "id": 1, "money": Decimal("1234567890123456.10"), "day": datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 1, 1, 10, 0, 5, 500000, utc),
        "zoned": datetime.datetime(2024, 7, 1, 8, 0, tzinfo=utc), "empty": None, "quoted": "",
    }  # fmt: skip
    assert second["money"] == Decimal("0.01")
    assert second["day"] is None


def test_times_do_not_depend_on_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "plugins")}
    Path("t.csv").write_text("at\n2024-01-01 10:00\n")
    command = [sys.executable, "-m", "foreset.cli", "import", "t.csv", "t", "--no-key"]
    subprocess.run(command, check=True, env=env, capture_output=True)
    (row,) = rows(DeltaTable("warehouse/t"))
    assert row["at"] == datetime.datetime(2024, 1, 1, 10, 0, tzinfo=datetime.UTC)


def test_changes_are_recorded_and_names_are_those_of_specs() -> None:
    table = taken(PEOPLE, "--key", "id")
    assert table.metadata().configuration["delta.enableChangeDataFeed"] == "true"
    assert types(table) == {"id": "long", "full_name": "string", "zip": "string"}
    assert rows(table)[0] == {"id": 1, "full_name": "Ann", "zip": "007"}


def test_what_was_found_is_shown() -> None:
    Path("t.csv").write_text("Id,Größe,Id 2,at,1st,not\n1,2,3,2024-01-01 10:00,x,\n")
    shown = foreset("import", "t.csv", "t", "--no-key")
    assert shown.out == (
        "t.csv: 1 row\n"
        "  id      bigint     `Id` in the file\n"
        "  grosse  bigint     `Größe` in the file\n"
        "  id_2    bigint     `Id 2` in the file\n"
        "  at      timestamp  read as UTC\n"
        "  c_1st   string     `1st` in the file\n"
        "  not_    string     `not` in the file, no value in any row\n"
        "no key\n"
        "made table t, version 0: 1 row written\n"
        "\nNext:\n  foreset source add t\n"
    )


def test_types_can_be_said() -> None:
    table = taken(PEOPLE, "--key", "id", "--columns", "id:int,zip:int,Full Name:string")
    assert types(table) == {"id": "integer", "full_name": "string", "zip": "integer"}


def test_a_text_that_is_asked_for_stays_as_it_is() -> None:
    table = taken('id,n\n1,07\n2,""\n3,\n', "--key", "id", "--columns", "n:string")
    assert [row["n"] for row in rows(table)] == ["07", "", None]
    table = taken('id,n\n1,7\n2,""\n3,\n', "--replace", "--columns", "n:string")
    assert [row["n"] for row in rows(table)] == ["7", "", None]
    assert [row["n"] for row in rows(taken('id,n\n1,7\n2,""\n', "--replace"))] == [7, None]
    assert [row["n"] for row in rows(taken('id,n\n1,07\n2,""\n', "--replace", "--columns", "n:int"))] == [7, None]


def test_types_of_parquet_can_be_said_too() -> None:
    pq.write_table(pa.table({"id": [1, 2], "n": ["7", ""], "f": [1.5, 2.0]}), "p.parquet")
    assert foreset("import", "p.parquet", "t", "--key", "id", "--columns", "n:int,f:decimal(4,1),id:string").code == 0
    assert rows(DeltaTable("warehouse/t")) == [
        {"id": "1", "n": 7, "f": Decimal("1.5")}, {"id": "2", "n": None, "f": Decimal("2.0")}]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("zip:decimal(2,1)", "column `zip` should be decimal(2,1), but 1 value cannot be that exactly, such as '012'"),
        ("full_name:date", "2 values cannot be that exactly, such as 'Ann'"),
        ("zap:int", "there is no column `zap`"),
        ("zip:itn", "there is no type `itn`"),
        ("zip", "`zip` has no type"),
    ],
)
def test_types_that_do_not_fit_are_refused(columns: str, said: str) -> None:
    Path("t.csv").write_text(PEOPLE)
    shown = foreset("import", "t.csv", "t", "--no-key", "--columns", columns)
    assert shown.code in (1, 2)
    assert said in shown.err
    assert not Path("warehouse").exists()


def test_a_key_is_asked_for_and_held_to_the_rows() -> None:
    Path("t.csv").write_text("id,day\n1,2024-01-01\n2,2024-01-01\n3,\n")
    shown = foreset("import", "t.csv", "t")
    assert shown.code == 2
    assert "each row has another value in `id`: `--key id`, or `--no-key`" in shown.err
    shown = foreset("import", "t.csv", "t", "--key", "day")
    assert "1 row has no value in key `day`" in shown.err
    Path("t.csv").write_text("id,day\n1,2024-01-01\n2,2024-01-01\n")
    assert '`day` is not a key: (date("2024-01-01")) in 2 rows' in foreset("import", "t.csv", "t", "--key", "day").err
    assert not Path("warehouse").exists()
    assert foreset("import", "t.csv", "t", "--key", "day,id").code == 0


def test_at_a_terminal_it_asks_for_the_key() -> None:
    Path("t.csv").write_text(PEOPLE)
    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "plugins"), "TERM": "dumb"}
    command = [sys.executable, "-m", "foreset.cli", "import", "t.csv", "t"]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=env) as running:
        os.write(ours, b"nam\nid\n")
        out, _ = running.communicate()
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert "[id]" in told
    assert "there is no column `nam`" in told
    assert b"key: id" in out


def test_an_existing_table_is_refused_with_what_can_be_done() -> None:
    taken(PEOPLE, "--key", "id")
    shown = foreset("import", "t.csv", "t")
    assert shown.code == 2
    assert "table t exists already (version 0, 2 rows)" in shown.err
    assert all(option in shown.err for option in ("--append", "--upsert", "--replace"))


def test_upsert_changes_what_differs_and_adds_what_is_new() -> None:
    taken(PEOPLE, "--key", "id")
    table = taken(PEOPLE.replace("Ann", "Anna") + "3,Cay,1\n", "--upsert")
    assert [row["full_name"] for row in rows(table)] == ["Anna", "Bob, Jr", "Cay"]
    feed = pa.table(table.load_cdf(1, 1)).to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in feed) == [
        (1, "update_postimage"), (1, "update_preimage"), (3, "insert")]  # fmt: skip
    assert rows(table)[2]["zip"] == "1"  # the type of the table stays


def test_append_keeps_the_key_and_the_columns() -> None:
    taken(PEOPLE, "--key", "id")
    Path("t.csv").write_text(PEOPLE)
    assert (
        "2 rows have a key that the table has already, such as (1), (2)"
        in foreset("import", "t.csv", "t", "--append").err
    )
    Path("t.csv").write_text("id,name\n3,x\n")
    shown = foreset("import", "t.csv", "t", "--append").err
    assert "the files have column `name` and the table has not; the table has columns `full_name`, `zip`" in shown
    assert len(rows(taken("zip,ID,full_name\n1,3,x\n", "--append"))) == 3


def test_replace_takes_columns_too_and_keeps_the_key() -> None:
    taken(PEOPLE, "--key", "id")
    assert rows(taken("id,x\n5,y\n", "--replace")) == [{"id": 5, "x": "y"}]
    assert "`id` is not a key" in foreset("import", _file("id\n1\n1\n"), "t", "--replace").err


def _file(text: str) -> str:
    Path("other.csv").write_text(text)
    return "other.csv"


def test_a_dry_run_writes_nothing() -> None:
    Path("t.csv").write_text(PEOPLE)
    shown = foreset("import", "t.csv", "t", "--key", "id", "--dry-run")
    assert shown.code == 0
    assert "nothing was written (dry run): table t would be made" in shown.out
    assert not Path("warehouse").exists()


def test_json_says_what_was_done() -> None:
    Path("t.csv").write_text(PEOPLE)
    found = foreset("import", "t.csv", "t", "--key", "id", "--json").data
    assert (found["table"], found["version"], found["made"], found["rows"]) == ("t", 0, True, 2)
    assert found["key"] == ["id"]
    assert found["columns"][1] == {"name": "full_name", "type": "string", "in_files": "Full Name", "note": ""}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2,3\n", "Line: 2"),
        ("a,b\n1,2\n3\n", "Line: 3"),
        ("a,a\n1,2\n", "two columns are called `a`"),
        ("", "is empty"),
        ("a\n\udcff\n", "is not UTF-8"),
    ],
)
def test_csv_that_is_not_what_it_says_is_refused(text: str, said: str) -> None:
    Path("t.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    shown = foreset("import", "t.csv", "t", "--no-key")
    assert shown.code == 1
    assert said in shown.err


def test_csv_as_people_write_it() -> None:
    assert rows(taken("a;b\r\n1;2,5\r\n")) == [{"a": 1, "b": "2,5"}]
    assert rows(taken('a,b\n1,"x\ny ""z"""\n', "--replace")) == [{"a": 1, "b": 'x\ny "z"'}]
    assert rows(taken("\ufeffa,b\n#1,2\n", "--replace")) == [{"a": "#1", "b": 2}]
    Path("l.csv").write_bytes("a\nHöhe\n".encode("latin-1"))
    assert foreset("import", "l.csv", "t", "--replace", "--encoding", "latin-1").code == 0
    assert rows(DeltaTable("warehouse/t")) == [{"a": "Höhe"}]
    with gzip.open("z.csv.gz", "wt") as stream:
        stream.write("a\tb\n1\t2\n")
    assert foreset("import", "z.csv.gz", "t", "--replace").code == 0
    assert rows(DeltaTable("warehouse/t")) == [{"a": 1, "b": 2}]


def test_json_keeps_texts_as_texts() -> None:
    lines = [{"a": 1.10, "code": "007", "n": "12", "day": "2024-01-02", "tags": ["x"], "big": 1}, {"a": 2, "big": "x"}]
    table = taken("\n".join(map(json.dumps, lines)), name="t.jsonl")
    assert types(table) == {"a": "decimal(18,1)", "code": "string", "n": "string", "day": "date", "tags": "string",
                            "big": "string"}  # fmt: skip
    assert rows(table)[0]["tags"] == '["x"]'
    exact = taken('[{"v": 12345678901234567890.12}]', "--replace", name="t.json")
    assert types(exact) == {"v": "double"}  # no decimal: DuckDB has rounded it


def test_parquet_keeps_its_types() -> None:
    at = datetime.datetime(2024, 1, 1, 10)
    data = pa.table({
        "Id": pa.array([1], pa.uint32()), "at": pa.array([at], pa.timestamp("ns")), "d": [Decimal("1.10")],
        "zoned": pa.array([at], pa.timestamp("ms", "UTC")), "list": [[1, 2]], "nested": [{"a": 1}],
    })  # fmt: skip
    Path("p/year=2024").mkdir(parents=True)
    pq.write_table(data, "p/year=2024/a.parquet")
    assert foreset("import", "p", "t", "--key", "id").code == 0
    (row,) = rows(DeltaTable("warehouse/t"))
    assert row == {"id": 1, "at": at.replace(tzinfo=datetime.UTC), "zoned": at.replace(tzinfo=datetime.UTC),
                   "d": Decimal("1.10"), "list": [1, 2], "nested": '{"a":1}', "year": 2024}  # fmt: skip
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), "ns.parquet")
    assert "1 value cannot be that exactly" in foreset("import", "ns.parquet", "n", "--no-key").err


def test_folders_and_patterns_of_files_whose_columns_stand_in_another_order() -> None:
    Path("d/e").mkdir(parents=True)
    Path("d/1.csv").write_text("a,b\n1,2\n")
    Path("d/e/2.csv").write_text("b;a\n4;3\n")
    Path("d/_x.csv").write_text("no\n")
    assert foreset("import", "d", "t", "--key", "a").code == 0
    assert rows(DeltaTable("warehouse/t")) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert foreset("import", "d/*.csv", "u", "--no-key").code == 0
    assert "there is no file at e/*.csv" in foreset("import", "e/*.csv", "v", "--no-key").err
    Path("d/x.json").write_text("{}")
    assert "files of several formats: csv, json" in foreset("import", "d", "v", "--no-key").err


@pytest.mark.parametrize("table", ["../t", "/t", "s3://b/t", "_foreset/t", "", "a`b"])
def test_tables_lie_below_the_warehouse(table: str) -> None:
    Path("t.csv").write_text(PEOPLE)
    assert foreset("import", "t.csv", table, "--no-key").code == 2


def test_names_of_columns_are_never_read_as_sql() -> None:
    name = 'x"; DROP TABLE raw; --'
    table = taken('"x""; DROP TABLE raw; --",\'y\'\n1,2\n', "--columns", f"{name}:string", "--no-key")
    assert list(types(table)) == ["x_drop_table_raw", "y"]
    assert rows(table) == [{"x_drop_table_raw": "1", "y": 2}]


def test_a_view_is_not_written_to(tmp_path: Path) -> None:
    assert foreset("init").code == 0
    assert foreset("refresh", "reach", "-q").code == 0
    shown = foreset("import", "data/edge.csv", "reach/closure", "--replace")
    assert (shown.code, "`reach/closure` is a view" in shown.err) == (2, True)
