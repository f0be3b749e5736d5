"""A rotation of the secret key comes to its end: what is stored is sealed under the new one, which is then enough."""

from collections.abc import Iterator
from typing import Final

import pytest

from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.webhook import RemoveWebhookEndpoint, RotateWebhookSecret
from qirsh.domain.constant import SECRET_CHECK
from qirsh.domain.tables import Tables
from qirsh.domain.webhook import WebhookEndpoint
from qirsh.engine.entropy import system_entropy
from qirsh.engine.identity_facts import Facts, document_macs, seal_facts, seal_picture, unseal_facts, unseal_picture
from qirsh.engine.keyring import Keyring
from qirsh.engine.note_text import text_of
from qirsh.engine.webhook_secrets import WebhookSecrets
from qirsh.store.verify import verify
from qirsh.workers.secret_rotator import SecretRotator
from tests.live import InProcess, in_process, pay
from tests.postgres import PostgresServer
from tests.web.operator.bank import FORMAT, confirmed
from tests.workers.webhooks import Hooks, Shelf

NEW: Final = b"a new secret of thirty-two bytes"
OTHER: Final = b"another secret of thirty-two byt"
FACTS: Final = Facts("Nour", "Haddad", "1990-01-01", "passport", "1")


@pytest.fixture
def world(engine: PostgresServer | None) -> Iterator[InProcess]:
    with in_process(engine, shops=1, people=1) as held:
        yield held


def keyrings(world: InProcess) -> tuple[Keyring, Keyring]:
    """While the secret is rotated, and afterwards."""
    old = world.settings.secret_keys
    return Keyring([NEW, *old], system_entropy), Keyring([NEW], system_entropy)


def reseal(world: InProcess, keyring: Keyring) -> int:
    return world.run(SecretRotator(world.context.store, world.context.engine, keyring).reseal())


def shown(world: InProcess, keyring: Keyring, mac: bytes = b"") -> int:
    """Somebody who has shown who they are."""
    account = world.person(verified=False).account
    with world.books() as books:
        [(person,)] = books.select("SELECT owner FROM account WHERE number = ?", int(account))
    images = (
        ("front", seal_picture(keyring, b"one", person, "front")),
        ("back", seal_picture(keyring, b"two", person, "back")),
    )
    command = SubmitIdentity(person, int(account), seal_facts(keyring, FACTS, person), images, mac)  # type: ignore[arg-type]  # Sides.
    world.run(world.context.engine.submit(command))
    return int(person)


def mark(world: InProcess) -> bytes:
    found = world.run(world.context.store.find(Tables.constants, SECRET_CHECK))
    assert found is not None
    return found.value


@pytest.mark.both_engines
def test_what_is_sealed_is_sealed_anew_and_the_old_secret_is_not_needed_any_more(world: InProcess) -> None:
    both, alone = keyrings(world)
    people = [shown(world, world.context.keyring) for _ in range(2)]
    # Two operators' second factors, and of each person the facts and two pictures; and the mark of the database.
    assert reseal(world, both) == 2 + 2 * 3 + 1
    assert reseal(world, both) == 0
    assert alone.unseal(mark(world), SECRET_CHECK.encode()) == b""
    for person in people:
        found = world.run(world.context.store.find(Tables.identities, person))
        image = world.run(world.context.store.find(Tables.identity_images, (person, "back")))
        assert found is not None
        assert image is not None
        assert unseal_facts(alone, found.facts_sealed, person) == FACTS
        assert unseal_picture(alone, image.sealed, person, "back") == b"two"
    world.change(keyring=alone)
    assert world.act("operator list")
    assert verify(world.settings.database, lambda _: None) == []


def test_webhooks_are_signed_with_the_same_secrets_before_and_after(world: InProcess) -> None:
    both, alone = keyrings(world)
    shop, context = world.merchants[0], world.context
    before = WebhookSecrets(context.keyring)

    async def made() -> tuple[list[str], dict[str, str]]:
        hooks = Hooks(world, Shelf())
        endpoints = [await hooks.endpoint(shop, path, port=1) for path in ("/one", "/two", "/gone")]
        turned = RotateWebhookSecret(
            endpoints[1], int(shop.account), before.sealed("newer", endpoints[1]), 3_600_000, "test"
        )
        assert isinstance(await context.engine.submit(turned), WebhookEndpoint)
        await context.engine.submit(RemoveWebhookEndpoint(endpoints[2], int(shop.account), "test"))
        return endpoints, hooks.secrets

    (one, two, gone), secrets = world.run(made())
    # Two secrets of the second, none of the one that is gone; two operators' keys, and the mark of the database.
    assert reseal(world, both) == 1 + 2 + 2 + 1
    assert reseal(world, both) == 0
    after = WebhookSecrets(alone)
    for endpoint, expected in ((one, (secrets[one],)), (two, ("newer", secrets[two])), (gone, None)):
        found = world.run(context.store.find(Tables.webhook_endpoints, endpoint))
        assert found is not None
        assert after.opened(found, now=world.now_ms()) == expected
    assert verify(world.settings.database, lambda _: None) == []


