"""The drill: a backup is taken while payments are paid, the machine is lost, and the service comes back elsewhere.

What was acknowledged before the backup began must be there, what was given out after it must not be given again, and
nobody may be told twice.
"""

import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from aiosmtpd.smtp import SMTP

from qirsh.backup.progress import Progress
from qirsh.backup.take import check_backup
from tests.cli.program import House, Running
from tests.drill.shop import CallRefused, DrillFailed, Shop, trading
from tests.faults.webhook_receiver import OK, WebhookReceiver
from tests.outbound.receiver import Visit
from tests.waiting import until, wait_until
from tests.workers.post_office import PostOffice

_PATH: Final = "/drill"
_MAILS: Final = 4  # After a restore: of a sign-in, a message to the owner, a payment and a deposit.
Say = Callable[[str], None]


class Given:
    """Ids that the outside has seen, by their kind."""

    def __init__(self) -> None:
        self.ids: dict[str, set[str]] = {}

    def add(self, kind: str, *ids: str) -> None:
        """Seen from now on."""
        self.ids.setdefault(kind, set()).update(ids)

    def add_new(self, kind: str, *ids: str) -> None:
        """Seen from now on, and never before."""
        if not ids:
            raise DrillFailed(f"there is no new {kind}")
        if twice := sorted(self.ids[kind].intersection(ids)):
            raise DrillFailed(f"{kind} {', '.join(twice)} was given out before")
        self.add(kind, *ids)


class Gate:
    """Whoever brings a mail or a webhook waits here while it is closed."""

    def __init__(self) -> None:
        self._is_open = threading.Event()
        self._is_open.set()
        self.close, self.open = self._is_open.clear, self._is_open.set

    async def answer_mail(self, _server: SMTP, _address: str) -> str:
        """As a mail server that is slow."""
        await self._passed()
        return "250 OK"

    async def answer_webhook(self, visit: Visit) -> None:
        """As a shop that is slow."""
        await self._passed()
        await visit.say(OK)

    async def _passed(self) -> None:
        await until(self._is_open.is_set)


class Outside:
    """Who hears of what happens: a shop's receiver, and people who get mails."""

    def __init__(self, receiver: WebhookReceiver, office: PostOffice) -> None:
        self._receiver = receiver
        self._office = office
        self.gate = Gate()
        receiver.manners[_PATH] = self.gate.answer_webhook
        office.at_mail = self.gate.answer_mail
        self.address = receiver.url(_PATH)
        self.settings = {
            "QIRSH_WEBHOOK_NETWORKS": "127.0.0.0/8",
            "QIRSH_SMTP_URL": f"smtp://127.0.0.1:{office.port}",
            "QIRSH_MAIL_FROM": "Qirsh <qirsh@pay.example>",
        }

    def events(self) -> list[str]:
        """Ids of those that arrived, each as often as it did."""
        return [arrival.id for arrival in list(self._receiver.arrivals[_PATH])]

    def mails(self) -> list[str]:
        """Subjects of those that arrived: amounts are in them."""
        return [str(mail["subject"]) for mail in list(self._office.taken)]

    def wait_for_mail(self, text: str, after: int) -> None:
        """One whose subject has this text, behind so many others."""
        wait_until(lambda: any(text in mail for mail in self.mails()[after:]))


