"""Credentials by hand: refused by the database, or named by verify because the credential log knows nothing of them."""

# Every part of every statement is of this file.
# ruff: noqa: S608

import re
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from qirsh.domain.credential_log import digest
from qirsh.domain.tables import ATTESTED
from qirsh.store.integrity import attested_rows
from qirsh.store.integrity.invariant import Violation
from tests.chain import row_bytes
from tests.store.agreed_guards import SECOND_ENDED, ends, gets, has
from tests.store.conftest import Engine
from tests.store.filled import FILLED, Hand, SqliteHand
from tests.store.guarded import accepts_each_without_guards, refuses_each

DOCS: Final = (Path(__file__).parents[3] / "docs/audit-chain.md").read_text()
CUSTOMER, OTHER = FILLED.customer.id, FILLED.other.id
BLOB: Final = "{blob}"  # 32 bytes; `own` writes them.


def own(hand: Hand, sql: str) -> str:
    """In the engine's own SQL."""
    for word, value in (("blob", "07" * 32), ("two", "32"), ("three", "33")):
        sql = sql.replace(f"{{{word}}}", literal(hand, bytes.fromhex(value)))
    return sql


def literal(hand: Hand, value: bytes) -> str:
    return f"x'{value.hex()}'" if isinstance(hand, SqliteHand) else f"'\\x{value.hex()}'::bytea"


def sentences(hand: Hand) -> list[str]:
    return [found.sentence for found in attested_rows.violations(hand.type, partial(literal, hand))]


