"""The wallet's pages: what there is, what moved, and the ways to a payment."""

# Arabic digits and signs are meant as they stand.
# ruff: noqa: RUF001

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest
import segno

from qirsh.domain import limits
from qirsh.domain.identifier import check_digit
from qirsh.domain.money import CURRENCIES
from qirsh.language.figures import money, typed_amount
from tests.altered import alter
from tests.guest import Guest
from tests.live import FUNDS, Call, InProcess, Merchant, in_process, refund
from tests.postgres import PostgresServer
from tests.web.tills import new_till

DAY_MS: Final = 24 * 3600 * 1000
PAGES: Final = (
    "/wallet", "/wallet/history", "/wallet/statement", "/wallet/statement.csv", "/wallet/statement.pdf",
    "/wallet/pay", "/wallet/payouts",
)  # fmt: skip


def shop(world: InProcess, name: str) -> Merchant:
    merchant = world.merchant()
    alter(world, merchant.account, name=name)
    return merchant


@pytest.fixture(scope="module")
def moving(engine: PostgresServer | None) -> Iterator[InProcess]:
    """A world whose clock goes on for days: whoever is in it signs in again."""
    with in_process(engine, shops=0, people=0) as world:
        yield world


def rows(page: str) -> list[str]:
    """The lines of the list, without their marks."""
    found = re.findall(r"<li>(.*?)</li>", page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in found]


# The first page.


def balances(page: str) -> list[tuple[str, str]]:
    """As the first page shows them, the large one first."""
    return re.findall(r'<p class="amount[^"]*"><bdi class="num">([\d.,]+)</bdi> <span class="cur">(\w+)</span>', page)


def test_the_balance_that_moved_last_stands_first_and_empty_ones_nowhere(still: InProcess) -> None:
    person = still.person(verified=True)
    guest = Guest(still).entered(person)
    assert person.account in guest.read("/wallet")
    assert balances(guest.page) == [("0.00", next(iter(CURRENCIES)))]
    for amount, currency in ((500, "USD"), (10098, "TRY")):
        still.clock.advance(1000)
        still.deposit(person.account, amount, currency)
        guest.read("/wallet")
        assert balances(guest.page)[0] == (f"{amount / 100:.2f}", currency)
    assert sorted(balances(guest.page)) == [("100.98", "TRY"), ("5.00", "USD")]


def test_who_is_suspended_is_offered_no_payment(still: InProcess) -> None:
    person = still.person(verified=True)
    guest = Guest(still).entered(person)
    guest.read("/wallet")
    assert '<a class="button " href="/wallet/pay">' in guest.page
    still.act("account suspend", account=person.account)
    guest = Guest(still).entered(person)  # They were signed out.
    text = guest.read("/wallet")
    assert "Your account is suspended" in text
    assert "Contact the operator of this service." in text
    assert '<a class="button " href="/wallet/pay">' not in guest.page


@pytest.mark.parametrize(("amount", "en", "tr"), [(10098, "100.98", "100,98"), (5, "0.05", "0,05"),
    (limits.AMOUNT_MAX, "9,999,999,999,999.99", "9.999.999.999.999,99")])  # fmt: skip
def test_amounts_are_shown_to_the_digit_in_every_language(still: InProcess, amount: int, en: str, tr: str) -> None:
    person = still.person(verified=True)
    still.deposit(person.account, amount, "SYP")
    for language, expected in (("en", en), ("ar", en), ("tr", tr)):
        guest = Guest(still, language).entered(person)
        for path in ("/wallet", "/wallet/history", "/wallet/statement"):
            guest.ask(path, currency="SYP")
            assert re.search(rf">\+?{re.escape(expected)}</bdi>", guest.page), (language, path)


