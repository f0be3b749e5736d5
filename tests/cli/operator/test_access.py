"""Who may sign in, from the command line of a service that runs: two operators agree, and it is felt at once."""

import re
import urllib.error
import urllib.request

import pytest

from tests.cli.program import House, Running

SESSIONS = "/api/v1/wallet/sessions"
REASON = ("--reason", "called back on the number in the papers")


def refusal(running: Running, path: str, body: dict[str, str] | None, token: str | None = None) -> int:
    """The status of a call that is refused."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        running.get(path, token) if body is None else running.post(path, body, token)
    refused.value.close()
    return refused.value.code


def test_two_operators_sign_out_block_and_unblock_a_person(served: tuple[House, Running]) -> None:
    house, running = served
    first, second, customer = house.operator(), house.operator("operator2"), house.demo()["customer"]
    email, entry = customer["email"], {"email": customer["email"], "password": customer["password"]}
    token = running.post(SESSIONS, entry)["data"]["token"]
    assert house.invoke("access", "list", **first).stdout == "None.\n"

    asked = house.invoke("access", "ask", email, "sign-out", *REASON, **first)
    assert asked.returncode == 0, asked.stderr
    assert "Nothing has changed: another operator must run `qirsh access confirm`." in asked.stdout
    for words in (email, "sign-out", REASON[1]):
        assert words in house.invoke("access", "list", **second).stdout
    [item] = house.act("access", "list", **second)["items"]
    assert (item["email"], item["kind"], item["reason"]) == (email, "sign-out", REASON[1])
    own = house.invoke("access", "confirm", email, "sign-out", **first)
    assert (own.returncode, own.stdout) == (1, "")
    assert own.stderr.startswith("refused: second_operator_needed: ")
    running.get("/api/v1/wallet/balances", token)
    done = house.invoke("access", "confirm", email, "sign-out", **second)
    assert done.returncode == 0, done.stderr
    assert "Done. The person is notified by e-mail." in done.stdout
    assert refusal(running, "/api/v1/wallet/balances", None, token) == 401
    assert house.act("access", "list", **first)["items"] == []

    token = running.post(SESSIONS, entry)["data"]["token"]
    for kind, is_out in (("block", True), ("unblock", False)):
        house.act("access", "ask", email, kind, *REASON, **second)
        house.act("access", "confirm", email, kind, **first)
        assert refusal(running, "/api/v1/wallet/balances", None, token) == 401
        if is_out:
            assert refusal(running, SESSIONS, entry) == 403
    running.post(SESSIONS, entry)
    with urllib.request.urlopen(f"{running.url}/demo/mail", timeout=40) as answer:  # noqa: S310 - our own
        page = answer.read().decode()
    subjects = ("You are signed out on every device", "Sign-in to your account is blocked", "You can sign in again")
    assert [subject for subject in subjects if not re.search(rf"{subject}\s*<", page)] == []


def test_what_nobody_asked_for_or_nobody_has_is_refused(served: tuple[House, Running]) -> None:
    house, _ = served
    first, email = house.operator(), house.demo()["customer"]["email"]
    for words, code in (
        (("access", "confirm", email, "remove-factors"), "not_found"),
        (("access", "ask", "nobody@x.org", "block", *REASON), "not_found"),
        (("access", "ask", first["QIRSH_OPERATOR_EMAIL"], "remove-factors", *REASON), "own_request"),
    ):
        ended = house.invoke(*words, **first)
        assert (ended.returncode, ended.stdout) == (1, ""), words
        assert ended.stderr.startswith(f"refused: {code}: "), ended.stderr
    for words in (("access", "ask", email, "block"), ("access", "ask", email, "forgive", *REASON)):
        assert house.invoke(*words, **first).returncode == 2
    assert house.act("access", "list", **first)["items"] == []


def test_with_nobody_s_proof_nothing_is_listed_or_asked_for(served: tuple[House, Running]) -> None:
    house, _ = served
    email = house.demo()["customer"]["email"]
    wrong = {**house.operator(), "QIRSH_OPERATOR_PASSWORD": "not the password"}
    for words in (
        ("access", "list"),
        ("access", "ask", email, "block", *REASON),
        ("access", "confirm", email, "block"),
    ):
        ended = house.invoke(*words, **wrong)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert email not in ended.stderr
    assert house.act("access", "list", **house.operator())["items"] == []
