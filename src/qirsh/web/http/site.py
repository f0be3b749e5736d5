"""Who runs this service and what they say of it: on every page's footer, and on the pages that it leads to."""

from collections.abc import Mapping

import msgspec
from markupsafe import Markup

from qirsh.language.catalog import DEFAULT

# In the order of the footer. Each may have a text of the operator's.
INFORMATION: tuple[str, ...] = ("help", "contact", "fees", "terms", "privacy")


class Contact(msgspec.Struct, frozen=True):
    """How support is reached: as people read it, and as a link."""

    text: str
    href: str


class InformationPage(msgspec.Struct, frozen=True):
    """A text of the operator's, as HTML that was made of Markdown without any HTML in it."""

    title: str
    html: Markup
    language: str


class Site(msgspec.Struct, frozen=True):
    """Built once at the start."""

    operator: str = ""  # Empty: nobody has said who runs it.
    support: Contact | None = None
    pages: Mapping[tuple[str, str], InformationPage] = {}  # By name and language.

    def page(self, name: str, language: str) -> InformationPage | None:
        """In this language, else in the first that there is."""
        for code in (language, DEFAULT, ""):
            if page := self.pages.get((name, code)):
                return page
        return next((page for (other, _), page in self.pages.items() if other == name), None)

    def names(self) -> list[str]:
        """Which pages there are, in their order."""
        there = {name for name, _ in self.pages}
        return [name for name in INFORMATION if name in there]


def contact(text: str) -> Contact:
    """An e-mail address, a phone number or an https address, checked by the settings."""
    if text.startswith("https://"):
        return Contact(text.removeprefix("https://").rstrip("/"), text)
    if "@" in text:
        return Contact(text, f"mailto:{text}")
    return Contact(text, "tel:" + "".join(sign for sign in text if sign in "+0123456789"))
