"""People say and show who they are: what is taken, what is kept of it, and what becomes of it."""

import asyncio
import struct
import threading
import zlib

import httpx2
import msgspec
import pytest

from qirsh.domain.limits import PICTURES_UNDER_WAY_MAX
from qirsh.engine.identity_facts import Facts, unseal_facts, unseal_picture
from qirsh.web.documents.picture_queue import in_turn
from tests.guest import Guest
from tests.live import InProcess, Live, World
from tests.mailbox import words_to
from tests.web.photo import picture

PAGE = "/wallet/identity"
FACTS = {
    "given_names": "مها Layla",
    "family_name": "<b>Şahin</b>",
    "birth_date": "1990-02-28",
    "document": "passport",
    "document_number": "N0CANARY77",
}


@pytest.fixture(autouse=True)
def _mail(still: InProcess) -> None:
    """A service that sends mail: without it nothing is written."""
    if not still.context.has_mail:
        still.change(has_mail=True)


def newcomer(world: World) -> tuple[Guest, str]:
    """At the form, and the number of their account."""
    person = world.person(verified=False)
    guest = Guest(world).signed_in(person.email)
    assert guest.open(PAGE).status_code == 200
    return guest, person.account


def submitted(world: World) -> tuple[Guest, str]:
    guest, account = newcomer(world)
    answer = guest.upload(PAGE, {"front": picture(), "back": picture("PNG")}, **FACTS)
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    guest.open(PAGE)
    return guest, account


@pytest.mark.both_engines
def test_what_is_sent_waits_encrypted_and_is_said_to_be_looked_at(still: InProcess) -> None:
    guest, account = submitted(still)
    assert "are checking them" in guest.text
    assert 'enctype="multipart' not in guest.page
    with still.books() as books:
        owner = books.select("SELECT owner FROM account WHERE number = ?", int(account))[0][0]
        [(state, sealed)] = books.select("SELECT state, facts_sealed FROM identity WHERE person = ?", owner)
        pictures = books.select("SELECT side, sealed FROM identity_image WHERE person = ? ORDER BY side", owner)
    assert state == "submitted"
    assert unseal_facts(still.context.keyring, bytes(sealed), owner) == msgspec.convert(FACTS, Facts)
    assert [side for side, _ in pictures] == ["back", "front"]
    for side, kept in pictures:
        plain = unseal_picture(still.context.keyring, bytes(kept), owner, side)
        assert plain is not None
        assert plain.startswith(b"\xff\xd8\xff")
    assert b"CANARY" not in bytes(sealed)


def test_what_is_wrong_stands_beside_its_field_and_the_rest_is_kept(
    still: InProcess, subtests: pytest.Subtests
) -> None:
    guest, account = newcomer(still)
    cases: list[tuple[str, str, str]] = [
        ("given_names", " ", "Enter your given names"),
        ("given_names", "a\u0007b", "Enter your given names"),
        ("given_names", "a\u202eb", "hidden characters that change the direction"),
        ("family_name", "\u2067Haddad\u2069", "hidden characters that change the direction"),
        ("family_name", "Haddad\u200f", "hidden characters that change the direction"),
        ("document_number", "\u200eN077", "hidden characters that change the direction"),
        ("family_name", "x" * 101, "Enter your family name"),
        ("birth_date", "2027-01-16", "This date is in the future."),
        ("birth_date", "9999-12-31", "This date is in the future."),
        ("birth_date", "2027-01-15", "at least 18"),
        ("birth_date", "1890-01-01", "day, month and year"),
        ("birth_date", "28.02.1990", "day, month and year"),
        ("birth_date", "2009-01-16", "at least 18"),  # The world's day is 2027-01-15.
        ("document", "library_card", "Choose the type of document"),
        ("document_number", "", "Enter the number"),
    ]
    for field, value, says in cases:
        with subtests.test(field=field, value=value, says=says):
            answer = guest.upload(PAGE, {"front": picture()}, **{**FACTS, field: value})
            assert answer.status_code == 422
            assert says in guest.text
            other = "family_name" if field == "given_names" else "given_names"
            assert guest.value(other) == FACTS[other]
            assert "<b>" not in guest.page
            assert still.run(still.tried("identity show", {"account": account})).code == "not_found"


