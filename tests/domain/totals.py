"""Totals by the long way: every transfer of a world, counted again from the first one."""

from collections.abc import Iterator

from qirsh.domain.total import AccountTotal, Moved, fold
from tests.domain.world import World


def moves_of(world: World, account: int, currency: str) -> list[Moved]:
    """As the account counts them."""
    own = [row for row in world.transfers if row.currency == currency and account in {row.debit, row.credit}]
    moves = [
        Moved(row.debit_sequence, row.kind, -row.amount, row.created_at)
        if row.debit == account
        else Moved(row.credit_sequence, row.kind, row.amount, row.created_at)
        for row in own
    ]
    return sorted(moves)


def totals_of(world: World, account: int, currency: str, count: int | None = None) -> list[AccountTotal]:
    """After all of them, or after the first few."""
    return fold(account, currency, None, moves_of(world, account, currency)[:count])


def holdings(world: World) -> Iterator[tuple[int, str]]:
    """Of businesses."""
    for account, currency in world.balances:
        if world.accounts[account].kind == "commercial":
            yield account, currency
