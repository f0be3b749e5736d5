"""How a business looks to its customers: its colour at once, its name and logo once an operator has approved them."""

import asyncio
import re
import struct
import zlib
from contextlib import closing
from hashlib import sha256
from io import BytesIO
from itertools import count
from typing import Any

import apsw
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from qirsh.domain.colour import contrast, is_readable
from qirsh.domain.limits import LOGO_BYTES_MAX, LOGO_SIDE_PIXELS_MAX, LOGO_UPLOAD_BYTES_MAX
from tests.guest import Guest
from tests.live import Call, InProcess, Live, Merchant, World, create, in_process
from tests.mailbox import words_to
from tests.visitor import Visitor
from tests.web.business.staff import home, join, owner
from tests.web.business.test_tills import opened
from tests.web.photo import picture

_NUMBERS = count(1)


def brand(merchant: Merchant) -> str:
    return f"{home(merchant)}/brand"


def set_colour(guest: Guest, merchant: Merchant, colour: str) -> int:
    guest.open(brand(merchant))
    return guest.post(f"{brand(merchant)}/colour", colour=colour).status_code


def request(guest: Guest, merchant: Merchant, logo: bytes | None = None, **typed: str) -> str:
    """The id of what waits then."""
    guest.open(brand(merchant))
    answer = guest.upload(brand(merchant), {} if logo is None else {"logo": logo}, **typed)
    assert (answer.status_code, answer.headers["location"]) == (303, brand(merchant)), guest.text
    guest.open(brand(merchant))
    assert "Waiting for approval" in guest.text
    return str(shown(guest.world, merchant)["id"])


