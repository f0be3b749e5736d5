"""The reference page: everything that the description tells, in HTML that needs no script and allows no other."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from qirsh.domain.account import MOVES as ACCOUNT_MOVES
from qirsh.domain.event import TYPES
from qirsh.domain.ledger import KINDS
from qirsh.domain.payment import STATUSES
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.http.rate_limit import Limit, RateLimits
from qirsh.web.openapi.document import document
from qirsh.web.openapi.policies import POLICIES
from qirsh.web.openapi.reference_view import words
from qirsh.web.pay.return_address import OURS
from qirsh.web.routes import ROUTES
from tests.description import BASE_URL
from tests.live import Call, Live

DOCUMENT = document(ROUTES, BASE_URL)


class Page(HTMLParser):
    """What a browser would find in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
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
        assert tag != "script" or str(attrs["src"]).startswith(("/static/docs.js?v=", "/static/page.js?v="))
    [form] = [attrs for tag, attrs in page.tags if tag == "form"]
    assert "hidden" in form
    for address in page.values("src") + [link for link in page.values("href") if link.startswith("/static")]:
        assert world.send(Call("GET", address)).status_code == 200


def test_words_are_escaped_before_code_is_marked() -> None:
    assert words("a `<b>` & c") == "a <code>&lt;b&gt;</code> &amp; c"


def guide(page: Page) -> str:
    """The HTML of its topics."""
    return page.html.partition('<section id="guide"')[2].partition("</section>")[0]


def test_the_guide_tells_every_value_that_is_there(page: Page, subtests: pytest.Subtests) -> None:
    for names in (STATUSES, KINDS, TYPES, tuple(ACCOUNT_MOVES["commercial"]["approved"]), tuple(OURS)):
        with subtests.test(f"{names!r:.60}"):
            told = re.findall(r'<dt><code class="name">([^<]*)</code>', guide(page))
            assert [name for name in names if name not in told] == []


def test_the_guide_tells_every_limit_of_the_calls_as_the_code_counts_it(page: Page) -> None:
    counted = RateLimits()
    for policy in POLICIES:
        limit: Limit = getattr(counted, f"_{policy.name.replace('-', '_')}")
        told = limit.headers(0).decode().splitlines()[0]
        assert told == f'ratelimit-policy: "{policy.name}";q={policy.quota};w={policy.window_s}'
        assert f"{policy.quota} in {policy.window_s} seconds" in guide(page)


def test_the_guide_names_only_codes_and_headers_that_exist(page: Page) -> None:
    told = guide(page)
    codes = re.findall(r"\b(4\d\d|503) <code>([a-z_]+)</code>", told)
    assert len(codes) > 5
    for status, code in codes:
        assert str(PROBLEM_TYPES[code].status) == status
    named = set(re.findall(r"<code>((?:[A-Z][A-Za-z]*-)+[A-Z][a-z]+)", told))
    assert "Retry-After" in named
    assert named <= {*DOCUMENT["components"]["headers"], "Idempotency-Key"}
