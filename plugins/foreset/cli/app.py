"""The table of commands, and how each way to fail becomes a message and an exit code."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from foreset.cli.exits import EPILOG, Exit
from foreset.cli.output import complain, complain_of_spec, say_json
from foreset.errors import ForesetError, SpecError
from foreset.extras import missing
from foreset.render import as_mapping


@dataclass(frozen=True, slots=True)
class Command:
    """A command: the function `module:function` of this package, under its name (`source add` is below `source`)."""

    name: str
    target: str


PARTS = {
    "Begin": (
        Command("init", "init:init"),
        Command("import", "importing:import_"),
        Command("source add", "sources:add"),
    ),
    "Write views": (
        Command("check", "check:check"),
        Command("test", "unit_tests:unit_tests"),
        Command("explain", "explain:explain"),
    ),
    "Refresh and read": (
        Command("refresh", "refresh:refresh"),
        Command("status", "reading:status"),
        Command("show", "reading:show"),
        Command("changes", "reading:changes"),
        Command("why", "why:why"),
        Command("why-not", "why:why_not"),
        Command("report", "report:report"),
    ),
    "Correct and maintain": (
        Command("edit", "edits:edit"),
        Command("edits", "edits:edits"),
        Command("verify", "upkeep:verify"),
        Command("rollback", "upkeep:rollback"),
        Command("gc", "upkeep:gc"),
        Command("doctor", "upkeep:doctor"),
    ),
    "Airflow": (
        Command("up", "up:up"),
        Command("down", "up:down"),
        Command("trigger", "trigger:trigger"),
    ),
}
COMMANDS = tuple(command for part in PARTS.values() for command in part)
BELOW = {"source": "Add tables of the warehouse to specs."}  # commands that have commands below them


class _InParts(TyperGroup):
    """Its help lists the commands under the titles of `PARTS`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - typer's own types
        """Write a section for each part."""
        wide = max(map(len, self.commands))
        room = formatter.width - 6 - wide
        for title, part in PARTS.items():
            names = dict.fromkeys(command.name.partition(" ")[0] for command in part)
            with formatter.section(title):
                formatter.write_dl([(name.ljust(wide), self.commands[name].get_short_help_str(room)) for name in names])


def build() -> typer.Typer:
    """Build the application from the table."""
    app = typer.Typer(
        name="foreset",
        cls=_InParts,
        help="Datalog views over Delta tables, refreshed exactly: every insertion and deletion, and nothing else.",
        epilog=EPILOG,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    below: dict[str, typer.Typer] = {}
    for command in COMMANDS:
        first, _, second = command.name.partition(" ")
        if second and first not in below:
            below[first] = typer.Typer(help=BELOW[first], epilog=EPILOG, rich_markup_mode=None)
            app.add_typer(below[first], name=first)
        (below[first] if second else app).command(second or first, epilog=EPILOG)(_function(command))
    return app


def _function(command: Command) -> Callable[..., Any]:
    module, _, function = command.target.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"foreset.cli.{module}"), function)
    return found


def _version(*, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"foreset {version('foreset')}")
        except PackageNotFoundError:  # run from a source tree that is not installed
            typer.echo("foreset, not installed")
        raise typer.Exit


def _common(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=lambda v: _version(wanted=v))
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an internal error.", envvar="FORESET_DEBUG")
    ] = False,
) -> None:
    """Declare what may stand before the command; `run` and the callback act on it."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return the exit code. Nothing but SystemExit and interrupts leaves here."""
    with _ended_from_outside():
        return _run(arguments)


@contextmanager
def _ended_from_outside() -> Iterator[None]:
    """SIGTERM ends a command as an interrupt does: what it has opened is closed, and no group stays locked."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _run(arguments: Sequence[str]) -> int:
    debug = "--debug" in arguments or os.environ.get("FORESET_DEBUG", "") not in ("", "0")
    given = [argument for argument in arguments if argument != "--debug"]
    if debug:
        _show_log()
    try:
        code = build()(given or ["--help"], prog_name="foreset", standalone_mode=False)
    except (ForesetError, typer.TyperException) as error:
        return _told(error, as_json="--json" in given)
    except typer.Abort:
        return Exit.INTERRUPTED
    except Exception as error:
        from foreset.refresh.machine_faults import explained

        lacking = missing(error, "this command") if isinstance(error, ModuleNotFoundError) else None
        fault = lacking or explained(error, "this command")
        if isinstance(fault, ForesetError):
            return _told(fault, as_json="--json" in given)
        if debug:
            raise
        return _unexpected(error)
    return code if isinstance(code, int) else Exit.OK


def _show_log() -> None:
    """Foreset's own log on stderr, with the tracebacks of faults that were caught."""
    import logging

    logging.basicConfig()
    logging.getLogger("foreset").setLevel(logging.DEBUG)


def _told(error: ForesetError | typer.TyperException, *, as_json: bool) -> int:
    """Say what went wrong: programs that asked for JSON find it on stdout, people on stderr."""
    message = error.message if isinstance(error, ForesetError) else error.format_message()
    hint = error.hint if isinstance(error, ForesetError) else f"`{_command(error)} --help` has its options"
    faults = error.diagnostics if isinstance(error, SpecError) else ()
    if as_json:
        found = [as_mapping(fault) for fault in faults]
        text = "the spec has errors" if faults else message
        say_json({"error": text, "hint": hint, "exit": error.exit_code, "diagnostics": found})
    elif faults:
        complain_of_spec(faults)
    else:
        complain(f"{message}\n  = hint: {hint}" if hint else message)
    return error.exit_code


def _command(error: typer.TyperException) -> str:
    """The command that was being read, `foreset check`."""
    return str(getattr(getattr(error, "ctx", None), "command_path", "foreset"))


def _unexpected(error: Exception) -> int:
    """A fault of ours: say so in one line, and keep the traceback where it can be sent from."""
    with tempfile.NamedTemporaryFile("w", prefix="foreset-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.writelines(traceback.format_exception(error))
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    complain(f"internal error: {summary}\n  = hint: the traceback is in {Path(log.name)}, or add `--debug`")
    return Exit.FAILED
