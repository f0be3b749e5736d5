"""Joining: the two steps, what is told beside which field, and that nobody learns which addresses are known."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import httpx2
import pytest
from argon2 import PasswordHasher

from qirsh.domain.command import Command
from qirsh.domain.limits import MAILS_ASKED_PER_HOUR, MAILS_TO_ONE_PER_HOUR
from qirsh.engine.batcher import Engine
from qirsh.engine.passwords import Passwords
from qirsh.web.auth.password_policy import pin_fault
from qirsh.web.http.rate_limit import RateLimits
from tests.guest import Guest
from tests.live import PASSWORD, PIN, InProcess, in_process, sign_in
from tests.mailbox import last_mail, mails_to, word_of
from tests.postgres import PostgresServer

T = TypeVar("T")

GOOD: Final = {
    "name": "Layla Haddad",
    "phone": "+963 944 123 456",
    "password": "seven green lamps at noon",
    "pin": "730482",
    "pin_again": "730482",
}
_ADDRESSES: Final = itertools.count(1)


@pytest.fixture(scope="module")
def door(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world that can send mail."""
    with in_process(engine, people=8) as world:
        world.change(has_mail=True)
        yield world


@pytest.fixture
def new(door: InProcess) -> str:
    """An address that nobody has."""
    door.clock.advance(1000)
    return f"new{next(_ADDRESSES)}@home.example"


def asked(door: InProcess, email: str, path: str = "/sign-up") -> Guest:
    """A browser on the second step."""
    guest = Guest(door)
    guest.open(path)
    answer = guest.post("/sign-up", email=email)
    guest.follow(answer)
    return guest


def code_to(door: InProcess, email: str) -> str:
    return word_of(last_mail(door, email), "code")


def other_than(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


@pytest.mark.both_engines
def test_two_steps_make_a_person_with_a_pin_who_is_signed_in(door: InProcess, new: str) -> None:
    guest = asked(door, f"  {new.upper()} ")
    assert f"We have sent an e-mail to {new} with" in guest.text
    before = dict(guest.cookies)
    answer = guest.post("/sign-up/code", code=code_to(door, new), **GOOD)
    assert (answer.status_code, answer.headers["location"], answer.content) == (303, "/wallet", b"")
    assert guest.is_signed_in()
    assert set(guest.cookies) - set(before) == {"qirsh", "qirsh-device"}
    assert "qirsh-joining" not in guest.cookies
    with door.books() as books:
        [row] = books.select(
            "SELECT p.name, p.phone, p.language, l.password_hash, n.failures FROM login l"
            " JOIN person p ON p.id = l.person JOIN pin n ON n.person = p.id WHERE l.email = ?",
            new,
        )
    assert row[:3] == (GOOD["name"], GOOD["phone"], "en")
    assert row[3].startswith("$argon2id$")
    assert GOOD["password"] not in row[3]
    assert row[4] == 0
    assert door.send(sign_in(new, GOOD["password"])).status_code == 201
    assert [mail.kind for mail in mails_to(door, new)] == ["sign_up_code"]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ({"name": "  Nasrin   Mi\u200cabad "}, {"name": "Nasrin Mi\u200cabad"}),  # A letter that nobody sees.
        ({"name": "Jose\u0301"}, {"name": "Jos\u00e9"}),
        ({"phone": "\u0660\u0669\u0664\u0664 \u0661\u0662\u0663 \u0664\u0665\u0666"}, {"phone": "0944 123 456"}),
        ({"phone": " (0944) 12-34-56 "}, {"phone": "(0944) 12-34-56"}),
        ({"phone": ""}, {"phone": ""}),
    ],
    ids=["a joiner", "composed", "Arabic digits", "brackets", "none"],
)
def test_names_and_numbers_are_taken_as_the_settings_take_them(
    door: InProcess, new: str, typed: dict[str, str], kept: dict[str, str]
) -> None:
    guest = asked(door, new)
    guest.post("/sign-up/code", code=code_to(door, new), **{**GOOD, **typed})
    with door.books() as books:
        [row] = books.select(
            "SELECT p.name, p.phone FROM login l JOIN person p ON p.id = l.person WHERE l.email = ?", new
        )
    assert dict(zip(("name", "phone"), row, strict=True)) == {"name": GOOD["name"], "phone": GOOD["phone"]} | kept