# What the database refuses by itself.
REFUSED: Final = {
    "another key's hash": (f"UPDATE api_key SET hash = {BLOB}", "API keys end once"),
    "more scopes": ("UPDATE api_key SET scopes = 'payments:read refunds:write'", "API keys end once"),
    "another's key": ("UPDATE api_key SET account = :other", "API keys end once"),
    "a key from anywhere": ("UPDATE api_key SET networks = '0.0.0.0/0'", "API keys end once"),
    "a key that lasts longer": (
        "UPDATE api_key SET expires_at = 1; UPDATE api_key SET expires_at = 2",
        "never later",
    ),
    "a key that is gone": ("DELETE FROM api_key", "API keys never vanish"),
    "another's session": (f"UPDATE session SET person = {OTHER}", "sessions end once"),
    "a session's hash": (f"UPDATE session SET hash = {BLOB}", "sessions end once"),
    "a session that lasts longer": ("UPDATE session SET expires_at = expires_at + 1", "sessions end once"),
    "a session of a later generation": ("UPDATE session SET session_generation = 9", "sessions end once"),
    "another's login": (f"UPDATE login SET person = 404 WHERE person = {CUSTOMER}", "its address and person never"),
    "another address": (f"UPDATE login SET email = 'me@x.org' WHERE person = {CUSTOMER}", "its address and person"),
    "another's PIN": (f"UPDATE pin SET person = 404 WHERE person = {CUSTOMER}", "its person never changes"),
    "another's passkey": (f"UPDATE passkey SET person = {OTHER}", "its key and person never change"),
    "a passkey's key": (f"UPDATE passkey SET public_key = {BLOB}", "its key and person never change"),
    "an operator's person": (
        "UPDATE operator SET person = 404, ended_at = 9999999999999 WHERE person = :second",
        "operators get other roles and end once",
    ),
    "an earlier generation": (
        (
            f"UPDATE person SET session_generation = 3 WHERE id = {CUSTOMER};"
            f"UPDATE person SET session_generation = 2 WHERE id = {CUSTOMER}"
        ),
        "their generation only grows",
    ),
    "a person's account": (f"UPDATE person SET account = :mint WHERE id = {CUSTOMER}", "never change"),
    "a person renamed": (f"UPDATE person SET name = 'Other' WHERE id = {CUSTOMER}", "never change"),
    "a customer renamed": ("UPDATE account SET name = 'Other' WHERE number = :customer", "not renamed"),
    "a currency's exponent": ("UPDATE currency SET exponent = 0 WHERE code = 'USD'", "currencies never change"),
    "an epoch set back": (
        (
            "UPDATE constant SET value = {three} WHERE name = 'epoch';"
            "UPDATE constant SET value = {two} WHERE name = 'epoch'"
        ),
        "the epoch only grows",
    ),
}
# What it cannot tell from our own doing: verify names it.
NAMED: Final = {
    "a new key": (
        (
            "INSERT INTO api_key SELECT 'key_2', account, {blob}, hint, name, scopes, '', created_at, NULL, NULL, NULL,"
            " NULL FROM api_key"
        ),
        "api key key_2 is there without an entry of the credential log",
    ),
    "a key that ends sooner": (
        "UPDATE api_key SET expires_at = 1800000000000",
        "api key key_1 is not as its last entry of the credential log says",
    ),
    "a key that ended": (
        "UPDATE api_key SET revoked_at = 1800000000000",
        "api key key_1 is not as its last entry of the credential log says",
    ),
    "a new session": (
        f"INSERT INTO session SELECT {{blob}}, {OTHER}, :other, created_at, expires_at, NULL, 0, agent FROM session",
        f"session {'07' * 32} is there without an entry of the credential log",
    ),
    "a session that is gone": (
        "DELETE FROM session",
        f"session {bytes(range(32)).hex()} has vanished without an entry of the credential log",
    ),
    "another's password": (
        f"UPDATE login SET password_hash = password_hash || 'x' WHERE person = {CUSTOMER}",
        f"login of person {CUSTOMER} is not as its last entry of the credential log says",
    ),
    "another's second factor": (
        f"UPDATE login SET totp_sealed = {{blob}} WHERE person = {OTHER}",
        f"login of person {OTHER} is not as its last entry of the credential log says",
    ),
    "recovery codes": (
        f"UPDATE login SET recovery = {{blob}} WHERE person = {OTHER}",
        f"login of person {OTHER} is not as its last entry of the credential log says",
    ),
    "a login that is gone": (
        f"DELETE FROM login WHERE person = {OTHER}",
        f"login of person {OTHER} has vanished without an entry of the credential log",
    ),
    "a PIN": (
        f"UPDATE pin SET mac = {{blob}} WHERE person = {CUSTOMER}",
        f"pin of person {CUSTOMER} is not as its last entry of the credential log says",
    ),
    "a new passkey": (
        f"INSERT INTO passkey SELECT {{blob}}, {OTHER}, public_key, 0, name, created_at FROM passkey",
        f"passkey {'07' * 32} is there without an entry of the credential log",
    ),
    "an account's state": (
        "UPDATE account SET state = 'suspended' WHERE number = :shop",
        f"account {FILLED.shop} is not as its last entry of the credential log says",
    ),
    "an account's name": (
        "UPDATE account SET name = 'New name' WHERE number = :shop",
        f"account {FILLED.shop} is not as its last entry of the credential log says",
    ),
    "where customers are sent": (
        "UPDATE account SET return_origins = 'https://thief.example' WHERE number = :shop",
        f"account {FILLED.shop} is not as its last entry of the credential log says",
    ),
    "a new operator": (
        f"INSERT INTO operator VALUES ({CUSTOMER}, 'support', :first, 1, :second, NULL)",
        f"operator of person {CUSTOMER} is there without an entry of the credential log",
    ),
    "an operator with other roles": (
        gets("auditor") + has("auditor"),
        f"operator of person {FILLED.second.id} is not as its last entry of the credential log says",
    ),
    "an operator who ends": (
        ends() + SECOND_ENDED,
        f"operator of person {FILLED.second.id} is not as its last entry of the credential log says",
    ),
    "where events are sent": (
        "UPDATE webhook_endpoint SET url = 'https://thief.example' WHERE id = 'we_1'",
        "webhook endpoint we_1 is not as its last entry of the credential log says",
    ),
    "what signs events": (
        "UPDATE webhook_endpoint SET secret_sealed = {blob} WHERE id = 'we_1'",
        "webhook endpoint we_1 is not as its last entry of the credential log says",
    ),
    "an endpoint that is paused": (
        "UPDATE webhook_endpoint SET state = 'paused' WHERE id = 'we_1'",
        "webhook endpoint we_1 is not as its last entry of the credential log says",
    ),
    "a person's generation": (
        f"UPDATE person SET session_generation = 7 WHERE id = {CUSTOMER}",
        f"person {CUSTOMER} is not as its last entry of the credential log says",
    ),
}
# What counts nothing, and changes all the time.
UNNAMED: Final = {
    "a wrong PIN": f"UPDATE pin SET failures = 2 WHERE person = {CUSTOMER}",
    "a code's half minute": f"UPDATE login SET totp_step = totp_step + 1 WHERE person = {CUSTOMER}",
    "a passkey's count": "UPDATE passkey SET sign_count = sign_count + 1",
    "a key's name": "UPDATE api_key SET name = 'other'",
    "what an endpoint is for": "UPDATE webhook_endpoint SET description = 'other' WHERE id = 'we_1'",
    "a person's language": f"UPDATE person SET language = 'tr' WHERE id = {CUSTOMER}",
}


