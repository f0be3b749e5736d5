"""Payouts of a business as tests make them: asked for by command, ordered and confirmed by two operators."""

from itertools import count

from qirsh.domain.commands.bank_account import AddBankAccount, RemoveBankAccount, RequestShopPayout
from qirsh.domain.limits import BANK_ACCOUNT_NEW_MS
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import BankDetails, sealed, sealed_for_bank_account
from tests.live import PIN, InProcess, Merchant

BANK = BankDetails("Al-Sham Books", "Bank of Aleppo", "DE89370400440532013000")
_NUMBERS = count(1)


def ready(world: InProcess, merchant: Merchant) -> str:
    """A bank account that is a day old."""
    bank_account = f"ba_{next(_NUMBERS):018x}"
    details = sealed_for_bank_account(world.context.keyring, BANK, bank_account)
    command = AddBankAccount(bank_account, int(merchant.account), details, owner_of(world, merchant))
    world.clock.advance(-BANK_ACCOUNT_NEW_MS)
    granted(world.run(world.context.engine.submit(command)))
    world.clock.advance(BANK_ACCOUNT_NEW_MS)
    return bank_account


def owner_of(world: InProcess, merchant: Merchant) -> int:
    account = world.run(world.context.store.find(Tables.accounts, int(merchant.account)))
    assert account is not None
    assert account.owner is not None
    return account.owner


def asked(world: InProcess, merchant: Merchant, bank_account: str, amount: int, currency: str = "USD") -> str:
    """The id of a payout that waits."""
    payout, person, keyring = f"po_{next(_NUMBERS):018x}", owner_of(world, merchant), world.context.keyring
    command = RequestShopPayout(
        id=payout,
        account=int(merchant.account),
        person=person,
        currency=currency,
        amount=amount,
        bank_sealed=sealed(keyring, BANK, payout),
        pin_macs=keyring.pin_macs(person, PIN),
        bank_account=bank_account,
        bank_hint=BANK.hint,
    )
    granted(world.run(world.context.engine.submit(command)))
    return payout


def ordered(world: InProcess, payout: str) -> str:
    """The bank's reference."""
    world.act("payout order", id=payout, reference=f"FT {payout}")
    return f"FT {payout}"


def refused(world: InProcess, merchant: Merchant) -> str:
    """A payout that is over, of a shop that had money; nothing is left open."""
    world.paid(merchant, world.customers[0], amount=100)
    bank_account = ready(world, merchant)
    payout = asked(world, merchant, bank_account, 1)
    world.act("payout refuse", id=payout, reason="No such account")
    remove = RemoveBankAccount(bank_account, int(merchant.account), owner_of(world, merchant))
    granted(world.run(world.context.engine.submit(remove)))
    return payout


def paid_out(world: InProcess, merchant: Merchant, bank_account: str, amount: int, currency: str = "USD") -> str:
    payout = asked(world, merchant, bank_account, amount, currency)
    world.act("withdraw confirm", 1, reference=ordered(world, payout))
    return payout
