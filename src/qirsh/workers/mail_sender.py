"""Mails that wait are sent, those with codes before all others, and the oldest first.

Who gets what is never logged, nor what a mail server says of it.
"""

import asyncio
import logging
import random
from email.headerregistry import Address
from typing import Final
from zoneinfo import ZoneInfo

from qirsh.domain.commands.mail import MailFailed, MailSent
from qirsh.domain.limits import MAIL_AT_ONCE_MAX, MAIL_TRIED_MS
from qirsh.domain.mail import Mail
from qirsh.engine.batcher import Engine
from qirsh.engine.clock import Clock
from qirsh.engine.keyring import Keyring
from qirsh.engine.mail_crypto import opened
from qirsh.language.mail_text import compose
from qirsh.store.interface import Store
from qirsh.store.reads import queries
from qirsh.store.sqlite.thread import WorkThread
from qirsh.workers.mail_message import NoAddress, message_of
from qirsh.workers.role import Role
from qirsh.workers.smtp_client import LineDown, NeverDeliverable, SmtpLine, Undelivered

log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.5
_LINE_DOWN_S: Final = 10.0  # Other mails would fare no better at once.
_MINUTE_S: Final = 60
# After each failed attempt; then the last one again and again.
_WAITS_S: Final = (10, _MINUTE_S, 5 * _MINUTE_S, 30 * _MINUTE_S, 120 * _MINUTE_S, 360 * _MINUTE_S)
_JITTER: Final = 0.2  # Mails that failed together shall not come back together.
_ONE_MAIL_S_MAX: Final = 60.0  # A server that sends a byte now and then would keep the line for ever.
_LEAVE_S: Final = 5.0  # What is being sent when we are to end gets this long to be sent and forgotten.


class MailSender:
    """Sends one mail after another, while the role is its own.

    Each is forgotten before the next is sent: a process that dies leaves at most one that is sent again, under the same
    Message-ID.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        clock: Clock,
        *,
        keyring: Keyring,
        line: SmtpLine,
        sender: Address,
        base_url: str,
        zone: ZoneInfo,
    ) -> None:
        self._role = Role("mail sender", store, engine)
        self._store = store
        self._engine = engine
        self._clock = clock
        self._keyring = keyring
        self._line = line
        self._sender = sender
        self._base_url = base_url
        self._zone = zone
        self._thread = WorkThread("mail")

    async def run(self) -> None:
        """Until it is cancelled. A mail that waits is late, and not lost."""
        try:
            await self._role.play(self._look, idle_s=_LOOK_EVERY_S)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the line and the thread."""
        self._line.cut()
        self._thread.leave(self._line.close)

    async def _look(self) -> float:
        return _LINE_DOWN_S if await self.send_due() else _LOOK_EVERY_S

    async def send_due(self) -> bool:
        """One look: whether the line is down. What could not be sent, comes up again when it is due."""
        is_down = False
        handled = 0
        while handled < MAIL_AT_ONCE_MAX and not is_down:
            # One at a time: a code that is asked for meanwhile comes next.
            due = await self._store.select(queries.DUE_MAIL, self._clock())
            if not due or not await self._role.is_held():
                break
            is_down = await self._finished(Mail(*due[0]))
            handled += 1
        if handled:
            await self._role.during(asyncio.ensure_future(self._thread.run(self._line.close)))
        return is_down

    async def _finished(self, mail: Mail) -> bool:
        """One mail to its end, also when we are to end: what is sent and not forgotten is sent again."""
        work = asyncio.create_task(self._handle(mail))
        try:
            return await self._role.during(work)
        except asyncio.CancelledError:
            await asyncio.wait({work}, timeout=_LEAVE_S)
            self._line.cut()
            work.cancel()
            raise

    async def _handle(self, mail: Mail) -> bool:
        """Whether the line is down."""
        if self._clock() - mail.created_at > MAIL_TRIED_MS:
            await self._give_up(mail, "it is too old")
            return False
        try:
            await self._send(mail)
        except (NeverDeliverable, NoAddress) as error:
            await self._give_up(mail, str(error) or "nobody can be reached by its address")
        except LineDown as error:
            await self._put_off(mail, str(error))
            return True
        except Undelivered as error:
            await self._put_off(mail, str(error))
        except Exception as error:  # noqa: BLE001 - its words may hold what the mail says, so they are not told
            await self._put_off(mail, f"it cannot be made: {type(error).__name__}")
        else:
            await self._engine.submit(MailSent(mail.id))
        return False

    async def _send(self, mail: Mail) -> None:
        envelope = opened(self._keyring, mail.sealed, mail.id)
        if envelope is None:
            raise Undelivered("it cannot be opened with this secret key")
        subject, body = compose(
            envelope.kind,
            envelope.language,
            envelope.words,
            at=mail.created_at,
            base_url=self._base_url,
            zone=self._zone,
        )
        message = message_of(
            mail_id=mail.id,
            sender=self._sender,
            to=envelope.to,
            language=envelope.language,
            at=mail.created_at,
            subject=subject,
            body=body,
        )
        deadline = asyncio.get_running_loop().call_later(_ONE_MAIL_S_MAX, self._line.cut)
        try:
            await self._thread.run(
                lambda: self._line.send(sender=self._sender.addr_spec, to=envelope.to, message=message)
            )
        finally:
            deadline.cancel()

    async def _put_off(self, mail: Mail, why: str) -> None:
        usual_s = _WAITS_S[min(mail.attempts, len(_WAITS_S) - 1)]
        wait_s = usual_s * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - it guards nothing
        log.warning("mail %s is tried again in %.0f s: %s", mail.id, wait_s, why)
        await self._engine.submit(MailFailed(mail.id, self._clock() + round(wait_s * 1000)))

    async def _give_up(self, mail: Mail, why: str) -> None:
        log.error("mail %s is given up after %d failed attempts: %s", mail.id, mail.attempts, why)
        await self._engine.submit(MailSent(mail.id))
