"""Passkeys against a device made of software: what is proved, and everything that must not be taken for proof."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import pytest

from qirsh.domain.limits import PASSKEY_CHALLENGE_MS
from qirsh.engine.keyring import Keyring
from qirsh.web.auth import passkeys
from qirsh.web.auth.passkeys import NewPasskey, PasskeyAssertion, Purpose
from qirsh.web.http.context import Context
from tests.authenticator import EDDSA, ES256, ES512, RS256, Authenticator, decoded, encoded
from tests.live import InProcess, in_process

BASE_URL = "https://pay.example:8443"
ORIGIN = BASE_URL
HOST = "pay.example"
PERSON = 7
ADDING = passkeys.adding("session-1", PERSON, "proof")
SIGNING_IN = passkeys.signing_in("visitor-1")
AGREED: dict[str, str] = {
    "payment": "1234567890123456",
    "amount": "10098",
    "currency": "SYP",
    "account": "7",
    "payee": "Al-Sham Books",
}
CONFIRMING = passkeys.confirming("session-1", tuple(AGREED.values()))


@dataclass(frozen=True)
class Kept:
    """As the database keeps one."""

    id: bytes
    person: int
    public_key: bytes
    sign_count: int


@pytest.fixture(scope="module")
def world() -> Iterator[InProcess]:
    with in_process(shops=0, people=0) as held:
        yield held


@pytest.fixture
def context(world: InProcess) -> Context:
    return msgspec.structs.replace(world.context, base_url=BASE_URL)


@pytest.fixture
def device() -> Authenticator:
    return Authenticator(ORIGIN, HOST)


def add(context: Context, device: Authenticator, purpose: Purpose = ADDING) -> NewPasskey | None:
    options = passkeys.creation_options(context, ADDING, person=PERSON, email="a@b.example", name="أمل", known=[])
    return passkeys.new_passkey(context, purpose, device.create(options))


def kept(context: Context, device: Authenticator, person: int = PERSON) -> Kept:
    made = add(context, device)
    assert made is not None
    return Kept(made.id, person, made.public_key, made.sign_count)


def used(
    context: Context, device: Authenticator, known: Kept, purpose: Purpose = SIGNING_IN
) -> PasskeyAssertion | None:
    return passkeys.verify_assertion(context, purpose, device.get(passkeys.request_options(context, purpose)), known)


def counted(proof: PasskeyAssertion | None) -> tuple[bytes, int]:
    assert proof is not None
    return proof.id, proof.sign_count


@pytest.mark.parametrize("algorithm", [ES256, RS256, EDDSA])
def test_a_passkey_is_made_and_used(context: Context, device: Authenticator, algorithm: int) -> None:
    device.algorithm = algorithm
    known = kept(context, device)
    assert known.id in device.keys
    answer = device.get(passkeys.request_options(context, SIGNING_IN))
    assert passkeys.passkey_id(answer) == known.id
    assert counted(passkeys.verify_assertion(context, SIGNING_IN, answer, known)) == (known.id, 1)


def test_a_browser_is_asked_for_a_person_and_not_only_for_a_key(context: Context) -> None:
    made = json.loads(
        passkeys.creation_options(context, ADDING, person=PERSON, email="a@b.example", name="أمل", known=[b"old"])
    )
    assert made["rp"] == {"name": "Qirsh", "id": HOST}
    assert made["user"]["name"] == "a@b.example"
    assert made["attestation"] == "none"
    assert made["authenticatorSelection"]["userVerification"] == "required"
    assert made["authenticatorSelection"]["residentKey"] == "required"
    assert [known["alg"] for known in made["pubKeyCredParams"]] == [ES256, RS256, EDDSA]
    assert [known["id"] for known in made["excludeCredentials"]] == [encoded(b"old")]
    used = json.loads(passkeys.request_options(context, CONFIRMING, [b"old"]))
    assert (used["rpId"], used["userVerification"], used["timeout"]) == (HOST, "required", PASSKEY_CHALLENGE_MS)
    assert [known["id"] for known in used["allowCredentials"]] == [encoded(b"old")]


def test_a_handle_is_always_the_same_for_a_person_and_tells_nothing_of_them(context: Context) -> None:
    def handle(person: int) -> bytes:
        options = passkeys.creation_options(context, ADDING, person=person, email="a@b.example", name="a", known=[])
        return decoded(json.loads(options)["user"]["id"])

    assert handle(1) == handle(1)
    assert len({handle(person) for person in range(50)}) == 50
    assert {len(handle(person)) for person in range(50)} == {16}


def test_no_two_challenges_are_the_same(context: Context) -> None:
    challenges = {json.loads(passkeys.request_options(context, SIGNING_IN))["challenge"] for _ in range(100)}
    assert len(challenges) == 100
    assert {len(decoded(challenge)) for challenge in challenges} == {8 + 16 + 32}


Lie = Callable[[Authenticator], None]


def lie(**said: object) -> Lie:
    def told(device: Authenticator) -> None:
        for name, value in said.items():
            setattr(device, name, value)

    return told


LIES = {
    "other origin": lie(origin="https://evil.example"),
    "other port": lie(origin="https://pay.example"),
    "plain http": lie(origin="http://pay.example:8443"),
    "origin below ours": lie(origin="https://pay.example:8443.evil.example"),
    "other rp": lie(rp_id="evil.example"),
    "domain above ours": lie(rp_id="example"),
    "nobody there": lie(is_present=False),
    "nobody recognised": lie(is_verified=False),
    "in another site's frame": lie(is_cross_origin=True),
}


@pytest.mark.parametrize("told", LIES.values(), ids=LIES)
def test_a_device_that_was_asked_elsewhere_or_knew_nobody_proves_nothing(
    context: Context, device: Authenticator, told: Lie
) -> None:
    known = kept(context, device)
    told(device)
    assert add(context, device) is None
    assert used(context, device, known) is None
    assert used(context, device, known, CONFIRMING) is None


def test_keys_of_other_kinds_are_not_taken(context: Context, device: Authenticator) -> None:
    device.algorithm = ES512
    assert add(context, device) is None


def test_nobody_is_asked_who_made_their_device(context: Context, device: Authenticator) -> None:
    device.format = "packed"
    assert add(context, device) is not None
    for other in ("fido-u2f", "tpm", "x"):
        device.format = other
        assert add(context, device) is None


def test_a_challenge_is_good_for_five_minutes(world: InProcess, context: Context, device: Authenticator) -> None:
    known = kept(context, device)
    device.is_counting = False
    options = passkeys.creation_options(context, ADDING, person=PERSON, email="a@b.example", name="a", known=[])
    made, answer = device.create(options), device.get(passkeys.request_options(context, SIGNING_IN, [known.id]))
    world.clock.advance(PASSKEY_CHALLENGE_MS - 1)
    assert passkeys.new_passkey(context, ADDING, made) is not None
    assert passkeys.verify_assertion(context, SIGNING_IN, answer, known) is not None
    world.clock.advance(1)
    assert passkeys.new_passkey(context, ADDING, made) is None
    assert passkeys.verify_assertion(context, SIGNING_IN, answer, known) is None


@pytest.mark.parametrize("at", [0, 7, 8, 23, 24, 55])
def test_a_challenge_that_was_changed_is_not_ours(context: Context, device: Authenticator, at: int) -> None:
    known = kept(context, device)
    asked = json.loads(passkeys.request_options(context, SIGNING_IN))
    challenge = bytearray(decoded(asked["challenge"]))
    challenge[at] ^= 1
    for changed in (challenge, challenge[:at], bytes(24), b""):
        answer = device.get(json.dumps({**asked, "challenge": encoded(bytes(changed))}))
        assert passkeys.verify_assertion(context, SIGNING_IN, answer, known) is None


@pytest.mark.parametrize(
    "other",
    [
        passkeys.adding("session-1", PERSON, "proof"),
        passkeys.signing_in("session-1"),
        passkeys.confirming("session-2", tuple(AGREED.values())),
        passkeys.signing_in_and_paying("session-1", tuple(AGREED.values())),
        *[
            passkeys.confirming("session-1", tuple({**AGREED, **changed}.values()))
            for changed in (
                {"payment": "1234567890123457"},
                {"amount": "10099"},
                {"amount": "1009"},
                {"currency": "USD"},
                {"payee": "Al-Sham  Books"},
                {"amount": "1", "currency": "0098SYP"},
            )
        ],
    ],
)
def test_an_answer_confirms_what_was_shown_and_nothing_else(
    context: Context, device: Authenticator, other: Purpose
) -> None:
    known = kept(context, device)
    answer = device.get(passkeys.request_options(context, CONFIRMING, [known.id]))
    assert passkeys.verify_assertion(context, other, answer, known) is None
    assert passkeys.verify_assertion(context, CONFIRMING, answer, known) is not None


def test_a_passkey_is_added_by_who_asked_for_it_alone(context: Context, device: Authenticator) -> None:
    assert add(context, device, passkeys.adding("session-2", PERSON, "proof")) is None
    assert add(context, device, passkeys.adding("session-1", PERSON + 1, "proof")) is None
    assert add(context, device, SIGNING_IN) is None


def test_an_answer_to_one_question_is_none_to_the_other(context: Context, device: Authenticator) -> None:
    known = kept(context, device)
    made = device.create(
        passkeys.creation_options(context, ADDING, person=PERSON, email="a@b.example", name="a", known=[])
    )
    answer = device.get(passkeys.request_options(context, ADDING))
    assert passkeys.verify_assertion(context, ADDING, made, known) is None
    assert passkeys.new_passkey(context, ADDING, answer) is None


def test_a_count_that_does_not_grow_tells_of_a_copy(context: Context, device: Authenticator) -> None:
    known = kept(context, device)
    device.count = 40
    proof = used(context, device, known)
    assert counted(proof) == (known.id, 41)
    for count in (0, 39, 40):  # Each is one more when it is used.
        device.count = count
        assert used(context, device, Kept(known.id, PERSON, known.public_key, 41)) is None
    device.count, device.is_counting = 0, False
    assert used(context, device, Kept(known.id, PERSON, known.public_key, 41)) is None
    # Passkeys that live on several devices do not count at all.
    one, other = used(context, device, known), used(context, device, known)
    assert counted(one) == counted(other) == (known.id, 0)
    # What they have answered tells the two apart.
    assert one != other


def test_another_passkey_or_another_person_is_not_this_one(context: Context, device: Authenticator) -> None:
    known = kept(context, device)
    other = kept(context, Authenticator(ORIGIN, HOST))
    assert used(context, device, Kept(known.id, PERSON, other.public_key, 0)) is None
    assert used(context, device, Kept(other.id, PERSON, known.public_key, 0)) is None
    assert used(context, device, Kept(known.id, PERSON + 1, known.public_key, 0)) is None
    assert used(context, device, Kept(known.id, PERSON + 1, known.public_key, 0), CONFIRMING) is None


def test_only_who_is_known_already_need_not_say_who_they_are(context: Context, device: Authenticator) -> None:
    known = kept(context, device)
    device.has_handle = False
    assert used(context, device, known, SIGNING_IN) is None
    assert used(context, device, known, CONFIRMING) is not None


def test_a_signature_over_something_else_proves_nothing(context: Context, device: Authenticator) -> None:
    known = kept(context, device)
    answer = json.loads(device.get(passkeys.request_options(context, SIGNING_IN)))
    for field in ("signature", "authenticatorData", "clientDataJSON"):
        raw = bytearray(decoded(answer["response"][field]))
        raw[-3] ^= 1
        changed = {**answer, "response": {**answer["response"], field: encoded(bytes(raw))}}
        assert passkeys.verify_assertion(context, SIGNING_IN, json.dumps(changed), known) is None


@pytest.mark.parametrize(
    "answer",
    [
        *("", "{}", "[]", "null", "[" * 16_000, '{"id": 5}', '{"id": "é"}', '{"id": "A"}', '{"id": "\\u0000"}'),
        json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": {"clientDataJSON": "AA"}}),
        json.dumps({"id": "A" * 15_000}),
    ],
)
def test_nonsense_proves_nothing(context: Context, device: Authenticator, answer: str) -> None:
    known = kept(context, device)
    assert passkeys.new_passkey(context, ADDING, answer) is None
    assert passkeys.verify_assertion(context, SIGNING_IN, answer, known) is None
    named = passkeys.passkey_id(answer)
    assert named is None or len(named) < 20


def test_what_was_asked_under_the_old_secret_is_known_under_both(
    world: InProcess, context: Context, device: Authenticator
) -> None:
    before = msgspec.structs.replace(context, keyring=Keyring([b"o" * 32], world.context.entropy))
    both = msgspec.structs.replace(context, keyring=Keyring([b"n" * 32, b"o" * 32], world.context.entropy))
    after = msgspec.structs.replace(context, keyring=Keyring([b"n" * 32], world.context.entropy))
    known = kept(before, device)
    answer = device.get(passkeys.request_options(before, SIGNING_IN))
    assert passkeys.verify_assertion(both, SIGNING_IN, answer, known) is not None
    assert passkeys.verify_assertion(after, SIGNING_IN, answer, known) is None
    assert used(both, device, known) is not None
    # What a device knows its owner by is for good.
    assert used(after, device, known) is not None


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://pay.example", True),
        ("http://localhost:8420", True),
        ("http://pay.example", False),
        ("http://127.0.0.1:8420", False),
        ("https://192.0.2.1", False),
        ("https://[::1]:8420", False),
    ],
)
def test_it_is_known_where_browsers_have_passkeys(context: Context, base_url: str, *, expected: bool) -> None:
    assert passkeys.can_be_used(msgspec.structs.replace(context, base_url=base_url)) is expected
