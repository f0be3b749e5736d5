"""Where weaknesses of a service are reported: `security.txt`, as RFC 9116 has it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from qirsh.web.http.site import Site, contact
from tests.live import Call, InProcess

ADDRESS = "/.well-known/security.txt"


@pytest.fixture
def quiet(still: InProcess) -> Iterator[InProcess]:
    yield still
    still.change(site=Site())


def fields(world: InProcess) -> dict[str, str]:
    answer = world.send(Call("GET", ADDRESS))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    lines = answer.text.splitlines()
    assert answer.text == "".join(f"{line}\n" for line in lines)
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.parametrize(
    ("setting", "written"),
    [
        ("help@example.org", "mailto:help@example.org"),
        ("+963 11 123 4567", "tel:+963111234567"),
        ("https://example.org/help?a=1", "https://example.org/help?a=1"),
        ("https://example.org/مساعدة here", "https://example.org/%D9%85%D8%B3%D8%A7%D8%B9%D8%AF%D8%A9%20here"),
        ("https://example.org/%41", "https://example.org/%41"),
    ],
)
def test_the_support_contact_is_where_weaknesses_are_reported(quiet: InProcess, setting: str, written: str) -> None:
    quiet.change(site=Site("Levant Payments", contact(setting)))
    told = fields(quiet)
    assert list(told) == ["Contact", "Expires", "Preferred-Languages", "Canonical"]
    assert told["Contact"] == written
    assert told["Preferred-Languages"] == "en, ar, tr"
    assert told["Canonical"] == quiet.context.base_url + ADDRESS


def test_it_is_good_for_less_than_a_year_and_never_over(quiet: InProcess) -> None:
    quiet.change(site=Site("", contact("help@example.org")))
    for _ in range(3):
        now = datetime.fromtimestamp(quiet.now_ms() / 1000, UTC)
        expires = datetime.strptime(fields(quiet)["Expires"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        assert timedelta(days=90) < expires - now < timedelta(days=365)
        quiet.clock.advance(7 * 3600 * 1000)


def test_without_a_support_contact_there_is_no_such_file(quiet: InProcess) -> None:
    assert quiet.send(Call("GET", ADDRESS)).status_code == 404
