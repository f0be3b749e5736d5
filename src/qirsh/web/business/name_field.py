"""The name of a business as somebody types it: customers trust it, so it holds no signs that pretend anything."""

from qirsh.domain.limits import NAME_CHARACTERS_MAX
from qirsh.language.business_name import is_plain_name
from qirsh.web.html.input_text import has_direction_controls, one_line


def read_business_name(text: str) -> tuple[str, str]:
    """The name, and what is wrong with it: `name`, `long` or `signs`."""
    name = one_line(text, NAME_CHARACTERS_MAX)
    if name is None and one_line(text, len(text)) is not None:
        return "", "long"
    if has_direction_controls(text) or (name and not is_plain_name(name)):
        return name or "", "signs"
    return name or "", "" if name else "name"
