"""What every screen is held to, whatever stands on it: no barrier, nothing wider than it, one language.

A picture is kept of each at which something is wrong, and of all of them if a folder is told.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel.messages.pofile import read_po
from playwright.sync_api import Page

from qirsh.language import catalog
from qirsh.language.catalog import language

AXE: Final = Path(__file__).with_name("axe.min.js")  # axe-core 4.14.0, MPL-2.0: see axe.LICENSE.
_AXE_RUN: Final = """rules => axe.run(document, {
    runOnly: rules,
    resultTypes: ["violations"],  // Of the others it need not tell each place.
})"""
_EVERY_RULE: Final = ("wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice")
_CONTRAST: Final = ("color-contrast",)
_KINDS: Final = """() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const kind = element => ["type", "role", "class"].map(name => element.getAttribute(name));
    return [...document.querySelectorAll("body *")]
        .map(element => [scheme, element.localName, ...kind(element)].join());
}"""
Violation = tuple[str, list[str]]
_LOCALE: Final = Path(catalog.__file__).parent / "locale"
# Every text of ours with what people wrote cut out of it, and the texts that only some people hear.
_TEXTS: Final = """() => {
    const theirs = "bdi, code, .num, .note, .logo, [lang]:not(html), [dir=auto], script, style";
    const isText = node => node.nodeType === Node.TEXT_NODE;
    const inside = element => element.matches(theirs) ? "\\u2026" : [...element.childNodes].map(said).join("");
    const said = node => isText(node) ? node.data : node.nodeType === Node.ELEMENT_NODE ? inside(node) : "";
    const hasText = element => [...element.childNodes].some(node => isText(node) && node.data.trim());
    const ours = [...document.querySelectorAll("body *")].filter(element => !element.closest(theirs));
    const heard = name => ours.map(element => element.getAttribute(name)).filter(Boolean);
    return [...ours.filter(hasText).map(said),
        ...["aria-label", "title", "alt", "placeholder"].flatMap(heard)];
}"""
_PLACEHOLDER: Final = re.compile(r"%\\?\(\w+\\?\)[sd]")
# Words that Arabic writes in Latin letters too, and the names of the other languages.
_LATIN: Final = re.compile(
    r"\b(USD|EUR|TRY|SYP|UTC|PDF|CSV|XLSX|Excel|QR|JPEG|PNG|WebP|IBAN|API|OpenAPI|JavaScript|English|Türkçe|IP"
    r"|(Standard )?Webhooks?|key:value|webhook-id|HTTP|POST|DNS|curl|qirsh listen|https(://shop\.example(/webhooks)?)?)\b"
)


class Axe:
    """axe takes three times as long as its page.

    The long run calls it on every page. `make test` skips pages whose kinds of elements, in the same colours, have
    all passed before: a page that breaks a rule with nothing but known elements is for the long run.
    """

    def __init__(self, *, is_thorough: bool) -> None:
        self._is_thorough = is_thorough
        self._passed: set[str] = set()

    def violations(self, page: Page) -> list[Violation]:
        """The violations axe finds. Pages without new elements are not checked again."""
        kinds = set() if self._is_thorough else set(page.evaluate(_KINDS))
        if kinds and kinds <= self._passed:
            return []
        found = _violations(page, _EVERY_RULE, is_for_all=self._is_thorough)
        if not found:
            self._passed |= kinds
        return found

    def contrast(self, page: Page) -> list[Violation]:
        """Texts that are hard to read, whatever was seen before."""
        return _violations(page, _CONTRAST, is_for_all=self._is_thorough)


def _violations(page: Page, rules: tuple[str, ...], *, is_for_all: bool) -> list[Violation]:
    # It runs as the browser's own code, so the page's policy need not allow it.
    if page.evaluate("typeof axe") == "undefined":
        if is_for_all:
            page.context.add_init_script(path=AXE)  # The pages that follow have it from the start, which is cheaper.
        page.evaluate(AXE.read_text())
    found = page.evaluate(_AXE_RUN, rules)["violations"]
    return [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in found]


class Sight:
    """A look at one screen after another of a journey in one language. Pictures are kept in order."""

    def __init__(self, code: str, folder: Path, axe: Axe, *, keeps_all: bool) -> None:
        self.code = code
        self._axe = axe
        self._keeps_all = keeps_all
        self.has_script = True  # Without it axe would never answer.
        self._folder = folder
        self._english, self._english_forms = _english_texts(code)
        self._count = 0
        self.faults: list[str] = []

    def see(self, page: Page, name: str) -> None:
        """What is wrong with it is told at the end of the journey, with all else."""
        page.wait_for_load_state()
        self._count += 1
        picture = self._folder / f"{self._count:02d}-{name}.png"
        faults = [f"{picture}: {fault}" for fault in self._found(page)]
        self.faults += faults
        if faults or self._keeps_all:
            self._folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=picture, full_page=True, scale="css")

    def _found(self, page: Page) -> Iterator[object]:
        root = page.evaluate("[document.documentElement.lang, getComputedStyle(document.body).direction]")
        if root != [self.code, language(self.code).direction]:
            yield root
        assert page.viewport_size is not None
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > page.viewport_size["width"]:
            yield f"{width} px wide"
        # Somebody's name stands in the title too, so that it is compared with whole texts only.
        yield from self._foreign([page.title().partition(" · ")[0]], is_pure=False)
        yield from self._foreign(page.evaluate(_TEXTS), is_pure=self.code == "ar")
        if self.has_script:
            yield from self._axe.violations(page)

    def _foreign(self, texts: list[str], *, is_pure: bool) -> Iterator[str]:
        """Those that are not in this language."""
        for spaced in texts:
            text = " ".join(spaced.split())
            if text in self._english or any(known.fullmatch(text) for known in self._english_forms):
                yield f"in English: {text}"
            elif is_pure and re.search(r"[A-Za-z]{2}", _LATIN.sub("", text)):
                yield f"in Latin letters: {text}"


@functools.cache
def _english_texts(code: str) -> tuple[frozenset[str], list[re.Pattern[str]]]:
    """The English texts that have another one in this language: whole ones, and those with something put in."""
    if code == catalog.DEFAULT:
        return frozenset(), []
    with (_LOCALE / code / "LC_MESSAGES" / "qirsh.po").open("rb") as file:
        messages = list(read_po(file, locale=code))
    texts: list[str] = []
    for message in messages:
        ours = message.id if isinstance(message.id, tuple | list) else (message.id,)
        theirs = message.string if isinstance(message.string, tuple | list) else (message.string,)
        texts += [text.replace("%%", "%") for text in ours if text and text not in theirs]
    # A text that is all placeholders is nobody's.
    wordy = [text for text in texts if re.search("[a-z]{2}", _PLACEHOLDER.sub("", text))]
    forms = [text for text in wordy if _PLACEHOLDER.search(text)]
    patterns = [re.compile(_PLACEHOLDER.sub(".+", re.escape(text))) for text in forms]
    return frozenset(wordy) - frozenset(forms), patterns
