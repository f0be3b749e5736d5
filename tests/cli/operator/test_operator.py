"""Operators' acts, with a server and without one, by two operators and by the wrong ones."""

import contextlib
import json
import os
import pty
import re
import secrets
from types import SimpleNamespace
from typing import Any

import apsw
import pyotp
import pytest

from qirsh.cli import control_client
from qirsh.store.sqlite.store import lock_file
from tests.cli.program import AS_MODULE, PASSWORD, House, Running, proof
from tests.forked import start


def balance(house: House, account: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(apsw.Connection(str(house.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.execute("SELECT currency, amount FROM balance WHERE account = ?", (int(account),)).fetchall()


@pytest.fixture(params=["alone", "served"])
def either(request: pytest.FixtureRequest, made: object) -> House:  # noqa: ARG001 - made once, whoever comes first
    """The same acts must do the same with a server and without one."""
    if request.param == "alone":
        alone: House = request.getfixturevalue("house")
        return alone
    shared: tuple[House, Running] = request.getfixturevalue("served")
    return shared[0]


def test_the_first_operator_needs_nobody_and_appoints_the_next_by_mail(empty: House) -> None:
    first = empty.act("operator", "create", "--email", "a@x.org", "--name", "A", "--password-stdin", stdin=PASSWORD)
    by = proof({"email": "a@x.org", "password": PASSWORD, "totpSecret": first["totpSecret"]})
    unexplained = ("operator", "create", "--email", "b@x.org", "--name", "B")
    words = (*unexplained, "--reason", "two are needed")
    mute = empty.invoke(*unexplained, **by)
    assert (mute.returncode, "say with --reason why" in mute.stderr) == (2, True)
    alone = empty.invoke(*words)
    assert alone.returncode == 2
    assert "QIRSH_OPERATOR_TOTP_SECRET" in alone.stderr
    typed = empty.invoke(*words, "--password-stdin", stdin=PASSWORD, **by)
    assert (typed.returncode, "chooses their own password" in typed.stderr) == (2, True)
    silent = empty.invoke(*words, **by)
    assert (silent.returncode, silent.stdout) == (1, "")
    assert silent.stderr.startswith("refused: no_mail: ")
    assert "QIRSH_SMTP_URL" in silent.stderr
    mail = {"QIRSH_SMTP_URL": "smtp://127.0.0.1:9", "QIRSH_MAIL_FROM": "pay@x.org"}
    asked = empty.invoke(*words, **by, **mail)
    assert asked.returncode == 0, asked.stderr
    assert "A link was mailed to the new operator" in asked.stdout
    assert "totpSecret" not in asked.stdout
    own = empty.invoke("account", "verify", first["account"], **by)
    assert (own.returncode, own.stdout) == (1, "")
    assert own.stderr.startswith("refused: own_request: ")
    last = empty.invoke("operator", "end", "a@x.org", "--reason", "alone", **by)
    assert (last.returncode, last.stderr.split(":")[1]) == (1, " last_admin")
    back = empty.invoke("operator", "end", "b@x.org", "--reason", "not them", **by)
    assert "The link that was mailed no longer works." in back.stdout


def test_the_first_operator_must_be_able_to_appoint_others(empty: House) -> None:
    words = ("operator", "create", "--email", "a@x.org", "--name", "A", "--password-stdin")
    ended = empty.invoke(*words, "--role", "support", stdin=PASSWORD)
    assert ended.returncode == 1
    assert ended.stderr.startswith("refused: invalid: roles: the first operator must be an admin")
    assert empty.invoke(*words, "--role", "king", stdin=PASSWORD).returncode == 2
    first = empty.act(*words, "--role", "support", "--role", "admin", stdin=PASSWORD)
    by = proof({"email": "a@x.org", "password": PASSWORD, "totpSecret": first["totpSecret"]})
    [listed] = empty.act("operator", "list", **by)["operators"]
    assert listed["roles"] == "admin support"


def test_a_merchant_s_way_from_a_person_to_a_key_and_its_end(served: tuple[House, Running]) -> None:
    house, _ = served
    by = house.operator()
    words = (
        "person",
        "add",
        "--email",
        f"m{secrets.token_hex(4)}@x.org",
        "--name",
        "مها",
        "--password-stdin",
        "--pin-stdin",
    )
    account = house.act(*words, stdin=f"{PASSWORD}\n246813\n", **by)["account"]
    early = house.invoke("account", "request", account, "--name", "Shop", **by)
    assert (early.returncode, early.stderr.split(":")[1]) == (1, " not_verified")
    assert house.act("account", "verify", account, **by)["state"] == "verified"
    origin = ("--return-origin", "https://shop.example", "--return-origin", "http://localhost:8000")
    shop = house.act("account", "request", account, "--name", "Shop", *origin, **by)["account"]
    assert house.act("account", "approve", shop, "--reason", "papers seen", **by)["state"] == "approved"
    key = house.act("key", "issue", shop, "--scope", "payments:read", "--expires-in-days", "3", **by)
    assert (key["key"][:8], key["scopes"]) == ("qk_live_", ["payments:read"])
    printed = house.invoke("key", "issue", shop, "--test", **by)
    assert "shown only once" in printed.stdout
    assert "qk_test_" in printed.stdout
    assert house.act("key", "revoke", key["id"], **by)["state"] == "revoked"
    assert house.act("account", "suspend", shop, **by)["state"] == "suspended"
    assert house.act("account", "resume", shop, **by)["state"] == "approved"
    other = house.act("account", "request", account, "--name", "Other", **by)["account"]
    assert house.act("account", "reject", other, "--reason", "no such number", **by)["state"] == "rejected"


def test_money_moves_once_and_by_two_operators_however_often_it_is_asked_for(either: House) -> None:
    first, second = either.operator(), either.operator("operator2")
    account = either.demo()["merchant"]["account"]
    ask = ("deposit", "ask", account, "100.98", "USD", "--reference", "slip 1")
    confirm = ("deposit", "confirm", "--reference", "slip 1")
    asked = either.act(*ask, **first)
    assert (asked["state"], asked["amount"], asked["reason"]) == ("open", "100.98", "bank reference slip 1")
    again = either.act(*ask, **first)
    assert again["id"] != asked["id"]
    several = either.invoke(*confirm, **second)
    assert (several.returncode, several.stdout) == (1, "")
    assert several.stderr.startswith("refused: several_wait: 2 proposals wait under this reference")
    assert "qirsh proposal list" in several.stderr
    withdraw = ("proposal", "withdraw", again["id"], "--digest", again["digest"], "--reason", "typed twice")
    assert either.act(*withdraw, **first)["state"] == "withdrawn"
    self_confirmed = either.invoke(*confirm, **first)
    assert (self_confirmed.returncode, self_confirmed.stderr.split(":")[1]) == (1, " second_operator_needed")
    assert balance(either, account) == []
    assert either.act(*confirm, **second)["state"] == "done"
    twice = either.invoke(*confirm, "--json", **second)
    assert (twice.returncode, json.loads(twice.stdout)["code"]) == (1, "already_decided")
    used = either.invoke(*ask, **first)
    assert used.stderr.startswith("refused: reference_used: ")
    assert "This attempt moved nothing" in used.stderr
    assert balance(either, account) == [("USD", 10098)]
    back = ("withdraw", "ask", account, "100.98", "USD", "--reference", "slip 2", "--reason", "to their bank")
    asked = either.act(*back, **second)
    assert (asked["action"], asked["reason"]) == ("withdrawal", "to their bank")
    assert either.act("withdraw", "confirm", "--reference", "slip 2", **first)["state"] == "done"
    assert balance(either, account) == [("USD", 0)]


@pytest.mark.parametrize(
    ("wrong", "code", "says"),
    [
        ({"QIRSH_OPERATOR_TOTP_SECRET": pyotp.random_base32()}, 1, "refused: wrong_credentials: "),
        ({"QIRSH_OPERATOR_PASSWORD": "wrong horse battery"}, 1, "refused: wrong_credentials: "),
        ({"QIRSH_OPERATOR_EMAIL": "nobody@x.org"}, 1, "refused: wrong_credentials: "),
        ({"QIRSH_OPERATOR_TOTP_SECRET": "1"}, 2, "qirsh: QIRSH_OPERATOR_TOTP_SECRET: must be"),
    ],
    ids=["code", "password", "e-mail", "no secret at all"],
)
def test_whoever_does_not_prove_to_be_an_operator_is_refused(
    wrong: dict[str, str], code: int, says: str, served: tuple[House, Running]
) -> None:
    house, _ = served
    requested = house.demo()["requestedAccount"]
    ended = house.invoke("account", "approve", requested, **house.operator() | wrong)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.startswith(says)


def test_a_customer_is_no_operator(served: tuple[House, Running]) -> None:
    house, _ = served
    customer = proof(house.demo()["customer"] | {"totpSecret": pyotp.random_base32()})
    ended = house.invoke("account", "approve", house.demo()["requestedAccount"], **customer)
    assert (ended.returncode, ended.stderr.split(":")[1]) == (1, " wrong_credentials")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("account", "verify", "123"), 1, "refused: invalid: account:"),
        (("deposit", "ask", "ACCOUNT", "1.5", "USD", "--reference", "r"), 1, "refused: invalid: amount:"),
        (("deposit", "ask", "ACCOUNT", "1.50", "GBP", "--reference", "r"), 2, "Usage: "),
        (("deposit", "ask", "ACCOUNT", "1.50", "USD"), 2, "Usage: "),
        (("deposit", "confirm", "--reference", "nobody asked for this"), 1, "refused: not_found:"),
        (("key", "revoke", "key_unknown"), 1, "refused: not_found:"),
        (("account", "request", "ACCOUNT", "--name", "x\x1b[31m"), 1, "refused: invalid: name:"),
    ],
    ids=["account", "amount", "currency", "reference", "order", "key", "name"],
)
def test_bad_words_are_refused_with_a_code(
    words: tuple[str, ...], code: int, says: str, served: tuple[House, Running]
) -> None:
    house, _ = served
    account = house.demo()["customer"]["account"]
    ended = house.invoke(*(account if word == "ACCOUNT" else word for word in words), **house.operator())
    assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
    assert ended.stderr.startswith(says)


def test_an_act_in_the_wrong_folder_is_told_and_makes_nothing(empty: House) -> None:
    ended = empty.invoke("key", "revoke", "key_1")
    assert ended.returncode == 2
    assert "is QIRSH_DATA_DIR right?" in ended.stderr
    assert not empty.folder.exists()


def test_a_process_that_holds_the_database_for_a_moment_is_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [lock_file(house.database)]

    def let_go(_pause_s: float) -> None:
        os.close(held.pop())

    monkeypatch.setattr(control_client, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=let_go))
    assert house.act("account", "suspend", house.demo()["customer"]["account"], **house.operator())
    assert not held


