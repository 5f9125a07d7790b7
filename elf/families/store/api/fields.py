"""The fields that requests and answers of the store share: their types and bounds, and what they mean."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, ValidationError, WithJsonSchema
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails, PydanticCustomError

from elf.api.bodies import WHOLE, FreeJson, GivenIdentifier, Request
from elf.api.json_bounds import JsonBounds
from elf.families.store import model as m
from elf.families.store.rules.conditions import EQUALITIES, RANGES, BadCondition, conditions_of

MAX_BODY_BYTES: Final = 16 << 20
BOUNDS: Final = JsonBounds(values=300_000, string_chars=MAX_BODY_BYTES)

_NO_DOT: Final[JsonDict] = {"pattern": r"^[^.]+$"}


def _label(label: str) -> str:
    if "." in label:
        raise ValueError("must hold no dot")
    return label


def _few_paths(index: object) -> object:
    """Return paths, or what stands in their place. The message of a union would tell of each of its members."""
    if isinstance(index, list) and len(index) > m.MAX_PATHS:
        raise ValueError(f"should have at most {m.MAX_PATHS} paths, not {len(index)}")
    return index


def _compared(asked: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        conditions_of(asked)
    except BadCondition as error:
        fault = PydanticCustomError("condition", "{problem}", {"problem": str(error)})
        # With the place within the filter, which a ValueError does not have.
        raise ValidationError.from_exception_data(
            "filter", [InitErrorDetails(type=fault, loc=error.path, input=None)]
        ) from None
    return asked


TenantIdGiven = Annotated[
    GivenIdentifier,
    Field(
        description="The organisation or application that the values belong to. Tenants never see each other's.",
        examples=["acme"],
    ),
]
UserIdGiven = Annotated[
    GivenIdentifier,
    Field(
        description="Whose values they are: a user, or a program. Left out, the caller's own user.",
        examples=["ana"],
    ),
]
Label = Annotated[
    str, Field(min_length=1, max_length=m.MAX_LABEL_CHARS, json_schema_extra=_NO_DOT), AfterValidator(_label)
]
Namespace = Annotated[
    list[Label],
    Field(
        max_length=m.MAX_LABELS,
        description="Where it is: labels without a dot, the widest first.",
        examples=[["users", "ana"]],
    ),
]
Key = Annotated[
    str,
    Field(max_length=m.MAX_KEY_CHARS, description="Its name within the namespace.", examples=["preferences"]),
]
Value = Annotated[
    JsonValue, Field(description="Any JSON, which is kept as it is.", examples=[{"tea": "green"}]), FreeJson()
]
Path = Annotated[str, Field(max_length=m.MAX_PATH_CHARS, examples=["title"])]
Paths = Annotated[list[Path], Field(max_length=m.MAX_PATHS)]
Index = Annotated[
    Paths | Literal[False],
    BeforeValidator(_few_paths),
    Field(
        description="Paths within the value whose texts it is found by, such as title, tags[*] or a.b; $ is all of it, "
        "as JSON. At most 32; one that is repeated counts once. With false it is found by none.",
        examples=[["title", "tags[*]"]],
    ),
]
TtlMinutes = Annotated[
    float,
    Field(
        gt=0.0,
        le=m.MAX_TTL_MINUTES,
        description="It is gone so many minutes after it was read or written last. Left out: it stays.",
        examples=[1440.0],
    ),
]
RefreshTtl = Annotated[bool, Field(description="Whether what is read here lives its time anew.")]
Limit = Annotated[int, Field(ge=1, le=m.MAX_LIMIT, description="How many at most, 1 to 1000."), WHOLE]
Offset = Annotated[int, Field(ge=0, le=m.MAX_OFFSET, description="How many are passed over first."), WHOLE]
Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=m.MAX_QUERY_CHARS,
        description="What to look for, in words: the best are first. Left out, the newest are.",
        examples=["What does she drink?"],
    ),
]
_OPERANDS: Final[JsonDict] = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        **{name: {} for name in EQUALITIES},
        **{name: {"type": ["number", "string"]} for name in RANGES},
    },
}
Filter = Annotated[
    dict[str, JsonValue],
    AfterValidator(_compared),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": m.MAX_FILTERS,
            "propertyNames": {"pattern": r"^(?!\$)"},
            "additionalProperties": {
                "anyOf": [{"type": ["null", "boolean", "number", "string", "array"]}, _OPERANDS]
            },
            "description": "What fields of the value have to be: a value, or an object of $eq, $ne, $gt, $gte, $lt and "
            "$lte; all have to match. Numbers compare as numbers, texts as texts, and nothing with another kind.",
        }
    ),
    Field(max_length=m.MAX_FILTERS),
]
PatternLabel = Annotated[
    str, Field(min_length=1, max_length=m.MAX_LABEL_CHARS, json_schema_extra=_NO_DOT), AfterValidator(_label)
]
Pattern = Annotated[
    list[PatternLabel],
    Field(max_length=m.MAX_LABELS, description="Labels, where * is any.", examples=[["users", "*"]]),
]
Depth = Annotated[
    int,
    Field(ge=1, le=m.MAX_LABELS, description="Namespaces are cut off behind so many labels, and told once."),
    WHOLE,
]
Moment = Annotated[datetime, Field(description="A moment in UTC.")]


class OfUser(Request):
    """Whose values are asked for."""

    tenant_id: TenantIdGiven
    user_id: UserIdGiven | None = None


AnyJson = Annotated[Any, WithJsonSchema({})]
