"""The front page, the footer and the operator's texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from qirsh.web.http.site import INFORMATION, Site, contact
from qirsh.web.site.information_files import BadInformationFile, read_information_files
from tests.guest import Guest
from tests.live import Call, InProcess

OPERATOR = "Levant <b>Payments</b>"


@pytest.fixture
def told(still: InProcess, tmp_path: Path) -> Iterator[InProcess]:
    """A service whose operator has said something: terms in two languages, and help in one for all."""
    (tmp_path / "terms.en.md").write_text("# Terms\n\nBe *kind*. <script>alert(1)</script>\n", encoding="utf-8")
    (tmp_path / "terms.ar.md").write_text("# الشروط\n\nكن لطيفًا.\n", encoding="utf-8")
    (tmp_path / "help.md").write_text(
        "# Aid\n\n[Call](https://example.org/) or [not](javascript:alert(1)).\n", encoding="utf-8"
    )
    still.change(site=Site(OPERATOR, contact("help@example.org"), read_information_files(tmp_path)), has_mail=True)
    yield still
    still.change(site=Site(), has_mail=False)


@pytest.mark.parametrize(
    ("language", "says"),
    [("en", "Pay online shops from one account."), ("ar", "ادفع للمتاجر"), ("tr", "İnternet mağazalarında")],
)
def test_a_stranger_sees_what_it_is_who_runs_it_and_three_doors(told: InProcess, language: str, says: str) -> None:
    guest = Guest(told, language)
    assert says in guest.read("/")
    assert "Levant &lt;b&gt;Payments&lt;/b&gt;" in guest.page
    for door in ("/sign-up", "/sign-in", "/business", "/docs"):
        assert f'href="{door}"' in guest.page


def test_who_is_signed_in_is_at_home_already(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    assert guest.ask("/").headers["location"] == "/wallet"


def test_without_mail_nobody_is_sent_to_create_an_account(still: InProcess) -> None:
    guest = Guest(still)
    guest.ask("/")
    assert "/sign-up" not in guest.page


def test_where_a_page_cannot_help_it_gives_the_address_of_support(told: InProcess) -> None:
    told.change(has_mail=False)
    visitor, customer = Guest(told), Guest(told).entered(told.customers[0])
    for guest, path in ((visitor, "/forgot"), (visitor, "/sign-up"), (customer, "/wallet/security/email")):
        guest.ask(path)
        assert "Contact support: help@example.org" in guest.text, path
    told.change(site=Site())
    visitor.ask("/forgot")
    assert "Contact the operator of this service." in visitor.text


def test_the_footer_of_every_page_names_the_operator_support_and_the_texts(told: InProcess) -> None:
    visitor, customer = Guest(told), Guest(told).entered(told.customers[0])
    payment = told.payment(told.merchants[0])
    for guest, paths in (
        (visitor, ("/", "/sign-in", "/sign-up", f"/pay/{payment}", "/docs", "/terms", "/pay/0000000000000000")),
        (customer, ("/wallet", "/wallet/history", "/business", "/wallet/security", f"/pay/{payment}")),
    ):
        for path in paths:
            guest.ask(path)
            for href in ("/help", "/terms", "/docs", "mailto:help@example.org"):
                assert f'href="{href}"' in guest.page, path
            assert 'href="/privacy"' not in guest.page
            assert "Levant &lt;b&gt;Payments" in guest.page


def test_a_text_is_shown_in_the_readers_language_or_in_the_one_there_is(told: InProcess) -> None:
    assert "Be kind" in Guest(told, "en").read("/terms")
    assert "كن لطيفًا" in Guest(told, "ar").read("/terms")
    assert "Be kind" in Guest(told, "tr").read("/terms")
    assert "Call" in Guest(told, "tr").read("/help")


def test_nothing_in_a_text_is_run(told: InProcess) -> None:
    guest = Guest(told)
    guest.ask("/terms")
    assert "&lt;script&gt;" in guest.page
    guest.ask("/help")
    assert 'href="https://example.org/"' in guest.page
    assert 'href="javascript' not in guest.page


@pytest.mark.parametrize("name", INFORMATION)
def test_a_text_that_nobody_wrote_is_not_there(still: InProcess, name: str) -> None:
    assert still.send(Call("GET", f"/{name}", headers=(("accept", "text/html"),))).status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("imprint.md", b"# Imprint\n", "name it after one of help, contact"),
        ("terms.de.md", b"# Bedingungen\n", "name it after one of help, contact"),
        ("terms.md", b"Without a title\n", "must begin with its title"),
        ("terms.md", b"# \xff\n", "not in UTF-8"),
        ("terms.md", b"# Terms\n" + b"x" * 300_000, "larger than 256 KiB"),
    ],
)
def test_a_text_that_cannot_be_shown_is_refused_in_words(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInformationFile, match=why):
        read_information_files(tmp_path)


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert read_information_files(tmp_path) == {}


def test_support_is_a_link(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        ("help@example.org", "help@example.org", "mailto:help@example.org"),
        ("+963 11 123-4567", "+963 11 123-4567", "tel:+963111234567"),
        ("https://example.org/help/", "example.org/help", "https://example.org/help/"),
    ]
    for text, shown, href in cases:
        with subtests.test(text=text, shown=shown, href=href):
            assert (contact(text).text, contact(text).href) == (shown, href)