def shown(world: World, merchant: Merchant, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - what an act takes
    return world.act("brand show", account=merchant.account, **more)


def approve(world: World, merchant: Merchant, change: str) -> None:
    world.act("brand approve", account=merchant.account, id=change)


def pay_page(world: World, merchant: Merchant, *, is_test: bool = False) -> Visitor:
    visitor = Visitor(world, world.data(create(merchant.test_key if is_test else merchant.key))["id"])
    visitor.open()
    return visitor


def logo_on(page: str) -> str:
    found = re.search(r'<img class="logo" src="(/brand/logo/[0-9a-f]{64})"', page)
    return found.group(1) if found else ""


def sheet_on(page: str) -> str:
    found = re.search(r'<link rel="stylesheet" href="(/brand/colour/[^"]*)"', page)
    return found.group(1) if found else ""


def drawn() -> bytes:
    """A logo as designers make them, transparent, with a word about them in it, and unlike any other."""
    image = Image.new("RGBA", (600, 300), (0, 0, 0, 0))
    image.paste((200, *divmod(next(_NUMBERS), 256), 255), (0, 0, 150, 150))
    told = PngInfo()
    told.add_text("Author", "Somebody in Aleppo")
    out = BytesIO()
    image.save(out, "PNG", pnginfo=told)
    return out.getvalue()


def bomb() -> bytes:
    """A few kilobytes that say they are a picture of ten thousand million pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(9))) + chunk(b"IEND", b"")


# Colour.


def test_a_colour_holds_at_once_on_live_and_test_payments_and_can_be_taken_back(still: InProcess) -> None:
    boss, merchant = owner(still)
    assert sheet_on(pay_page(still, merchant).page) == ""
    assert set_colour(boss, merchant, "#b0302a") == 303
    assert 'value="#b0302a"' in boss.open(brand(merchant)).text
    sheets = {sheet_on(pay_page(still, merchant, is_test=is_test).page) for is_test in (False, True)}
    [sheet] = sheets
    answer = still.send(Call("GET", sheet))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "background: #b0302a; color: #ffffff" in answer.text
    assert set_colour(boss, merchant, "") == 303
    assert sheet_on(pay_page(still, merchant).page) == ""
    assert "Changed the colour" in boss.read(f"{home(merchant)}/activity")


def test_a_colour_on_which_text_cannot_be_read_is_kept_in_the_form_and_the_nearest_is_offered(still: InProcess) -> None:
    boss, merchant = owner(still)
    assert set_colour(boss, merchant, "#ff0000") == 422
    assert boss.wrong["colour"] == "Text on this colour would be hard to read."
    assert boss.value("colour") == "#ff0000"
    [offered] = re.findall(r'name="colour" value="(#\w{6})"', boss.page)
    assert is_readable(offered)
    assert contrast(offered, "#ff0000") < 1.25
    # One touch: the second form has all that it takes.
    second = boss.page[boss.page.index(f'value="{offered}"') - 400 :]
    [token] = re.findall(r'name="token" value="([^"]*)"', second)[:1]
    boss.follow(boss.post(f"{brand(merchant)}/colour", {"token": token, "colour": offered}))
    assert "Customers see it from now on" in boss.text
    assert sheet_on(pay_page(still, merchant).page).startswith(f"/brand/colour/{offered[1:]}")


def test_what_is_no_colour_is_refused(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[str] = ["red", "#fff", "#12345", "#ff000g", "#0f5c4d;}body{display:none", "url(//evil)"]
    for colour in cases:
        with subtests.test(colour=colour):
            assert set_colour(boss, merchant, colour) == 422
            assert boss.wrong["colour"] == "Choose a colour."


def test_there_is_no_style_sheet_of_anything_else(still: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[str] = ["ff0000", "FFFFFF", "fff", "0f5c4d;", "none", "0f5c4d.css"]
    for name in cases:
        with subtests.test(name=name):
            assert still.send(Call("GET", f"/brand/colour/{name}")).status_code == 404


# Name and logo.


def test_the_old_name_and_logo_stay_until_an_operator_approves(still: InProcess) -> None:
    boss, merchant = owner(still)
    change = request(boss, merchant, drawn(), name="Nour & <Sons>")
    visitor = pay_page(still, merchant)
    assert "Nour" not in visitor.text
    assert logo_on(visitor.page) == ""
    seen = shown(still, merchant, pictures=True)
    assert (seen["newName"], seen["logo"]) == ("Nour & <Sons>", "none")
    approve(still, merchant, change)
    for is_test in (False, True):
        visitor = pay_page(still, merchant, is_test=is_test)
        assert "Nour & <Sons>" in visitor.text
        assert 'alt="Nour &amp; &lt;Sons&gt;"' in visitor.page
        assert logo_on(visitor.page) == f"/brand/logo/{seen['newLogo']}"
    assert still.data(Call("GET", "/api/v1/me", merchant.key))["name"] == "Nour & <Sons>"
    told = words_to(still, merchant.email)["brand_approved"]
    assert told == {"name": "Nour & <Sons>", "url": f"{still.settings.base_url}{brand(merchant)}"}
    activity = boss.read(f"{home(merchant)}/activity")
    assert "Requested another name or logo" in activity
    assert "Approved the new name or logo" in activity


def test_a_receipt_and_a_page_of_a_payment_that_is_over_show_the_logo_too(still: InProcess) -> None:
    boss, merchant = owner(still)
    approve(still, merchant, request(boss, merchant, drawn(), name="Shop"))
    customer = still.customer()
    visitor = pay_page(still, merchant).signed_in(customer)
    visitor.confirm()
    visitor.open()
    [receipt] = re.findall(r'href="[^"]*(/receipt/[^"/]*)"', visitor.page)
    guest = Guest(still)
    guest.open(receipt)
    assert logo_on(guest.page)
    # The name is kept in one place: what was paid before is told under the new one too.
    approve(still, merchant, request(boss, merchant, name="Dar Al-Sham"))
    guest.open(receipt)
    assert "Dar Al-Sham" in guest.text
    assert "Dar Al-Sham" in Guest(still).signed_in(customer).read("/wallet/history")


@pytest.mark.parametrize("is_test", [False, True])
def test_a_till_wears_the_colour_and_the_logo(still: InProcess, *, is_test: bool) -> None:
    boss, merchant = owner(still)
    set_colour(boss, merchant, "#0b3d91")
    approve(still, merchant, request(boss, merchant, drawn(), name="Nour"))
    till = opened(boss, merchant._replace(account=merchant.test_account) if is_test else merchant)
    customer = Guest(still)
    customer.open(f"/till/{till}")
    assert "Nour" in customer.text
    assert logo_on(customer.page)
    assert sheet_on(customer.page)


def test_a_logo_is_drawn_anew_small_and_without_metadata(still: InProcess) -> None:
    boss, merchant = owner(still)
    approve(still, merchant, request(boss, merchant, drawn(), name="Shop"))
    answer = still.send(Call("GET", logo_on(pay_page(still, merchant).page)))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    image = Image.open(BytesIO(answer.content))
    assert image.size == (LOGO_SIDE_PIXELS_MAX, LOGO_SIDE_PIXELS_MAX // 2)
    assert image.convert("RGBA").getpixel((200, 100)) == (0, 0, 0, 0)
    assert set(image.info) <= {"transparency"}
    assert b"Aleppo" not in answer.content
    assert len(answer.content) <= LOGO_BYTES_MAX


def test_a_logo_that_waits_is_under_no_address(still: InProcess) -> None:
    boss, merchant = owner(still)
    request(boss, merchant, drawn(), name="Shop")
    assert 'src="data:image/png;base64,' in boss.page
    digest = shown(still, merchant)["newLogo"]
    for guest in (Guest(still), boss, join(still, merchant, "manager", boss)):
        assert still.send(guest.call("GET", f"/brand/logo/{digest}")).status_code == 404
    with still.books() as books:
        [(kept,)] = books.select("SELECT picture FROM brand_change WHERE account = ?", int(merchant.account))
    assert sha256(bytes(kept)).hexdigest() == digest
    boss.open(brand(merchant))
    boss.follow(boss.post(f"{brand(merchant)}/withdraw"))
    assert "was withdrawn" in boss.text
    with still.books() as books:
        assert books.select("SELECT picture FROM brand_change WHERE account = ?", int(merchant.account)) == [(b"",)]


def test_a_picture_that_somebody_changed_in_the_database_is_not_shown() -> None:
    with in_process(shops=1, people=0) as world:
        boss, merchant = owner(world)
        approve(world, merchant, request(boss, merchant, drawn(), name="Shop"))
        address = logo_on(pay_page(world, merchant).page)
        assert world.send(Call("GET", address)).status_code == 200
        with closing(apsw.Connection(str(world.settings.database))) as hand:
            hand.execute("UPDATE brand SET picture = ?", (picture("PNG"),))
        assert world.send(Call("GET", address)).status_code == 404


def test_a_digest_of_nothing_leads_nowhere(still: InProcess, subtests: pytest.Subtests) -> None:
    cases: list[str] = ["none", "a" * 64, "A" * 64, "a" * 63, "%00", "..%2F"]
    for digest in cases:
        with subtests.test(digest=digest):
            assert still.send(Call("GET", f"/brand/logo/{digest}")).status_code == 404


@pytest.mark.parametrize(
    ("logo", "says"),
    [
        (b"%PDF-1.7", "We cannot read this file"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "We cannot read this file"),
        (b"GIF89a", "We cannot read this file"),
        (drawn()[:200], "We cannot read this file"),
        (picture()[:300], "We cannot read this file"),
        (bomb(), "too many pixels"),
    ],
    ids=["pdf", "svg", "gif", "half a png", "half a jpeg", "bomb"],
)
def test_only_pictures_are_taken_and_what_was_typed_is_kept(still: InProcess, logo: bytes, says: str) -> None:
    boss, merchant = owner(still)
    boss.open(brand(merchant))
    assert boss.upload(brand(merchant), {"logo": logo}, name="New name").status_code == 422
    assert says in boss.wrong["logo"]
    assert boss.value("name") == "New name"
    assert still.run(still.tried("brand show", {"account": merchant.account})).code == "not_found"


def test_a_file_that_is_too_large_is_refused_beside_its_field(world: Live) -> None:
    merchant = world.merchants[0]
    boss = Guest(world).signed_in(merchant.email)
    # By the handler, and by the connection, which does not take so much.
    for more, status in ((1, 422), (100_000, 413)):
        boss.open(brand(merchant))
        body = picture() + bytes(LOGO_UPLOAD_BYTES_MAX + more - len(picture()))
        assert boss.upload(brand(merchant), {"logo": body}, name="New name").status_code == status
        assert boss.wrong["logo"] == "This file is too large. Choose one of at most 4 MB."
    # The same bytes to a page that takes no pictures, and of somebody else's business.
    for path, status in ((f"{brand(merchant)}/colour", 413), ("/business/123456789012/brand", 404)):
        call = boss.call(
            "POST", path, bytes(200_000), content_type="multipart/form-data; boundary=x", accept="text/html"
        )
        assert world.send(call).status_code == status


def test_what_is_wrong_with_a_name_stands_beside_it(still: InProcess, subtests: pytest.Subtests) -> None:
    boss, merchant = owner(still)
    cases: list[tuple[str, str]] = [
        ("", "Enter the name of the business"),
        ("x" * 101, "at most 100 characters"),
        ("Shop ✓", "without check marks"),
        ("Shop\u202e", "without check marks"),
        ("Shop", "already"),
    ]
    for name, says in cases:
        with subtests.test(name=name, says=says):
            boss.open(brand(merchant))
            assert boss.upload(brand(merchant), {}, name=name).status_code == 422
            assert says in boss.wrong["name"]
            boss.open(brand(merchant))
            boss.upload(brand(merchant), {"logo": picture()}, name="Shop ✓")
            assert boss.wrong["logo"] == "Please choose the file again."


def test_a_newer_request_replaces_the_one_that_waits_and_the_operator_approves_what_they_saw(still: InProcess) -> None:
    boss, merchant = owner(still)
    first = request(boss, merchant, drawn(), name="First name")
    logo = shown(still, merchant)["newLogo"]
    second = request(boss, merchant, name="Second name")
    assert first != second
    assert shown(still, merchant)["newLogo"] == logo
    for act in ("brand approve", "brand refuse"):
        words = {"account": merchant.account, "id": first, "reason": "x"}
        assert still.run(still.tried(act, words)).code == "changed_meanwhile"
    approve(still, merchant, second)
    assert "Second name" in pay_page(still, merchant).text
    third = request(boss, merchant, name="Second name", no_logo="yes")
    approve(still, merchant, third)
    assert logo_on(pay_page(still, merchant).page) == ""
    assert still.send(Call("GET", f"/brand/logo/{logo}")).status_code == 404


@pytest.mark.both_engines
def test_one_of_two_operators_who_decide_at_once_has_decided(still: InProcess) -> None:
    boss, merchant = owner(still)
    words = {"account": merchant.account, "id": request(boss, merchant, name="New name"), "reason": "no"}

    async def both() -> list[str]:
        done = asyncio.gather(still.tried("brand approve", words), still.tried("brand refuse", words, 1))
        return [reply.code for reply in await done]

    yes, no = still.run(both())
    assert (yes == "") != (no == "")
    assert {yes, no} - {""} <= {"move_not_allowed", "not_found"}
    assert ("New name" in pay_page(still, merchant).text) == (yes == "")
    assert ("brand_approved" in words_to(still, merchant.email)) == (yes == "")
    assert ("brand_refused" in words_to(still, merchant.email)) == (no == "")


def test_one_form_asks_once_and_a_colleague_s_request_is_not_replaced_unseen(still: InProcess) -> None:
    boss, merchant = owner(still)
    manager = join(still, merchant, "manager", boss)
    for guest in (boss, manager):
        guest.open(brand(merchant))
    call = boss.uploading(brand(merchant), {"logo": drawn()}, name="Boss's name")
    assert [answer.status_code for answer in still.together([call, call])] == [303, 303]
    assert manager.upload(brand(merchant), {}, name="Manager's name").status_code == 409
    assert "since you opened the page" in manager.wrong["name"]
    assert manager.value("name") == "Manager's name"
    assert "Boss's name" in manager.text
    assert shown(still, merchant)["newName"] == "Boss's name"
    with still.books() as books:
        rows = books.select(
            "SELECT count(*) FROM audit WHERE action = 'account.brand_requested' AND subject = ?",
            f"account {merchant.account}",
        )
    assert rows == [(1,)]
    # Now that they have seen it.
    manager.open(brand(merchant))
    assert manager.upload(brand(merchant), {}, name="Manager's name").status_code == 303


def test_a_refusal_is_mailed_and_shown_with_its_reason(still: InProcess) -> None:
    boss, merchant = owner(still)
    change = request(boss, merchant, name="Central Bank")
    still.act("brand refuse", account=merchant.account, id=change, reason="You are <b>no</b> bank")
    assert "You are <b>no</b> bank" in boss.read(brand(merchant))
    assert "<b>no" not in boss.page
    told = words_to(still, merchant.email)["brand_refused"]
    assert (told["name"], told["reason"]) == ("Shop", "You are <b>no</b> bank")
    assert "Central Bank" not in pay_page(still, merchant).text
    words = {"account": merchant.account, "id": change}
    assert still.run(still.tried("brand approve", words)).code == "not_found"


def test_operators_are_warned_of_names_that_look_alike(still: InProcess) -> None:
    boss, merchant = owner(still)
    other = still.merchant()
    other_boss = Guest(still).signed_in(other.email)
    approve(still, other, request(other_boss, other, name="Yasmin Books"))
    request(boss, merchant, name="Yаsmin Bооks")  # noqa: RUF001 - with Cyrillic letters
    [listed] = [item for item in still.act("brand list", after="")["items"] if item["account"] == str(merchant.account)]
    assert str(other.account) in listed["resembles"]
    assert "Yasmin Books" in shown(still, merchant)["resembles"]


def test_a_suspended_shop_changes_nothing_and_nothing_is_approved_for_it(still: InProcess) -> None:
    boss, merchant = owner(still)
    change = request(boss, merchant, name="New name")
    boss.open(brand(merchant))
    calls = [
        boss.posting(f"{brand(merchant)}/colour", colour="#0f5c4d"),
        boss.uploading(brand(merchant), {"logo": picture()}, name="Newer name"),
        boss.posting(f"{brand(merchant)}/withdraw"),
    ]
    still.act("account suspend", account=merchant.account)
    assert [answer.status_code for answer in map(still.send, calls)] == [403, 403, 403]
    words = {"account": merchant.account, "id": change}
    assert still.run(still.tried("brand approve", words)).code == "account_suspended"
    assert "New name" not in still.act("account show", account=merchant.account)["name"]
    boss.open(brand(merchant))
    assert "<form" not in boss.page[boss.page.index("<h1>") : boss.page.index("</main>")]


def test_a_customer_who_saw_the_old_name_does_not_pay_under_the_new_one(still: InProcess) -> None:
    boss, merchant = owner(still)
    visitor = pay_page(still, merchant).signed_in(still.customer())
    approve(still, merchant, request(boss, merchant, name="New name"))
    visitor.follow(visitor.confirm())
    assert "has changed since you opened it" in visitor.text
    assert not visitor.has_paid()


def test_pictures_have_an_end_and_the_form_says_so(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    boss, merchant = owner(still)
    boss.open(brand(merchant))
    monkeypatch.setattr("qirsh.web.documents.picture_queue.PICTURES_UNDER_WAY_MAX", 0)
    answer = boss.upload(brand(merchant), {"logo": picture()}, name="New name")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "try again in a few seconds" in boss.wrong["logo"]
    assert boss.value("name") == "New name"


def test_brands_work_on_every_engine(anywhere: World) -> None:
    merchant = anywhere.merchants[0]
    boss = Guest(anywhere).signed_in(merchant.email)
    assert set_colour(boss, merchant, "#0b3d91") == 303
    change = request(boss, merchant, drawn(), name="Nour's Shop")
    listed = anywhere.act("brand list", after="")["items"]
    assert change in [item["id"] for item in listed]
    approve(anywhere, merchant, change)
    visitor = pay_page(anywhere, merchant)
    assert sheet_on(visitor.page).startswith("/brand/colour/0b3d91")
    assert anywhere.send(Call("GET", logo_on(visitor.page))).status_code == 200
    request(boss, merchant, name="Shop")
    approve(anywhere, merchant, shown(anywhere, merchant)["id"])
