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
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?lang=tr")
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
    assert "no telephone number" in guest.text
    assert kept(guest) == ("", "en", True)


def test_no_number_is_fine_and_no_other_language_is(guest: Guest) -> None:
    assert guest.post(PAGE, phone=" ", language="xx", notices="yes").status_code == 422
    assert guest.post(PAGE, phone=" ", language="en", notices="yes").status_code == 303
    assert kept(guest) == ("", "en", True)
