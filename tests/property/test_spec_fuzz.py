"""No text makes the reader of specs fail: broken specs get faults with places, soon.

The sample specs and the good cases are broken at random, by bytes, words, lines and
indent; FORESET_SEED repeats a run, FORESET_FUZZ sets how many. The bound is on CPU
time of the process and generous; the worst is printed (`pytest -s`).
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases_runner import case_files, parse_blocks
from tests.property import check_fuzz

from foreset.diagnostics import Diagnostic
from foreset.render import render_github, render_json, render_text
from foreset.spec.load import Loaded, load_bytes

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("FORESET_SEED", "20261118"))
MUTANTS = max(2000, int(os.environ.get("FORESET_FUZZ", "0")))
BOUND = 2.0  # seconds of CPU for one spec; the aim is 0.2
_WORD = re.compile(rb"\w+|\s+|[^\w\s]")
_WORDS = (
    b":-", b".", b",", b"(", b")", b"'", b'"', b"|", b">", b"%", b"#", b": ", b" #", b"- ", b"not", b"null", b"X", b"_",
    b"\t", b"&a ", b"*a", b"!!str ", b"---\n", b"...\n", b"{", b"}", b"[", b"]", b"\\", b"\xff", b"\xe2\x80\xa8", b"\r",
    b"\x00", b"1e999", b"12ab", b"1.", b"date(", b'""', b"''", b"<<: ", b"? ", b"\xef\xbb\xbf", b"=", b"!=", b"-",
)  # fmt: skip


def samples() -> tuple[bytes, ...]:
    specs = [path.read_bytes() for path in sorted((ROOT / "view_specs").glob("*.yaml"))]
    blocks = [block for path in case_files("spec") for block in parse_blocks(path.read_text(encoding="utf-8"))]
    specs += re.findall(rb"```yaml\n(.*?)```", (ROOT / "docs" / "spec.md").read_bytes(), re.DOTALL)
    return (*specs, *(block.input.encode() for block in blocks if block.directive == "load"))


# ---------------------------------------------------------------- mutations
def by_byte(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice((b"", rng.randbytes(1), rng.randbytes(3))) + text[at + rng.randrange(2) :]


def by_word(text: bytes, rng: random.Random) -> bytes:
    words = _WORD.findall(text)
    at = rng.randrange(len(words))
    other = rng.choice((b"", words[at] * 2, rng.choice(words), rng.choice(_WORDS)))
    return b"".join((*words[:at], other, *words[at + 1 :]))


def by_line(text: bytes, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    at, other = rng.randrange(len(lines)), rng.choice(lines)
    return b"".join((*lines[:at], *rng.choice(((), (other,), (other, lines[at]), (lines[at],) * 2)), *lines[at + 1 :]))


def by_indent(text: bytes, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    line = lines[at]
    lines[at] = rng.choice((b" " + line, line[1:], b"    " + line, line.lstrip(b" "), b"\t" + line, line.rstrip()))
    return b"".join(lines)


def by_cut(text: bytes, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (by_byte, by_word, by_word, by_line, by_indent, by_cut)


def mutant(sources: tuple[bytes, ...], rng: random.Random) -> bytes:
    text = rng.choice(sources)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        text = rng.choice(MUTATIONS)(text, rng) or b"\n"
    return text


# ---------------------------------------------------------------- what must hold
def check(data: bytes) -> tuple[Loaded, float]:
    start = time.process_time()
    loaded = load_bytes(data, "spec.yaml")
    spent = time.process_time() - start
    found = list(loaded.report)
    assert (loaded.program is None) == bool(loaded.report.errors)
    lines = re.split(r"\r\n|\r|\n", data.decode("utf-8", "replace").removeprefix("\ufeff"))
    for diagnostic in found:
        check_place(diagnostic, lines)
    assert render_text(found, {"spec.yaml": loaded.source}).count("error[") >= len(loaded.report.errors)
    assert render_json(found)
    assert len(render_github(found).splitlines()) == len(found)
    return loaded, spent


def check_place(diagnostic: Diagnostic, lines: list[str]) -> None:
    assert 1 <= diagnostic.line <= len(lines)
    assert 1 <= diagnostic.column <= len(lines[diagnostic.line - 1]) + 1
    assert diagnostic.span.width >= 1
    assert len(diagnostic.message) < 400
    assert "\n" not in diagnostic.message + diagnostic.hint


@pytest.mark.slow
def test_broken_specs_get_faults_and_never_a_traceback() -> None:
    rng, sources = random.Random(SEED), samples()
    print(f"FORESET_SEED={SEED}")
    worst, refused, codes = 0.0, 0, set[str]()
    for number in range(MUTANTS):
        data = mutant(sources, rng)
        try:
            loaded, spent = check(data)
        except Exception:
            print(f"mutant {number}: {data!r}")
            raise
        worst, refused = max(worst, spent), refused + (loaded.program is None)
        codes.update(diagnostic.code for diagnostic in loaded.report)
        assert spent < BOUND, data
    print(f"{MUTANTS} specs, {refused} refused, {len(codes)} codes, worst {worst * 1000:.0f} ms")
    assert refused > MUTANTS / 4


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check(data)


@given(st.text(max_size=200))
def test_any_text_as_rule(text: str) -> None:
    """Indented into a block, so that YAML lets most of it through to the grammar."""
    body = "".join(f"      {line}\n" for line in re.split(r"[\r\n]", text))
    spec = f"group: g\nviews:\n  v:\n    columns: {{a: int}}\n    rules: |\n      v(1).\n{body}"
    check(spec.encode("utf-8", "surrogatepass"))


_RULE_WORDS = ("v", "e", "(X, Y)", "v(X) :- e(X, Y)", " ", *(word.decode("latin-1") for word in _WORDS))


@given(st.lists(st.sampled_from(_RULE_WORDS), max_size=25))
def test_any_words_as_rule(words: list[str]) -> None:
    text = "".join(words).replace("\n", " ").replace("\r", " ")
    check(f"group: g\nviews:\n  v:\n    columns: {{a: int}}\n    rules: |\n      {text}\n".encode())


_ITEM = "group: g\nviews:\n v:\n  rules:\n   - v(X) :- "
_BLOCK = "group: g\nviews:\n v:\n  rules: |\n   "
WALLS = (
    "[" * 100_000, "{" * 100_000, "a: " * 100_000, "- " * 300_000, "? " * 300_000, "'" * 500_000, "%" * 900_000,
    "\n" * 900_000, "group: " + "a" * 900_000, "rules: |\n" + " \n" * 300_000, "a: |\n" + "  p(X) :- q(X).\n" * 100,
    _ITEM + "(" * 9_000, _ITEM + '"' * 9_000, _BLOCK + "v(" * 4_000, _BLOCK + "." * 9_000, _BLOCK + "%" * 900_000,
    _ITEM + '"' * 900_000, _BLOCK + "v('" * 300_000, _BLOCK + "v(X) % " * 100_000, _BLOCK + "X " * 4_000,
)  # fmt: skip


@pytest.mark.parametrize("text", WALLS, ids=lambda text: repr(text[:60:9] + text[-20:]))
def test_walls_of_text(text: str) -> None:
    _, spent = check(text.encode())
    print(f"{spent * 1000:.0f} ms")
    assert spent < 5 * BOUND


# ---------------------------------------------------------------- whole specs, to their plans
WHOLE = max(600, int(os.environ.get("FORESET_FUZZ", "0")) // 5)


@pytest.mark.slow
def test_mutated_rules_never_end_in_an_internal_error() -> None:
    """`make fuzz-check N=20000` is the long form."""
    assert check_fuzz.run(SEED, WHOLE) == 0


def test_the_fuzz_sees_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted in analysis, and in what is planned of sound specs."""
    sound = next(seed for seed in range(100) if not check_fuzz.crashes(seed)[0].errors)
    with monkeypatch.context() as patch:
        patch.setattr("foreset.rewrite.pipeline.lint.of_program", lambda _: {}["planted"])
        assert check_fuzz.where(check_fuzz.crashes(sound)[1]).endswith("KeyError: 'planted'")
    monkeypatch.setattr(check_fuzz, "describe", lambda *_: {}["later"])
    assert check_fuzz.where(check_fuzz.crashes(sound)[1]).endswith("KeyError: 'later'")
