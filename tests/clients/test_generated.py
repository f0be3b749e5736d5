"""Clients that others' generators make from the description: they compile, nothing of it is dropped, and they work."""

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live import Call, Live, live

HERE: Final = Path(__file__).parent
BIN: Final = Path(sys.executable).parent
# By exact versions, from npm, as the linter of the description.
PACKAGES: Final = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")
_MINUTES_S: Final = 300


@pytest.fixture(scope="module")
def served() -> Iterator[Live]:
    with live(shops=2, people=2) as world:
        yield world


@pytest.fixture
def description(served: Live, tmp_path: Path) -> Path:
    file = tmp_path / "openapi.json"
    file.write_bytes(served.send(Call("GET", "/openapi.json")).content)
    return file


def run(*command: object, folder: Path, **more: str) -> str:
    """What a program says. Node, npm and ruff are those of the environment."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **more}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=_MINUTES_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_typescript_client_compiles_strictly_and_works(served: Live, description: Path) -> None:
    folder = description.parent
    run("npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES, folder=folder)
    programs = folder / "node_modules" / ".bin"
    run(programs / "openapi-typescript", "openapi.json", "-o", "api.d.ts", folder=folder)
    (folder / "package.json").write_text('{"type":"module"}')
    (folder / "trip.ts").write_bytes((HERE / "trip.ts").read_bytes())
    strictly = (
        "--strict",
        "--noUncheckedIndexedAccess",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--lib",
        "es2022,dom",
    )
    run(programs / "tsc", *strictly, "trip.ts", folder=folder)
    merchant = served.merchants[0]
    run("node", "trip.js", folder=folder, BASE_URL=served.settings.base_url, API_KEY=merchant.test_key, RUN="1")


@pytest.mark.slow
def test_a_python_client_drops_nothing_and_works(
    served: Live, description: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = description.parent
    generate = ("generate", "--path", "openapi.json", "--output-path", "made_client", "--meta", "none")
    said = run(BIN / "openapi-python-client", *generate, "--fail-on-warning", folder=folder)
    assert "Warning" not in said
    monkeypatch.syspath_prepend(folder)
    made: Any = importlib.import_module("made_client")

    def call(chapter: str, name: str) -> Any:  # noqa: ANN401 - made just now
        return importlib.import_module(f"made_client.api.{chapter}.{name}").sync

    models: Any = importlib.import_module("made_client.models")
    amount = 999_999_999_999_999
    body = models.CreatePaymentBody.from_dict({"amount": amount, "currency": "USD", "metadata": {"order": 7}})

    def trip(client: Any) -> None:  # noqa: ANN401 - made just now
        payment_id = call("remote_payments", "remote_payments_create")(client=client, body=body).data.id
        paid = call("test_mode", "test_remote_payments_pay")(payment_id, client=client, body=models.TestPayBody())
        assert paid.data.status == "paid"
        shown = call("remote_payments", "remote_payments_retrieve")(payment_id, client=client).data
        assert (shown.amount, shown.metadata["order"], shown.reference) == (amount, 7, None)
        asked = models.RefundBody(amount=98)
        refund_id = call("refunds", "remote_payments_refunds_create")(payment_id, client=client, body=asked).data.id
        assert call("refunds", "refunds_retrieve")(refund_id, client=client).data.amount == 98
        [listed] = call("remote_payments", "remote_payments_list")(client=client, limit=1).data.items
        assert (listed.field_id, listed.refunded_amount) == (payment_id, 98)
        events = call("events", "events_list")(client=client).data.items
        assert [event.type_ for event in events] == ["remote_payment.paid", "refund.created"]
        assert events[1].data.refund.amount == 98
        missing = call("remote_payments", "remote_payments_retrieve")("1234567890123456", client=client)
        assert missing.code == "not_found"

    with made.AuthenticatedClient(served.settings.base_url, served.merchants[1].test_key) as client:
        served.run(asyncio.to_thread(trip, client))


@pytest.mark.slow
def test_types_in_go_hold_amounts_in_64_bits(description: Path) -> None:
    """Without a word about it the generators take 32."""
    folder = description.parent
    run(BIN / "openapi-generator-cli", "generate", "-g", "go", "-i", description, "-o", "go", folder=folder)
    sources = "".join(file.read_text() for file in (folder / "go").glob("model_*.go"))
    found = {}
    for name, inside in re.findall(r"^type (\w+) struct {\n(.*?)^}", sources, re.MULTILINE | re.DOTALL):
        for kind, field in re.findall(r"^\t\w+ (\S+) `json:\"(\w*(?:[aA]mount|balance))[\",]", inside, re.MULTILINE):
            found[name, field] = kind
    schemas = json.loads(description.read_bytes())["components"]["schemas"]
    amounts = {
        (name, field)
        for name, schema in schemas.items()
        for field, value in schema.get("properties", {}).items()
        if re.search("[aA]mount$|balance$", field) and "integer" in value["type"]
    }
    assert len(amounts) > 5
    assert set(found) == amounts
    assert set(found.values()) <= {"int64", "NullableInt64"}
