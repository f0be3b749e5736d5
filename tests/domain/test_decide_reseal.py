"""A rotation of the secret key puts the same value in again, and never over another."""

import pytest

from qirsh.domain.commands.constant import FixConstant
from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.domain.commands.login_credentials import SetSecondFactor
from qirsh.domain.commands.payment import Pay
from qirsh.domain.commands.reseal import Reseal
from qirsh.domain.commands.webhook import RemoveWebhookEndpoint, RotateWebhookSecret
from qirsh.domain.credential_log import digest
from tests.domain.market import PIN, Market
from tests.domain.people_cases import EMAIL
from tests.domain.webhook_cases import ID, creating


@pytest.fixture
def market() -> Market:
    made = Market()
    person = made.join("Newcomer")
    made.do(SubmitIdentity(person.id, person.account, b"old facts", (("front", b"old front"), ("back", b"old back"))))
    made.do(SetSecondFactor(EMAIL, made.customer.id, b"old seed", 7, b"codes", ()))
    made.do(FixConstant("secret_check", b"old mark"))
    return made


def test_the_same_value_is_put_in_and_nothing_else_changes(market: Market) -> None:
    person = max(market.people)
    before = market.tables()
    assert market.do(Reseal("login", EMAIL, b"old seed", b"new seed")) is True
    assert market.do(Reseal("identity", person, b"old facts", b"new facts")) is True
    assert market.do(Reseal("identity_image", (person, "back"), b"old back", b"new back")) is True
    assert market.do(Reseal("constant", "secret_check", b"old mark", b"new mark")) is True
    login = market.logins[EMAIL]
    assert (login.totp_sealed, login.totp_step, login.recovery) == (b"new seed", 7, b"codes")
    assert market.identities[person].facts_sealed == b"new facts"
    assert [market.identity_images[person, side].sealed for side in ("front", "back")] == [b"old front", b"new back"]
    assert market.constants["secret_check"].value == b"new mark"
    changed = {name for name, rows in market.tables().items() if rows != before[name]}
    assert changed == {"logins", "identities", "identity_images", "constants", "credentials"}
    values = (EMAIL, login.password_hash, b"new seed", b"codes")
    assert market.credentials[-1].digest == digest("login", str(login.person), values)


def test_both_secrets_of_an_endpoint_are_put_in_again_and_a_removed_one_has_none(market: Market) -> None:
    market.do(creating(market.shop))
    market.do(RotateWebhookSecret(ID, market.shop, b"newer", overlap_ms=1000, actor="test"))
    assert market.do(Reseal("webhook_secret", ID, b"newer", b"newer again")) is True
    assert market.do(Reseal("webhook_old_secret", ID, b"sealed", b"sealed again")) is True
    endpoint = market.webhook_endpoints[ID]
    assert (endpoint.secret_sealed, endpoint.old_secret_sealed) == (b"newer again", b"sealed again")
    market.do(RemoveWebhookEndpoint(ID, market.shop, "test"))
    assert market.do(Reseal("webhook_secret", ID, b"newer again", b"back")) is False
    assert market.webhook_endpoints[ID].secret_sealed == b""


def test_a_value_that_has_changed_meanwhile_or_is_gone_is_left_alone(market: Market) -> None:
    before = market.tables()
    assert market.do(Reseal("login", EMAIL, b"another", b"new seed")) is False
    assert market.do(Reseal("login", "nobody@example.com", b"old seed", b"new seed")) is False
    assert market.do(Reseal("constant", "colour", b"", b"new")) is False
    assert market.tables() == before


def test_a_pin_of_an_older_secret_is_renewed_when_it_is_used(market: Market) -> None:
    person = market.customer
    wish = Pay(market.create(amount=1).number, person.id, person.account, (b"under the newest", PIN))
    market.do(wish)
    assert market.pins[person.id].mac == b"under the newest"
    assert market.credentials[-1].subject == "pin"