def test_who_came_to_pay_goes_on_to_the_payment_and_nowhere_else(door: InProcess, new: str) -> None:
    payment_id = door.payment(door.merchants[0])
    guest = asked(door, new, f"/sign-up?pay={payment_id}")
    assert guest.form("/sign-up/code")["pay"] == payment_id
    answer = guest.post("/sign-up/code", code=code_to(door, new), **GOOD)
    assert answer.headers["location"] == f"/pay/{payment_id}"
    for elsewhere in ("//evil.example", "https://evil.example", "1234567890123456/../..", "12345", "١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦"):
        other = Guest(door)
        other.open("/sign-up?pay=" + elsewhere)
        assert other.form("/sign-up")["pay"] == ""
        answer = other.post("/sign-up", email=new, pay=elsewhere)
        assert answer.headers["location"] == "/sign-up/code"


@pytest.mark.parametrize(
    ("next_page", "leads_to"),
    [
        ("/invitations/inv_0123456789abcdef01", "/invitations/inv_0123456789abcdef01"),
        ("https://evil.example", "/wallet"),
        ("//evil.example", "/wallet"),
        ("/sign-out", "/wallet"),
    ],
)
def test_who_came_for_a_page_of_ours_goes_on_to_it_and_nowhere_else(
    door: InProcess, new: str, next_page: str, leads_to: str
) -> None:
    guest = asked(door, new, f"/sign-up?next={next_page}")
    answer = guest.post("/sign-up/code", code=code_to(door, new), **GOOD)
    assert (answer.status_code, answer.headers["location"]) == (303, leads_to)


def test_a_name_that_turns_text_around_is_told_to_do_so(door: InProcess, new: str) -> None:
    guest = asked(door, new)
    guest.post("/sign-up/code", code="1", **{**GOOD, "name": "Layla \u202eHaddad"})
    assert set(guest.wrong) == {"name"}
    assert "hidden characters that change the direction" in guest.wrong["name"]
    guest.post("/sign-up/code", code="1", **{**GOOD, "name": "x" * 101})
    assert "at most 100 characters" in guest.wrong["name"]


def test_all_that_is_wrong_is_told_at_once_beside_its_field_and_costs_no_try(door: InProcess, new: str) -> None:
    guest = asked(door, new)
    answer = guest.post(
        "/sign-up/code", code="", name="", phone="call me", password="short", pin="123456", pin_again="1"
    )
    assert answer.status_code == 422
    assert set(guest.wrong) == {"code", "name", "phone", "password", "pin"}
    answer = guest.post("/sign-up/code", code="1", **{**GOOD, "pin_again": "1"})
    assert set(guest.wrong) == {"pin_again"}
    # What was typed stays, but for secrets.
    assert f'value="{GOOD["name"]}"' in guest.page
    assert f'value="{GOOD["phone"]}"' in guest.page
    assert GOOD["password"] not in guest.page
    assert GOOD["pin"] not in guest.page
    with door.books() as books:
        assert books.select("SELECT failures FROM challenge WHERE email = ?", new) == [(0,)]
    assert guest.post("/sign-up/code", code=code_to(door, new), **GOOD).status_code == 303


def test_a_wrong_code_says_how_many_tries_are_left_and_after_five_it_is_dead(door: InProcess, new: str) -> None:
    guest = asked(door, new)
    code = code_to(door, new)
    for left in (4, 3, 2, 1, 0):
        assert guest.post("/sign-up/code", code=other_than(code), **GOOD).status_code == 422
        assert (f"{left} more time" in guest.wrong["code"]) == (left > 0), guest.wrong
    assert guest.post("/sign-up/code", code=code, **GOOD).status_code == 422
    assert "no longer works" in guest.wrong["code"]
    # A new one can be asked for from the same page.
    door.clock.advance(1000)
    guest.follow(guest.post("/sign-up"))
    assert guest.post("/sign-up/code", code=code_to(door, new), **GOOD).status_code == 303


