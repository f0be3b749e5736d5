"""Payouts from the command line, by two operators."""

import asyncio

from qirsh.domain.commands.payout import RequestPayout
from qirsh.domain.payout import Payout
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, sealed
from qirsh.service import opened
from qirsh.settings import read_settings
from tests.cli.program import House

BANK = BankDetails("Sara Khalil", "Bank of Damascus", "TR330006100519786457841326")


def asked(house: House, payout_id: str) -> str:
    """Somebody wants money at the bank; the number of their account."""

    async def ask() -> str:
        async with opened(read_settings(house.environment())) as context:
            demo = house.demo()["customer"]
            login = await context.store.find(Tables.logins, demo["email"])
            assert login is not None
            person = await context.store.find(Tables.people, login.person)
            assert person is not None
            macs = context.keyring.pin_macs(person.id, demo["pin"])
            command = RequestPayout(
                payout_id, person.account, person.id, "USD", 12345, sealed(context.keyring, BANK, payout_id), macs
            )
            assert type(await context.engine.submit(command)) is Payout
            return str(person.account)

    return asyncio.run(ask())


def test_two_operators_pay_what_somebody_asked_for(house: House) -> None:
    by, second = house.operator(), house.operator("operator2")
    account = asked(house, "po_1")
    listed = house.invoke("payout", "list", **by)
    assert listed.returncode == 0, listed.stderr
    for words in (
        "po_1  123.45 USD  asked",
        account,
        *BANK.__struct_fields__[:2],
        BANK.holder,
        BANK.bank,
        BANK.account,
    ):
        assert words in listed.stdout
    [one] = [one for one in house.act("payout", "list", **by)["payouts"] if one["id"] == "po_1"]
    assert one["bankAccount"] == BANK.account
    ordered = house.invoke("payout", "order", "po_1", "--reference", "ft 1", **by)
    assert ordered.returncode == 0, ordered.stderr
    assert "a second operator" in ordered.stdout
    own = house.invoke("withdraw", "confirm", "--reference", "ft 1", **by)
    assert own.stderr.startswith("refused: second_operator_needed: ")
    assert house.act("withdraw", "confirm", "--reference", "ft 1", **second)["state"] == "done"
    assert "po_1 " not in house.invoke("payout", "list", **by).stdout


def test_a_payout_is_refused_with_a_reason_and_an_unknown_one_not_at_all(house: House) -> None:
    by = house.operator()
    asked(house, "po_2")
    assert house.invoke("payout", "refuse", "po_2", **by).returncode == 2
    assert house.act("payout", "refuse", "po_2", "--reason", "No such account", **by)["state"] == "refused"
    unknown = house.invoke("payout", "order", "po_404", "--reference", "x", **by)
    assert unknown.stderr.startswith("refused: not_found: ")


def test_bank_accounts_are_shown_to_operators_only(house: House) -> None:
    asked(house, "po_3")
    wrong = house.invoke("payout", "list", **house.operator() | {"QIRSH_OPERATOR_PASSWORD": "wrong horse battery"})
    assert wrong.returncode == 1
    assert BANK.account not in wrong.stdout + wrong.stderr
