"""The page on security: what it names is there, its numbers are right, and what it says that no other test holds."""

import ast
import logging
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from qirsh.domain.challenge import LASTS_MS
from qirsh.web.auth.password_policy import password_fault
from tests.guest import FORM, Guest
from tests.live import PASSWORD, PAYMENTS, PIN, Call, InProcess, in_process, sign_in
from tests.visitor import Visitor

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "docs/security.md").read_text()
ANSWERS: Final = ("met", "not met", "not ours")
REQUIREMENT: Final = re.compile(r"\| (\d+\.\d+\.\d+) \|([^|]*)\|([^|]*)\|([^|]*)\|")
ENDINGS: Final = "py|html|js|css|txt|md"
TEN_MINUTES_MS: Final = 10 * 60_000
WRONG_PIN: Final = "739214"


def rows(page: str) -> list[tuple[str, str, str, str]]:
    """Number, what is asked, answer and reason of each requirement. A line that begins like one is one."""
    found = []
    for line in page.splitlines():
        if re.match(r"\| *\d+\.\d+", line):
            row = REQUIREMENT.fullmatch(line)
            assert row is not None, line
            number, asked, answer, reason = (part.strip() for part in row.groups())
            found.append((number, asked, answer, reason))
    return found


def counted(page: str) -> dict[str, int]:
    """The numbers at the top."""
    return {answer: int(number) for answer, number in re.findall(r"^\| ([a-z ]+) \| (\d+) \|$", page, re.MULTILINE)}


def named(page: str) -> set[tuple[str, str]]:
    """Files between backquotes, each with the test in it if one is named."""
    return set(re.findall(rf"`([\w./-]+\.(?:{ENDINGS}))(?:::(\w+))?`", page))


def found(path: str) -> Path | None:
    """Of the package or of the whole."""
    return next((root / path for root in (ROOT / "src/qirsh", ROOT) if (root / path).is_file()), None)


@cache
def defined_in(path: Path) -> frozenset[str]:
    """The names of the tests that a file defines."""
    return frozenset(node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))


def wrong_names(page: str) -> list[str]:
    """What the page names and is not there."""
    wrong = []
    for path, test in sorted(named(page)):
        file = found(path)
        if file is None or (test and not (test.startswith("test_") and test in defined_in(file))):
            wrong.append(f"{path}::{test}" if test else path)
    return wrong


def test_every_file_and_test_that_is_named_is_there() -> None:
    assert len(named(PAGE)) > 100
    assert wrong_names(PAGE) == []
    # Nothing is named in a way that would not be looked for.
    assert set(re.findall(r"`([^`\n]*::[^`\n]*)`", PAGE)) == {f"{path}::{test}" for path, test in named(PAGE) if test}


def test_a_name_that_is_not_there_is_noticed() -> None:
    here = "tests/test_security_page.py"
    assert wrong_names(f"`web/nowhere.py` `{here}` `{here}::test_of_nothing` `{here}::rows` `engine/keyring.py`") == [
        f"{here}::rows",
        f"{here}::test_of_nothing",
        "web/nowhere.py",
    ]


def test_every_requirement_stands_once_with_one_of_three_answers_and_its_reason() -> None:
    numbers = [number for number, *_ in rows(PAGE)]
    assert len(numbers) == len(set(numbers)) > 100
    assert [row for row in rows(PAGE) if row[2] not in ANSWERS or not row[1] or not row[3]] == []
    # One that is met says by what: a file, a test, or a chapter of the docs.
    assert [row for row in rows(PAGE) if row[2] == "met" and not re.search(r"`|\]\(", row[3])] == []


def test_each_requirement_stands_in_its_chapter_and_in_order() -> None:
    for chapter in re.split(r"^## (?=\d)", PAGE, flags=re.MULTILINE)[1:]:
        places = [tuple(map(int, number.split("."))) for number, *_ in rows(chapter)]
        assert places == sorted(places)
        assert {place[0] for place in places} <= {int(chapter.partition(" ")[0])}


def test_the_numbers_at_the_top_are_those_of_the_tables() -> None:
    assert counted(PAGE) == Counter(answer for _, _, answer, _ in rows(PAGE))
    [total] = re.findall(r"253 requirements (\d+)\s+concern", PAGE)
    assert int(total) == len(rows(PAGE))


def test_chapters_that_the_page_points_to_are_there() -> None:
    for document, chapter in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", PAGE):
        text = (ROOT / "docs" / document).read_text() if document else PAGE
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        known = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
        assert chapter in known, f"{document}#{chapter}"


# What the page says and no other test holds.


@pytest.fixture(scope="module")
def house() -> Iterator[InProcess]:
    """A small world in a file."""
    with in_process() as held:
        yield held


