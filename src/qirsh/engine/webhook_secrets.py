"""What webhooks are signed with. Outside an endpoint's owner's hands it is sealed, for that endpoint and no other."""

from typing import Final

from qirsh.domain.webhook import WebhookEndpoint
from qirsh.engine.keyring import Keyring, row_purpose

_PURPOSE: Final = "webhook"


def secret_purpose(endpoint: str) -> bytes:
    """What an endpoint's secrets are sealed for: no other row can borrow them."""
    return row_purpose(_PURPOSE, endpoint)


class WebhookSecrets:
    """Seals them for the database, and opens them for those who sign."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def sealed(self, secret: str, endpoint: str) -> bytes:
        """For this endpoint and no other."""
        return self._keyring.seal(secret.encode(), secret_purpose(endpoint))

    def opened(self, endpoint: WebhookEndpoint, *, now: int) -> tuple[str, ...] | None:
        """The secrets that sign now, the newest first; None if one of them cannot be opened.

        An old one whose time is over is left closed: the key that it is under may be gone.
        """
        sealed = [endpoint.secret_sealed]
        if endpoint.old_secret_until is not None and now < endpoint.old_secret_until:
            sealed.append(endpoint.old_secret_sealed)
        found = [self._keyring.unseal(one, secret_purpose(endpoint.id)) for one in sealed]
        secrets = tuple(plain.decode() for plain in found if plain is not None)
        return secrets if len(secrets) == len(sealed) else None

    def can_open(self, endpoint: WebhookEndpoint) -> bool:
        """Whether its secret can be opened, whatever became of the one before it."""
        return self._keyring.unseal(endpoint.secret_sealed, secret_purpose(endpoint.id)) is not None
