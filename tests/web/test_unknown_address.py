"""Addresses that lead nowhere: people see a page in their language and a way on, programs JSON."""

import pytest

from tests.live import Call, Live, refused

BROWSER = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")


def opened(path: str, language: str = "en") -> Call:
    return Call("GET", path, headers=(BROWSER, ("accept-language", language)))


def test_a_browser_sees_a_page_with_a_way_on(world: Live, subtests: pytest.Subtests) -> None:
    for path in ("/nowhere", "/wallet/nowhere", "/pay/1/nowhere", "/x/", "/%2e%2e"):
        with subtests.test(path):
            for language, title in (("en", "Page not found"), ("ar", "الصفحة غير موجودة"), ("tr", "Sayfa bulunamadı")):
                answer = world.send(opened(path, language))
                assert answer.status_code == 404
                assert answer.headers["content-type"] == "text/html; charset=utf-8"
                assert title in answer.text
                assert 'href="/"' in answer.text


def test_a_program_hears_it_in_json(world: Live, subtests: pytest.Subtests) -> None:
    for path in ("/nowhere", "/wallet/", "/api/v1/nowhere"):
        with subtests.test(path):
            refused(world.send(Call("GET", path)), 404, "unknown_address")


def test_below_the_api_it_is_json_for_browsers_too(world: Live) -> None:
    refused(world.send(opened("/api/v1/nowhere")), 404, "unknown_address")


def test_a_slash_too_many_or_a_number_too_few_leads_on(world: Live, subtests: pytest.Subtests) -> None:
    for path, leads_to in (
        ("/docs/", "/docs"),
        ("/wallet/", "/wallet"),
        ("/sign-in/?lang=ar", "/sign-in?lang=ar"),
        ("/pay", "/wallet/pay"),
    ):
        with subtests.test(path):
            answer = world.send(opened(path))
            assert (answer.status_code, answer.headers["location"]) == (303, leads_to)


def test_what_is_posted_is_not_led_elsewhere(world: Live) -> None:
    answer = world.send(opened("/sign-in/")._replace(method="POST", content=b""))
    assert answer.status_code == 404