def test_what_commands_have_made_is_as_the_log_says(any_hand: Hand) -> None:
    assert sentences(any_hand) == []


def test_the_database_refuses_and_only_its_guards_do(subtests: pytest.Subtests, any_hand: Hand) -> None:
    refused = {name: (own(any_hand, sql), why) for name, (sql, why) in REFUSED.items()}
    refuses_each(subtests, any_hand, refused)
    accepts_each_without_guards(subtests, any_hand, refused)


def test_a_row_that_the_log_does_not_know_is_named(subtests: pytest.Subtests, any_hand: Hand) -> None:
    for name, (sql, sentence) in NAMED.items():
        with subtests.test(name), any_hand.tentative():
            any_hand.type(own(any_hand, sql))
            assert sentences(any_hand) == [sentence]


def test_what_counts_nothing_is_not_named(subtests: pytest.Subtests, any_hand: Hand) -> None:
    for name, sql in UNNAMED.items():
        with subtests.test(name), any_hand.tentative():
            any_hand.type(own(any_hand, sql))
            assert sentences(any_hand) == []


def test_verify_names_it(any_engine: Engine, tmp_path: Path) -> None:
    sql, sentence = NAMED["a new key"]
    with any_engine.kept(tmp_path) as (hand, violations):
        assert violations() == []
        hand.type(own(hand, sql))
        assert violations() == [Violation(attested_rows.CREDENTIALS.number, attested_rows.CREDENTIALS.name, sentence)]


def test_a_value_that_was_copied_from_another_row_with_its_entry_does_not_fit(any_hand: Hand) -> None:
    """A hand that also writes the log needs a digest of that very row, and the chain keeps it."""
    [(mac,)] = any_hand.type(f"SELECT mac FROM pin WHERE person = {CUSTOMER}")
    any_hand.type(f"UPDATE pin SET mac = (SELECT mac FROM pin WHERE person = {CUSTOMER}) WHERE person = {OTHER}")
    entry = "INSERT INTO credential_log (at, subject, key, digest) VALUES (1800000000000, 'pin', '{}', '{}')"
    any_hand.type(entry.format(OTHER, digest("pin", str(CUSTOMER), (bytes(mac),))))
    assert sentences(any_hand) == [f"pin of person {OTHER} is not as its last entry of the credential log says"]
    any_hand.type(entry.format(OTHER, digest("pin", str(OTHER), (bytes(mac),))))
    assert sentences(any_hand) == []


def test_a_key_with_a_quote_in_it_is_looked_up_as_it_is(any_hand: Hand) -> None:
    new_key = (
        "INSERT INTO api_key SELECT 'x'') OR (1=1 --', account, {blob}, hint, name, scopes, '', created_at, NULL,"
        " NULL, NULL, NULL FROM api_key"
    )
    any_hand.type(own(any_hand, new_key))
    assert sentences(any_hand) == ["api key x') OR (1=1 -- is there without an entry of the credential log"]


def test_many_rows_are_looked_at_page_by_page(any_hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attested_rows, "_ROWS_AT_ONCE", 2)
    assert sentences(any_hand) == []
    any_hand.type(f"UPDATE person SET session_generation = 7 WHERE id = {CUSTOMER}")
    assert len(sentences(any_hand)) == 1


def test_another_implementation_makes_the_same_digest_from_the_docs_alone() -> None:
    told = re.search(r"^5:login,.*$", DOCS, re.MULTILINE)
    assert told is not None
    values = ("a@example.org", "$argon2id$x", None, b"")
    assert told.group() == row_bytes(("login", "7", *values[:2], None, "")).decode().strip()
    assert digest("login", "7", values) in DOCS


def test_the_docs_name_what_counts_of_each_table_in_its_order() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| [\w/]+ \| (.+) \|$", DOCS, re.MULTILINE))
    named = {name: re.sub(r"name \(.+?\)", "public_name", columns) for name, columns in told.items()}
    assert named == {table.name: ", ".join(table.attested) for table in ATTESTED}
