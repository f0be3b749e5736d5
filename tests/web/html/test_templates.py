"""What holds for every template and style sheet, whichever page uses it."""

import re
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pytest

import qirsh.web
from qirsh.web.html import rendering

WEB: Final = Path(qirsh.web.__file__).parent
TEMPLATES: Final = sorted(WEB.glob("*/templates/*"))
STYLES: Final = sorted((WEB / "html" / "static").glob("*.css"))
# A page that is read from right to left is the mirror image of one that is not, with the same sheet.
PHYSICAL: Final = re.compile(
    r"(?<![-\w])(?:(?:margin|padding|border|scroll-margin)-(?:left|right|top|bottom)|left|right|float"
    r"|(?:min-|max-)?(?:width|height))\s*:|text-align:\s*(?:left|right)"
)


def physical_in(text: str) -> list[str]:
    # What a media query asks for has no logical name.
    return PHYSICAL.findall(re.sub(r"@media[^{]*", "", text))


def test_a_physical_property_is_found() -> None:
    assert physical_in("a { margin-left: 1px }")
    assert physical_in("a{text-align:right}")
    assert physical_in("a { max-width: 1px }")
    assert not physical_in("@media (max-width: 46rem) { a { margin-inline-start: 1px; line-height: 1 } }")


def name_of(file: Path) -> str:
    return str(file.relative_to(WEB))


def test_style_sheets_are_logical_and_load_nothing_but_files_beside_them(subtests: pytest.Subtests) -> None:
    for sheet in STYLES:
        with subtests.test(name_of(sheet)):
            text = sheet.read_text()
            assert physical_in(text) == []
            assert not re.search(r"@import|https?:", text)
            loaded = re.findall(r"url\((.*?)\)", text)
            # What is kept for ever has its version in its name.
            assert all(re.fullmatch(r'"[a-z-]+-\d+\.\d+\.\d+-\d+\.woff2"', name) for name in loaded)
            assert all((WEB / "html" / "static" / name.strip('"')).exists() for name in loaded)


def test_templates_have_no_inline_code_and_trust_no_text(subtests: pytest.Subtests) -> None:
    for template in TEMPLATES:
        with subtests.test(name_of(template)):
            text = template.read_text()
            assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:", text)
            assert not re.search(r"\|\s*safe|Markup|autoescape", text)
            # An attribute without quotes could be left.
            assert not re.search(r"=\{\{", text)


def test_only_the_layout_says_which_language_it_is(subtests: pytest.Subtests) -> None:
    for template in TEMPLATES:
        with subtests.test(name_of(template)):
            text = template.read_text()
            if template.name == "layout.html":
                assert '<html lang="{{ language }}" dir="{{ direction }}">' in text
            else:
                assert "<html" not in text
                assert 'dir="rtl"' not in text


def test_a_template_is_compiled_once_for_all_languages_and_zones() -> None:
    # Nobody is answered meanwhile, and whoever runs a business may choose any of hundreds of zones.
    made = [
        rendering._templates(code, ZoneInfo(zone)).get_template("html/problem.html")  # noqa: SLF001 - it shows nowhere else
        for code, zone in (("en", "UTC"), ("ar", "Asia/Damascus"), ("tr", "Europe/Istanbul"))
    ]
    # Two that were compiled apart are equal, and not the same.
    assert len({id(template.root_render_func.__code__) for template in made}) == 1