def test_a_code_works_once_for_half_an_hour_and_only_for_its_address_and_browser(door: InProcess, new: str) -> None:
    other = f"other-{new}"
    guest, stranger = asked(door, new), asked(door, other)
    code, foreign = code_to(door, new), code_to(door, other)
    if code != foreign:
        assert guest.post("/sign-up/code", code=foreign, **GOOD).status_code == 422
    # Who has seen the code but not asked for it has no form that fits, nor the cookie.
    thief = Guest(door)
    thief.cookies["qirsh-visit"] = guest.cookies["qirsh-visit"]
    taken = guest.posting("/sign-up/code", code=code, **GOOD)._replace(headers=())
    body = thief.call("POST", "/sign-up/code", taken.content, content_type="application/x-www-form-urlencoded")
    assert door.send(body).headers["location"] == "/sign-up"
    replay = guest.posting("/sign-up/code", code=code, **GOOD)
    assert door.send(replay).status_code == 303
    again = door.send(replay)
    assert again.status_code == 422
    assert "no longer works" in again.text
    door.clock.advance(30 * 60_000)
    assert stranger.post("/sign-up/code", code=foreign, **GOOD).status_code == 422
    assert "no longer works" in stranger.wrong["code"]


@pytest.mark.both_engines
def test_two_joins_at_once_make_one_person(door: InProcess, new: str) -> None:
    guest = asked(door, new)
    posting = guest.posting("/sign-up/code", code=code_to(door, new), **GOOD)
    answers = door.together([posting] * 4)
    assert sorted(answer.status_code for answer in answers) == [303, 422, 422, 422]
    with door.books() as books:
        assert books.select("SELECT count(*) FROM login WHERE email = ?", new) == [(1,)]


def test_a_form_of_one_tab_does_not_use_up_tries_of_the_address_in_another(door: InProcess, new: str) -> None:
    first = asked(door, new)
    second = Guest(door)
    second.cookies = first.cookies  # The same browser.
    second.open("/sign-up")
    second.follow(second.post("/sign-up", email=f"second-{new}"))
    assert first.post("/sign-up/code", code=code_to(door, new), **GOOD).status_code == 403
    with door.books() as books:
        assert books.select("SELECT failures FROM challenge WHERE email = ?", f"second-{new}") == [(0,)]


