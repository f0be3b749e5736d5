"""Metadata of merchants: any JSON object within limits. It is kept as the text that was sent, and only judged here."""

from typing import Any, Final

from qirsh.domain import limits

TOO_LONG: Final = ("too_long", f"Must have at most {limits.METADATA_BYTES_MAX} bytes of JSON.")

_NUL: Final = ("control_character", "Must not hold the character U+0000.")  # PostgreSQL cannot keep it.


def why_not_metadata(value: Any) -> tuple[str, str] | None:  # noqa: ANN401 - JSON is anything
    """What is wrong with it; None if nothing is."""
    if type(value) is not dict:
        return ("wrong_type", "Must be an object.")
    if len(value) > limits.METADATA_KEYS_MAX:
        return ("too_many_keys", f"Must have at most {limits.METADATA_KEYS_MAX} keys.")
    return _why_not_part(value, 1)


def _why_not_part(value: Any, depth: int) -> tuple[str, str] | None:  # noqa: ANN401 - JSON is anything
    if depth > limits.METADATA_DEPTH_MAX:
        return ("too_deep", f"Must be nested at most {limits.METADATA_DEPTH_MAX} deep.")
    if type(value) is dict:
        for key in value:
            if len(key) > limits.METADATA_KEY_CHARACTERS_MAX:
                return ("key_too_long", f"Keys must have at most {limits.METADATA_KEY_CHARACTERS_MAX} characters.")
            if "\0" in key:
                return _NUL
        value = value.values()
    for child in value:
        kind = type(child)
        if kind is str and "\0" in child:
            return _NUL
        if (kind is dict or kind is list) and (wrong := _why_not_part(child, depth + 1)):
            return wrong
    return None
