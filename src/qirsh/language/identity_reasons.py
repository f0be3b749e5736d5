"""Why an identity was not accepted, as the person reads it: the closed list of `domain.identity`, in words."""

from typing import Final

from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text

REASON_TEXTS: Final[dict[str, str]] = {
    "not_readable": _("The photos cannot be read. Take them in good light, without glare."),
    "not_whole": _("The document is not whole on the photos. All four corners must be visible."),
    "out_of_date": _("The document is out of date. Send one that is still valid."),
    "other_details": _("What you wrote is not what is on the document. Write it exactly as it appears there."),
    "wrong_document": _("We cannot accept this kind of document, or one of its sides is missing."),
    "other": "",  # In the operator's own words.
}


def identity_reason(language: str, because: str, own_words: str) -> str:
    """Both, in the language of the person; the operator's own words stand as they are."""
    listed = REASON_TEXTS.get(because, "")
    return " ".join(filter(None, (text(language, listed) if listed else "", own_words)))
