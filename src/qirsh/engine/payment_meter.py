"""Counts payments and refunds once they are durable, by what became of them."""

from typing import Final

from qirsh.domain.money import CURRENCIES
from qirsh.domain.unit_of_work import UnitOfWork
from qirsh.metrics.catalogue import OTHER, PAYMENTS, REFUNDS, VALUES
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
        """Whose mode the batch had no need to know, as when payments expire, is counted as other."""
        met = vars(work)
        payments = met.get("payments")
        if payments is None:
            return
        cells, places = self._cells, self._payments
        accounts = work.accounts.known
        for payment in payments.added.values():
            account = accounts.get(payment.merchant)
            cells[places["created", account.mode if account else OTHER, payment.currency]] += 1
        for payment in payments.changed.values():
            if payment.refunded_amount == 0:  # A refund changes a payment that was counted.
                account = accounts.get(payment.merchant)
                cells[places[payment.status, account.mode if account else OTHER, payment.currency]] += 1
        if (refunds := met.get("refunds")) is not None:
            for refund in refunds.added.values():
                payment = payments.known[refund.payment]
                account = accounts.get(payment.merchant)
                cells[self._refunds[account.mode if account else OTHER, payment.currency]] += 1