def test_a_pin_is_renewed_when_it_is_used(world: InProcess) -> None:
    both, alone = keyrings(world)
    customer, merchant = world.customers[0], world.merchants[0]
    world.change(keyring=both)
    assert world.send(pay(customer, world.payment(merchant))).status_code == 200
    world.change(keyring=alone)
    assert world.send(pay(customer, world.payment(merchant))).status_code == 200
    assert verify(world.settings.database, lambda _: None) == []


def test_what_another_secret_has_sealed_is_left_and_the_database_not_marked_as_done(world: InProcess) -> None:
    both, _ = keyrings(world)
    before = mark(world)
    person = shown(world, Keyring([OTHER], system_entropy))
    later = shown(world, world.context.keyring)
    assert reseal(world, both) == 2 + 3
    assert mark(world) == before
    found = world.run(world.context.store.find(Tables.identities, person))
    assert found is not None
    assert unseal_facts(Keyring([OTHER], system_entropy), found.facts_sealed, person) == FACTS
    renewed = world.run(world.context.store.find(Tables.identities, later))
    assert renewed is not None
    assert renewed.facts_sealed[:4] == both.ids[0]
    # With the third one named as an old one too, it comes to its end.
    every = Keyring([NEW, *world.settings.secret_keys, OTHER], system_entropy)
    assert reseal(world, every) == 3 + 1


def test_old_secrets_open_and_never_seal_or_sign(world: InProcess) -> None:
    both, alone = keyrings(world)
    old = world.context.keyring
    sealed = both.seal(b"plain", b"purpose")
    assert (old.unseal(sealed, b"purpose"), alone.unseal(sealed, b"purpose")) == (None, b"plain")
    assert both.unseal(old.seal(b"plain", b"purpose"), b"purpose") == b"plain"
    assert both.form_token("a") == alone.form_token("a") != old.form_token("a")
    assert both.is_form_token(old.form_token("a"), "a")
    assert both.pin_mac(1, "123456") == alone.pin_mac(1, "123456")
    assert both.code_mac("a", "b") == alone.code_mac("a", "b")
    assert both.passkey_macs("a")[0] == alone.passkey_macs("a")[0]
    # Machines that are told first of the new one open what those have sealed that already use it.
    assert Keyring([*world.settings.secret_keys, NEW], system_entropy).unseal(sealed, b"purpose") == b"plain"


def test_what_the_bank_wrote_is_sealed_anew(world: InProcess) -> None:
    both, alone = keyrings(world)
    world.act("bank format", **FORMAT)
    world.act("bank import", **confirmed("2027-01-15,5.00,USD,,قهوة", "2027-01-15,6.00,USD,,çay"))
    assert reseal(world, both) == 2 + 2 + 1  # Of two operators, of two lines, and the mark of the database.
    assert reseal(world, both) == 0
    world.change(keyring=alone)
    assert {item["text"] for item in world.act("bank list", what="lines")["items"]} == {"قهوة", "çay"}


def test_notes_of_operators_are_sealed_anew(world: InProcess) -> None:
    both, alone = keyrings(world)
    added = world.act("note add", about="account", id=world.merchants[0].account, text="Keeps late hours")
    reseal(world, both)
    note = world.run(world.context.store.find(Tables.notes, added["note"]))
    assert note is not None
    assert text_of(alone, note) == "Keeps late hours"
    assert reseal(world, both) == 0


@pytest.mark.both_engines
def test_the_digest_of_a_document_is_made_anew_and_still_matches(world: InProcess) -> None:
    both, alone = keyrings(world)
    old = world.context.keyring
    one, other = shown(world, old, document_macs(old, FACTS)[0]), shown(world, old)
    assert reseal(world, both) == 2 + 2 * 3 + 1 + 1  # One of them has a digest.
    assert reseal(world, both) == 0
    found = [world.run(world.context.store.find(Tables.identities, person)) for person in (one, other)]
    assert [row.document_mac for row in found if row] == [document_macs(alone, FACTS)[0], b""]
