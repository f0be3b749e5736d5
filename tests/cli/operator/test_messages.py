"""Messages to the owner of a business from the command line."""

from tests.cli.program import House


def test_an_operator_writes_to_the_owner_of_a_business(house: House) -> None:
    by = house.operator()
    shop = house.act("account", "list", "--state", "approved", **by)["items"][0]
    sent = house.invoke("message", "send", shop["account"], "--text", "What do you\nsell?", **by)
    assert sent.returncode == 0, sent.stderr
    assert "does not have its text" in sent.stdout
    shown = house.invoke("message", "show", shop["account"], **by)
    assert f"{shop['account']} {shop['name']}  from operator\n  What do you\n  sell?\n" in shown.stdout
    assert house.invoke("message", "list", **by).stdout == "No messages.\n"
    assert house.invoke("message", "send", shop["account"], "--text", " ", **by).returncode == 1
    unknown = house.invoke("message", "send", "123456789012", "--text", "x", **by)
    assert unknown.returncode == 1
