"""A service whose operators have something of each kind before them, for whoever looks at the pages of the console."""

import asyncio
import contextlib
import io
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx2
import pyotp
from PIL import Image, ImageDraw
from playwright.sync_api import Page

from qirsh.domain.command import Command
from qirsh.domain.commands.account import RequestCommercial
from qirsh.domain.commands.brand import RequestBrandChange
from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.commands.shop_message import WriteToOperators
from qirsh.domain.identity import Side
from qirsh.domain.refusal import granted
from qirsh.engine.bank_details import BankDetails, sealed
from qirsh.engine.clock import ManualClock
from qirsh.engine.entropy import Entropy, system_entropy
from qirsh.engine.identity_facts import Facts, document_macs, seal_facts, seal_picture
from qirsh.engine.mail_crypto import opened
from qirsh.settings import read_settings
from qirsh.store.interface import Query
from qirsh.web.operator.control import OperatorRequest, perform
from qirsh.web.routes import ROUTES
from qirsh.workers.ledger_auditor import LedgerAuditor
from tests.app_in_thread import ServedApp, app_in_thread
from tests.browser.test_journeys import send
from tests.live import PASSWORD, PIN, free_port
from tests.operators import LONG_AGO_MS, appointed
from tests.quick_passwords import quick_passwords
from tests.web.operator.bank import FORMAT, confirmed

T = TypeVar("T")

_BEGINNING: Final = 1_793_868_060_000  # 5 November 2026, 08:41 UTC.
_HOUR_MS: Final = 3_600_000
_MAILS: Final = Query("SELECT sealed, id FROM mail ORDER BY created_at, id")
_HOUSE: Final = Query("SELECT number FROM account WHERE kind = 'house' AND name = 'bank'")
_FIRST, _SECOND, _NEW = "samir@bank.example", "hala@bank.example", "nur@bank.example"
_CUSTOMER: Final = "layla@mail.example"
_SIDES: Final[tuple[Side, ...]] = ("front", "back")


class Names(NamedTuple):
    """Of people and shops, and what they wrote."""

    first: str  # Operators.
    second: str
    customer: str
    owner: str
    newcomer: tuple[str, str]
    shop: str
    other_shop: str
    new_name: str
    note: str
    question: str
    answer: str
    reason: str
    paid_in: str  # As the bank writes it.


NAMES: Final = {
    "en": Names(
        "Samir Haddad",
        "Hala Aydin",
        "Layla Mansour",
        "Huda Halabi",
        ("Sami Nasser", "Khoury"),
        "Al-Sham Books",
        "Olive Corner",
        "Al-Sham Books and Music",
        "Order 1029: two novels",
        "Which goods do you sell?",
        "Soap and oil of our own olives.",
        "Paid in at the counter, slip 118",
        "Cash at the counter",
    ),
    "ar": Names(
        "سمير حداد",
        "هالة آيدن",
        "ليلى منصور",
        "هدى الحلبي",
        ("سامي ناصر", "خوري"),
        "مكتبة الشام",
        "زاوية الزيتون",
        "مكتبة الشام للكتب والموسيقى",
        "الطلب 1029: روايتان ودفتر",
        "ما الذي تبيعونه؟",
        "صابون وزيت من زيتوننا.",
        "أودعت نقداً عند الصندوق، الإيصال 118",
        "إيداع نقدي",
    ),
    "tr": Names(
        "Samir Haddad",
        "Hale Aydın",
        "Leyla Mansur",
        "Hüda Halepli",
        ("Sami Nasır", "Kuri"),
        "Şam Kitabevi",
        "Zeytin Köşesi",
        "Şam Kitabevi ve Müzik",
        "Sipariş 1029: iki roman",
        "Hangi ürünleri satıyorsunuz?",
        "Kendi zeytinlerimizden sabun ve yağ.",
        "Gişede nakit yatırıldı, fiş 118",
        "Gişeden nakit",
    ),
}


class Found(NamedTuple):
    """What pages are about, by the names that addresses have for it."""

    identity: str  # By account.
    business: str
    brand: str
    payout: str
    proposal: str
    house: str
    line: str
    statement: str
    person: str
    account: str  # Of a shop.
    payment: str
    key: str
    token: str  # Of an appointment.


