"""Counts payments and refunds once they are durable, by what became of them."""

from typing import Final

from qirsh.domain.money import CURRENCIES
from qirsh.domain.payment import Payment
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.metrics.catalogue import PAYMENTS, REFUNDS, VALUES
from qirsh.metrics.meters import Meters


class PaymentMeter:
    """Hears of each batch that was committed."""

    def __init__(self, meters: Meters) -> None:
        self._cells: Final = meters.cells
        modes = VALUES["mode"]
        self._payments: Final = {
            (outcome, mode, currency): meters.place(PAYMENTS, outcome, mode, currency)
            for outcome in VALUES["outcome"]
            for mode in modes
            for currency in CURRENCIES
        }
        self._refunds: Final = {
            (mode, currency): meters.place(REFUNDS, mode, currency) for mode in modes for currency in CURRENCIES
        }

    def hear(self, work: UnitOfWork) -> None:
        """What was kept: every batch that changes a payment has read whose it is."""
        met = vars(work)
        payments = met.get("payments")
        if payments is None:
            return
        cells, places = self._cells, self._payments
        for payment in payments.added.values():
            cells[places["created", _mode(work, payment), payment.currency]] += 1
        for payment in payments.changed.values():
            if payment.refunded_amount == 0:  # A refund changes a payment that was counted.
                cells[places[payment.status, _mode(work, payment), payment.currency]] += 1
        if (refunds := met.get("refunds")) is not None:
            for refund in refunds.added.values():
                payment = payments.known[refund.payment]
                cells[self._refunds[_mode(work, payment), payment.currency]] += 1


def _mode(work: UnitOfWork, payment: Payment) -> str:
    merchant = work.accounts.get(payment.merchant)
    assert merchant is not None, "a payment without its merchant"
    return merchant.mode
