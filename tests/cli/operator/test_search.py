"""Finding things and writing notes from the command line of a service that runs."""

from tests.cli.program import House, Running


def test_what_is_found_and_written_down_is_printed_in_plain_words(served: tuple[House, Running]) -> None:
    house, _ = served
    by, account = house.operator(), house.demo()["shopAccount"]
    found = house.invoke("search", account, **by)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("account ")
    assert account in found.stdout
    assert house.invoke("search", "xyzzy", **by).stdout == "Nothing found.\n"
    assert house.invoke("search", **by).returncode == 2
    assert house.invoke("note", "list", "account", account, **by).stdout == "No notes.\n"
    added = house.invoke("note", "add", "account", account, "--text", "Pays late", **by)
    assert "Note added." in added.stdout, added.stderr
    assert "  Pays late" in house.invoke("note", "list", "account", account, **by).stdout
    mistyped = house.invoke("note", "add", "account", "123", "--text", "x", **by)
    assert (mistyped.returncode, "id: must be an account number" in mistyped.stderr) == (1, True)
    assert house.invoke("note", "add", "colour", "123", "--text", "x", **by).returncode == 2


def test_a_key_is_revoked_with_a_reason(served: tuple[House, Running]) -> None:
    house, _ = served
    by, account = house.operator(), house.demo()["shopAccount"]
    key = house.act("key", "issue", account, **by)
    revoked = house.invoke("key", "revoke", key["id"], "--reason", "published", **by)
    assert "API key revoked" in revoked.stdout, revoked.stderr