# In a session of its own, so that it asks on its own terminal and not on that of the tests.
ON_A_TERMINAL = f"import os; os.setsid()\n{AS_MODULE}"


def test_secrets_are_asked_for_on_the_terminal_and_not_shown(house: House) -> None:
    operator = house.demo()["operator"]
    words = ("person", "add", "--email", "t@x.org", "--name", "T")
    answers = [
        ("New password: ", PASSWORD),
        ("Repeat for confirmation: ", PASSWORD),
        ("New PIN: ", "135790"),
        ("Repeat for confirmation: ", "135790"),
        ("Operator's e-mail: ", operator["email"]),
        ("Operator's password: ", operator["password"]),
        ("Operator's code (six digits): ", pyotp.TOTP(operator["totpSecret"]).now()),
    ]
    code, shown = on_a_terminal(house, words, answers)
    assert code == 0, shown
    assert "Person added" in shown
    for secret in (PASSWORD, "135790", operator["password"]):
        assert secret not in shown


def test_ctrl_d_at_a_question_does_nothing(house: House) -> None:
    code, shown = on_a_terminal(house, ("key", "revoke", "key_1"), [("Operator's e-mail: ", "\x04")])
    assert code == 2
    assert "stopped, nothing was done" in shown


def on_a_terminal(house: House, words: tuple[str, ...], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Run as a person would: each question is answered with a line when it appears."""
    master, slave = pty.openpty()
    process = start(["-c", ON_A_TERMINAL, *words], env=house.environment(), stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown, waiting = "", list(answers)
    with process, os.fdopen(master, "r+b", buffering=0) as terminal:
        with contextlib.suppress(OSError):  # The other side has closed.
            while True:
                shown += terminal.read(1000).decode()
                if waiting and shown.endswith(waiting[0][0]):
                    terminal.write(f"{waiting.pop(0)[1]}\n".encode())
        return process.wait(), shown


def test_a_pin_is_set_back_by_two_a_day_later_and_can_be_kept(house: House) -> None:
    customer, first, second = house.demo()["customer"]["email"], house.operator(), house.operator("operator2")
    reason = ("--reason", "called back on the number in the papers")
    asked = house.invoke("access", "reset-pin", customer, *reason, **first)
    assert (asked.returncode, "another operator must run" in asked.stdout) == (0, True), asked.stderr
    [item] = [one for one in house.act("proposal", "list", **second)["items"] if one["action"] == "reset-pin"]
    house.act("proposal", "confirm", item["id"], "--digest", item["digest"], **second)
    waiting = house.invoke("access", "resets", customer, **first)
    assert item["id"] in waiting.stdout
    kept = house.invoke("access", "keep", customer, "--what", "pin", *reason, **first)
    assert (kept.returncode, "Stopped: it stays as it is." in kept.stdout) == (0, True), kept.stderr
    again = house.invoke("access", "keep", customer, *reason, **first)
    assert again.stderr.startswith("refused: not_found: ")
    assert house.invoke("access", "resets", customer, **first).stdout == "None.\n"
    unknown = house.invoke("access", "reset-pin", "no@x.org", *reason, **first)
    assert unknown.stderr.startswith("refused: not_found: ")


def test_an_operator_is_let_in_again_only_while_the_service_is_stopped(house: House) -> None:
    email = house.operator()["QIRSH_OPERATOR_EMAIL"]
    words = ("operator", "recover", "--email", email, "--password-stdin")
    lock = lock_file(house.database)
    try:
        served = house.invoke(*words, stdin="seven green lamps at noon\n")
        assert (served.returncode, "the service runs: stop it first" in served.stderr) == (2, True), served.stderr
    finally:
        os.close(lock)
    unknown = house.invoke("operator", "recover", "--email", "no@x.org", "--password-stdin", stdin=f"{PASSWORD}\n")
    assert unknown.stderr.startswith("refused: not_found: "), unknown.stderr
    assert email in unknown.stderr
    assert house.act("recovery", "list", **house.operator())["items"] == []
    done = house.invoke(*words, stdin="seven green lamps at noon\n")
    assert done.returncode == 0, done.stderr
    assert "shown only once" in done.stdout
    old = house.invoke("recovery", "list", **house.operator())
    assert old.stderr.startswith("refused: wrong_credentials: ")
    secret = re.search(r"totpSecret +([A-Z2-7]+)", done.stdout)
    assert secret
    by = proof({"email": email, "password": "seven green lamps at noon", "totpSecret": secret[1]})
    [unread] = house.act("recovery", "list", **by)["items"]
    assert unread["by"].startswith("os user ")
    own = house.invoke("recovery", "read", unread["id"], **by)
    assert own.stderr.startswith("refused: own_request: "), "another admin is to know of it"
    read = house.invoke("recovery", "read", unread["id"], **house.operator("operator2"))
    assert (read.returncode, read.stdout.startswith("Read.")) == (0, True), read.stderr
    assert house.act("recovery", "list", **by)["items"] == []


def test_an_operator_who_lost_the_factor_is_a_matter_of_admins(house: House) -> None:
    first, second = house.operator(), house.operator("operator2")
    words = ("operator", "remove-factors", second["QIRSH_OPERATOR_EMAIL"], "--reason", "lost the phone")
    asked = house.invoke(*words, **first)
    assert (asked.returncode, "another operator must run" in asked.stdout) == (0, True), asked.stderr
    own = house.invoke(*words, **second)
    assert own.stderr.startswith("refused: own_request: ")


def test_a_refund_for_a_shop_is_asked_for_by_its_payment(house: House) -> None:
    wrong = house.invoke("refund", "ask", "1234", "--reason", "never delivered", **house.operator())
    assert wrong.stderr.startswith("refused: not_found: ")
    assert house.invoke("refund", "ask", "1234", **house.operator()).returncode == 2
