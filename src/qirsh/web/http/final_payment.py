"""Waiting for a payment to become final."""

import asyncio
from contextlib import suppress

from qirsh.domain.payment import Payment
from qirsh.domain.tables import Tables
from qirsh.web.http.context import Context


async def final_or_late(context: Context, number: int, wait_s: float) -> Payment:
    """The payment as soon as it is final, or as it is after so long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    while True:
        with context.waiters.registered(number) as changed:
            payment = await context.store.find(Tables.payments, number)
            assert payment is not None, "payments never vanish"
            left_s = end - loop.time()
            if payment.status != "pending" or left_s <= 0 or context.waiters.is_closed:
                return payment
            # Another process may have changed it, so nobody waits longer than a second without a look.
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, 1.0)):
                    await changed.wait()
