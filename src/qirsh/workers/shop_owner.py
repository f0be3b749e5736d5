"""Whom a worker writes to about a business, in which language, and how it is named there."""

import msgspec

from qirsh.domain.account import Account
from qirsh.domain.mail import Letter
from qirsh.domain.tables import Tables
from qirsh.engine.entropy import Entropy
from qirsh.engine.keyring import Keyring
from qirsh.engine.mail_crypto import Envelope, letter
from qirsh.language.catalog import mark as _
from qirsh.language.catalog import text
from qirsh.store.interface import Store
from qirsh.store.reads import people as people_queries


class ShopOwner(msgspec.Struct, frozen=True):
    """The owner of a business, who has an address."""

    email: str
    language: str
    shop_name: str
    shop_state: str


class OwnerMail:
    """Letters to owners of businesses, with links to their pages."""

    def __init__(self, store: Store, keyring: Keyring, entropy: Entropy, base_url: str) -> None:
        self._store = store
        self._keyring = keyring
        self._entropy = entropy
        self._base_url = base_url

    async def owner_of(self, number: int) -> ShopOwner | None:
        """Of the business whose live or test account this is; None if they are not there any more."""
        store = self._store
        account = await store.find(Tables.accounts, number)
        assert account is not None, "something without its account"
        live = account if account.live_account is None else await store.find(Tables.accounts, account.live_account)
        assert live is not None, "a test account without its live account"
        owner = None if live.owner is None else await store.find(Tables.people, live.owner)
        addresses = [] if owner is None else await store.select(people_queries.EMAIL_OF, owner.id)
        if owner is None or not addresses:
            return None
        return ShopOwner(addresses[0][0], owner.language, _named(account, owner.language), live.state)

    def letter(self, owner: ShopOwner, kind: str, page: str, **words: str | int) -> Letter:
        """One of a kind, about something that has a page at `/business` of its own."""
        told = {"name": owner.shop_name, "url": f"{self._base_url}/business/{page}", **words}
        return letter(self._keyring, self._entropy, Envelope(owner.email, owner.language, kind, told))


def _named(account: Account, language: str) -> str:
    """A test account has the name of its live account, and the same program may use both."""
    if account.mode == "live":
        return account.name
    return text(language, _("%(name)s (test account)"), name=account.name)