def test_who_is_not_verified_is_sent_to_show_who_they_are_and_told_how_to_add_money(still: InProcess) -> None:
    still.change(deposit_hint="IBAN <b>XX</b> 42")
    guest = Guest(still).entered(still.person(verified=False))
    text = guest.read("/wallet")
    assert "Verify your identity" in text
    assert 'href="/wallet/identity"' in guest.page
    assert "IBAN <b>XX</b> 42" in text
    assert "No transactions yet" in text
    still.change(deposit_hint="")
    assert "IBAN" not in guest.read("/wallet")


def test_only_who_is_signed_in_sees_a_wallet_and_nothing_of_it_is_kept(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    for path in PAGES:
        assert still.send(Call("GET", path)).headers["location"].partition("?")[0] == "/sign-in"
        answer = guest.ask(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
    for path in ("/wallet/x.css", "/wallet/history/x.css", "/wallet.css", "/wallet/statement.pdf/x.css"):
        assert guest.ask(path).status_code == 404


def test_a_get_changes_nothing_but_that_an_export_is_noted(still: InProcess) -> None:
    guest = Guest(still).entered(still.customers[0])
    before = still.counts()
    for path in PAGES:
        if "." not in path:
            guest.read(path)
    assert still.counts() == before
    guest.ask("/wallet/statement.csv", currency="USD")
    guest.ask("/wallet/statement.pdf", currency="USD")
    assert still.counts() == before | {"audit": before["audit"] + 2}
    with still.books() as books:
        noted = books.select("SELECT actor, action, subject, detail FROM audit ORDER BY id DESC LIMIT 2")
    assert {entry[:3] for entry in noted} == {
        (f"person {guest.person}", "account.exported", f"account {guest.account}")
    }
    assert [detail.rpartition(" ")[2] for _, _, _, detail in noted] == ["pdf", "csv"]


# The history.


@pytest.mark.both_engines
def test_each_movement_tells_with_whom_what_when_how_much_and_what_was_left(still: InProcess) -> None:
    merchant, customer = shop(still, "Souq <Al-Nour>"), still.customer()
    payment = still.paid(merchant, customer, amount=1250, currency="USD", note="Coffee & cake")
    still.data(refund(merchant.key, payment, amount=250, note="One cup broke"))
    guest = Guest(still).entered(customer)
    guest.read("/wallet/history", currency="USD")
    back, paid, deposit = rows(guest.page)
    assert re.findall(r"<h2><bdi><time[^>]*>(.*?)</time></bdi></h2>", guest.page) == ["15 January 2027"]
    assert "Souq &lt;Al-Nour&gt; Refunded One cup broke +2.50 USD" in back
    assert "Souq &lt;Al-Nour&gt; Paid Coffee &amp; cake -12.50 USD Balance 999,987.50 USD" in paid
    assert deposit.startswith("Deposit ")
    assert guest.page.count(f'href="/pay/{payment}"') == 2


def everything(guest: Guest, **query: str) -> list[str]:
    """The rows of all pages."""
    found: list[str] = []
    address = "/wallet/history"
    guest.ask(address, **query)
    for _ in range(50):
        found += rows(guest.page)
        older = re.search(r'href="([^"]*)" rel="next"', guest.page)
        if older is None:
            return found
        guest.ask(older[1].replace("&amp;", "&"))
    raise AssertionError("no end")


@pytest.mark.both_engines
def test_paging_shows_each_movement_once_while_others_come_in(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    for number in range(45):
        still.paid(merchant, customer, amount=number + 1, currency=("USD", "SYP")[number % 2], note=f"n{number}.")
        still.clock.advance(1)
    guest = Guest(still).entered(customer)
    found: list[str] = []
    guest.read("/wallet/history")
    while True:
        found += rows(guest.page)
        still.paid(merchant, customer, amount=7, note="late.")
        still.clock.advance(1)
        older = re.search(r'href="([^"]*)" rel="next"', guest.page)
        if older is None:
            break
        guest.ask(older[1].replace("&amp;", "&"))
    notes = [note for row in found for note in re.findall(r"n\d+\.", row)]
    assert notes == [f"n{number}." for number in reversed(range(45))]
    assert len(found) == 45 + len(CURRENCIES)
    assert not any("late." in row for row in found)


@pytest.mark.both_engines
def test_filters_hold_together(still: InProcess) -> None:
    merchant, customer = shop(still, "مخبز الشام"), still.customer()
    other = shop(still, "Kitabevi")
    first = still.paid(merchant, customer, amount=100, currency="USD", note="bread", reference="ORD-7")
    still.paid(other, customer, amount=200, currency="USD", note="100% wool_x")
    still.paid(other, customer, amount=300, currency="SYP", note="book")
    still.data(refund(merchant.key, first, amount=50))
    still.withdraw(customer.account, 500)
    guest = Guest(still).entered(customer)
    counts = {
        (("currency", "SYP"),): 2,
        (("kind", "pay"),): 3,
        (("kind", "refund"),): 1,
        (("kind", "withdrawal"),): 1,
        (("kind", "deposit"),): len(CURRENCIES),
        (("kind", "pay"), ("currency", "USD")): 2,
        (("words", "شام"),): 2,
        (("words", "BREAD"),): 1,
        (("words", "ord-7"),): 2,
        (("words", first[:4] + " " + first[4:]),): 2,
        (("words", "%"),): 1,
        (("words", "_"),): 1,
        (("words", "100%"),): 1,
        (("words", "' OR 1=1 --"),): 0,
        (("words", "\\"),): 0,
        (("words", "zzz"),): 0,
    }
    for query, count in counts.items():
        assert len(everything(guest, **dict(query))) == count, query
    assert "Nothing was found" in guest.text


def test_days_are_those_of_utc_and_none_is_missing_or_double(moving: InProcess) -> None:
    person = moving.person(verified=True)
    midnight = moving.now_ms() - moving.now_ms() % DAY_MS + DAY_MS
    moving.clock.advance(midnight - 2 - moving.now_ms())
    for amount in range(1, 5):
        moving.deposit(person.account, amount)
        moving.clock.advance(1)
    eve, day, after = (f"{datetime.fromtimestamp((midnight + n * DAY_MS) // 1000, UTC):%Y-%m-%d}" for n in (-1, 0, 1))
    guest = Guest(moving).entered(person)
    found = {
        chosen: re.findall(r"\+0\.0(\d)", " ".join(everything(guest, from_=chosen, to=chosen))) for chosen in (eve, day)
    }
    assert found == {eve: ["2", "1"], day: ["4", "3"]}
    assert len(everything(guest, from_=eve)) == 4
    assert len(everything(guest, to=eve)) == 2
    assert len(everything(guest, from_=eve, to=day, currency="USD", kind="deposit")) == 4
    assert everything(guest, from_=after) == []


def test_what_no_form_asks_is_refused_and_explained(still: InProcess, subtests: pytest.Subtests) -> None:
    guest = Guest(still).entered(still.customers[0])
    cases: list[tuple[dict[str, str], str]] = [
        ({"from": "2027-02-30"}, "Enter a valid date."),
        ({"to": "x' OR 1=1"}, "Enter a valid date."),
        ({"from": "2027-02-02", "to": "2027-02-01"}, "The end date is before the start date."),
        ({"words": "x" * 101}, "This search text is too long."),
        ({"currency": "XXX"}, "could not be read"),
        ({"kind": "mint' --"}, "could not be read"),
        ({"after": "garbage"}, "could not be read"),
        ({"after": "aC4tMS4tMS4tMS4tMQ"}, "could not be read"),
    ]
    for query, says in cases:
        with subtests.test(query=query, says=says):
            assert guest.ask("/wallet/history", **query).status_code == 422
            assert says in guest.text


@pytest.mark.both_engines
def test_a_search_looks_at_a_bounded_number_and_can_go_on(still: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant, customer = still.merchant(), still.customer()
    still.paid(merchant, customer, note="needle")
    for _ in range(12):
        still.clock.advance(1)
        still.paid(merchant, customer, note="hay")
    monkeypatch.setattr("qirsh.store.reads.account_entries.LIST_LOOKED_AT_MAX", 5)
    guest = Guest(still).entered(customer)
    assert "search further back" in guest.read("/wallet/history", words="needle", currency="USD")
    assert len(everything(guest, words="needle", currency="USD")) == 1


def test_nobody_sees_movements_of_others(still: InProcess) -> None:
    merchant, customer = still.merchant(), still.customer()
    still.paid(merchant, customer, note="secret of somebody")
    stranger = Guest(still).entered(still.customer())
    for path in ("/wallet", "/wallet/history"):
        assert "secret of somebody" not in stranger.read(path)
    assert "secret" not in stranger.ask("/wallet/statement.csv", currency="USD").text


# To a payment.


def typed(guest: Guest, number: str) -> tuple[int, str]:
    guest.read("/wallet/pay")
    answer = guest.post("/wallet/pay", {**guest.form("/wallet/pay"), "number": number})
    return answer.status_code, answer.headers.get("location", "")


def test_a_number_leads_to_its_payment_however_it_is_typed(still: InProcess) -> None:
    payment = still.payment(still.merchants[0])
    guest = Guest(still).entered(still.customers[0])
    arabic = payment.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    spaced = f" {payment[:4]} {payment[4:8]}  {payment[8:]} "
    for way in (payment, spaced, arabic, f"{still.settings.base_url}/pay/{payment}"):
        assert typed(guest, way) == (303, f"/pay/{payment}")


def test_a_number_that_leads_nowhere_is_explained_beside_its_field(still: InProcess) -> None:
    payment = still.payment(still.merchants[0])
    wrong_end = payment[:-1] + str((int(payment[-1]) + 1) % 10)
    unused = next(
        f"{number}{check_digit(number)}"
        for number in range(int(payment[:-1]) + 1, int(payment[:-1]) + 100)
        if still.context.identifiers.payment_number(f"{number}{check_digit(number)}") is not None
    )
    words = {
        "": "Enter the payment number",
        "123": "16 digits",
        "<b>": "16 digits",
        "https://evil.example/pay/" + payment: "16 digits",
        wrong_end: "contains a typing error",
        unused: "no payment with this number",
        "9" * 4000: "16 digits",
    }
    guest = Guest(still).entered(still.customers[0])
    before = still.counts()
    for number, says in words.items():
        assert typed(guest, number)[0] == 422
        wrong = re.search(r'id="number-wrong">([^<]*)', guest.page)
        assert wrong, guest.page
        assert says in wrong[1]
        assert "<b>" not in guest.page
    assert still.counts() == before


def picture_of(text: str) -> bytes:
    drawn = io.BytesIO()
    segno.make_qr(text).save(drawn, kind="png", scale=6, border=4)
    return drawn.getvalue()


def sent_picture(guest: Guest, picture: bytes, token: str = "") -> tuple[int, str]:
    guest.read("/wallet/pay")
    found = re.search(r'enctype="multipart/form-data">(.*?)</form>', guest.page, re.DOTALL)
    assert found
    field = re.search(r'name="token" value="(\w+)"', found[1])
    assert field
    head = 'Content-Disposition: form-data; name="{}"'
    body = (
        (
            f"--xyz\r\n{head.format('token')}\r\n\r\n{token or field[1]}\r\n"
            f'--xyz\r\n{head.format("picture")}; filename="code.png"\r\nContent-Type: image/png\r\n\r\n'
        ).encode()
        + picture
        + b"\r\n--xyz--\r\n"
    )
    call = guest.call("POST", "/wallet/pay", body, content_type="multipart/form-data; boundary=xyz")
    answer = guest.seen(guest.world.send(call))
    return answer.status_code, answer.headers.get("location", "")


def test_a_picture_of_the_code_leads_to_its_payment(still: InProcess) -> None:
    payment = still.payment(still.merchants[0])
    guest = Guest(still).entered(still.customers[0])
    assert sent_picture(guest, picture_of(f"{still.settings.base_url}/pay/{payment}")) == (303, f"/pay/{payment}")


def test_the_code_or_address_of_a_till_leads_to_the_till(still: InProcess) -> None:
    path = f"/till/{new_till(still, still.merchants[0])}"
    guest = Guest(still).entered(still.customers[0])
    assert sent_picture(guest, picture_of(f"{still.settings.base_url}{path}")) == (303, path)
    guest.read("/wallet/pay")
    answer = guest.post("/wallet/pay", number=f"{still.settings.base_url}{path}")
    assert (answer.status_code, answer.headers["location"]) == (303, path)


def test_a_picture_that_leads_nowhere_is_explained(still: InProcess) -> None:
    payment = still.payment(still.merchants[0])
    guest = Guest(still).entered(still.customers[0])
    cases = {
        b"": "no QR code",
        b"no picture at all": "no QR code",
        picture_of(f"https://evil.example/pay/{payment}"): "does not belong to a payment here",
        picture_of(f"{still.settings.base_url}/pay/1234567890123456"): "contains a typing error",
    }
    for picture, says in cases.items():
        assert sent_picture(guest, picture)[0] == 422
        assert says in guest.text
    assert sent_picture(guest, picture_of(payment), token="0" * 64)[0] == 403


def test_a_form_of_somebody_else_leads_nowhere(still: InProcess) -> None:
    payment = still.payment(still.merchants[0])
    mine, theirs = Guest(still).entered(still.customers[0]), Guest(still).entered(still.customers[1])
    mine.read("/wallet/pay")
    assert theirs.post("/wallet/pay", {**mine.form("/wallet/pay"), "number": payment}).status_code == 403
    assert still.send(Call("POST", "/wallet/pay", None, b"", (("content-type", "application/json"),))).is_redirect


# Amounts as people type them.


def test_an_amount_is_read_as_its_language_writes_it_and_never_guessed(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, int | None]] = [
        ("1,234.50", "en", 123450),
        ("1234.5", "en", 123450),
        ("1 234.50", "en", 123450),
        ("7", "en", 700),
        ("1.234,50", "tr", 123450),
        ("1234,5", "tr", 123450),
        ("1.234", "tr", 123400),
        ("1,234.50", "ar", 123450),
        ("١٬٢٣٤٫٥٠", "ar", 123450),
        ("١٢", "ar", 1200),
        ("1.234,50", "en", None),
        ("1,5", "en", None),
        ("1.234", "en", None),
        ("12,34", "en", None),
        ("1,234.50", "tr", None),
        ("1.5", "tr", None),
        ("1.50", "tr", None),
        ("1.2345", "tr", None),
        ("12 34", "en", None),
        ("1 2345", "en", None),
        ("0,001", "en", None),
        ("0.001", "tr", None),
        ("", "en", None),
        ("0", "en", None),
        ("-1", "en", None),
        ("+1", "en", None),
        ("1e3", "en", None),
        (".5", "en", None),
        ("5.", "en", None),
        ("1.005", "en", None),
        ("NaN", "en", None),
        ("١", "en", None),
        ("9999999999999.99", "en", limits.AMOUNT_MAX),
        ("10000000000000", "en", None),
        ("9" * 5000, "en", None),
    ]
    for typed_text, language, amount in cases:
        with subtests.test(typed_text=typed_text, language=language, amount=amount):
            assert typed_amount(typed_text, "USD", language) == amount


@pytest.mark.parametrize("language", ["en", "ar", "tr"])
def test_what_is_shown_can_be_typed(language: str) -> None:
    for amount in (1, 99, 100, 10098, FUNDS, limits.AMOUNT_MAX):
        assert typed_amount(money(amount, "SYP", language), "SYP", language) == amount


def test_the_token_of_an_app_opens_no_page(still: InProcess) -> None:
    assert still.send(Call("GET", "/wallet", still.customers[0].token)).headers["location"] == "/sign-in"