class Drill:
    """On its way; each step says a line."""

    def __init__(self, demo: House, folder: Path, outside: Outside, say: Say, payments: int) -> None:
        """The demo is made if it is not there."""
        self._folder = folder
        self._outside = outside
        self._say_line = say
        self._payments = payments  # In each part of the load.
        self._old = demo
        self._file = folder / "backup.jsonl.gz"
        self._given = Given()
        self._acknowledged: list[str] = []  # Before the backup began.
        self._deposits = 0
        self._operators: dict[str, dict[str, str]] = {}

    def run(self, postgres_url: str) -> None:
        """From nothing to a second restore."""
        self._make_demo()
        with self._serving(self._old) as running:
            self._trade(Shop(running.url, self._old.demo()))
        self._say("stopped: the machine is lost")
        for epoch, (engine, place) in enumerate((("PostgreSQL", {"QIRSH_DATABASE_URL": postgres_url}), ("SQLite", {}))):
            self._come_back(engine, House(self._folder / engine), epoch, place)

    def _say(self, line: str) -> None:
        self._say_line(f"{time.strftime('%H:%M:%S')}  {line}")

    def _make_demo(self) -> None:
        if not self._old.folder.exists():
            with self._old.serving("demo", until="# 4.") as running:
                if code := running.stop():
                    raise DrillFailed(f"the demo ended with {code}")
        self._operators = {who: self._old.operator(who) for who in ("operator", "operator2")}
        self._say("a service on SQLite, with the people of the demo")

    @contextmanager
    def _serving(self, house: House, **place: str) -> Iterator[Running]:
        told = self._outside.settings | place
        with house.serving("serve", until="listening", umask=-1, is_afresh=False, **told) as running:
            yield running
            if code := running.stop():
                raise DrillFailed(f"the server ended with {code}")

    def _trade(self, shop: Shop) -> None:
        shop.post("/webhook-endpoints", {"url": self._outside.address})
        with trading(shop) as trade:
            trade.wait_for(self._payments)
            self._outside.gate.close()  # In the backup something must wait to be sent that is sent later.
            self._tell_owner(self._old)
            trade.wait_for(self._payments)
            self._acknowledged = list(trade.acknowledged)
            self._do(self._old, "backup", str(self._file))
            beside = len(trade.acknowledged) - len(self._acknowledged)
            self._outside.gate.open()
            trade.wait_for(self._payments)
        manifest = check_backup(self._file, Progress())
        if not manifest.tables["mail"].rows:
            raise DrillFailed("no mail waits in the backup, so that nothing can be sent twice")
        self._say(
            f"{len(self._acknowledged)} payments were paid before the backup began, {beside} while it was taken and"
            f" {len(trade.acknowledged) - len(self._acknowledged) - beside} after it; it has {manifest.rows:,} rows"
        )
        self._given.add("payment", *trade.acknowledged)
        self._given.add("account", self._add_person(self._old))
        self._deposit(self._old)
        self._given.add("transfer", *shop.listed("/transfers"))
        self._given.add("event", *shop.listed("/events"))
        self._wait_for_events(len(trade.acknowledged))
        self._say("after it: an account, a deposit, and everything was told by webhook and mail")

    def _come_back(self, engine: str, house: House, epoch: int, place: dict[str, str]) -> None:
        house.folder.mkdir(mode=0o700)
        shutil.copy(self._old.folder / "secret.key", house.folder)
        self._do(house, "restore", str(self._file), "--after-epoch", str(epoch), **place)
        self._do(house, "verify", **place)
        self._say(f"restored into {engine}, and every rule holds")
        events, mails = len(self._outside.events()), len(self._outside.mails())
        with self._serving(house, **place) as running:
            shop = Shop(running.url, self._old.demo())
            self._require_acknowledged(shop)
            self._require_stop(shop)
            self._lift(house)
            self._say(
                f"{engine}: all {len(self._acknowledged)} are there; money stood still until two operators agreed"
            )
            before = {path: shop.listed(path) for path in ("/events", "/transfers")}
            payment = shop.create(777)
            shop.pay(payment)
            self._given.add_new("payment", payment)
            self._given.add_new("account", self._add_person(house))
            self._given.add_new("transfer", *(shop.listed("/transfers") - before["/transfers"]))
            new = shop.listed("/events") - before["/events"]
            self._given.add_new("event", *new)
            self._say(f"{engine}: a new payment, account, transfer and event repeat no id")
            self._tell_owner(house)
            self._deposit(house)
            self._wait_for_events(events + len(new))
            wait_until(lambda: len(self._outside.mails()) >= mails + _MAILS)
        self._require_news(self._outside.events()[events:], sorted(new), self._outside.mails()[mails:])
        self._say(f"{engine}: no webhook and no mail went out as new")
        self._do(house, "verify", **place)
        self._say(f"{engine}: stopped, and every rule holds")

    def _require_acknowledged(self, shop: Shop) -> None:
        for payment in self._acknowledged:
            try:
                status = shop.get(f"/remote-payments/{payment}")["status"]
            except CallRefused as refused:
                status = str(refused)
            if status != "paid":
                raise DrillFailed(f"payment {payment} was paid before the backup began, and now: {status}")

    def _require_stop(self, shop: Shop) -> None:
        payment = shop.create(700)
        self._given.add_new("payment", payment)
        try:
            shop.pay(payment)
        except CallRefused as refused:
            if refused.code == "money_stopped":
                return
            raise
        raise DrillFailed("money moves before operators have looked")

    @staticmethod
    def _require_news(events: list[str], new: list[str], mails: list[str]) -> None:
        if sorted(events) != new:
            raise DrillFailed(f"webhooks were sent of {events}, and new are only {new}")
        if len(mails) != _MAILS:
            raise DrillFailed(f"{len(mails)} mails were sent, and new are only {_MAILS}: {', '.join(mails)}")

    def _lift(self, house: House) -> None:
        asked = self._act(house, "audit", "lift", "--reason", "the drill has compared them")
        words = (asked["id"], "--digest", asked["digest"])
        self._act(house, "proposal", "confirm", *words, who="operator2")

    def _add_person(self, house: House) -> str:
        email = f"{secrets.token_hex(4)}@customers.example"
        words = ("--email", email, "--name", "A Customer", "--password-stdin", "--pin-stdin")
        added = self._act(house, "person", "add", *words, stdin="correct horse battery\n735164\n")
        return str(added["account"])

    def _tell_owner(self, house: House) -> None:
        self._act(house, "message", "send", self._old.demo()["shopAccount"], "--text", "This is a drill.")

    def _deposit(self, house: House) -> None:
        """By two operators; the customer has heard of it when this returns, and of all that was before it."""
        self._deposits += 1
        reference, amount, mails = f"drill-{self._deposits}", f"31.{10 + self._deposits}", len(self._outside.mails())
        account = self._old.demo()["customer"]["account"]
        self._act(house, "deposit", "ask", account, amount, "USD", "--reference", reference)
        self._act(house, "deposit", "confirm", "--reference", reference, who="operator2")
        self._outside.wait_for_mail(amount, mails)

    def _wait_for_events(self, count: int) -> None:
        wait_until(lambda: len(self._outside.events()) >= count)

    def _act(self, house: House, *words: str, who: str = "operator", stdin: str = "") -> dict[str, Any]:
        try:
            return house.act(*words, stdin=stdin, **self._operators[who])
        except AssertionError as error:
            raise DrillFailed(f"qirsh {' '.join(words)}: {error}") from None

    def _do(self, house: House, *words: str, **place: str) -> None:
        ended = house.run(*words, **place)
        if ended.returncode:
            raise DrillFailed(f"qirsh {' '.join(words)} ended with {ended.returncode}: {ended.stderr}")
