"""Starts what works beside the answers: one task for each role, built from the parts that the service has."""

import asyncio
import logging
from typing import Final
from urllib.parse import urlsplit

from qirsh.domain.limits import REVOCATION_POLL_MS
from qirsh.engine.chain_memory import ChainMemory
from qirsh.outbound.guard import Guard
from qirsh.outbound.outbound import Outbound
from qirsh.settings import Settings
from qirsh.store.interface import StoreUnavailable
from qirsh.web.http.context import Context
from qirsh.workers.access_resetter import AccessResetter
from qirsh.workers.attempt_recorder import AttemptRecorder
from qirsh.workers.chain_watch import ChainWatch
from qirsh.workers.delivery_cleaner import DeliveryCleaner
from qirsh.workers.identity_cleaner import IdentityCleaner
from qirsh.workers.key_notifier import KeyNotifier
from qirsh.workers.ledger_auditor import LedgerAuditor
from qirsh.workers.mail_sender import MailSender
from qirsh.workers.notifier import Notifier
from qirsh.workers.payment_expirer import PaymentExpirer
from qirsh.workers.payment_indexer import PaymentIndexer
from qirsh.workers.process_sampler import ProcessSampler
from qirsh.workers.proposal_lapser import ProposalLapser
from qirsh.workers.request_cleaner import RequestCleaner
from qirsh.workers.request_recorder import RequestRecorder
from qirsh.workers.response_cleaner import ResponseCleaner
from qirsh.workers.sealer import Sealer
from qirsh.workers.secret_rotator import SecretRotator
from qirsh.workers.shop_owner import OwnerMail
from qirsh.workers.smtp_client import SmtpLine
from qirsh.workers.statement_notifier import StatementNotifier
from qirsh.workers.totaler import Totaler
from qirsh.workers.webhook_notifier import WebhookNotifier
from qirsh.workers.webhook_parcels import Parcels
from qirsh.workers.webhook_sender import WebhookSender

log = logging.getLogger(__name__)

_LATE_CALLERS_S: Final = 1.0
# Of those that one process plays at a time.
ROLE_NAMES: Final = (
    *("access resetter", "delivery cleaner", "identity cleaner", "key notifier", "ledger auditor", "mail sender"),
    *("notifier", "payment expirer", "payment indexer", "proposal lapser", "request cleaner", "response cleaner"),
    *("sealer", "secret rotator", "statement notifier", "totaler", "webhook notifier", "webhook sender"),
)


def start_roles(settings: Settings, context: Context) -> list[asyncio.Task[None]]:
    """All that this process plays, or waits to play: most are for one process at a time."""
    roles = [
        asyncio.create_task(PaymentExpirer(context.store, context.engine).run(), name="payment-expirer"),
        asyncio.create_task(PaymentIndexer(context.store, context.engine).run(), name="payment-indexer"),
        asyncio.create_task(Sealer(context.store, context.engine, context.clock).run(), name="sealer"),
        asyncio.create_task(Totaler(context.store, context.engine).run(), name="totaler"),
        asyncio.create_task(LedgerAuditor(context.store, context.engine).run(), name="ledger-auditor"),
        asyncio.create_task(
            IdentityCleaner(context.store, context.engine, days=settings.identity_days).run(),
            name="identity-cleaner",
        ),
        asyncio.create_task(
            ResponseCleaner(context.store, context.engine, context.clock).run(), name="response-cleaner"
        ),
        asyncio.create_task(ProposalLapser(context.store, context.engine, context.clock).run(), name="proposal-lapser"),
        asyncio.create_task(
            DeliveryCleaner(context.store, context.engine, context.clock, days=settings.delivery_days).run(),
            name="delivery-cleaner",
        ),
        asyncio.create_task(RequestRecorder(context.engine, context.requests.take).run(), name="request-recorder"),
        asyncio.create_task(AttemptRecorder(context.engine, context.attempts.take).run(), name="attempt-recorder"),
        asyncio.create_task(RequestCleaner(context.store, context.engine, context.clock).run(), name="request-cleaner"),
        asyncio.create_task(_send_webhooks(settings, context), name="webhook-sender"),
        asyncio.create_task(_poll_revocations(context), name="revocation-poll"),
        asyncio.create_task(_chain_watch(settings, context).run(), name="chain-watch"),
        asyncio.create_task(_answer_late_callers(context), name="late-callers"),
        asyncio.create_task(
            ProcessSampler(context.store, context.engine, context.engine.meters).run(), name="process-sampler"
        ),
        asyncio.create_task(_access_resetter(context).run(), name="access-resetter"),
    ]
    if (mail_sender := _mail_sender(settings, context)) is not None:
        roles.append(asyncio.create_task(mail_sender.run(), name="mail-sender"))
    if len(context.keyring.ids) > 1:
        rotator = SecretRotator(context.store, context.engine, context.keyring)
        roles.append(asyncio.create_task(rotator.run(), name="secret-rotator"))
    if context.has_mail:
        roles.append(asyncio.create_task(_notifier(context).run(), name="notifier"))
        mail = OwnerMail(context.store, context.keyring, context.entropy, context.base_url)
        webhook_notifier = WebhookNotifier(context.store, context.engine, context.clock, mail)
        key_notifier = KeyNotifier(context.store, context.engine, context.clock, mail)
        roles.append(asyncio.create_task(webhook_notifier.run(), name="webhook-notifier"))
        roles.append(asyncio.create_task(key_notifier.run(), name="key-notifier"))
        statement_notifier = StatementNotifier(context.store, context.engine, context.clock, mail, context.time_zone)
        roles.append(asyncio.create_task(statement_notifier.run(), name="statement-notifier"))
    return roles


