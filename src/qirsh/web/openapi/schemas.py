"""Schemas of bodies and answers as JSON Schema, from the very structs that the code reads and writes."""

import re
from typing import Any, Final

import msgspec
from msgspec import inspect

from qirsh.contract.examples import Json
from qirsh.contract.views import EventView, PaymentView, RefundAndPayment
from qirsh.domain.event import REFUND_CREATED, TYPES
from qirsh.web.openapi.field_docs import FieldDoc, field_doc

REFERENCE: Final = "#/components/schemas/"

Schema = type[msgspec.Struct]

# What an event of each type is about. Its field is only an `object`: msgspec cannot tell the structs apart.
_EVENT_DATA: Final[dict[str, Schema]] = {
    kind: RefundAndPayment if kind == REFUND_CREATED else PaymentView for kind in TYPES
}


class Schemas:
    """Collects the schemas of all structs that were asked for, each once, under its name."""

    def __init__(self) -> None:
        self.schemas: dict[str, Json] = {}
        self._kinds: dict[str, Schema] = {}

    def reference(self, struct: Schema) -> Json:
        """A `$ref` to the struct's schema."""
        name = struct.__name__
        if self._kinds.setdefault(name, struct) is not struct:
            raise ValueError(f"two shapes are called {name}")
        if name not in self.schemas:
            self.schemas[name] = {}  # A struct may hold itself.
            self.schemas[name] = self._events() if struct is EventView else self._struct(struct)
        return {"$ref": REFERENCE + name}

    def _events(self) -> Json:
        """One schema for each type of event, told apart by the type."""
        mapping = {}
        for kind, held in _EVENT_DATA.items():
            name = event_name(kind)
            schema = self._struct(EventView)
            fields = schema["properties"]
            fields["type"] = {"type": "string", "enum": [kind], "description": fields["type"]["description"]}
            fields["data"] = {**self.reference(held), "description": fields["data"]["description"]}
            self.schemas[name] = schema
            mapping[kind] = REFERENCE + name
        return {
            "description": _first_paragraph(EventView),
            "oneOf": [{"$ref": reference} for reference in mapping.values()],
            "discriminator": {"propertyName": "type", "mapping": mapping},
        }

    def fields(self, struct: Schema) -> dict[str, tuple[Json, bool]]:
        """The fields of a query by their names: the schema, and whether it must be there."""
        return {field.encode_name: (self._field(struct, field), field.required) for field in _fields(struct)}

    def _struct(self, struct: Schema) -> Json:
        # Generators take a field with a default for one that must be there: of a body, the text says it.
        is_body = struct.__struct_config__.forbid_unknown_fields
        fields = {field.encode_name: self._field(struct, field, has_default=False) for field in _fields(struct)}
        if is_body:
            fields |= {f.encode_name: _or_null(fields[f.encode_name]) for f in _fields(struct) if not f.required}
        schema: Json = {"type": "object", "description": _first_paragraph(struct), "properties": fields}
        # Every field of an answer is there.
        if required := [field.encode_name for field in _fields(struct) if field.required or not is_body]:
            schema["required"] = required
        if is_body:
            schema["additionalProperties"] = False
        return schema

    def _field(self, struct: Schema, field: inspect.Field, *, has_default: bool = True) -> Json:
        word = _word(struct, field)
        # What an event holds, its type says: whoever describes that puts it there.
        schema = {} if isinstance(field.type, inspect.CustomType) else self._schema(field.type)
        if "$ref" in schema:
            # Beside a reference OpenAPI allows words, and nothing that would narrow it.
            return schema | ({"description": word.text} if word else {})
        if word is not None:
            schema = _narrowed(schema, word)
        if type(field.default) in {str, int, bool} and field.default != "" and has_default:
            schema["default"] = field.default
        return schema

    def _schema(self, kind: inspect.Type) -> Json:  # noqa: C901 - one line a type
        match kind:
            case inspect.Metadata():
                return self._schema(kind.type) | (kind.extra_json_schema or {})
            case inspect.StrType():
                return {"type": "string"} | _bounds(
                    kind, minLength="min_length", maxLength="max_length", pattern="pattern"
                )
            case inspect.IntType():
                bounds = _bounds(
                    kind,
                    minimum="ge",
                    exclusiveMinimum="gt",
                    maximum="le",
                    exclusiveMaximum="lt",
                    multipleOf="multiple_of",
                )
                return {"type": "integer"} | bounds
            case inspect.BoolType():
                return {"type": "boolean"}
            case inspect.NoneType():
                return {"type": "null"}
            case inspect.LiteralType():
                return {"type": "string", "enum": list(kind.values)}
            case inspect.EnumType():
                return {"type": "string", "enum": [member.value for member in kind.cls]}
            case inspect.StructType():
                return self.reference(kind.cls)
            case inspect.ListType() | inspect.VarTupleType():
                bounds = _bounds(kind, minItems="min_length", maxItems="max_length")
                return {"type": "array", "items": self._schema(kind.item_type)} | bounds
            case inspect.DictType():
                return {"type": "object", "additionalProperties": self._schema(kind.value_type)}
            case inspect.RawType() | inspect.AnyType():
                # JSON that is handed through; in this API it is always an object.
                return {"type": "object", "additionalProperties": True}
            case inspect.UnionType():
                return self._union(kind)
        raise TypeError(f"{kind} cannot be described yet")

    def _union(self, kind: inspect.UnionType) -> Json:
        schemas = [self._schema(one) for one in kind.types if not isinstance(one, inspect.NoneType)]
        is_nullable = len(schemas) < len(kind.types)
        if len(schemas) == 1 and "type" in schemas[0]:
            schema = schemas[0]
            if is_nullable:
                schema["type"] = [schema["type"], "null"]
                if "enum" in schema:
                    schema["enum"] = [*schema["enum"], None]
            return schema
        return {"anyOf": [*schemas, {"type": "null"}] if is_nullable else schemas}


