"""Operators look at who people are and decide, and find accounts and keys in lists."""

import asyncio
import json
from pathlib import Path

from qirsh.domain.commands.identity import SubmitIdentity
from qirsh.engine.identity_facts import Facts, seal_facts, seal_picture
from qirsh.service import opened
from qirsh.settings import read_settings
from tests.cli.program import PASSWORD, House

FACTS = Facts("مها", "Şahin", "1990-02-28", "passport", "N0CANARY77")
PICTURE = b"\xff\xd8\xff a picture"


def shown(house: House) -> str:
    """The account of somebody who has shown who they are."""
    words = ("person", "add", "--email", "maha@x.org", "--name", "Maha", "--password-stdin", "--pin-stdin")
    done = house.act(*words, stdin=f"{PASSWORD}\n246813\n", **house.operator())

    async def submit() -> None:
        async with opened(read_settings(house.environment())) as context:
            images = (("front", seal_picture(context.keyring, PICTURE, done["person"], "front")),)
            facts = seal_facts(context.keyring, FACTS, done["person"])
            await context.engine.submit(SubmitIdentity(done["person"], int(done["account"]), facts, images))  # type: ignore[arg-type]  # "front" is a side.

    asyncio.run(submit())
    account: str = done["account"]
    return account


def test_an_operator_looks_and_decides_and_the_pictures_are_theirs_alone(house: House, tmp_path: Path) -> None:
    by = house.operator()
    account = house.demo()["customer3"]["account"]  # The demo's own, which is decided first.
    assert house.invoke("identity", "reject", account, "--reason", "a specimen", **by).returncode == 0
    none = house.invoke("identity", "list", **by)
    assert (none.returncode, none.stdout) == (0, "None.\n")
    account = shown(house)
    assert account in house.invoke("identity", "list", **by).stdout
    folder = tmp_path / "looked"
    seen = house.invoke("identity", "show", account, "--pictures", str(folder), **by)
    assert seen.returncode == 0, seen.stderr
    assert all(word in seen.stdout for word in ("مها", "Şahin", "1990-02-28", "N0CANARY77", f"1 in {folder}"))
    [file] = folder.iterdir()
    assert (file.name, file.read_bytes()) == (f"{account}-front.jpg", PICTURE)
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    without = house.invoke("identity", "reject", account, **by)
    assert without.returncode == 2
    no = house.invoke("identity", "reject", account, "--reason", "blurred", **by)
    assert "can send it again" in no.stdout
    again = house.invoke("identity", "reject", account, "--reason", "blurred", **by)
    assert (again.returncode, again.stderr.split(":")[1]) == (1, " already_decided")
    assert house.act("account", "verify", account, **by)["state"] == "verified"
    nobody = house.invoke("identity", "show", house.demo()["merchant"]["account"], **by)
    assert (nobody.returncode, nobody.stderr.split(":")[1]) == (1, " not_found")


def test_nobody_looks_without_being_an_operator(house: House) -> None:
    account = shown(house)
    wrong = house.operator() | {"QIRSH_OPERATOR_PASSWORD": "wrong horse battery"}
    for words in (("identity", "list"), ("identity", "show", account), ("account", "list"), ("key", "list", account)):
        ended = house.invoke(*words, **wrong)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "wrong_credentials" in ended.stderr


def test_accounts_and_keys_are_listed(house: House) -> None:
    by = house.operator()
    shop = house.demo()["merchant"]["account"]
    listed = house.act("account", "list", **by)
    assert shop in {item["account"] for item in listed["items"]}
    requested = house.invoke("account", "list", "--state", "requested", **by).stdout
    assert house.demo()["requestedAccount"] in requested
    assert shop not in requested
    rest = house.act("account", "list", "--after", listed["items"][-1]["account"], **by)
    assert rest == {"items": [], "next": ""}
    approved = house.act("account", "list", "--state", "approved", **by)["items"][0]["account"]
    keys = json.dumps(house.act("key", "list", approved, **by))
    assert '"state": "active"' in keys
    assert "qk_" not in keys
