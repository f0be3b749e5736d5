"""Names and logos of businesses from the command line."""

import asyncio
from hashlib import sha256
from pathlib import Path

from qirsh.domain.brand import BrandChange
from qirsh.domain.commands.brand import RequestBrandChange
from qirsh.domain.tables import Tables
from qirsh.service import opened
from qirsh.settings import read_settings
from tests.cli.program import House
from tests.web.photo import picture


def asked(house: House, change: str, name: str, seen: str = "") -> str:
    """The demo's shop wants to be called so, with a logo; the number of its account."""
    logo = picture("PNG", (64, 64))

    async def ask() -> str:
        async with opened(read_settings(house.environment())) as context:
            account = await context.store.find(Tables.accounts, int(house.demo()["shopAccount"]))
            assert account is not None
            assert account.owner is not None
            outcome = await context.engine.submit(
                RequestBrandChange(
                    account=account.number,
                    id=change,
                    name=name,
                    logo=sha256(logo).hexdigest(),
                    picture=logo,
                    seen=seen,
                    member=account.owner,
                )
            )
            assert type(outcome) is BrandChange, outcome
            return str(account.number)

    return asyncio.run(ask())


def test_an_operator_looks_refuses_and_approves(house: House, tmp_path: Path) -> None:
    by = house.operator()
    assert house.invoke("brand", "list", **by).stdout == "None.\n"
    account = asked(house, "bc_1", "Qirsh Bank")
    listed = house.invoke("brand", "list", **by)
    for words in (account, "bc_1", "Qirsh Bank", "the name of this service"):
        assert words in listed.stdout
    shown = house.invoke("brand", "show", account, "--pictures", str(tmp_path / "logos"), **by)
    assert "Qirsh Bank" in shown.stdout
    kept = tmp_path / "logos" / f"{account}-new.png"
    assert kept.read_bytes() == picture("PNG", (64, 64))
    assert kept.stat().st_mode & 0o777 == 0o600
    assert house.invoke("brand", "approve", account, **by).returncode == 2
    assert house.invoke("brand", "refuse", account, "--id", "bc_1", **by).returncode == 2
    refused = house.invoke("brand", "refuse", account, "--id", "bc_1", "--reason", "You are not us", **by)
    assert "The owner sees the reason" in refused.stdout
    asked(house, "bc_2", "Dar Al-Sham", seen="bc_1")
    stale = house.invoke("brand", "approve", account, "--id", "bc_1", **by)
    assert stale.stderr.startswith("refused: changed_meanwhile: ")
    assert house.act("brand", "approve", account, "--id", "bc_2", **by)["name"] == "Dar Al-Sham"
    assert house.act("account", "show", account, **by)["name"] == "Dar Al-Sham"
    again = house.invoke("brand", "approve", account, "--id", "bc_2", **by)
    assert again.stderr.startswith("refused: not_found: ")
