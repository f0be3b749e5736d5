"""While the setting names a new secret and old ones: what is sealed under an old one is sealed under the newest.

What only its owner knows, PINs and recovery codes, is renewed when they use it; what ends within days is left to end.
`qirsh doctor` counts what is left.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from qirsh.domain.commands.reseal import Reseal
from qirsh.domain.constant import SECRET_CHECK
from qirsh.domain.limits import CLEANED_AT_ONCE_MAX
from qirsh.domain.refusal import granted
from qirsh.domain.tables import Tables
from qirsh.engine.bank_details import bank_account_purpose
from qirsh.engine.bank_line_text import line_purpose
from qirsh.engine.batcher import Engine
from qirsh.engine.identity_facts import document_macs, facts_purpose, picture_purpose, unseal_facts
from qirsh.engine.keyring import Keyring, totp_purpose
from qirsh.engine.note_text import note_purpose
from qirsh.engine.webhook_secrets import secret_purpose
from qirsh.store.interface import Query, Store
from qirsh.workers.role import Role

_LOOK_EVERY_S: Final = 60


class _Kind(NamedTuple):
    """Values of one column: those that are not under the newest secret ($1), from where the last look ended."""

    subject: Any
    query: Query
    start: tuple[Any, ...]
    purpose: Callable[..., bytes]


_KINDS: Final = (
    _Kind(
        "login",
        Query(
            "SELECT totp_sealed, email FROM login WHERE totp_sealed IS NOT NULL AND substr(totp_sealed, 1, 4) <> $1"
            " AND email > $2 ORDER BY email LIMIT $3"
        ),
        ("",),
        totp_purpose,
    ),
    _Kind(
        "identity",
        Query(
            "SELECT facts_sealed, person FROM identity WHERE substr(facts_sealed, 1, 4) <> $1 AND person > $2"
            " ORDER BY person LIMIT $3"
        ),
        (0,),
        facts_purpose,
    ),
    _Kind(
        "identity_image",
        Query(
            "SELECT sealed, person, side FROM identity_image WHERE substr(sealed, 1, 4) <> $1"
            " AND (person, side) > ($2, $3) ORDER BY person, side LIMIT $4"
        ),
        (0, ""),
        picture_purpose,
    ),
    _Kind(
        "bank_account",
        Query(
            "SELECT details_sealed, id FROM bank_account WHERE substr(details_sealed, 1, 4) <> $1 AND id > $2"
            " ORDER BY id LIMIT $3"
        ),
        ("",),
        bank_account_purpose,
    ),
    _Kind(
        "bank_line",
        Query(
            "SELECT text_sealed, house, digest FROM bank_line WHERE substr(text_sealed, 1, 4) <> $1"
            " AND (house, digest) > ($2, $3) ORDER BY house, digest LIMIT $4"
        ),
        (0, b""),
        line_purpose,
    ),
    # Nothing is left of those about an erased person.
    _Kind(
        "note",
        Query(
            "SELECT text_sealed, id FROM note WHERE length(text_sealed) > 0 AND substr(text_sealed, 1, 4) <> $1"
            " AND id > $2 ORDER BY id LIMIT $3"
        ),
        ("",),
        note_purpose,
    ),
    # A removed endpoint has none.
    _Kind(
        "webhook_secret",
        Query(
            "SELECT secret_sealed, id FROM webhook_endpoint WHERE length(secret_sealed) > 0"
            " AND substr(secret_sealed, 1, 4) <> $1 AND id > $2 ORDER BY id LIMIT $3"
        ),
        ("",),
        secret_purpose,
    ),
    _Kind(
        "webhook_old_secret",
        Query(
            "SELECT old_secret_sealed, id FROM webhook_endpoint WHERE length(old_secret_sealed) > 0"
            " AND substr(old_secret_sealed, 1, 4) <> $1 AND id > $2 ORDER BY id LIMIT $3"
        ),
        ("",),
        secret_purpose,
    ),
)


_DOCUMENTS: Final = Query(
    "SELECT person, facts_sealed, document_mac FROM identity WHERE length(document_mac) > 0"
    " AND substr(document_mac, 1, 4) <> $1 AND person > $2 ORDER BY person LIMIT $3"
)


class SecretRotator:
    """Looks each minute, while the role is its own and there is an old secret."""

    def __init__(self, store: Store, engine: Engine, keyring: Keyring) -> None:
        self._role = Role("secret rotator", store, engine)
        self._store = store
        self._engine = engine
        self._keyring = keyring

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._role.play(self._look, idle_s=_LOOK_EVERY_S)

    async def _look(self) -> float:
        await self.reseal()
        return _LOOK_EVERY_S

    async def reseal(self) -> int:
        """All that can be; how much it was. A database that is done with knows the newest secret as its own."""
        done, is_finished, newest = 0, True, self._keyring.ids[0]
        for kind in _KINDS:
            place: tuple[Any, ...] = kind.start
            while rows := await self._store.search(kind.query, newest, *place, CLEANED_AT_ONCE_MAX):
                for sealed, *key in rows:
                    is_renewed = await self._renew(kind.subject, tuple(key), sealed, kind.purpose(*key))
                    done += is_renewed
                    is_finished = is_finished and is_renewed
                place = tuple(rows[-1][1:])
        done += await self._renew_documents(newest)
        if is_finished:
            kept = await self._store.find(Tables.constants, SECRET_CHECK)
            if kept is not None and not kept.value.startswith(newest):
                done += await self._renew("constant", (SECRET_CHECK,), kept.value, SECRET_CHECK.encode())
        return done

    async def _renew_documents(self, newest: bytes) -> int:
        """The digests of documents, as far as what they are of can be read: else they match nothing any more."""
        done, after_person = 0, 0
        while rows := await self._store.search(_DOCUMENTS, newest, after_person, CLEANED_AT_ONCE_MAX):
            for person, sealed, before in rows:
                facts = unseal_facts(self._keyring, bytes(sealed), person)
                if facts is not None:
                    after = document_macs(self._keyring, facts)[0]
                    done += granted(
                        await self._engine.submit(Reseal("identity_document", person, bytes(before), after))
                    )
            after_person = rows[-1][0]
        return done

    async def _renew(self, subject: Any, key: tuple[Any, ...], sealed: bytes, purpose: bytes) -> bool:  # noqa: ANN401 - a literal
        after = self._keyring.resealed(sealed, purpose)
        if after is None:  # Under a secret that is not ours: `qirsh doctor` tells of it.
            return False
        command = Reseal(subject, key[0] if len(key) == 1 else key, sealed, after)
        return granted(await self._engine.submit(command))
