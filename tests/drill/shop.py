"""A shop and its customer beside a backup: payments are created and paid, and what was acknowledged is written down."""

import itertools
import json
import secrets
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.waiting import wait_until

_AT_ONCE: Final = 3
_CURRENCY: Final = "USD"


class DrillFailed(Exception):
    """What the drill found wrong."""


class CallRefused(Exception):
    """The answer to a call was no."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status} {problem}")
        self.status = status
        self.code = problem.get("code")


class Shop:
    """Over the API, with the key of the shop and a session of its customer."""

    def __init__(self, base_url: str, demo: dict[str, Any]) -> None:
        self._base_url = base_url
        self._key: str = demo["apiKey"]
        self._pin: str = demo["customer"]["pin"]
        proof = {name: demo["customer"][name] for name in ("email", "password")}
        self._session: str = self.post("/wallet/sessions", proof, "")["token"]

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON is anything
        return self._call(path, None, self._key)

    def post(self, path: str, body: dict[str, Any], token: str | None = None) -> Any:  # noqa: ANN401 - JSON is anything
        return self._call(path, json.dumps(body).encode(), self._key if token is None else token)

    def create(self, amount: int) -> str:
        """The payment's id."""
        created: str = self.post("/remote-payments", {"amount": amount, "currency": _CURRENCY})["id"]
        return created

    def pay(self, payment: str) -> None:
        """Paid when this returns."""
        self.post(f"/wallet/remote-payments/{payment}/pay", {"pin": self._pin}, self._session)

    def paid(self, amount: int) -> str:
        """The id of a payment that was created and paid."""
        payment = self.create(amount)
        self.pay(payment)
        return payment

    def status(self, payment: str) -> str:
        """What the shop's server reads."""
        return str(self.get(f"/remote-payments/{payment}")["status"])

    def listed(self, path: str) -> set[str]:
        """The ids of everything in a list, page by page."""
        found: set[str] = set()
        after = ""
        while True:
            page = self.get(f"{path}?limit=100{after}")
            found.update(item["id"] for item in page["items"])
            if not page["hasMore"]:
                return found
            after = f"&cursor={page['nextCursor']}"

    def _call(self, path: str, body: bytes | None, token: str) -> Any:  # noqa: ANN401 - JSON is anything
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        if body is not None and token:
            headers["Idempotency-Key"] = secrets.token_hex(16)
        request = urllib.request.Request(f"{self._base_url}/api/v1{path}", body, headers)  # noqa: S310 - our own
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise CallRefused(error.code, json.load(error)) from None


class Trade:
    """Customers who pay one payment after another until they are told to end."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._is_over = threading.Event()
        self._amounts = itertools.count(1_000)
        self._wrong: list[BaseException] = []
        self.acknowledged: list[str] = []  # Paid, and the answer was here.

    def wait_for(self, count: int) -> None:
        """Until so many more were paid."""
        wanted = len(self.acknowledged) + count
        wait_until(lambda: bool(self._wrong) or len(self.acknowledged) >= wanted)
        self.check()

    def check(self) -> None:
        """Nobody was refused."""
        for wrong in self._wrong:
            raise DrillFailed(f"a payment under load went wrong: {wrong!r}")

    def pay_on(self) -> None:
        """What one of them does."""
        try:
            while not self._is_over.is_set():
                payment = self._shop.create(next(self._amounts))
                self._shop.pay(payment)
                self.acknowledged.append(payment)
        except Exception as error:  # noqa: BLE001 - told to who waits
            self._wrong.append(error)

    def end(self) -> None:
        """What was begun is ended first."""
        self._is_over.set()


@contextmanager
def trading(shop: Shop) -> Iterator[Trade]:
    """Meanwhile payments are created and paid."""
    trade = Trade(shop)
    customers = [threading.Thread(target=trade.pay_on, name="customer") for _ in range(_AT_ONCE)]
    for customer in customers:
        customer.start()
    try:
        yield trade
    finally:
        trade.end()
        for customer in customers:
            customer.join()
    trade.check()
