"""What `qirsh doctor` says of secrets: whether this is the one, and what is still under an old one."""

from pathlib import Path
from typing import Final

from qirsh.doctor.database_probe import has_begun, operators, probe
from qirsh.doctor.doctor_check import Finding
from qirsh.domain.webhook import WebhookEndpoint
from qirsh.engine.clock import system_clock
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.secret_file import read_secret
from qirsh.settings import Settings
from qirsh.web.auth.totp import unseal_seed

# What is kept under the secret, by the words for it; the first bytes of each value name the secret.
UNDER: Final = {
    "PINs, renewed when they are used": "SELECT mac FROM pin",
    "people's recovery codes, until they make new ones": "SELECT recovery FROM login WHERE length(recovery) > 0",
    "authenticator keys, renewed within a minute or two": "SELECT totp_sealed FROM login WHERE totp_sealed IS NOT NULL",
    "identities, renewed likewise": "SELECT facts_sealed FROM identity",
    "notes of operators, renewed likewise": "SELECT text_sealed FROM note WHERE length(text_sealed) > 0",
    "pictures of documents, renewed likewise": "SELECT sealed FROM identity_image",
    "webhook secrets, renewed likewise": "SELECT secret_sealed FROM webhook_endpoint WHERE length(secret_sealed) > 0",
    "earlier webhook secrets, renewed likewise": (
        "SELECT old_secret_sealed FROM webhook_endpoint WHERE length(old_secret_sealed) > 0"
    ),
    "bank accounts of businesses, renewed likewise": "SELECT details_sealed FROM bank_account",
    "texts of bank lines, renewed likewise": "SELECT text_sealed FROM bank_line",
    "open payouts, until they end": "SELECT bank_sealed FROM payout WHERE length(bank_sealed) > 0",
    "mails, until they are sent": "SELECT sealed FROM mail",
    "mailed codes, until their time is over": "SELECT code_mac FROM challenge WHERE length(code_mac) > 0",
    "mark of the database, renewed last": "SELECT value FROM constant WHERE name = 'secret_check'",
}


_WEBHOOKS: Final = "webhook_endpoint"
_ENDPOINTS: Final = (
    f"SELECT {', '.join(WebhookEndpoint.__struct_fields__)} FROM {_WEBHOOKS} WHERE state <> 'removed' ORDER BY id"  # noqa: S608 - our own names
)
_NAMED_MAX: Final = 20  # Enough to see which; all of them is said in a number.


def secret_key(settings: Settings) -> Finding:
    where = "QIRSH_SECRET_KEY" if settings.secret_keys else str(settings.secret_file)
    if not settings.secret_keys and not settings.secret_file.exists():
        # Of several machines on PostgreSQL, the first has made it, with the first operator.
        if has_begun(settings) and (isinstance(settings.database, Path) or operators(settings)):
            return Finding(
                "bad",
                f"{where} is missing: PINs and verification codes cannot be checked; restore it,"
                " or set QIRSH_SECRET_KEY to what it held",
            )
        return Finding("note", f"{where} does not exist yet; the first start makes it")
    if has_begun(settings):
        keyring = _keyring(settings)
        sealed = probe(settings, "SELECT totp_sealed, email FROM login WHERE totp_sealed IS NOT NULL LIMIT 10")
        if not all(unseal_seed(keyring, seed, email) for seed, email in sealed):
            return Finding(
                "bad", f"{where} does not open the operators' authenticator keys: it belongs to another database"
            )
    return Finding("ok", f"from {where}; without it PINs and authenticator keys are lost, so keep a copy elsewhere")


def old_secrets(settings: Settings) -> Finding:
    """How far a rotation has come."""
    if not has_begun(settings) or not (settings.secret_keys or settings.secret_file.exists()):
        return Finding("note", "there is nothing under a secret yet")
    newest, *old = _keyring(settings).ids
    left, lost = {}, {}
    has_webhooks = _has_webhooks(settings)
    for words, sql in UNDER.items():
        if _WEBHOOKS in sql and not has_webhooks:
            continue
        counts = _counts(settings, sql)
        counts.pop(newest, None)
        left[words] = sum(counts.get(one, 0) for one in old)
        lost[words] = sum(counts.values()) - left[words]
    if any(lost.values()):
        return Finding("bad", f"under a secret that is not set any more: {_listed(lost)}; add it to QIRSH_SECRET_KEY")
    if any(left.values()):
        return Finding("note", f"keep the old secret, under which are still: {_listed(left)}")
    if old:
        return Finding("note", "nothing is under an old secret any more: drop it from QIRSH_SECRET_KEY")
    return Finding("ok", "none")


def webhook_secrets(settings: Settings) -> Finding:
    """Whether webhooks can be signed: an endpoint whose secret cannot be opened stands still."""
    if not has_begun(settings) or not _has_webhooks(settings):
        return Finding("note", "there are no endpoints yet")
    if not (settings.secret_keys or settings.secret_file.exists()):
        return Finding("note", "cannot be tried without the secret key")
    secrets = WebhookSecrets(_keyring(settings))
    endpoints = [WebhookEndpoint(*row) for row in probe(settings, _ENDPOINTS)]
    now = system_clock()
    closed = [endpoint.id for endpoint in endpoints if secrets.opened(endpoint, now=now) is None]
    if closed:
        named = ", ".join(closed[:_NAMED_MAX]) + (f" and {len(closed) - _NAMED_MAX} more" * (len(closed) > _NAMED_MAX))
        return Finding(
            "bad",
            f"nothing is sent to {named}: this secret key does not open their secrets; add the old one to"
            " QIRSH_SECRET_KEY, or have their owners rotate them",
        )
    return Finding("ok", f"{len(endpoints)}, and all can be opened" if endpoints else "there are none")


def _has_webhooks(settings: Settings) -> bool:
    """A database of an earlier version gets their tables at the next start."""
    return bool(probe(settings, "SELECT 1 FROM schema_migration WHERE name = 'webhooks'"))


def _keyring(settings: Settings) -> Keyring:
    return Keyring(list(settings.secret_keys) or [read_secret(settings.secret_file)], system_entropy)


def _counts(settings: Settings, sql: str) -> dict[bytes, int]:
    value = sql.split()[1]
    grouped = f"SELECT substr({value}, 1, 4), count(*) FROM ({sql}) AS kept GROUP BY 1"  # noqa: S608 - our own names
    return {bytes(prefix): int(count) for prefix, count in probe(settings, grouped)}


def _listed(counts: dict[str, int]) -> str:
    return "; ".join(f"{count} {words}" for words, count in counts.items() if count)