def event_name(kind: str) -> str:
    """What the schema of an event of this type is called."""
    return "".join(word.capitalize() for word in re.split("[._]", kind)) + "Event"


def example_of(struct: Schema, changed: Json | None = None) -> Json:
    """What the struct looks like when it tells the usual story, but for the fields that are changed."""
    example = {field.encode_name: _example(struct, field) for field in _fields(struct)}
    return example | (changed or {})


def field_example(struct: Schema, name: str) -> Any:  # noqa: ANN401 - JSON is anything
    """What one field looks like; None where nothing is to be shown."""
    return next(_example(struct, field) for field in _fields(struct) if field.encode_name == name)


def _example(struct: Schema, field: inspect.Field) -> Any:  # noqa: ANN401 - JSON is anything
    word = _word(struct, field)
    if word is not None and word.example is not None:
        return word.example
    if struct is EventView and field.encode_name == "data":
        return example_of(PaymentView)
    return _usual(field.type, word)


def _usual(kind: inspect.Type, word: FieldDoc | None) -> Any:  # noqa: ANN401 - JSON is anything
    """Where no word has an example: what the type offers."""
    match kind:
        case inspect.Metadata():
            examples = (kind.extra_json_schema or {}).get("examples")
            return examples[0] if examples else _usual(kind.type, word)
        case inspect.StructType():
            return example_of(kind.cls)
        case inspect.ListType() | inspect.VarTupleType():
            return [_usual(kind.item_type, None)]
        case inspect.UnionType():
            return None if kind.includes_none else _usual(kind.types[0], word)
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.IntType():
            return kind.ge or 0
        case inspect.BoolType():
            return False
        case inspect.StrType():
            return ""
    return {}


def _fields(struct: Schema) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _word(struct: Schema, field: inspect.Field) -> FieldDoc | None:
    """What the field says of itself comes first."""
    word = field_doc(struct.__name__, field.encode_name)
    kind = field.type
    extra = kind.extra_json_schema or {} if isinstance(kind, inspect.Metadata) else {}
    if "description" in extra:
        examples = extra.get("examples") or [None]
        return FieldDoc(extra["description"], examples[0])
    return word


def _narrowed(schema: Json, word: FieldDoc) -> Json:
    """The schema with its word. What the type says stands, where both say something."""
    also = dict(word.also)
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "enum" in also and "null" in kinds:
        also["enum"] = [*also["enum"], None]
    if "object" in kinds and "propertyNames" not in also:
        also = {}
    return also | schema | {"description": word.text}


def _or_null(schema: Json) -> Json:
    """An optional field of a body may be null, also where that means something else than its absence."""
    if isinstance(schema["type"], list):
        return schema
    nullable = schema | {"type": [schema["type"], "null"]}
    return nullable | {"enum": [*schema["enum"], None]} if "enum" in schema else nullable


def _bounds(kind: object, **names: str) -> Json:
    found = {key: getattr(kind, name) for key, name in names.items()}
    return {key: value for key, value in found.items() if value is not None}


def _first_paragraph(struct: Schema) -> str:
    return " ".join((struct.__doc__ or struct.__name__).partition("\n\n")[0].split())
