"""JSON bodies of calls about webhooks."""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from qirsh.contract.timestamps import milliseconds
from qirsh.domain import limits
from qirsh.domain.event import TYPES
from qirsh.web.api.bodies import Body, make_reader
from qirsh.web.api.parameters import Moment
from qirsh.web.http.field_checks import Check, Wrong, no_controls

# Too long a one is refused with all others that lead nowhere, in the same words.
Url = Annotated[str, Meta(extra_json_schema={"maxLength": limits.URL_CHARACTERS_MAX})]
Types = Annotated[
    list[Literal[TYPES]],  # type: ignore[valid-type]
    Meta(min_length=1, extra_json_schema={"maxItems": len(TYPES), "uniqueItems": True}),
]
Description = Annotated[str, Meta(max_length=limits.WEBHOOK_DESCRIPTION_CHARACTERS_MAX)]


def _types(value: list[str]) -> Wrong | None:
    return ("repeated", "Must name each type once.") if len(set(value)) < len(value) else None


def _moment(value: str) -> Wrong | None:
    if milliseconds(value) is not None:
        return None
    return ("invalid", "Must be a time with its offset, such as 2026-03-01T09:30:00.125Z.")


class CreateEndpointBody(Body):
    """A merchant wants events sent to an address."""

    url: Url
    types: Types | UnsetType = UNSET
    description: Description = ""

    checks: ClassVar[dict[str, Check]] = {"types": _types, "description": no_controls()}


class UpdateEndpointBody(Body):
    """A merchant changes an endpoint. What is left out stays."""

    url: Url | UnsetType = UNSET
    types: Types | UnsetType | None = UNSET  # Null: every type.
    description: Description | UnsetType | None = UNSET  # Null: none.
    state: Literal["enabled", "paused"] | UnsetType = UNSET
    resume_from: Literal["stopped", "now"] | UnsetType = UNSET

    checks: ClassVar[dict[str, Check]] = {"types": _types, "description": no_controls()}


class RotateSecretBody(Body):
    """A merchant wants a new secret."""

    overlap_hours: Annotated[int, Meta(ge=0, le=limits.WEBHOOK_OVERLAP_MS_MAX // 3_600_000)] = (
        limits.WEBHOOK_OVERLAP_HOURS_DEFAULT
    )

    checks: ClassVar[dict[str, Check]] = {}


class ReplayBody(Body):
    """A merchant wants events sent once more."""

    since: Moment = msgspec.field(name="from")

    checks: ClassVar[dict[str, Check]] = {"since": _moment}


CREATE_ENDPOINT: Final = make_reader(CreateEndpointBody)
UPDATE_ENDPOINT: Final = make_reader(UpdateEndpointBody)
ROTATE_SECRET: Final = make_reader(RotateSecretBody)
REPLAY: Final = make_reader(ReplayBody)
