"""What must always hold (design, section 9), as a list of complaints about a world."""

from collections import defaultdict
from collections.abc import Iterator

from qirsh.domain.bank_order import CORRECTIONS, BankOrder, opposite
from qirsh.domain.ledger import BY_ORDER, Transfer
from qirsh.domain.limits import AMOUNT_MAX, BALANCE_MAX
from qirsh.domain.payment import Payment
from qirsh.domain.refund import Refund
from tests.domain.people_invariant import PEOPLE
from tests.domain.proposal_invariant import PROPOSALS
from tests.domain.totals import totals_of
from tests.domain.webhook_invariant import WEBHOOKS
from tests.domain.world import World

Holding = tuple[int, str]


def complaints(world: World) -> list[str]:
    """Empty in every world that commands alone have made."""
    checks = (
        _books,
        _balances,
        _paths,
        _payments,
        _refunds,
        _cash,
        _events,
        _index,
        _counts,
        _totals,
        *PEOPLE,
        *PROPOSALS,
        *WEBHOOKS,
    )
    return [complaint for check in checks for complaint in check(world)]


def _books(world: World) -> Iterator[str]:
    """Replay the transfers in their order and compare with the balances."""
    held: dict[Holding, int] = defaultdict(int)
    moves: dict[Holding, int] = defaultdict(int)
    for transfer in world.transfers:
        if not 1 <= transfer.amount <= AMOUNT_MAX:
            yield f"an amount of {transfer.amount}"
        for account, change, sequence, balance in (
            (transfer.debit, -transfer.amount, transfer.debit_sequence, transfer.debit_balance),
            (transfer.credit, transfer.amount, transfer.credit_sequence, transfer.credit_balance),
        ):
            holding = (account, transfer.currency)
            held[holding] += change
            moves[holding] += 1
            if (sequence, balance) != (moves[holding], held[holding]):
                yield f"{transfer} does not follow its predecessor"
            if balance < 0 and world.accounts[account].kind != "house":
                yield f"{transfer} leaves less than nothing"
    balances = {key: (row.amount, row.sequence) for key, row in world.balances.items()}
    if balances != {key: (held[key], moves[key]) for key in held}:
        yield "a balance is not the sum of its transfers"


def _balances(world: World) -> Iterator[str]:
    total: dict[str, int] = defaultdict(int)
    for (account, currency), row in world.balances.items():
        total[currency] += row.amount
        if abs(row.amount) > BALANCE_MAX:
            yield f"{row} is beyond the limit"
        if row.is_house != (world.accounts[account].kind == "house"):
            yield f"{row} takes itself for something else"
    if any(total.values()):
        yield f"debits and credits differ: {dict(total)}"


def _paths(world: World) -> Iterator[str]:
    for transfer in world.transfers:
        debit, credit = world.accounts[transfer.debit], world.accounts[transfer.credit]
        if debit.number == credit.number:
            yield f"{transfer} goes nowhere"
        if (debit.mode, debit.live_account) != (credit.mode, credit.live_account):
            yield f"{transfer} leaves its test accounts"
        if "house" in {debit.kind, credit.kind} and transfer.kind not in {*BY_ORDER, "mint"}:
            yield f"{transfer} brings money in without a second operator"


def _payments(world: World) -> Iterator[str]:
    by_payment: dict[int, list[Transfer]] = defaultdict(list)
    for transfer in world.transfers:
        if transfer.kind == "pay":
            assert transfer.payment is not None
            by_payment[transfer.payment].append(transfer)
    for payment in world.payments.values():
        pays = [(row.debit, row.credit, row.currency, row.amount) for row in by_payment[payment.number]]
        expected = [(payment.payer, payment.merchant, payment.currency, payment.amount)]
        if pays != (expected if payment.status == "paid" else []):
            yield f"{payment} has the transfers {pays}"
        moves = 0 if payment.status == "pending" else 1
        if payment.version != 1 + moves + len(_refunds_of(world, payment.number)):
            yield f"{payment} has changed more or less often than it moved and was refunded"


def _refunds_of(world: World, payment: int) -> list[Refund]:
    return sorted((row for row in world.refunds.values() if row.payment == payment), key=lambda row: row.version)


def _refunds(world: World) -> Iterator[str]:
    """Each refund is one transfer back and one version, in one order, and they never exceed what was paid."""
    moved: dict[int, list[Transfer]] = defaultdict(list)
    for transfer in world.transfers:
        if transfer.kind == "refund":
            assert transfer.payment is not None
            moved[transfer.payment].append(transfer)
    for payment in world.payments.values():
        refunds = _refunds_of(world, payment.number)
        yield from _refunds_against(payment, refunds, moved.pop(payment.number, []))
        if refunds and (payment.status != "paid" or payment.updated_at != refunds[-1].created_at):
            yield f"{payment} does not show {refunds[-1]}"
    if moved:
        yield f"{dict(moved)} refund payments that are not there"


