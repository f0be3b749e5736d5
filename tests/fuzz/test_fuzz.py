"""The served API against its own description: no server error, no undocumented answer, whatever is sent."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from qirsh.contract.timestamps import timestamp
from qirsh.web.routes import ROUTES
from tests.live import ORIGIN, PASSWORD, PAYMENTS, PIN, Call, Customer, Live, create, live, pay, post
from tests.postgres import PostgresServer
from tests.web.webhooks import NOBODY, OWN_NETWORKS, new_delivery

PAID = 10  # Payments that can be refunded: a run hardly makes one by itself.
PENDING = 6  # Payments that can be paid, of each kind: those that a run makes are mostly cancelled before.
# Not called at all: it ends the session that the others need.
LEFT_OUT = {"DELETE /api/v1/wallet/sessions/current"}
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


class Run(NamedTuple):
    """What schemathesis said, and how often each call had each status."""

    is_good: bool
    said: str
    calls: Counter[tuple[str, int]]


@pytest.fixture(scope="module")
def fuzzed(engine: PostgresServer | None) -> Iterator[Live]:
    with live(engine, shops=2, people=4, more=OWN_NETWORKS) as served:
        yield served
        assert served.complaints() == []
        assert served.violations() == []


def fuzz(
    world: Live,
    folder: Path,
    *,
    key: str,
    customer: Customer,
    examples: int,
    seed: int,
    more: tuple[str, ...] = (),
    test_key: str = "",
    alike_max: int = 0,
) -> Run:
    """With a test key as well, that one makes the calls that only it may make; without it, `key` makes all.

    Of the cases that probe the same in the same call, `alike_max` are sent; 0 is all of them.
    """
    description = folder / "openapi.json"
    description.write_bytes(world.send(Call("GET", "/openapi.json")).content)
    report = folder / "report.json"
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program), f"--config-file={HERE / 'schemathesis.toml'}", "run", str(description)]
    command += [f"--url={world.settings.base_url}", f"--max-examples={examples}", f"--seed={seed}", *more]
    paid = [one for one in (bought(world, key, customer) for _ in range(PAID)) if one]
    told = {
        "FUZZ_KEY": key,
        "FUZZ_SESSION": customer.token,
        "FUZZ_EMAIL": customer.email,
        "FUZZ_PAID": " ".join(paid),
        "FUZZ_REFUND": refunded(world, key, paid[0]) if paid else "none",
        "FUZZ_EVENT": world.data(Call("GET", "/api/v1/events", key))["items"][0]["id"] if paid else "none",
        "FUZZ_DELIVERY": new_delivery(world, key) if paid else "dlv_none_1",
        "FUZZ_NOW": timestamp(world.now_ms()),
        "FUZZ_TEST_KEY": test_key,
        "FUZZ_PENDING": json.dumps(several_pending(world, key, test_key) if test_key else {}),
        "FUZZ_ALIKE_MAX": str(alike_max),
        "FUZZ_ORIGIN": ORIGIN,
        "FUZZ_NOBODY": NOBODY,
        "FUZZ_PASSWORD": PASSWORD,
        "FUZZ_PIN": PIN,
        "FUZZ_REPORT": str(report),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
    }
    done = subprocess.run(
        ["setpriv", "--pdeathsig=KILL", "--", *command],
        cwd=folder,
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert report.exists(), done.stdout + done.stderr
    calls = Counter({(call, status): count for call, status, count in json.loads(report.read_text())})
    return Run(done.returncode == 0, done.stdout + done.stderr, calls)


def bought(world: Live, key: str, customer: Customer) -> str:
    """The id of a payment that is paid; none if the key may not do that."""
    answer = world.send(create(key))
    if answer.status_code != 201:
        return ""
    payment_id: str = answer.json()["data"]["id"]
    is_test = key.startswith("qk_test_")
    trial = Call("POST", f"/api/v1/test/remote-payments/{payment_id}/pay", key)
    world.data(trial if is_test else pay(customer, payment_id))
    return payment_id


def several_pending(world: Live, key: str, test_key: str) -> dict[str, list[str]]:
    """The ids of payments that nobody has paid, by the path of a call that ends them."""
    own = {
        "/api/v1/wallet/remote-payments/{id}/pay": key,
        "/api/v1/test/remote-payments/{id}/pay": test_key,
        "/api/v1/test/remote-payments/{id}/expire": test_key,
    }
    return {path: [world.data(create(one))["id"] for _ in range(PENDING)] for path, one in own.items()}


def refunded(world: Live, key: str, payment_id: str) -> str:
    """The id of a refund."""
    refund_id: str = world.data(post(f"{PAYMENTS}/{payment_id}/refunds", key, {"amount": 1}))["id"]
    return refund_id


def never_done(calls: Counter[tuple[str, int]]) -> list[str]:
    """Calls of the API that no run has seen succeed."""
    done = {call for call, status in calls if status in {200, 201}}
    return [f"{r.method} {r.path}" for r in ROUTES if r.doc and f"{r.method} {r.path}" not in done]


def assert_all_answered(calls: Counter[tuple[str, int]]) -> None:
    """Every call has succeeded, every kind of documented refusal was seen, and nothing broke."""
    assert {*never_done(calls)} == LEFT_OUT
    assert {status for _, status in calls} >= {401, 404, 405, 409, 415, 422}
    assert [call for call in calls if call[1] >= 500] == []


def test_everything_sent_gets_a_documented_answer(fuzzed: Live, tmp_path: Path) -> None:
    """One case of each kind that schemathesis makes of each parameter. The same cases each time."""
    merchant, customer = fuzzed.merchants[0], fuzzed.customers[0]
    run = fuzz(
        fuzzed,
        tmp_path,
        key=merchant.key,
        test_key=merchant.test_key,
        customer=customer,
        examples=1,
        seed=1,
        alike_max=1,
        more=("--phases=coverage",),
    )
    assert run.is_good, run.said
    assert_all_answered(run.calls)
    assert run.calls.total() > 400


@pytest.mark.slow
def test_every_case_of_the_description_gets_a_documented_answer(fuzzed: Live, tmp_path: Path) -> None:
    merchant, customer = fuzzed.merchants[0], fuzzed.customer()
    run = fuzz(
        fuzzed,
        tmp_path,
        key=merchant.key,
        test_key=merchant.test_key,
        customer=customer,
        examples=1,
        seed=1,
        more=("--phases=examples,coverage",),
    )
    assert run.is_good, run.said
    assert_all_answered(run.calls)
    assert run.calls.total() > 1000


@pytest.mark.slow
def test_a_wrong_key_is_not_green(fuzzed: Live, tmp_path: Path) -> None:
    wrong = fuzzed.merchants[0].key[:-1] + "_"
    customer, more = fuzzed.customers[1], ("--phases=examples",)
    run = fuzz(fuzzed, tmp_path, key=wrong, customer=customer, examples=1, seed=1, more=more)
    assert not run.is_good
    assert "returned only 401/403 responses" in run.said


@pytest.mark.slow
def test_fifty_thousand_calls_get_documented_answers(fuzzed: Live, tmp_path: Path) -> None:
    """On each engine, with another seed each time: together a hundred thousand."""
    calls: Counter[tuple[str, int]] = Counter()
    seed = int.from_bytes(os.urandom(4), "big")
    while calls.total() < 50_000:
        seed += 1
        merchant, customer = fuzzed.merchants[1], fuzzed.customer()  # Who has spent nothing yet.
        key = merchant.key if seed % 2 else merchant.test_key
        run = fuzz(fuzzed, tmp_path, key=key, customer=customer, examples=60, seed=seed)
        assert run.is_good, f"seed {seed}\n{run.said}"
        calls += run.calls
    assert_all_answered(calls)
