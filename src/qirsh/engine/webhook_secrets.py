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

    def opened(self, endpoint: WebhookEndpoint) -> tuple[str, ...] | None:
        """The secret, and the one before it where that is kept; None if one cannot be opened."""
        found = []
        for sealed in filter(None, (endpoint.secret_sealed, endpoint.old_secret_sealed)):
            plain = self._keyring.unseal(sealed, secret_purpose(endpoint.id))
            if plain is None:
                return None
            found.append(plain.decode())
        return tuple(found) or None