class ConsoleTown:
    """The service, two operators, and a clock that its maker moves."""

    def __init__(self, served: ServedApp, clock: ManualClock, code: str) -> None:
        self.base_url = served.settings.base_url
        self.clock = clock
        self.names = NAMES[code]
        self._code = code
        self._served = served
        self._secrets: dict[str, str] = {}
        self.found = self._filled()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._served.loop).result()

    def code(self, email: str = _SECOND) -> str:
        """One that was not used yet."""
        self.clock.advance(30_000)
        return pyotp.TOTP(self._secrets[email]).at(self.clock() // 1000)

    def sign_in(self, page: Page) -> None:
        """The second operator, by the door."""
        page.goto(f"{self.base_url}/operator/sign-in?lang={self._code}")
        send(page, "/operator/sign-in", email=_SECOND, password=PASSWORD, code=self.code())
        assert page.url == f"{self.base_url}/operator", page.inner_text("main")

    def act(self, act: str, by: str = _FIRST, **words: object) -> dict[str, Any]:
        """What an operator does by the shell."""
        wish = OperatorRequest(act, words)
        if by in self._secrets:
            wish = OperatorRequest(act, words, by, PASSWORD, self.code(by))
        reply = self.run(perform(self._served.context, wish))
        assert reply.done is not None, reply.detail
        return reply.done

    def submit(self, command: Command[T]) -> T:
        """What people do by pages of their own."""
        return granted(self.run(self._served.context.engine.submit(command)))

    def _filled(self) -> Found:
        self._appoint()
        names, context = self.names, self._served.context
        account, person = self._person(_CUSTOMER, names.customer)
        own, owner = self._person("owner@mail.example", names.owner)
        for number in (account, own):
            self.act("account verify", account=number)
        shop = self._shop(own, names.shop)
        self.act("account approve", account=shop)
        key = self.act("key issue", account=shop, name="1")
        self._deposit(account, "1250.00", "FT-1001")
        payment = self._paid(key["key"])
        identity = self._identity()
        self.clock.advance(3 * _HOUR_MS)
        asked = self._shop(own, names.other_shop)
        self._talk(asked, owner)
        self._rename(shop, owner)
        payout = self._payout(account, person)
        statement, line = self._bank(account)
        slip = {"account": account, "amount": "320.00", "currency": "USD", "reference": "FT-1004"}
        proposal = self.act("deposit ask", **slip, reason=names.reason)["id"]
        token = self._invited()
        self.run(LedgerAuditor(context.store, context.engine).look())
        self.clock.advance(_HOUR_MS)
        [(house,)] = self.run(context.store.select(_HOUSE))
        return Found(
            identity,
            asked,
            shop,
            payout,
            proposal,
            str(house),
            line,
            statement,
            str(person),
            shop,
            payment,
            key["id"],
            token,
        )

    def _appoint(self) -> None:
        """Two, who have been it for long enough."""
        self.clock.advance(-LONG_AGO_MS)
        first = self.act("operator create", email=_FIRST, name=self.names.first, password=PASSWORD)
        self._secrets[_FIRST] = first["totpSecret"]
        other = appointed(self._served.context, _SECOND, PASSWORD, by=first["person"], name=self.names.second)
        _, self._secrets[_SECOND] = self.run(other)
        self.clock.advance(LONG_AGO_MS)

    def _person(self, email: str, name: str) -> tuple[str, int]:
        """Their account and number."""
        done = self.act("person add", email=email, name=name, password=PASSWORD, pin=PIN)
        return done["account"], done["person"]

    def _shop(self, owner: str, name: str) -> str:
        asked = RequestCommercial(int(owner), name, "https://shop.example", "owner", "shop", "DM-1029")
        return str(self.submit(asked).number)

    def _deposit(self, account: str, amount: str, reference: str) -> None:
        slip = {"account": account, "amount": amount, "currency": "USD", "reference": reference}
        self.act("deposit ask", **slip, reason=self.names.reason)
        self.act("deposit confirm", by=_SECOND, reference=reference)

    def _paid(self, key: str) -> str:
        """A payment, of which a part went back."""
        payment: str = self._told("remote-payments", key, amount=42_50, currency="USD", note=self.names.note)["id"]
        token = self._told("wallet/sessions", "", email=_CUSTOMER, password=PASSWORD)["token"]
        self._told(f"wallet/remote-payments/{payment}/pay", token, pin=PIN)
        self._told(f"remote-payments/{payment}/refunds", key, amount=12_00)
        return payment

    def _told(self, path: str, token: str, **body: object) -> dict[str, Any]:
        settings = self._served.settings
        answer = httpx2.post(
            f"http://127.0.0.1:{settings.port}/api/v1/{path}",
            json=body,
            headers={"host": urlsplit(settings.base_url).netloc}
            | ({"authorization": f"Bearer {token}"} if token else {}),
            timeout=None,
            trust_env=False,
        )
        assert answer.is_success, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def _identity(self) -> str:
        """Somebody has shown who they are."""
        (given, family), keyring = self.names.newcomer, self._served.context.keyring
        account, person = self._person("sami@mail.example", f"{given} {family}")
        facts = Facts(given, family, "1994-03-21", "identity_card", "N 0718 2946")
        images = tuple((side, seal_picture(keyring, _card(side), person, side)) for side in _SIDES)
        [mac, *_] = document_macs(keyring, facts)
        self.submit(SubmitIdentity(person, int(account), seal_facts(keyring, facts, person), images, mac))
        return account

    def _talk(self, shop: str, owner: int) -> None:
        self.act("message send", account=shop, text=self.names.question)
        message = f"msg_{self._served.context.entropy(9).hex()}"
        self.submit(WriteToOperators(message, int(shop), self.names.answer, owner))

    def _rename(self, shop: str, owner: int) -> None:
        change = f"bc_{self._served.context.entropy(9).hex()}"
        self.submit(RequestBrandChange(int(shop), change, self.names.new_name, "", None, "", owner))

    def _payout(self, account: str, person: int) -> str:
        context = self._served.context
        made = f"po_{context.entropy(9).hex()}"
        details = BankDetails(self.names.customer, "Ziraat", "TR330006100519786457841326")
        bank, pin = sealed(context.keyring, details, made), context.keyring.pin_macs(person, PIN)
        self.submit(RequestPayout(made, int(account), person, "USD", 75_00, bank, pin))
        return made

    def _bank(self, account: str) -> tuple[str, str]:
        """A file of which one line is in the books, and one is not; and a line of ours that the bank has not."""
        self._deposit(account, "80.00", "FT-1003")
        self.act("bank format", **FORMAT, balance_column="6")
        lines = (
            f"2026-11-05,1250.00,USD,FT-1001,{self.names.paid_in},1250.00",
            f"2026-11-05,45.00,USD,FT-1002,{self.names.paid_in},1295.00",
        )
        imported = self.act("bank import", **confirmed(*lines, name="2026-11.csv"))
        [line] = self.act("bank list", what="lines")["items"]
        return imported["id"], line["line"]

    def _invited(self) -> str:
        """Two want another operator, who has not answered; the token of the link."""
        asked = self.act("operator create", email=_NEW, name="Nur", roles="support", reason=self.names.reason)
        self.act("proposal confirm", by=_SECOND, id=asked["id"], digest=asked["digest"])
        context = self._served.context
        mails = (opened(context.keyring, bytes(kept), name) for kept, name in self.run(context.store.select(_MAILS)))
        links = [str(mail.words["url"]) for mail in mails if mail is not None and mail.to == _NEW]
        return links[-1].rpartition("/")[2]


def _card(side: str) -> bytes:
    """Something such as a card looks like, of nobody."""
    card = Image.new("RGB", (960, 600), "#d9e4dd")
    draw = ImageDraw.Draw(card)
    draw.rounded_rectangle((24, 24, 936, 576), 36, outline="#5b7c6b", width=6)
    if side == "front":
        draw.rounded_rectangle((80, 120, 360, 480), 20, fill="#a9c0b3")
        draw.ellipse((160, 180, 280, 300), fill="#5b7c6b")
        draw.pieslice((110, 320, 330, 600), 180, 360, fill="#5b7c6b")
    for row in range(5):
        left = 430 if side == "front" else 80
        draw.rounded_rectangle((left, 150 + 70 * row, 860 - 60 * (row % 2), 180 + 70 * row), 12, fill="#8fa99b")
    out = io.BytesIO()
    card.save(out, "JPEG")
    return out.getvalue()


@contextlib.contextmanager
def console_town(folder: Path, code: str, entropy: Entropy = system_entropy) -> Iterator[ConsoleTown]:
    """Served until it is left."""
    port, clock = free_port(), ManualClock(_BEGINNING)
    settings = {
        "QIRSH_DATA_DIR": str(folder),
        "QIRSH_PORT": str(port),
        "QIRSH_RATE_LIMITS": "off",
        "QIRSH_BASE_URL": f"http://127.0.0.1:{port}",
        "QIRSH_SMTP_URL": "smtp://127.0.0.1:9",  # Its mails are read where they wait.
        "QIRSH_MAIL_FROM": "Qirsh <qirsh@bank.example>",
    }
    # Every act of an operator proves a password.
    with quick_passwords(), app_in_thread(read_settings(settings), ROUTES, clock=clock, entropy=entropy) as served:
        yield ConsoleTown(served, clock, code)
