"""The description cut into what a reader meets: chapters of calls, with fields, errors and examples."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from markupsafe import Markup, escape

from qirsh.contract.examples import Json
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.openapi.document import JSON_TYPE
from qirsh.web.openapi.problems import PROBLEM_TYPE
from qirsh.web.openapi.sample_languages import LANGUAGES
from qirsh.web.openapi.samples import STORY

_NESTED_MAX: Final = 4  # Deeper is not read by anybody; the document has it.


class Field(msgspec.Struct, frozen=True):
    """One line of a table."""

    name: str
    kind: str
    text: Markup
    limits: str
    is_required: bool


class Fault(msgspec.Struct, frozen=True):
    """One code that a call may answer."""

    status: str
    code: str
    text: Markup


class Sample(msgspec.Struct, frozen=True):
    """What can be copied, in one language."""

    language: str
    name: str
    text: str


class Call(msgspec.Struct, frozen=True):
    """One operation."""

    id: str
    method: str
    path: str
    summary: str
    text: Markup
    parameters: list[Field]
    body: list[Field]
    answer: list[Field]
    faults: list[Fault]
    samples: list[Sample]
    status: str
    shown: str


class Chapter(msgspec.Struct, frozen=True):
    """The calls of one tag."""

    id: str
    name: str
    text: Markup
    calls: list[Call]


def reference_sections(document: Json) -> list[Chapter]:
    """In the order of the tags, and of the samples' story."""
    reader = _Reader(document)
    calls: dict[str, list[Call]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            calls.setdefault(operation["tags"][0], []).append(reader.call(method.upper(), path, operation))
    told = list(STORY)
    for found in calls.values():
        found.sort(key=lambda call: told.index(call.id) if call.id in STORY else len(told))
    return [
        Chapter(tag["name"].lower().replace(" ", "-"), tag["name"], words(tag["description"]), calls[tag["name"]])
        for tag in document["tags"]
    ]


def preambles(base_url: str) -> list[Sample]:
    """What stands before the samples of a language."""
    return [Sample(language.id, language.name, language.preamble(base_url)) for language in LANGUAGES]


def faults() -> list[Fault]:
    """Every code there is, for the chapter about errors."""
    return [Fault(str(kind.status), code, words(kind.detail)) for code, kind in PROBLEM_TYPES.items()]


def words(text: str) -> Markup:
    """Text with `code` in it, safe for a page."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped right here


class _Reader:
    def __init__(self, document: Json) -> None:
        self._document = document

    def call(self, method: str, path: str, operation: Json) -> Call:
        status, answer = next(iter(operation["responses"].items()))
        body = operation.get("requestBody", {}).get("content", {}).get(JSON_TYPE)
        content = answer["content"][JSON_TYPE]
        return Call(
            id=operation["operationId"],
            method=method,
            path=path,
            summary=operation["summary"],
            text=words(operation["description"]),
            parameters=self._parameters(operation),
            body=[] if body is None else list(self._fields(body["schema"])),
            answer=list(self._fields(content["schema"]["properties"]["data"], is_asked=False)),
            faults=self._faults(operation),
            samples=_samples(operation["operationId"]),
            status=status,
            shown=_pretty(_example(content)),
        )

    def _parameters(self, operation: Json) -> list[Field]:
        return [
            Field(
                parameter["name"],
                f"{_kind(parameter['schema'])}, in the {parameter['in']}",
                words(parameter["description"]),
                _limits(parameter["schema"]),
                parameter["required"],
            )
            for parameter in operation.get("parameters", [])
        ]

    def _fields(self, schema: Json, prefix: str = "", depth: int = 1, *, is_asked: bool = True) -> Iterator[Field]:
        """Flat, with what is inside after what it is in. That a field of an answer is always there needs no word."""
        schema = self._resolved(schema)
        if "oneOf" in schema:  # They differ in one field, which tells them apart.
            tag = schema["discriminator"]
            schema = copy.deepcopy(self._resolved(schema["oneOf"][0]))
            schema["properties"][tag["propertyName"]]["enum"] = list(tag["mapping"])
        required = schema.get("required", []) if is_asked else []
        for name, field in schema.get("properties", {}).items():
            whole = self._resolved(field)
            text = field.get("description", whole.get("description", ""))
            yield Field(prefix + name, _kind(whole), words(text), _limits(whole), name in required)
            inside = whole.get("items", whole)
            if depth < _NESTED_MAX and (inside is not whole or not {"properties", "oneOf"}.isdisjoint(whole)):
                below = f"{prefix}{name}{'' if inside is whole else '[]'}."
                yield from self._fields(inside, below, depth + 1, is_asked=is_asked)

    def _faults(self, operation: Json) -> list[Fault]:
        found = []
        for status, response in operation["responses"].items():
            content = self._resolved(response)["content"].get(PROBLEM_TYPE)
            codes = content["examples"] if content else ()
            found += [Fault(status, code, words(PROBLEM_TYPES[code].detail)) for code in codes]
        return found

    def _resolved(self, schema: Json) -> Json:
        while "$ref" in schema:
            found: Any = self._document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema


def _samples(operation_id: str) -> list[Sample]:
    steps = STORY.get(operation_id, ())
    return [Sample(language.id, language.name, language.sample(steps)) for language in LANGUAGES if steps]


def _kind(schema: Json) -> str:
    kinds = schema.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "enum" in schema:
        return " or ".join("null" if value is None else f'"{value}"' for value in schema["enum"])
    return " or ".join(kinds)


def _limits(schema: Json) -> str:
    """In words. Patterns are for programs: the text of a field says the same."""
    found = []
    for least, most, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minProperties", "maxProperties", " keys"),
    ):
        if least in schema and most in schema:
            found.append(f"{schema[least]} to {schema[most]}{unit}")
        elif most in schema:
            found.append(f"at most {schema[most]}{unit}")
        elif least in schema:
            found.append(f"at least {schema[least]}{unit}")
    if "default" in schema:
        found.append(f"{schema['default']} when absent")
    return "; ".join(found)


def _example(content: Json) -> Any:  # noqa: ANN401 - JSON is anything
    return next(iter(content["examples"].values()))["value"]


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
