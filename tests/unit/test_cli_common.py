"""What all commands share: help, exit codes, errors of use, colours, pipes, faults of our own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli_runner import foreset

from foreset.cli import app
from foreset.cli.exits import MEANINGS
from foreset.errors import EnvironmentFault, Fenced

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [command.name for command in app.COMMANDS]
PAGES = [[], *([*name.split()] for name in (*COMMANDS, *app.BELOW))]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORESET_SPECS", raising=False)


def process(*arguments: str, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "plugins"), **options.pop("env", {})}
    command = [sys.executable, "-m", "foreset.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **options)


@pytest.mark.parametrize("command", PAGES, ids=" ".join)
def test_every_help_ends_with_the_exit_codes(command: list[str]) -> None:
    shown = foreset(*command, "--help")
    text = " ".join(shown.out.split())
    assert shown.code == 0
    assert all(f"{code.value} {meaning}" in text for code, meaning in MEANINGS.items())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_shared_options(command: str) -> None:
    text = foreset(*command.split(), "--help").out
    specs = () if command == "doctor" else ("--specs DIR",)  # a machine is examined before there are specs
    assert all(option in text for option in (*specs, "--warehouse URI", "--json"))


def test_docs_have_every_command_and_exit_code() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    assert all(f"## foreset {command}" in text for command in COMMANDS)
    assert all(f"| {code.value} | {meaning}" in text for code, meaning in MEANINGS.items())


def test_no_arguments_print_the_help() -> None:
    shown = foreset()
    assert (shown.code, shown.err) == (0, "")
    assert all(f"{part}:" in shown.out for part in app.PARTS)


def test_every_command_is_said_in_one_line() -> None:
    lines = foreset("--help").out.partition("Exit codes")[0].splitlines()
    for name in dict.fromkeys(name.split()[0] for name in COMMANDS):
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert len(line) <= 80
        assert line.endswith("."), line
        assert "..." not in line


COMPLETED = """\
# views: of this group
group: alpha  # its name
sources: {e: {table: t/e, columns: {x: int}}}
views:   # all of them
  first: {columns: {x: int}, rules: ["first(X) :- e(X)"]}

  # another
  second:
    columns: {x: int}
tests:
  - name: third
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("foreset refresh ", ["alpha", "beta"]),
        ("foreset check al", ["alpha"]),
        ("foreset show alpha.s", ["alpha.second"]),
        ("foreset why-not ", ["alpha.first", "alpha.second"]),
        ("foreset explain alpha.", ["alpha.first", "alpha.second"]),
        ("foreset explain ", ["alpha", "beta"]),
        ("foreset source ", ["add"]),
        ("foreset roll", ["rollback"]),
        ("foreset refresh --specs views ", ["gamma"]),
    ],
)
def test_the_shell_completes_commands_groups_and_views(words: str, expected: list[str]) -> None:
    for folder, name, text in (
        ("view_specs", "one", COMPLETED),
        ("view_specs", "beta", "views: ["),
        ("views", "gamma", ""),
    ):
        Path(folder).mkdir(exist_ok=True)
        Path(folder, f"{name}.yaml").write_text(text)
    place = len(words.split(" ")) - 1
    asked = {"_FORESET_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    assert sorted(process(env=asked).stdout.split()) == expected


def test_completion_loads_nothing_heavy() -> None:
    code = "import sys; from foreset.cli.app import run\ntry: run([])\nfinally: print(*sys.modules, file=sys.stderr)"
    asked = {"_FORESET_COMPLETE": "complete_bash", "COMP_WORDS": "foreset show ", "COMP_CWORD": "2"}
    env = {**os.environ, **asked, "PYTHONPATH": str(ROOT / "plugins"), "FORESET_SPECS": str(ROOT / "view_specs")}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert "reach.closure" in shown.stdout.split()
    assert not set(shown.stderr.split()) & {"lark", "yaml", "rich", "duckdb", "deltalake", "foreset.spec.load"}


def test_version() -> None:
    assert foreset("--version").out.startswith("foreset")


def test_a_mistyped_command_is_an_error_of_use_with_a_hint() -> None:
    shown = foreset("chekc")
    assert (shown.code, shown.out) == (2, "")
    assert "check" in shown.err


def test_a_folder_that_is_not_there() -> None:
    shown = foreset("check")
    assert (shown.code, shown.err) == (
        2,
        (
            "error: there is no folder view_specs\n"
            "  = hint: `foreset init` makes one; if you have one, give it with `--specs DIR` or FORESET_SPECS\n"
        ),
    )


def test_specs_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_SPECS", str(ROOT / "view_specs"))
    assert foreset("check").code == 0


def test_json_errors_are_json_on_stdout() -> None:
    shown = foreset("explain", "reech", "--specs", ROOT / "view_specs", "--json")
    assert shown.data == {
        "error": f"there is no group `reech` in {ROOT / 'view_specs'}",
        "hint": "did you mean `reach`?",
        "exit": 2,
        "diagnostics": [],
    }
    assert shown.err == ""


@pytest.mark.parametrize(("error", "code"), [(Fenced("late"), 4), (EnvironmentFault("no Java", "install it"), 5)])
def test_errors_of_foreset_end_with_their_exit_code(error, code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.cli.groups.groups", lambda *_: (_ for _ in ()).throw(error))
    shown = foreset("check")
    assert (shown.code, shown.err) == (code, f"error: {error}\n")


def test_a_fault_of_ours_is_one_line_and_a_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("foreset.cli.groups.groups", lambda *_: {}["lost"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shown = foreset("check")
    (log,) = tmp_path.glob("foreset-*.log")
    assert shown.code == 1
    assert shown.err.startswith("error: internal error: KeyError: 'lost'\n")
    assert str(log) in shown.err
    assert "Traceback" in log.read_text()
    with pytest.raises(KeyError):
        foreset("check", "--debug")


def test_control_characters_of_the_user_do_not_reach_the_terminal() -> None:
    (Path.cwd() / "view_specs").mkdir()
    (Path.cwd() / "view_specs" / "a.yaml").write_text("group: a")
    assert "\x1b" not in foreset("check", "\x1b[2Jx").err


def test_output_to_a_pipe_has_no_colours_and_to_a_terminal_it_has() -> None:
    arguments = ["test", "--specs", str(ROOT / "view_specs"), "-k", "a lost edge"]
    assert "\x1b" not in process(*arguments).stdout
    assert "\x1b[" in on_terminal(*arguments)
    assert "\x1b[" not in on_terminal(*arguments, NO_COLOR="1")
    assert "\x1b[" not in on_terminal(*arguments, TERM="dumb")


def on_terminal(*arguments: str, **environment: str) -> str:
    """What a terminal gets."""
    ours, theirs = pty.openpty()
    known = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    env = {**known, "TERM": "xterm", "PYTHONPATH": str(ROOT / "plugins"), **environment}
    with subprocess.Popen([sys.executable, "-m", "foreset.cli", *arguments], stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return text.decode()


def test_a_reader_that_goes_away_is_no_error() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "plugins")}
    command = [sys.executable, "-m", "foreset.cli", "check", "--specs", str(ROOT / "view_specs")]
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, env=env) as running:
        os.close(writing)
        _, err = running.communicate()
    assert (running.returncode, err) == (141, b"")


def test_start_up_loads_nothing_heavy() -> None:
    code = "import sys; from foreset.cli.app import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "plugins")}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    loaded = set(shown.stderr.split())
    assert not loaded & {"lark", "yaml", "rich", "pydantic", "networkx", "foreset.spec.load", "foreset.ir.rules"}
