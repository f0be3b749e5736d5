"""What a confirm on the pay page costs beside the API's pay, on the same books. Run as `python -m bench.confirm`."""

import argparse
import asyncio
import itertools
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

import apsw
import msgspec

from bench import load
from bench.audit import require_clean
from bench.case import PAY, Loader
from bench.failure import BenchFailed
from bench.fill import Books
from bench.load import Load, Run
from bench.measure import CONNECTIONS
from bench.sampling import sample
from bench.seed import PIN, Town, seed
from bench.target import Server, running_service
from qirsh.domain.api_key import PAGE_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.session import OpenSession
from qirsh.domain.identifier import Identifiers
from qirsh.domain.refusal import Refused
from qirsh.engine.keyring import Keyring
from qirsh.service import opened
from qirsh.settings import Settings, read_settings
from qirsh.store.interface import Query

CPU_RATIO_MAX: Final = 3.0  # CPU time of a confirm over that of a pay.
_PAYERS: Final = 64
_PER_S_MAX: Final = 6000  # Forms are made beforehand, more than any run sends.
_PAYEE: Final = "SELECT number, name FROM account WHERE number = ?"
_OWNER: Final = Query("SELECT owner FROM account WHERE number = $1")


class Browsers(msgspec.Struct, frozen=True):
    """Customers who are signed in on the page: their cookies, and what their forms are tied to."""

    tokens: tuple[str, ...]
    keyring: Keyring
    identifiers: Identifiers


class Confirms:
    """Sends the forms that the page would have shown."""

    def __init__(self, server: Server, browsers: Browsers, data_dir: Path, town: Town, books: Books) -> None:
        self.server = server
        self._file = data_dir / "confirms"
        self._browsers = browsers
        self._books = books
        self._connection = apsw.Connection(str(data_dir / "qirsh.db"), flags=apsw.SQLITE_OPEN_READONLY)
        [(number, name)] = self._connection.execute(_PAYEE, (town.shops[0].account,))
        self._payee = (str(number), str(name))
        self._ties = [token_hash(token.encode()).hex() for token in browsers.tokens]

    def run(self, *, connections: int, seconds: int) -> Run:
        """One run, of which every confirm must have paid."""
        ids = self._books.add_pending(_PER_S_MAX * seconds)
        self._file.write_text("\n".join(map(self._line, ids, itertools.cycle(range(len(self._ties))))))
        before = self._paid()
        asked = Load(self.server, "confirm", "/", (str(self._file),))
        run = load.run(asked, connections=connections, seconds=seconds)
        paid = self._paid() - before
        if paid < run.requests:
            message = f"of {run.requests} confirms {run.requests - paid} paid nothing"
            raise BenchFailed(message)
        return run

    def _line(self, payment_id: str, turn: int) -> str:
        token, tie, made = self._browsers.tokens[turn], self._ties[turn], self._browsers.keyring.form_token
        amount, currency = self._amounts(payment_id)
        shown = made("shown", tie, payment_id, amount, currency, *self._payee)
        body = f"token={made('confirm', tie, payment_id)}&shown={shown}&pin={PIN}"
        return f"/pay/{payment_id}/confirm qirsh={token} {body}"

    def _amounts(self, payment_id: str) -> tuple[str, str]:
        number = self._browsers.identifiers.payment_number(payment_id)
        [(amount, currency)] = self._connection.execute(
            "SELECT amount, currency FROM payment WHERE number=?", (number,)
        )
        return str(amount), str(currency)

    def _paid(self) -> int:
        [(count,)] = self._connection.execute("SELECT count(*) FROM payment WHERE status = 'paid'")
        return int(count)


async def sign_in(settings: Settings, town: Town) -> Browsers:
    """A page's session for every payer."""
    async with opened(settings) as context:
        tokens = []
        for account in town.payers:
            [(person,)] = await context.store.select(_OWNER, account)
            token = make_token(PAGE_SESSION_KIND, context.entropy(32))
            outcome = await context.engine.submit(OpenSession(token_hash(token.encode()), person, account, "bench"))
            assert type(outcome) is not Refused
            tokens.append(token)
        return Browsers(tuple(tokens), context.keyring, context.identifiers)


def compare(confirms: Confirms, pays: Loader, *, rounds: int, seconds: int) -> tuple[float, Run, Run]:
    """The median of the ratios of each round, and the last round."""
    for loader in (pays, confirms):
        loader.run(connections=CONNECTIONS, seconds=1)
    ratios = []
    for _ in range(rounds):
        pay = pays.run(connections=CONNECTIONS, seconds=seconds)
        confirm = confirms.run(connections=CONNECTIONS, seconds=seconds)
        ratios.append(confirm.cpu_us / pay.cpu_us)
    return median(ratios), confirm, pay


def main() -> int:
    """Prints the ratio; ends with 1 when a request failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.confirm", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="instead of measuring, show where the time goes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qirsh-bench-") as name:
        data_dir = Path(name) / "data"
        settings = read_settings({"QIRSH_DATA_DIR": str(data_dir)})
        town = seed(settings, shops=1, payers=_PAYERS)
        browsers = asyncio.run(sign_in(settings, town))
        with running_service(data_dir) as server:
            books = Books(data_dir, town)
            confirms = Confirms(server, browsers, data_dir, town, books)
            try:
                if arguments.profile:
                    print(sample(confirms, server.pid, Path(tempfile.gettempdir()) / "qirsh-profile-confirm.raw"))
                    return 0
                pays = Loader(PAY, server, town, books, ids=[], scratch=data_dir)
                ratio, confirm, pay = compare(confirms, pays, rounds=arguments.rounds, seconds=arguments.seconds)
            finally:
                books.close()
        require_clean(data_dir / "qirsh.db")
    print(f"CPU of a confirm {confirm.cpu_us:.0f} us, of a pay {pay.cpu_us:.0f} us")
    print(f"ratio {ratio:.2f}, at most {CPU_RATIO_MAX}: {'held' if ratio <= CPU_RATIO_MAX else 'missed'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchFailed as failure:
        sys.exit(str(failure))
