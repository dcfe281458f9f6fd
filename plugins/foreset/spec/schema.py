"""The JSON Schema of spec files, for editors: the shapes of model.py in another notation.

`python -m foreset.spec.schema` prints it; view_specs/schema.json is that, and a test
holds it to be so. It says less than `foreset check`: JSON Schema knows no rules.
"""

from __future__ import annotations

import json
import sys
from typing import Any, assert_never

from foreset.spec.model import SPEC
from foreset.spec.shapes import (
    RESERVED,
    Anything,
    Brief,
    Flag,
    Key,
    ListOf,
    MapOf,
    Record,
    Shape,
    Text,
    Whole,
    names_of,
)

DIALECT = "http://json-schema.org/draft-07/schema#"
Json = dict[str, Any]


def spec_schema() -> Json:
    """The schema of one spec file."""
    return {"$schema": DIALECT, "title": "Foreset spec", **schema_of(SPEC)}


def schema_text() -> str:
    """The schema as it stands in a file."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"


def schema_of(shape: Shape) -> Json:
    """The schema of one shape."""
    match shape:
        case Text():
            return _text(shape)
        case Whole(low=low, high=high):
            return {"type": "integer", "minimum": low, "maximum": high}
        case Flag():
            return {"type": "boolean"}
        case Anything(json_schema=words):
            return dict(words)
        case ListOf(item=item):
            return {"type": ["array", "null"], "items": schema_of(item)}
        case MapOf(value=value, noun=noun, filled=filled):
            names: Json = {"pattern": f"^{names_of(noun).pattern}$", "not": {"enum": list(RESERVED)}}
            kind: Json = {"type": "object", "minProperties": 1} if filled else {"type": ["object", "null"]}
            return kind | {"propertyNames": names, "additionalProperties": schema_of(value)}
        case Record():
            return _record(shape)
        case Brief():
            return {"anyOf": [schema_of(shape.first.shape), _record(shape.record)]}
        case _:
            assert_never(shape)


def _text(shape: Text) -> Json:
    if shape.choices:
        return {"type": "string", "enum": list(shape.choices)}
    # YAML reads an unquoted 2026 as a number: where any text will do, so will that.
    kinds = ["string"] if shape.pattern else ["string", "number", "boolean"]
    schema: Json = {"type": [*kinds, *(["null"] if shape.nullable else [])]}
    if shape.pattern:
        schema["pattern"] = shape.pattern
    return schema | ({"examples": list(shape.examples)} if shape.examples else {})


def _record(shape: Record) -> Json:
    required = [key.name for key in shape.keys if key.required]
    schema: Json = {"type": "object" if required or shape.one_of or shape.any_of else ["object", "null"]}
    if shape.doc:
        schema["description"] = shape.doc
    schema |= {"properties": {key.name: _key(key) for key in shape.keys}, "additionalProperties": False}
    if required:
        schema["required"] = required
    if shape.one_of:
        schema["oneOf"] = [{"required": [name]} for name in shape.one_of]
    if shape.any_of:
        schema["anyOf"] = [{"required": [name]} for name in shape.any_of]
    return schema


def _key(key: Key) -> Json:
    schema = schema_of(key.shape)
    schema = {"description": key.doc, **{name: value for name, value in schema.items() if name != "description"}}
    return schema if key.default is None else schema | {"default": key.default}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
