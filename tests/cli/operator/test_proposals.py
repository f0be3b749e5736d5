"""What takes two operators, from the command line of a service that runs: asked for, shown, confirmed, refused."""

import json

import pytest

from tests.cli.program import House, Running

REASON = ("--reason", "agreed on the phone")


@pytest.fixture
def two(served: tuple[House, Running]) -> tuple[House, dict[str, str], dict[str, str]]:
    """The house, and what its two operators prove themselves with."""
    house, _ = served
    return house, house.operator(), house.operator("operator2")


def test_two_operators_appoint_and_end_in_plain_words(two: tuple[House, dict[str, str], dict[str, str]]) -> None:
    house, first, second = two
    words = ("operator", "create", "--email", "new@x.org", "--name", "Yeni", "--role", "support", *REASON)
    asked = house.invoke(*words, **first)
    assert asked.returncode == 0, asked.stderr
    assert "another operator must run `qirsh proposal confirm`" in asked.stdout
    [item] = house.proposed(**second)
    confirm = ("proposal", "confirm", item["id"], "--digest", item["digest"])
    assert house.invoke(*confirm, **first).stderr.startswith("refused: second_operator_needed: ")
    assert "Confirmed and carried out." in house.invoke(*confirm, **second).stdout
    printed = house.invoke("operator", "list", **first).stdout
    for shown in ("acting", first["QIRSH_OPERATOR_EMAIL"], "Invited:", "link mailed", "new@x.org", "support"):
        assert shown in printed
    listed = house.act("operator", "list", **first)
    assert [row["state"] for row in listed["operators"]] == ["acting", "acting", "acting"]
    assert [(row["email"], row["roles"]) for row in listed["appointments"]] == [("new@x.org", "support")]
    back = house.invoke("operator", "end", "new@x.org", *REASON, **second)
    assert "The appointment is cancelled." in back.stdout

    ended = house.invoke("operator", "end", second["QIRSH_OPERATOR_EMAIL"], *REASON, **first)
    assert "Nothing has changed" in ended.stdout
    [item] = house.proposed(**second)
    own = house.invoke("proposal", "confirm", item["id"], "--digest", item["digest"], **second)
    assert own.stderr.startswith("refused: own_request: ")
    withdraw = ("proposal", "withdraw", item["id"], "--digest", item["digest"], "--reason", "they stay")
    assert "Withdrawn. Nothing has changed." in house.invoke(*withdraw, **first).stdout
    assert house.proposed(**first) == []


def test_a_proposal_is_read_before_it_is_decided_and_refused_with_a_reason(
    two: tuple[House, dict[str, str], dict[str, str]],
) -> None:
    house, first, second = two
    account = house.demo()["merchant"]["account"]
    assert house.invoke("account", "close", account, **first).returncode == 2
    asked = house.invoke("account", "close", account, *REASON, **first)
    assert "another operator must run `qirsh proposal confirm`" in asked.stdout
    [item] = house.proposed(**second)
    printed = house.invoke("proposal", "list", **second).stdout
    shown = house.invoke("proposal", "show", item["id"], **second).stdout
    for words in (item["id"], item["digest"], "account close", f"account {account}", REASON[1]):
        assert words in printed
        assert words in shown
    decide = (item["id"], "--digest", item["digest"])
    assert house.invoke("proposal", "refuse", *decide, **second).returncode == 2
    assert house.invoke("proposal", "confirm", item["id"], **second).returncode == 2
    other = house.invoke("proposal", "confirm", item["id"], "--digest", "0" * 16, **second)
    assert (other.returncode, other.stderr.split(":")[1]) == (1, " changed_meanwhile")
    own = house.invoke("proposal", "refuse", *decide, "--reason", "no", **first)
    assert (own.returncode, "withdraw it" in own.stderr) == (1, True)
    refused = house.invoke("proposal", "refuse", *decide, "--reason", "they have answered", **second)
    assert "Refused. Who asked for it is told by e-mail." in refused.stdout
    late = house.invoke("proposal", "confirm", *decide, "--json", **second)
    assert (late.returncode, json.loads(late.stdout)["code"]) == (1, "already_decided")
    unknown = house.invoke("proposal", "show", "pr_404", **second)
    assert "`qirsh proposal list` shows what waits" in unknown.stderr


def test_roles_are_changed_by_two_and_a_role_that_lacks_a_right_is_told_what_to_do(house: House) -> None:
    first, second = house.operator(), house.operator("operator2")
    email = second["QIRSH_OPERATOR_EMAIL"]
    for wrong in ((), ("--role", "king", *REASON), ("--role", "support")):
        assert house.invoke("operator", "roles", email, *wrong, **first).returncode == 2
    asked = house.act("operator", "roles", email, "--role", "support", *REASON, **first)
    own = house.invoke("proposal", "confirm", asked["id"], "--digest", asked["digest"], **second)
    assert own.stderr.startswith("refused: own_request: ")
    # One asks for their own, and the other agrees.
    withdraw = ("proposal", "withdraw", asked["id"], "--digest", asked["digest"], *REASON)
    assert house.act(*withdraw, **first)["state"] == "withdrawn"
    asked = house.act("operator", "roles", email, "--role", "support", *REASON, **second)
    done = house.act("proposal", "confirm", asked["id"], "--digest", asked["digest"], **first)
    assert done["state"] == "done"
    refused = house.invoke("payout", "list", **second)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("refused: missing_right: None of your roles allows this.")
    assert "`ask_money`" in refused.stderr
    assert "whose role allows it" in refused.stderr