def _refunds_against(payment: Payment, refunds: list[Refund], back: list[Transfer]) -> Iterator[str]:
    if [row.version for row in refunds] != [*range(3, 3 + len(refunds))]:
        yield f"{payment} has other versions than {refunds}"
    made = [(row.sequence, row.amount, row.created_at) for row in refunds]
    if made != [(row.debit_sequence, row.amount, row.created_at) for row in back]:
        yield f"{refunds} are not {back}"
    sides = (payment.merchant, payment.payer, payment.currency)
    if any((row.debit, row.credit, row.currency) != sides for row in back):
        yield f"{back} do not go back where {payment} came from"
    if payment.refunded_amount != sum(row.amount for row in refunds) or payment.refunded_amount > payment.amount:
        yield f"{payment} has the refunds {refunds}"


def _moved_by(world: World, order: BankOrder) -> list[tuple[int, Transfer]]:
    """The transfers that fit an order, by the ids that a database gives them."""
    sides = (order.house, order.account) if order.kind == "deposit" else (order.account, order.house)
    return [
        (place, row)
        for place, row in enumerate(world.transfers, 1)
        if (row.bank_order, row.debit, row.credit) == (order.reference, *sides)
        and (row.currency, row.amount) == (order.currency, order.amount)
    ]


def _cash(world: World) -> Iterator[str]:
    for order in world.bank_orders.values():
        found = _moved_by(world, order)
        if len(found) != 1:
            yield f"{order} has {len(found)} transfers"
            continue
        [(_, transfer)] = found
        is_correction = world.accounts[order.house].name == CORRECTIONS
        kind = "reversal" if order.reverses else "correction" if is_correction else order.kind
        if transfer.kind != kind:
            yield f"{order} is booked as a {transfer.kind}"
        if order.reverses is None:
            if transfer.reverses is not None:
                yield f"{transfer} takes something back without saying so"
            continue
        taken_back = world.bank_orders[order.house, order.reverses]
        if [place for place, _ in _moved_by(world, taken_back)] != [transfer.reverses] or is_correction:
            yield f"{transfer} does not take back {taken_back}"
        way_back = (opposite(order.kind), order.account, order.currency, order.amount, None)
        of_before = (taken_back.kind, taken_back.account, taken_back.currency, taken_back.amount, taken_back.reverses)
        if way_back != of_before:
            yield f"{order} is not {taken_back} the other way round"
    reversed_orders = [(order.house, order.reverses) for order in world.bank_orders.values() if order.reverses]
    if len(reversed_orders) != len(set(reversed_orders)):
        yield f"some of {reversed_orders} were reversed twice"
    moved = [row for row in world.transfers if row.kind in BY_ORDER]
    if len(moved) != len(world.bank_orders):
        yield f"{len(moved)} transfers through house accounts, and {len(world.bank_orders)} orders"


def _events(world: World) -> Iterator[str]:
    """Every change after the creation has one event, and no event is without its change."""
    told = sorted((event.payment, event.version, event.type, event.account) for event in world.events)
    happened = [
        (payment.number, 2, f"remote_payment.{payment.status}", payment.merchant)
        for payment in world.payments.values()
        if payment.status != "pending"
    ]
    happened += [
        (refund.payment, refund.version, "refund.created", world.payments[refund.payment].merchant)
        for refund in world.refunds.values()
    ]
    if told != sorted(happened):
        yield f"events {told}, changes {happened}"
    last: dict[int, int] = defaultdict(int)
    for event in world.events:
        last[event.account] += 1
        if event.sequence != last[event.account]:
            yield f"{event} leaves a gap"
    if {account: counter.last for account, counter in world.event_counters.items()} != last:
        yield "an event counter is not the number of its events"


def _index(world: World) -> Iterator[str]:
    if len(set(world.payment_words)) != len(world.payment_words):
        yield "a word of a payment is written down twice"
    for block in world.indexed_blocks.values():
        if block.until < block.first - 1:
            yield f"{block} ends before it begins"


def _totals(world: World) -> Iterator[str]:
    """Each is what its transfers add up to, and nothing is left out."""
    for account, currency in {key[:2] for key in world.account_totals}:
        kept = [row for key, row in sorted(world.account_totals.items()) if key[:2] == (account, currency)]
        if kept != totals_of(world, account, currency, kept[-1].sequence):
            yield f"totals of account {account} in {currency} are {kept}"


def _counts(world: World) -> Iterator[str]:
    if world.counters["account"].last != len(world.accounts):
        yield "account ordinals have gaps"
    if world.counters["person"].last != len(world.people):
        yield "person ids have gaps"
