"""Loaded by schemathesis in its own process: what no schema can say of a valid call, and a count of all calls.

Only calls that are meant to be valid are helped. Those that are meant to be refused go out as they were made.
"""

import atexit
import gc
import itertools
import json
import os
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext
from schemathesis.core.transport import Response

from qirsh.domain import limits  # And nothing else of the service: to import it costs more than half of all calls.

ORIGIN, NOBODY = os.environ["FUZZ_ORIGIN"], os.environ["FUZZ_NOBODY"]
PASSWORD, PIN = os.environ["FUZZ_PASSWORD"], os.environ["FUZZ_PIN"]
LIVE = f"Bearer {os.environ['FUZZ_KEY']}"
# With it go the calls that only a test key may make, and every third payment; empty: all go with the one key.
TEST = f"Bearer {os.environ['FUZZ_TEST_KEY']}" if os.environ["FUZZ_TEST_KEY"] else ""
ALIKE_MAX = int(os.environ["FUZZ_ALIKE_MAX"])  # Of the cases that probe the same, so many are sent.

if ALIKE_MAX:
    gc.disable()  # Hypothesis makes garbage by the million, and a short run ends before the memory does.
calls: Counter[tuple[str, int]] = Counter()
# What exists, by the part of the path that comes before an id.
known: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=20))
known["refunds"].append(os.environ["FUZZ_REFUND"])  # One is hard to come by: it takes a payment that was paid.
known["events"].append(os.environ["FUZZ_EVENT"])  # They may be asked for one by one before they are listed.
known["deliveries"].append(os.environ["FUZZ_DELIVERY"])  # Nor is one of these made in a run.
kept_endpoint = f"we_{os.environ['FUZZ_DELIVERY'].split('_')[1]}"  # With it the delivery would go.
paid = os.environ["FUZZ_PAID"].split()
# By path: what is to be paid or to expire must be pending still. Each is named once.
pending = {path: deque(ids) for path, ids in json.loads(os.environ["FUZZ_PENDING"]).items()}
alike: Counter[tuple[str, ...]] = Counter()
named: Counter[str] = Counter()  # Calls with an id that were meant to be valid.
cursors: defaultdict[tuple[str, bool], deque[str]] = defaultdict(lambda: deque(maxlen=20))
numbers = itertools.count(1)


@schemathesis.hook
def filter_case(context: HookContext, case: Case[Any]) -> bool:  # noqa: ARG001 - their signature
    """Without a limit schemathesis sends hundreds of wrong types to a call with many parameters."""
    if case.meta is None or not ALIKE_MAX:
        return True
    probe = case.meta.phase.data
    what = [str(getattr(probe, name, "")) for name in ("scenario", "parameter")]
    kind = case.operation.label, case.meta.phase.name.value, case.meta.generation.mode.value, *what
    alike[kind] += 1
    return alike[kind] <= ALIKE_MAX


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:  # noqa: ARG001 - their signature
    """A call that follows the schema shall also follow what is said in words."""
    if case.query and str(case.query.get("wait", "")).isdigit():
        case.query["wait"] = 0  # Nobody changes the payment meanwhile: to wait would be for nothing.
    number = next(numbers)
    if case.headers.get("Authorization") == LIVE and needs_test_key(case, number):
        case.headers["Authorization"] = TEST
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    if "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = f"{os.getpid()}-{number}"
    if isinstance(case.body, dict):
        mend_body(case.body, number)
    if case.query:
        mend_query(case.query)
        mend_cursor(case, number)
    if "id" in case.path_parameters:
        name_something_known(case, number)
    if case.method == "PATCH" and isinstance(case.body, dict) and case.body.get("types"):
        del case.body["types"]  # What an endpoint no longer wants cannot be resent to it.
    if paid and case.method == "POST" and case.path.endswith("/refunds") and isinstance(case.body, dict) and number % 2:
        case.path_parameters["id"] = paid[number % len(paid)]
        case.body.pop("amount", None)  # All that is left of it: hardly anything else would fit.


def mend_cursor(case: Case[Any], number: int) -> None:
    """One that was given out for the same list, or none."""
    if case.query.pop("cursor", None) is not None and (pages := cursors[list_of(case)]):
        case.query["cursor"] = pages[number % len(pages)]


def needs_test_key(case: Case[Any], number: int) -> bool:
    return bool(TEST) and ("/test/" in case.path or (case.path.endswith("/remote-payments") and number % 3 == 0))


def pool_of(case: Case[Any], collection: str) -> deque[str]:
    """What was seen there with the same key."""
    return known[f"test {collection}" if case.headers.get("Authorization") == TEST else collection]


