"""Files of the bank as operators send them, and a desk that has one."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any, Final

from qirsh.domain.bank_file import FileLine
from qirsh.domain.commands.bank_statement import AddBankLines, BeginBankStatement, FinishBankStatement
from qirsh.domain.refusal import granted
from tests.domain.bank_cases import on_its_way
from tests.live import InProcess

FORMAT: Final[dict[str, Any]] = {
    "encoding": "utf-8",
    "separator": ",",
    "decimal": ".",
    "date": "YYYY-MM-DD",
    "day_column": "1",
    "amount_column": "2",
    "currency_column": "3",
    "reference_column": "4",
    "text_column": "5",
    "time_zone": "Asia/Damascus",
}


def sent(*lines: str, name: str = "january.csv", encoding: str = "utf-8", **more: str) -> dict[str, Any]:
    """A file, as its first sending shows it."""
    data = "\n".join(lines).encode(encoding)
    return {"name": name, "file": urlsafe_b64encode(data).decode(), **more}


def confirmed(*lines: str, **more: str) -> dict[str, Any]:
    """The same, as it is sent to be imported."""
    digest = sha256("\n".join(lines).encode(more.get("encoding", "utf-8"))).hexdigest()
    return {**sent(*lines, **more), "digest": digest}


def deposit(world: InProcess, reference: str, amount: str = "5.00", currency: str = "USD") -> None:
    """Money that two operators have booked."""
    words: dict[str, Any] = {
        "account": world.customers[0].account,
        "currency": currency,
        "amount": amount,
        "reference": reference,
    }
    world.act("deposit ask", **words, reason="cash")
    world.act("deposit confirm", 1, reference=reference)


def withdraw(world: InProcess, reference: str, amount: str = "5.00", currency: str = "USD") -> None:
    """The same, the other way."""
    words: dict[str, Any] = {
        "account": world.customers[0].account,
        "currency": currency,
        "amount": amount,
        "reference": reference,
    }
    world.act("withdraw ask", **words, reason="cash")
    world.act("withdraw confirm", 1, reference=reference)


def begun(world: InProcess, *lines: FileLine, missing: int = 0, statement: str = "bs_begun") -> None:
    """A file whose lines are there but for some, as an import leaves it in its middle or when it was killed."""
    with world.books() as books:
        [(house,)] = books.select("SELECT number FROM account WHERE kind = 'house' AND mode = 'live' AND name = 'bank'")
        [(operator,)] = books.select("SELECT min(person) FROM operator")
    days = [line.day for line in lines]
    begin = BeginBankStatement(
        id=statement,
        house=house,
        name="half.csv",
        digest=sha256(statement.encode()).digest(),
        first_day=min(days),
        last_day=max(days),
        lines=len(lines) + missing,
        closing='{"USD":100}',
        time_zone="Asia/Damascus",
        operator=operator,
        actor="test",
    )
    kept = tuple(map(on_its_way, lines))
    for command in (begin, AddBankLines(statement, house, kept, operator, "test")):
        granted(world.run(world.context.engine.submit(command)))
    if not missing:
        granted(world.run(world.context.engine.submit(FinishBankStatement(statement, operator, "test"))))


def bank_words(desk: InProcess) -> dict[str, dict[str, Any]]:
    """For each act that writes, what brings it as far as its commit."""
    deposit(desk, "bank 1")
    deposit(desk, "bank 2")
    desk.act("bank format", **FORMAT)
    imported = desk.act("bank import", **confirmed("2027-01-15,5.00,USD,,one", "2027-01-15,5.00,USD,,two"))
    free, matched = (item["line"] for item in desk.act("bank list", what="lines")["items"])
    desk.act("bank match", line=matched, reference="bank 2")
    return {
        "bank format": FORMAT,
        "bank import": confirmed("2027-01-15,7.00,USD,other,x"),
        "bank undo": {"id": imported["id"]},
        "bank match": {"line": free, "reference": "bank 1"},
        "bank unmatch": {"line": matched},
    }
