"""The JSON Schema that editors use: current, and of one mind with the reader of specs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.cases_runner import case_files, parse_blocks

from foreset.diagnostics import Report
from foreset.spec.load import load_text
from foreset.spec.schema import schema_text, spec_schema

ROOT = Path(__file__).resolve().parents[2]
SHAPE_CODES = {"FS011", "FS012", "FS013", "FS014", "FS015", "FS016", "FS017", "FS021", "FS023", "FS032"}
# A schema sees values, not text: the YAML 1.1 of PyYAML has flags and merge keys that we do not read,
# and no schema knows that a view's group is this group.
UNSEEN = ("YAML's old `yes`", "A merge key", "A view of this group")


class EditorYaml(yaml.SafeLoader):
    """YAML as editors read it: there the key `on` is a text, not the flag of YAML 1.1."""


EditorYaml.yaml_implicit_resolvers = {
    first: [pair for pair in found if not (first in "oO" and pair[0].endswith(":bool"))]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
VALIDATOR = jsonschema.Draft7Validator(spec_schema())


def texts() -> list[tuple[str, str]]:
    return [
        (f"{path.stem}: {block.intent[0]}", block.input)
        for path in case_files("spec")
        for block in parse_blocks(path.read_text(encoding="utf-8"))
        if block.directive in ("check", "load") and not {"repeat", "encoding"} & set(block.arguments)
    ]


def codes(report: Report) -> set[str]:
    return {diagnostic.code for diagnostic in report}


def test_the_committed_schema_is_current() -> None:
    path = ROOT / "view_specs" / "schema.json"
    assert path.read_text(encoding="utf-8") == schema_text(), "python -m foreset.spec.schema > view_specs/schema.json"


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(json.loads(schema_text()))


@pytest.mark.parametrize("path", sorted((ROOT / "view_specs").glob("*.yaml")), ids=lambda path: path.name)
def test_the_sample_specs_fit(path: Path) -> None:
    VALIDATOR.validate(yaml.load(path.read_text(encoding="utf-8"), EditorYaml))


@pytest.mark.parametrize(("title", "text"), texts(), ids=lambda value: value[:60])
def test_schema_and_reader_agree(title: str, text: str) -> None:
    """What the reader takes fits the schema; what it refuses for its shape does not."""
    loaded = load_text(text)
    found = codes(loaded.report)
    if loaded.program is not None:
        assert VALIDATOR.is_valid(yaml.load(text, EditorYaml)), title
    elif found and found <= SHAPE_CODES and not any(part in title for part in UNSEEN):
        try:
            data = yaml.load(text, EditorYaml)
        except yaml.YAMLError:
            return
        assert not VALIDATOR.is_valid(data), title