def name_something_known(case: Case[Any], number: int) -> None:
    """Mostly an id that was seen: nobody guesses one."""
    if fresh := pending.get(case.path):
        case.path_parameters["id"] = fresh.popleft()
        if isinstance(case.body, dict):
            case.body.pop("outcome", None)
        return
    pool = pool_of(case, case.path.partition("/{")[0].rpartition("/")[2])
    if case.method == "DELETE":
        pool = deque(one for one in pool if one != kept_endpoint)
    named[case.operation.label] += 1
    if pool and case.path_parameters["id"] not in pool and named[case.operation.label] % 4:
        case.path_parameters["id"] = pool[number % len(pool)]


def list_of(case: Case[Any]) -> tuple[str, bool]:
    """A cursor is of use for one list only, and payments by when they were paid are another one."""
    return case.formatted_path, not {"paidAfter", "paidBefore"}.isdisjoint(case.query or {})


def mend_query(query: dict[str, Any]) -> None:
    """Few and short filters: an address has a limit, and so has the number of parameters. Days of one year."""
    if {"from", "to"} <= query.keys():
        query["from"], query["to"] = "2026-01-01", "2026-12-31"
    if isinstance(query.get("metadata"), dict):
        few = list(query["metadata"].items())[:3]
        query["metadata"] = {key[:20].replace("][", ""): str(value)[:20] for key, value in few}
    for name in [name for name in query if name.startswith("metadata[")][3:]:
        del query[name]
    for name, value in query.items():
        if name.startswith("metadata[") and isinstance(value, str):
            query[name] = value[:20]


def mend_body(body: dict[str, Any], number: int) -> None:
    """Whole numbers without a point, registered origins, metadata within limits, and often the right secrets."""
    for name, value in body.items():
        if isinstance(value, float) and value.is_integer():
            body[name] = int(value)
    for name in {"returnUrl", "cancelUrl"} & body.keys():
        body[name] = f"{ORIGIN}/{number}"
    if "url" in body:
        body["url"] = f"{NOBODY}/{number}"
    if body.get("from"):
        body["from"] = os.environ["FUZZ_NOW"]
    if body.get("resumeFrom"):
        body["state"] = "enabled"
    if "metadata" in body and not fits(body["metadata"]):
        body["metadata"] = {}
    # Now and then a wrong PIN, and never so many in a row that it is locked for the rest of the run.
    if "pin" in body and number % 3:
        body["pin"] = PIN
    if "password" in body and number % 3:
        body |= {"email": os.environ["FUZZ_EMAIL"], "password": PASSWORD}


def fits(metadata: object) -> bool:
    """Whether it is small and flat enough, also its keys, and holds no U+0000."""
    text = json.dumps(metadata)
    is_small = len(text) < limits.METADATA_BYTES_MAX and depth(metadata) <= limits.METADATA_DEPTH_MAX
    return is_small and longest_key(metadata) <= limits.METADATA_KEY_CHARACTERS_MAX and "\\u0000" not in text


def depth(value: object) -> int:
    """How deep it is nested."""
    context = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if context is None else 1 + max(map(depth, context), default=0)


def longest_key(value: object) -> int:
    """The characters of the longest key at any depth."""
    context = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = max(map(len, value), default=0) if isinstance(value, dict) else 0
    return max(own, *map(longest_key, context), 0)


@schemathesis.hook
def after_call(context: HookContext, case: Case[Any], response: Response) -> None:  # noqa: ARG001 - their signature
    """Count it, and remember what it made or showed."""
    calls[f"{case.operation.method.upper()} {case.operation.path}", response.status_code] += 1
    if case.method == "DELETE" and response.status_code < 300:
        pool = pool_of(case, case.path.partition("/{")[0].rpartition("/")[2])
        if case.path_parameters["id"] in pool:
            pool.remove(case.path_parameters["id"])
    if response.status_code in {200, 201} and case.method in {"GET", "POST"}:
        data = json.loads(response.content)["data"]
        pool = pool_of(case, case.path.rpartition("/")[2])
        if data.get("nextCursor"):
            cursors[list_of(case)].append(data["nextCursor"])
        for item in data.get("items", [data]):
            found = item.get("id", item.get("_id"))
            if found is not None and found not in pool:
                pool.append(found)


@atexit.register
def report() -> None:
    """For the test that started this."""
    told = [[call, status, count] for (call, status), count in calls.items()]
    Path(os.environ["FUZZ_REPORT"]).write_text(json.dumps(told))