def test_whoever_is_18_today_is_old_enough(still: InProcess) -> None:
    guest, _ = newcomer(still)
    assert guest.upload(PAGE, {"front": picture()}, **{**FACTS, "birth_date": "2009-01-15"}).status_code == 303


def bomb() -> bytes:
    """A few kilobytes that say they are a picture of ten thousand million pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(9))) + chunk(b"IEND", b"")


def test_only_pictures_are_taken_and_nothing_is_kept_of_others(still: InProcess, subtests: pytest.Subtests) -> None:
    guest, account = newcomer(still)
    cases: list[tuple[dict[str, bytes], str]] = [
        ({}, "Choose a photo of the front"),
        ({"back": picture()}, "Choose a photo of the front"),
        ({"front": b"%PDF-1.7"}, "We cannot read this file"),
        ({"front": b"<svg onload='alert(1)'/>"}, "We cannot read this file"),
        ({"front": picture()[:300]}, "We cannot read this file"),
        ({"front": bomb()}, "too many pixels"),
        ({"front": picture(), "back": bomb()}, "too many pixels"),
        ({"front": picture() + bytes(15 * 1024**2 + 1)}, "Choose one of at most 15 MB"),
    ]
    for files, says in cases:
        with subtests.test(says):
            assert guest.upload(PAGE, files, **FACTS).status_code == 422
            assert says in guest.text
            assert guest.value("document_number") == FACTS["document_number"]
            assert still.run(still.tried("identity show", {"account": account})).code == "not_found"


def test_two_tabs_send_once_and_the_first_counts(anywhere: World) -> None:
    guest, account = newcomer(anywhere)
    calls = [
        guest.uploading(PAGE, {"front": picture()}, **{**FACTS, "document_number": number}) for number in ("1", "2")
    ]
    assert [answer.status_code for answer in anywhere.together(calls)] == [303, 303]
    seen = anywhere.act("identity show", account=account)
    assert seen["documentNumber"] in {"1", "2"}
    with anywhere.books() as books:
        rows = books.select(
            "SELECT count(*) FROM audit WHERE action = 'identity.submitted' AND subject = ?", f"account {account}"
        )
    assert rows == [(1,)]


def test_a_form_that_comes_after_the_decision_changes_nothing(still: InProcess) -> None:
    guest, account = newcomer(still)
    late = guest.uploading(PAGE, {"front": picture()}, **FACTS)
    guest.upload(PAGE, {"front": picture()}, **FACTS)
    still.act("account verify", account=account)
    assert still.send(late).status_code == 303
    guest.open(PAGE)
    assert "Your identity is verified" in guest.text
    assert still.act("identity show", account=account)["state"] == "verified"


def test_a_rejection_says_why_and_the_form_comes_back_as_it_was_written(still: InProcess) -> None:
    still.change(has_mail=True)
    guest, account = submitted(still)
    still.act("identity reject", account=account, reason="The corners <i>are</i> cut off")
    wallet = guest.read("/wallet")
    assert "Your identity was not verified" in wallet
    assert "The corners <i>are</i> cut off" in wallet
    assert f'href="{PAGE}"' in guest.page
    assert words_to(still, guest.email)["identity_rejected"] == {
        "reason": "The corners <i>are</i> cut off",
        "identity_url": f"{still.settings.base_url}{PAGE}",
    }
    guest.open(PAGE)
    assert "The corners <i>are</i> cut off" in guest.text
    assert "<i>" not in guest.page
    assert guest.value("family_name") == FACTS["family_name"]
    again = guest.upload(PAGE, {"front": picture()}, **FACTS)
    assert again.status_code == 303
    still.act("account verify", account=account)
    assert set(words_to(still, guest.email)) == {"new_device", "identity_rejected", "identity_verified"}
    assert still.run(still.tried("identity reject", {"account": account, "reason": "x"})).code == "already_decided"


@pytest.mark.both_engines
def test_one_of_two_operators_who_decide_at_once_has_decided(still: InProcess) -> None:
    _, account = submitted(still)

    async def both() -> list[str]:
        yes = await still.tried("account verify", {"account": account})
        no = await still.tried("identity reject", {"account": account, "reason": "blurred"}, 1)
        return [yes.code, no.code]

    assert still.run(both()) == ["", "already_decided"]
    with still.books() as books:
        rows = books.select("SELECT action FROM audit WHERE subject = ? ORDER BY at, id", f"account {account}")
    assert [action for (action,) in rows] == ["identity.submitted", "account.verified"]


def test_every_look_of_an_operator_is_written_down_and_none_is_without_proof(still: InProcess) -> None:
    _, account = submitted(still)
    seen = still.act("identity show", account=account, pictures=True)
    assert (seen["givenNames"], seen["document"]) == (FACTS["given_names"], "passport")
    assert sorted(seen["pictures"]) == ["back", "front"]
    with still.books() as books:
        rows = books.select(
            "SELECT actor FROM audit WHERE action = 'identity.seen' AND subject = ?", f"account {account}"
        )
    assert len(rows) == 1
    assert account in {item["account"] for item in still.act("identity list")["items"]}


def test_a_strange_form_or_no_session_is_refused(still: InProcess) -> None:
    guest, _ = newcomer(still)
    assert guest.upload(PAGE, {"front": picture()}, **{**FACTS, "token": "0" * 64}).status_code == 403
    guest.cookies.clear()
    answer = guest.open(PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fwallet%2Fidentity")


def test_a_look_changes_nothing_and_more_than_two_pictures_are_refused_on_the_line(world: Live) -> None:
    guest, _ = newcomer(world)
    before = world.counts()
    guest.open(PAGE)
    assert world.counts() == before
    answer = guest.upload(PAGE, {"front": picture() + bytes(32_000_000)}, **FACTS)
    assert answer.status_code == 413
    assert world.counts() == before
    # With the form, which can be used at once.
    assert "Choose photos of at most 15 MB each." in guest.text
    assert guest.upload(PAGE, {"front": picture()}, **FACTS).status_code == 303


def test_a_photograph_of_the_largest_phone_is_taken(world: Live) -> None:
    guest, account = newcomer(world)
    photograph = picture(size=(8160, 6120))  # Fifty megapixels.
    photograph += bytes(14_000_000 - len(photograph))
    answer = guest.upload(PAGE, {"front": photograph, "back": photograph}, **FACTS)
    assert answer.status_code == 303
    assert world.act("identity show", account=account)["state"] == "submitted"


def test_each_picture_that_was_sent_says_that_it_must_be_chosen_again(still: InProcess) -> None:
    guest, _ = newcomer(still)
    guest.upload(PAGE, {"front": picture(), "back": b"%PDF-1.7"}, **FACTS)
    assert guest.wrong["front"] == "Choose this photo again."
    assert "We cannot read this file" in guest.wrong["back"]
    guest.upload(PAGE, {"front": picture()}, **{**FACTS, "document_number": ""})
    assert guest.wrong["front"] == "Choose this photo again."
    assert "back" not in guest.wrong


def test_when_too_many_pictures_are_checked_the_form_is_kept_and_a_moment_asked_for(still: InProcess) -> None:
    guest, account = newcomer(still)
    gate = threading.Event()

    async def beside_others() -> httpx2.Response:
        others = [asyncio.create_task(in_turn(-person, gate.wait)) for person in range(PICTURES_UNDER_WAY_MAX)]
        await asyncio.sleep(0)
        answer = await still.sent(guest.uploading(PAGE, {"front": picture()}, **FACTS))
        gate.set()
        await asyncio.gather(*others)
        return answer

    answer = guest.seen(still.run(beside_others()))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "send the form again in a few seconds" in guest.text
    assert guest.wrong == {"front": "Choose this photo again."}
    assert guest.value("document_number") == FACTS["document_number"]
    assert still.run(still.tried("identity show", {"account": account})).code == "not_found"
    assert guest.upload(PAGE, {"front": picture()}, **FACTS).status_code == 303


def test_who_is_signed_out_meanwhile_is_led_to_sign_in(world: Live) -> None:
    guest, _ = newcomer(world)
    large = guest.uploading(PAGE, {"front": picture() + bytes(1_000_000)}, **FACTS)
    guest.open("/wallet")
    guest.post("/sign-out")
    answer = world.send(large)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
