"""Which secrets of an endpoint are opened, and which are left closed."""

from typing import Final

import msgspec

from qirsh.domain.webhook import WebhookEndpoint
from qirsh.engine.entropy import system_entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.webhook_secrets import WebhookSecrets
from tests.domain.webhook_cases import ROW

NOW: Final = 1_000_000
OURS: Final = WebhookSecrets(Keyring([b"the secret key of the service, today"], system_entropy))
LOST: Final = WebhookSecrets(Keyring([b"the secret key of the service, before"], system_entropy))


def endpoint(new: WebhookSecrets, old: WebhookSecrets) -> WebhookEndpoint:
    """With two secrets, under a key each; the old one signs until now."""
    return msgspec.structs.replace(
        ROW,
        secret_sealed=new.sealed("new", ROW.id),
        old_secret_sealed=old.sealed("old", ROW.id),
        old_secret_until=NOW,
    )


def test_both_are_opened_while_both_sign_and_then_the_new_one_alone() -> None:
    both = endpoint(OURS, OURS)
    assert OURS.opened(both, now=NOW - 1) == ("new", "old")
    assert OURS.opened(both, now=NOW) == ("new",)


def test_an_old_one_that_cannot_be_opened_blocks_while_it_would_sign_and_not_after() -> None:
    half = endpoint(OURS, LOST)
    assert OURS.opened(half, now=NOW - 1) is None
    assert OURS.opened(half, now=NOW) == ("new",)


def test_a_new_one_that_cannot_be_opened_is_not_replaced_by_the_old_one() -> None:
    half = endpoint(LOST, OURS)
    assert OURS.opened(half, now=NOW - 1) is None
    assert OURS.opened(half, now=NOW) is None


def test_whether_the_secret_can_be_opened_does_not_hang_on_the_one_before_it() -> None:
    assert OURS.can_open(endpoint(OURS, LOST))
    assert not OURS.can_open(endpoint(LOST, OURS))
