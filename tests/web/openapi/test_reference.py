"""The reference page: everything that the description tells, in HTML that needs no script and allows no other."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.openapi.document import document
from qirsh.web.openapi.reference_view import reference_sections, words
from qirsh.web.routes import ROUTES
from tests.description import BASE_URL
from tests.live import Call, Live

DOCUMENT = document(ROUTES, BASE_URL)


class Page(HTMLParser):
    """What a browser would find in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, attribute: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(attribute))]


@pytest.fixture(scope="module")
def page(world: Live) -> Page:
    answer = world.send(Call("GET", "/docs"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Page(answer.text)


def test_every_call_can_be_linked_to_and_stands_in_the_navigation(page: Page) -> None:
    operations = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]
    ids, links = page.values("id"), page.values("href")
    assert len(ids) == len(set(ids))
    for operation in operations:
        assert operation["operationId"] in ids
        assert f"#{operation['operationId']}" in links
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_every_path_field_parameter_and_code_is_shown(page: Page) -> None:
    shown = set(re.findall(r"[\w-]+", page.text))
    for name, schema in DOCUMENT["components"]["schemas"].items():
        if name not in {"Problem", "FieldError"}:
            assert set(schema.get("properties", {})) <= shown, name
    for path, methods in DOCUMENT["paths"].items():
        assert path in page.text
        for operation in methods.values():
            assert {parameter["name"] for parameter in operation.get("parameters", [])} <= shown
    assert set(PROBLEM_TYPES) <= shown


def test_it_has_landmarks_and_headings_in_order(page: Page) -> None:
    tags = [tag for tag, _ in page.tags]
    assert {"header", "nav", "main"} <= set(tags)
    assert tags.count("h1") == tags.count("main") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_nothing_is_inline_and_the_search_waits_for_its_script(page: Page, world: Live) -> None:
    assert page.values("style") == page.values("onclick") == []
    for tag, attrs in page.tags:
        assert tag != "style"
        assert tag != "script" or str(attrs["src"]).startswith("/static/docs.js?v=")
    [form] = [attrs for tag, attrs in page.tags if tag == "form"]
    assert "hidden" in form
    for address in page.values("src") + [link for link in page.values("href") if link.startswith("/static")]:
        assert world.send(Call("GET", address)).status_code == 200


def test_words_are_escaped_before_code_is_marked() -> None:
    assert words("a `<b>` & c") == "a <code>&lt;b&gt;</code> &amp; c"


def test_an_example_with_an_apostrophe_can_be_pasted_into_a_shell() -> None:
    changed = document(ROUTES, BASE_URL)
    operation = changed["paths"]["/api/v1/wallet/sessions"]["post"]
    operation["requestBody"]["content"]["application/json"]["examples"]["usual"]["value"] = {"password": "it's"}
    requests = {call.id: call.request for chapter in reference_sections(changed) for call in chapter.calls}
    assert "it'\\''s" in requests["walletSessionsCreate"]