class Counted:
    """The engine, and how many commands it was given."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.meters, self.tracer = engine.meters, engine.tracer
        self.commands: list[str] = []

    async def submit(self, command: Command[Any]) -> Any:  # noqa: ANN401 - each has its own outcome
        self.commands.append(type(command).__name__)
        return await self._engine.submit(command)


class CountedPasswords(Passwords):
    """Quick ones, counted."""

    def __init__(self) -> None:
        super().__init__()
        self._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        self.works = 0

    async def run(self, work: Callable[[], T]) -> T:
        self.works += 1
        return await super().run(work)


def shape(answer: httpx2.Response) -> tuple[Any, ...]:
    """All of an answer that somebody outside sees, without what is random in every answer."""
    headers = [
        (name, len(value) if name in {"set-cookie", "x-request-id"} else value)
        for name, value in answer.headers.multi_items()
    ]
    return answer.status_code, headers, len(answer.content)


def test_known_and_unknown_addresses_get_the_same_answers_after_the_same_work(door: InProcess) -> None:
    known = f"{door.customers[0].email}"
    unknown = known.replace("person", "nobody")  # Of the same length.
    engine, passwords = Counted(door.context.engine), CountedPasswords()
    own = door.context.passwords
    door.change(engine=engine, passwords=passwords)
    door.run(passwords.verify(None, "warm"))
    seen = []
    for email in (known, unknown):
        door.clock.advance(1000)
        engine.commands, passwords.works = [], 0
        guest = Guest(door)
        answers = [guest.open("/sign-up"), guest.post("/sign-up", email=email)]
        answers += [guest.follow(answers[-1])]
        answers += [guest.post("/sign-up/code", code="000000", **GOOD) for _ in range(6)]
        texts = guest.text.replace(email, "")
        answers += [guest.open("/forgot"), guest.post("/forgot", email=email), guest.open("/forgot")]
        answers += [guest.open("/sign-in"), guest.post("/sign-in", email=email, password="wrong")]
        seen.append(([shape(answer) for answer in answers], texts, engine.commands, passwords.works))
    door.change(engine=door.context.engine, passwords=own)
    passwords.close()
    assert seen[0] == seen[1]
    assert seen[0][2].count("StartChallenge") == 2
    assert {mail.kind for mail in mails_to(door, known)} == {"already_joined", "reset_password"}
    assert [mail.kind for mail in mails_to(door, unknown)] == ["sign_up_code"]


def test_no_code_opens_a_second_account_for_a_known_address(door: InProcess) -> None:
    known = door.customer().email
    door.clock.advance(1000)
    guest = asked(door, known)
    mail = last_mail(door, known)
    assert mail.kind == "already_joined"
    assert set(mail.words) == {"sign_in_url"}
    assert word_of(mail, "sign_in_url") == f"{door.context.base_url}/sign-in"
    assert guest.post("/sign-up/code", code="123123", **GOOD).status_code == 422
    assert "4 more times" in guest.wrong["code"]


def test_no_header_puts_a_strangers_address_into_a_mail(door: InProcess, subtests: pytest.Subtests) -> None:
    known = door.customers[0].email
    cases: list[str] = ["host", "x-forwarded-host", "x-forwarded-proto", "forwarded"]
    for header in cases:
        with subtests.test(header=header):
            for path in ("/sign-up", "/forgot"):
                door.clock.advance(1000)
                guest, before = Guest(door), len(mails_to(door, known))
                guest.open(path)
                guest.world.send(guest.posting(path, email=known).with_header(header, "evil.example"))
                sent = mails_to(door, known)[before:]
                assert len(sent) == (header != "host"), "what is asked of another host is refused"
                assert not any("evil" in str(word) for mail in sent for word in mail.words.values())


def test_what_is_no_address_is_told_beside_the_field(door: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[str] = ["", "home.example", "a@b@c", "a b@home.example", "x" * 300 + "@home.example"]
    for email in cases:
        with subtests.test(email=email):
            guest = Guest(door)
            guest.open("/sign-up")
            assert guest.post("/sign-up", email=email).status_code == 422
            assert set(guest.wrong) == {"email"}


def test_without_mail_the_pages_say_so_and_nothing_is_written(door: InProcess, new: str) -> None:
    door.change(has_mail=False)
    try:
        guest = Guest(door)
        for path in ("/sign-up", "/forgot"):
            guest.open(path)
            assert "This service cannot send e-mail yet" in guest.text
            assert f'action="{path}"' not in guest.page
        guest.open("/sign-in")
        assert "/sign-up" not in guest.page
    finally:
        door.change(has_mail=True)
    assert mails_to(door, new) == []


def test_forms_from_elsewhere_do_nothing(door: InProcess, new: str) -> None:
    guest = Guest(door)
    guest.open("/sign-up")
    assert guest.post("/sign-up", email=new, token="0" * 64).status_code == 403
    guest.open("/sign-up")
    posting = guest.posting("/sign-up", email=new)
    assert door.send(posting.with_header("origin", "https://evil.example")).status_code == 403
    assert door.send(posting.with_header("sec-fetch-site", "cross-site")).status_code == 403
    guest.cookies.clear()  # The token of another browser.
    guest.open("/sign-in")
    stolen = guest.call("POST", "/sign-up", posting.content, content_type="application/x-www-form-urlencoded")
    assert door.send(stolen).status_code == 403
    assert mails_to(door, new) == []


def test_pages_speak_the_language_that_was_chosen_and_so_do_the_mails(door: InProcess, new: str) -> None:
    guest = Guest(door)
    guest.open("/sign-up?lang=tr")
    assert '<html lang="tr"' in guest.page
    guest.follow(guest.post("/sign-up", email=new))
    assert last_mail(door, new).language == "tr"
    guest.post("/sign-up/code", code=code_to(door, new), **GOOD)
    with door.books() as books:
        rows = books.select("SELECT language FROM person p JOIN login l ON l.person = p.id WHERE l.email = ?", new)
    assert rows == [("tr",)]


# Passwords and PINs.


def test_a_password_that_is_easy_to_guess_is_refused_with_its_reason(
    door: InProcess, subtests: pytest.Subtests
) -> None:
    guest = asked(door, "layla.haddad@home.example")
    cases: list[str] = [
        "password1234",
        "aaaaaaaaaaaaaaaa",
        "123456789012345",
        "qwertyuiopasdf",
        "abcdefghijklmnop",
        "iloveyou1234",
        "Layla Haddad 1",
        "a" * 1024,
        "abc" * 300,
    ]
    for password in cases:
        with subtests.test(password=password):
            door.clock.advance(1000)
            assert guest.post("/sign-up/code", code="1", **{**GOOD, "password": password}).status_code == 422
            assert set(guest.wrong) == {"password"}
            assert len(guest.wrong["password"]) > 30


@pytest.mark.parametrize(
    ("password", "is_fine"),
    [
        ("kedi masa bulut", True),
        ("كلمة سر طويلة", True),
        ("correct horse battery", True),
        ("z8#kQ2!vLp0x", True),
        ("z8#kQ2!vLp0", False),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-seven green lamps at noon", True),
        ("seven green lamps " * 56, True),
        ("x1 " * 341 + "zz", False),
        ("seven green lamps " * 56 + "123456789012345x", True),
        ("seven green lamps " * 56 + "123456789012345xy", False),
    ],
)
def test_long_and_foreign_passwords_are_judged_whole(
    door: InProcess, new: str, password: str, *, is_fine: bool
) -> None:
    guest = asked(door, new)
    answer = guest.post("/sign-up/code", code=code_to(door, new), **{**GOOD, "password": password})
    assert (answer.status_code == 303) == is_fine, guest.wrong
    if is_fine:
        assert door.send(sign_in(new, password)).status_code == 201
        # Nothing of it is left out.
        assert door.send(sign_in(new, password[:-1])).status_code == 401


def test_a_password_is_the_same_however_a_keyboard_composes_its_letters(door: InProcess, new: str) -> None:
    composed, apart = "caf\u00e9 \u00fcber dem Fluss", "cafe\u0301 u\u0308ber dem Fluss"
    guest = asked(door, new)
    guest.post("/sign-up/code", code=code_to(door, new), **{**GOOD, "password": apart})
    assert door.send(sign_in(new, composed)).status_code == 201
    assert door.send(sign_in(new, apart)).status_code == 201
    # Only that: case, spaces and look-alikes are different.
    for other in (composed.upper(), composed.replace(" ", ""), composed.replace("ss", "\u00df"), f"{composed} "):
        assert door.send(sign_in(new, other)).status_code == 401


def test_pins_that_are_tried_first_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[str] = ["123456", "111111", "000000", "654321", "890123", "121212", "123123", "246802"]
    for pin in cases:
        with subtests.test(pin=pin):
            assert pin_fault(pin, pin, "en")[0]


def test_other_pins_are_fine(subtests: pytest.Subtests) -> None:
    cases: list[str] = [PIN, "730482", "112358", "491871"]
    for pin in cases:
        with subtests.test(pin=pin):
            assert pin_fault(pin, pin, "en") == ("", "")


def test_a_pin_has_six_digits(subtests: pytest.Subtests) -> None:
    cases: list[str] = ["", "12345", "1234567", "١٢٣٤٥٦", "12345a", "73048 "]
    for pin in cases:
        with subtests.test(pin=pin):
            assert "six digits" in pin_fault(pin, pin, "en")[0]


# Throttling.


def test_an_address_and_a_source_get_a_few_mails_an_hour_and_are_told_when_to_try_again(
    engine: PostgresServer | None,
) -> None:
    with in_process(engine) as world:
        world.change(has_mail=True)
        world.limit(RateLimits(clock=lambda: 0))
        victim = world.customers[0].email
        before = len(mails_to(world, victim))
        for path in ("/sign-up", "/forgot"):  # Each has its own: one purpose takes no mail from another.
            for number in range(MAILS_TO_ONE_PER_HOUR + 1):
                world.come_from(f"192.0.2.{number}")
                guest = Guest(world)
                guest.open(path)
                answer = guest.post(path, email=victim)
                assert answer.status_code == (303 if number < MAILS_TO_ONE_PER_HOUR else 429)
            assert int(answer.headers["retry-after"]) > 600
            assert "Please try again in 15 minutes." in guest.text
        assert len(mails_to(world, victim)) == before + 2 * MAILS_TO_ONE_PER_HOUR
        world.come_from("198.51.100.1")
        codes = []
        for number in range(MAILS_ASKED_PER_HOUR + 1):
            guest = Guest(world)
            guest.open("/forgot")
            codes.append(guest.post("/forgot", email=f"n{number}@home.example").status_code)
        assert codes == [303] * MAILS_ASKED_PER_HOUR + [429]
        # Everybody else goes on.
        world.come_from("198.51.100.2")
        guest.open("/forgot")
        assert guest.post("/forgot", email="x@home.example").status_code == 303


def test_tries_of_a_code_are_throttled(engine: PostgresServer | None) -> None:
    with in_process(engine) as world:
        world.change(has_mail=True)
        world.limit(RateLimits(clock=lambda: 0))
        guest = asked(world, "new@home.example")
        codes = [guest.posting("/sign-up/code", code="1", **{**GOOD, "pin": ""}) for _ in range(25)]
        assert [answer.status_code for answer in world.together(codes)].count(429) == 5
        assert PASSWORD not in guest.page
