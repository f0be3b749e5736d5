"""The summary of what is wrong in a form: read off the form itself, so that it says what stands beside the fields."""

import re
from typing import Final

from markupsafe import Markup

# As the fields of `html/components.html` write it.
_WRONG: Final = re.compile(r'<p class="wrong" id="([\w-]+)-wrong">(.*?)</p>', re.DOTALL)
_LABEL: Final = re.compile(r'<label for="([\w-]+)">([^<]+)</label>')
_AUTOFOCUS: Final = " autofocus"


def wrong_fields(form: str) -> list[tuple[str, Markup, Markup]]:
    """The id of each field that is wrong, its label if that is plain text, and why, from the top."""
    labels = dict(_LABEL.findall(form))
    found = ((field, labels.get(field, ""), message) for field, message in _WRONG.findall(form))
    return [(field, Markup(label), Markup(message)) for field, label, message in found]  # noqa: S704  # escaped in the form


def focused(form: str) -> Markup:
    """The form in which the first wrong field has the focus, and no other one."""
    [first, *_] = (field for field, _ in _WRONG.findall(form))
    calm = str(form).replace(_AUTOFOCUS, "")
    return Markup(calm.replace(f' id="{first}"', f' id="{first}"{_AUTOFOCUS}', 1))  # noqa: S704  # as it was
