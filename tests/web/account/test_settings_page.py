"""How a person is reached: what is taken, and that pages follow the language of mails."""

import pytest

from tests.guest import Guest
from tests.live import InProcess

PAGE = "/wallet/settings"


@pytest.fixture
def guest(still: InProcess) -> Guest:
    visitor = Guest(still).signed_in(still.person(verified=False).email)
    visitor.open(PAGE)
    return visitor


def kept(guest: Guest) -> tuple[str, str, bool]:
    with guest.world.books() as books:
        [(phone, language, notices)] = books.select(
            "SELECT phone, language, has_notices FROM person WHERE id = (SELECT person FROM login WHERE email = ?)",
            guest.email,
        )
    return phone, language, bool(notices)


def test_what_is_saved_is_shown_and_the_page_speaks_the_language(guest: Guest) -> None:
    answer = guest.post(PAGE, phone="٠٩٣٣ 123-456", language="tr", notices="")
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    guest.open(answer.headers["location"])
    assert kept(guest) == ("0933 123-456", "tr", False)
    assert '<html lang="tr"' in guest.page
    assert guest.value("phone") == "0933 123-456"
    guest.open(PAGE)
    assert '<html lang="tr"' in guest.page


@pytest.mark.parametrize("phone", ["abc", "1234", "+1 <script>", "1" * 33, "12345\u202e"])
def test_what_is_no_number_is_refused_and_kept_on_the_page(guest: Guest, phone: str) -> None:
    assert guest.post(PAGE, phone=phone, language="ar", notices="yes").status_code == 422
    assert guest.value("phone") == phone
    assert "a valid phone number" in guest.text
    assert kept(guest) == ("", "en", True)


def test_no_number_is_fine_and_no_other_language_is(guest: Guest) -> None:
    assert guest.post(PAGE, phone=" ", language="xx", notices="yes").status_code == 422
    assert guest.post(PAGE, phone=" ", language="en", notices="yes").status_code == 303
    assert kept(guest) == ("", "en", True)


def test_the_switch_of_a_page_is_kept_for_who_is_signed_in(guest: Guest) -> None:
    guest.post(PAGE, phone="0933 123456", language="en", notices="")
    guest.read("/wallet/history", kind="pay", words="a & b")
    form = guest.form("/wallet/language")
    answer = guest.post("/wallet/language", form, language="ar")
    assert (answer.status_code, answer.headers["location"]) == (303, "/wallet/history?kind=pay&words=a+%26+b")
    # Pages and mails, and nothing else of the settings.
    assert kept(guest) == ("0933 123456", "ar", False)
    guest.open(answer.headers["location"])
    assert '<html lang="ar"' in guest.page
    guest.open(PAGE)
    assert 'value="ar" selected' in guest.page
    # So saving them does not turn the page back.
    guest.post(PAGE, phone="0933 123456", language="ar", notices="")
    guest.open(PAGE)
    assert '<html lang="ar"' in guest.page


def test_saving_settings_leaves_a_page_that_speaks_another_language_alone(still: InProcess) -> None:
    """Somebody whom an operator has added in English, with a browser that asks for Arabic."""
    guest = Guest(still, "ar").signed_in(still.person(verified=False).email)
    guest.open(PAGE)
    assert '<html lang="ar"' in guest.page
    assert guest.post(PAGE, phone="0933 123456", language="en", notices="yes").headers["location"] == PAGE
    guest.open(PAGE)
    assert '<html lang="ar"' in guest.page
    assert kept(guest) == ("0933 123456", "en", True)


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "", "/a\r\nx: y", "wallet"]
)
def test_the_switch_leads_to_no_other_site(guest: Guest, back: str) -> None:
    answer = guest.post("/wallet/language", language="tr", back=back)
    assert (answer.status_code, answer.headers["location"]) == (303, "/wallet")


def test_the_switch_takes_its_own_forms_and_languages_only(guest: Guest) -> None:
    form = guest.form("/wallet/language")
    assert guest.post("/wallet/language", form | {"token": "x"}, language="tr").status_code == 403
    assert guest.post("/wallet/language", form, language="xx").status_code == 422
    assert kept(guest)[1] == "en"


def test_who_is_not_signed_in_switches_by_a_link(still: InProcess) -> None:
    guest = Guest(still)
    guest.open("/sign-in")
    assert 'href="?lang=ar"' in guest.page
    assert "/wallet/language" not in guest.page
