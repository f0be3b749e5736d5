"""The texts of the product: found in its sources, and put beside their translations.

`python -m tests.language.texts` does what `make messages` promises: new texts are added to each language without a
translation, and those that are gone are taken out. It writes nothing that a second run would write otherwise.
"""

import functools
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_python
from babel.messages.pofile import read_po, write_po

import qirsh
from qirsh.language.catalog import DEFAULT, LANGUAGES

HOUSE: Final = Path(qirsh.__file__).parent
TRANSLATED: Final = tuple(code for code in LANGUAGES if code != DEFAULT)
_OPTIONS: Final = {"**.html": {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}}
_KEYWORDS: Final = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "text": (2,),
    "text_in": ((2, "c"), 3),
    "plural": (2, 3),
}
_CALL: Final = re.compile(rf"\b(?:{'|'.join(_KEYWORDS)})\(".encode())


def _python_texts(file: io.BytesIO, *how: Any, **options: Any) -> Iterator[Any]:  # noqa: ANN401 - whatever Babel hands on
    """Most files have no text, and to take one apart takes a while."""
    if _CALL.search(file.read()):
        file.seek(0)
        yield from extract_python(file, *how, **options)


_METHODS: Final[Any] = [("**.py", _python_texts), ("**.html", "jinja2")]
# In the order of its file: dates and numbers of lines would change what nobody has changed.
_HEADER: Final = """\
msgid ""
msgstr ""
"Language: {code}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {forms}\\n"
"""


def path_of(code: str) -> Path:
    return HOUSE / "language" / "locale" / code / "LC_MESSAGES" / "qirsh.po"


@functools.cache
def found_texts() -> Catalog:
    """Every text in the sources, with the files that it stands in."""
    catalog = Catalog()
    for file, _, message, comments, context in extract_from_dir(
        HOUSE, method_map=_METHODS, options_map=_OPTIONS, keywords=_KEYWORDS, comment_tags=("Translators:",)
    ):
        catalog.add(message, None, [(file, 0)], auto_comments=comments, context=context)
    return catalog


def translated_texts(code: str) -> Catalog:
    """As they stand in the language's file."""
    path = path_of(code)
    return read_po(io.BytesIO(path.read_bytes() if path.exists() else b""), locale=code)


def updated(code: str) -> str:
    """The language's file, in step with the sources."""
    found, known = found_texts(), translated_texts(code)
    fresh = Catalog(locale=code)
    for message in sorted(found, key=lambda one: (sorted({place for place, _ in one.locations}), str(one.id))):
        if not message.id:
            continue
        files = sorted({place for place, _ in message.locations})
        old = known.get(message.id[0] if isinstance(message.id, tuple) else message.id, message.context)
        string = old.string if old is not None and old.id == message.id else None
        fresh.add(
            message.id,
            string,
            [(file, 0) for file in files],
            auto_comments=message.auto_comments,
            context=message.context,
        )
    written = io.BytesIO()
    write_po(written, fresh, width=120, omit_header=True, sort_output=False, include_lineno=False)
    body = re.sub(r"\n{3,}", "\n\n", written.getvalue().decode()).strip()
    return f"{_HEADER.format(code=code, forms=fresh.plural_forms)}\n{body}\n"


def main() -> None:
    for code in TRANSLATED:
        path_of(code).write_text(updated(code))


if __name__ == "__main__":
    main()