async def _send_webhooks(settings: Settings, context: Context) -> None:
    """By names and connections of its own: whoever pings an endpoint does not wait behind it, nor it behind them."""
    outbound = Outbound(Guard(networks=settings.webhook_networks), now_ms=context.clock)
    try:
        sender = WebhookSender(
            context.store,
            context.engine,
            context.clock,
            secrets=context.webhook_secrets,
            poster=await outbound.poster(),
            parcels=Parcels(context.store, context.identifiers, context.base_url),
            networks=settings.webhook_networks,
        )
        await sender.run()
    except Exception:
        log.exception("webhooks are not sent by this process")
        raise
    finally:
        outbound.close()


def _chain_watch(settings: Settings, context: Context) -> ChainWatch:
    return ChainWatch(context.store, context.engine, context.clock, ChainMemory(settings.data_dir))


def _access_resetter(context: Context) -> AccessResetter:
    return AccessResetter(
        context.store,
        context.engine,
        context.clock,
        keyring=context.keyring,
        entropy=context.entropy,
        has_mail=context.has_mail,
    )


def _notifier(context: Context) -> Notifier:
    return Notifier(
        context.store,
        context.engine,
        context.clock,
        keyring=context.keyring,
        entropy=context.entropy,
        identifiers=context.identifiers,
        base_url=context.base_url,
    )


def _mail_sender(settings: Settings, context: Context) -> MailSender | None:
    server, sender = settings.smtp, settings.mail_from
    if server is None or sender is None:
        return None
    line = SmtpLine(
        host=server.host,
        port=server.port,
        security=server.security,
        user=server.user,
        password=server.password,
        own_name=urlsplit(context.base_url).hostname or "localhost",
    )
    return MailSender(
        context.store,
        context.engine,
        context.clock,
        keyring=context.keyring,
        line=line,
        sender=sender,
        base_url=context.base_url,
        zone=context.time_zone,
    )


async def _answer_late_callers(context: Context) -> None:
    while True:
        await asyncio.sleep(_LATE_CALLERS_S)
        context.engine.answer_late_callers()


async def _poll_revocations(context: Context) -> None:
    # Without a poll nobody is trusted from memory, so nothing is unsafe; but it should be known, once.
    is_away = False
    while True:
        await asyncio.sleep(REVOCATION_POLL_MS / 1000)
        try:
            await context.callers.poll()
        except StoreUnavailable as error:
            if not is_away:
                log.warning("%s", error)
            is_away = True
        except Exception:
            log.exception("revocation poll failed")
        else:
            if is_away:
                log.warning("the database answers again")
            is_away = False
