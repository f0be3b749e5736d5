"""What a run is let in by and looks for, made anew each time: sessions end, and a file of the bank is imported."""

import asyncio
import time
from typing import Final

import msgspec

from bench.console.bank import BankTimes, import_file
from bench.console.ground import Desk
from qirsh.domain.api_key import OPERATOR_SESSION_KIND, make_token, token_hash
from qirsh.domain.commands.operator_session import OpenOperatorSession
from qirsh.domain.refusal import Refused
from qirsh.service import opened
from qirsh.store.interface import Query
from qirsh.store.reads.people import EMAIL_OF
from qirsh.web.http.context import Context

_REQUESTS: Final = Query("SELECT id FROM request_log ORDER BY at DESC LIMIT 200")


class Doors(msgspec.Struct, frozen=True):
    """An operator's browser, and what there is since."""

    operator: str
    requests: list[str]
    statement: str
    bank: BankTimes


def open_doors(desk: Desk) -> Doors:
    """While the service is stopped."""
    return asyncio.run(_open_doors(desk))


async def _open_doors(desk: Desk) -> Doors:
    async with opened(desk.ground.read_settings()) as context:
        statement, bank = await import_file(context, desk.crowd.operators[0], desk.size)
        return Doors(
            operator=await _signed_in(context, desk.crowd.operators[0]),
            requests=[found for (found,) in await context.store.select(_REQUESTS)],
            statement=statement,
            bank=bank,
        )


async def _signed_in(context: Context, operator: int) -> str:
    """Nobody can type a code for an operator of the bench: what it would have used up is used up."""
    [(email,)] = await context.store.select(EMAIL_OF, operator)
    token = make_token(OPERATOR_SESSION_KIND, context.entropy(32))
    command = OpenOperatorSession(
        hash=token_hash(token.encode()),
        person=operator,
        operator=operator,
        actor=f"operator {operator}",
        address="127.0.0.1",
        email=email,
        totp_step=time.time_ns() // 1_000_000,
    )
    outcome = await context.engine.submit(command)
    assert type(outcome) is not Refused, outcome
    return token