@pytest.mark.parametrize(
    "password", ["82917364051893746150", "7391-5820-4417-9036", "!#$%&/()=?*+~^<>;:", "zkqvxwpjmrtb", "ZKQVXWPJMRTB"]
)
def test_a_password_may_have_any_kind_of_characters_alone(house: InProcess, password: str) -> None:
    about = ("Sara 4417", "2001739@home.example")
    assert house.run(password_fault(house.context, password, "en", *about)) == ""


@pytest.mark.parametrize("password", ["+963 944 123 456", "00963944123456", "1990-12-31-1990", "20262025202420"])
def test_numbers_that_people_have_anyway_are_no_passwords(house: InProcess, password: str) -> None:
    assert house.run(password_fault(house.context, password, "en"))


def test_a_code_that_proves_who_somebody_is_lasts_ten_minutes_at_most() -> None:
    assert {purpose: LASTS_MS[purpose] for purpose in ("pin", "factor")} == {
        "pin": TEN_MINUTES_MS,
        "factor": TEN_MINUTES_MS,
    }


def test_a_browser_forgets_what_it_was_shown_when_its_session_ends(house: InProcess) -> None:
    customer = house.customers[0]
    everywhere = "/wallet/security/sessions"
    for page, action, typed in (("/wallet", "/sign-out", {}), (everywhere, everywhere, {"password": PASSWORD})):
        guest = Guest(house)
        guest.sign_in(customer.email)
        guest.open(page)
        answer = guest.post(action, **typed)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert answer.headers["clear-site-data"] == '"cache"'


def test_every_picture_that_is_text_names_its_characters(house: InProcess) -> None:
    payment = house.payment(house.merchants[0])
    for path in ("/static/qirsh.svg", f"/pay/{payment}/qr"):
        assert house.send(Call("GET", path)).headers["content-type"] == "image/svg+xml; charset=utf-8"


def test_what_is_refused_is_logged_with_its_source_and_without_its_address(
    house: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    house.come_from("192.0.2.88")
    with caplog.at_level(logging.INFO):
        for _ in range(12):
            assert house.send(Call("GET", f"{PAYMENTS}/not-to-be-logged")).status_code == 401
        form = Guest(house).call("POST", "/reset/not-to-be-logged", b"token=x", content_type=FORM)
        assert house.send(form).status_code in {403, 404, 422}
    house.come_from("127.0.0.1")
    told = [record.getMessage() for record in caplog.records if "was refused" in record.getMessage()]
    assert [line.partition(" was refused: ")[2] for line in told[:2]] == [
        "unauthorized, nobody, from 192.0.2.88",
        "unauthorized, nobody, from 192.0.2.88, 10 in this hour",
    ]
    assert len(told) == 3
    assert "not-to-be-logged" not in caplog.text


def test_who_may_not_do_it_is_named_in_the_log(house: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    merchant, other = house.merchants[:2]
    payment = house.payment(other)
    house.come_from("192.0.2.89")
    with caplog.at_level(logging.INFO):
        assert house.send(Call("GET", f"{PAYMENTS}/{payment}", merchant.key)).status_code == 404
    house.come_from("127.0.0.1")
    assert f"was refused: not_found, account {merchant.account}, from 192.0.2.89" in caplog.text


def test_every_failed_sign_in_is_logged_and_every_good_one_with_what_proved_it(
    house: InProcess, caplog: pytest.LogCaptureFixture
) -> None:
    customer = house.customers[1]
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert house.send(sign_in(customer.email, "not the password")).status_code == 401
    told = [record.getMessage() for record in caplog.records if "could not prove" in record.getMessage()]
    assert len(told) == 3
    assert customer.email not in caplog.text
    assert house.send(sign_in(customer.email, PASSWORD)).status_code == 201
    with house.books() as books:
        [(detail,)] = books.select("SELECT detail FROM audit WHERE action = 'session.opened' ORDER BY id DESC LIMIT 1")
    assert detail == "password"


def test_wrong_pins_and_wrong_mailed_codes_are_logged(house: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    payer = Visitor(house, house.payment(house.merchants[0])).signed_in(house.customer())
    newcomer = Guest(house)
    house.change(has_mail=True)
    with caplog.at_level(logging.INFO):
        payer.confirm(WRONG_PIN)
        newcomer.open("/sign-up")
        newcomer.follow(newcomer.post("/sign-up", email="new@home.example"))
        typed = {"name": "New", "password": "seven green lamps at noon", "pin": PIN, "pin_again": PIN}
        assert newcomer.post("/sign-up/code", code="no code", **typed).status_code == 422
    told = [record.getMessage() for record in caplog.records if "could not prove" in record.getMessage()]
    assert [line.partition(" by ")[2] for line in told] == ["PIN, from 127.0.0.1", "mailed code, from 127.0.0.1"]
    assert WRONG_PIN not in caplog.text
    assert "new@home.example" not in caplog.text
