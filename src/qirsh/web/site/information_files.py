"""The operator's texts: Markdown files, read once at the start."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from qirsh.language.catalog import LANGUAGES
from qirsh.web.http.site import INFORMATION, InformationPage

_NAME: Final = re.compile(rf"({'|'.join(INFORMATION)})(?:\.({'|'.join(LANGUAGES)}))?\.md")
_TITLE: Final = re.compile(r"\s*#[ \t]+(\S[^\n]*)\n?")
_BYTES_MAX: Final = 256 * 1024


class BadInformationFile(Exception):
    """A text that cannot be shown. The message names it and says why."""


def read_information_files(folder: Path) -> dict[tuple[str, str], InformationPage]:
    """By name and language; the language is empty for a text that stands for all."""
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == ".md")
    except OSError as error:
        raise BadInformationFile(f"{folder} cannot be read: {error.strerror}") from None
    return dict(_pages(files))


def _pages(files: list[Path]) -> Iterator[tuple[tuple[str, str], InformationPage]]:
    # Links and headings, and nothing that a text from outside could run.
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    for file in files:
        found = _NAME.fullmatch(file.name)
        if found is None:
            names = ", ".join(INFORMATION)
            message = f"{file}: name it after one of {names}, with a language if it has one: terms.md, terms.ar.md"
            raise BadInformationFile(message)
        name, language = found[1], found[2] or ""
        title, body = _read(file)
        yield (name, language), InformationPage(title, Markup(markdown.render(body)), language)  # noqa: S704  # no HTML but its own


def _read(file: Path) -> tuple[str, str]:
    try:
        content = file.read_bytes()
        text = content.decode()
    except OSError as error:
        raise BadInformationFile(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInformationFile(f"{file} is not in UTF-8") from None
    if len(content) > _BYTES_MAX:
        raise BadInformationFile(f"{file} is larger than {_BYTES_MAX // 1024} KiB")
    title = _TITLE.match(text)
    if title is None:
        raise BadInformationFile(f"{file} must begin with its title: # Terms")
    return title[1].strip(), text[title.end() :]
