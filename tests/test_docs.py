"""Documentation that is tested: whatever a user can meet stands in the docs, and what the docs name exists."""

import re
from pathlib import Path

from qirsh.domain import event, limits, payment
from qirsh.domain.api_key import SCOPES
from qirsh.domain.money import CURRENCIES
from qirsh.domain.refusal import Refusal
from qirsh.language.catalog import LANGUAGES
from qirsh.settings import SETTINGS
from qirsh.store.integrity import attested_rows, hash_chain, invariants, name_words
from qirsh.store.postgres import verify as postgres_verify
from qirsh.store.sqlite import verify as sqlite_verify
from qirsh.web.http.problems import PROBLEM_TYPES
from qirsh.web.operator.actions import ACTIONS
from qirsh.web.routes import ROUTES
from tests.each import each

ROOT = Path(__file__).parents[1]
API = (ROOT / "docs/api.md").read_text()
PAGES = (ROOT / "docs/pages.md").read_text()
OPERATING = (ROOT / "docs/operating.md").read_text()

# Limits that a caller can run into; the others bound the service's own work.
CALLERS_LIMITS = (
    "AMOUNT_MAX",
    "BALANCE_MAX",
    "NOTE_CHARACTERS_MAX",
    "REFERENCE_CHARACTERS_MAX",
    "URL_CHARACTERS_MAX",
    "METADATA_BYTES_MAX",
    "METADATA_KEYS_MAX",
    "METADATA_KEY_CHARACTERS_MAX",
    "METADATA_DEPTH_MAX",
    "EXPIRES_IN_S_MIN",
    "EXPIRES_IN_S_MAX",
    "EXPIRES_IN_S_DEFAULT",
    "WAIT_S_MAX",
    "BODY_BYTES_MAX",
    "HEAD_BYTES_MAX",
    "HEADERS_MAX",
    "TARGET_BYTES_MAX",
    "RECEIVE_S_MAX",
    "IDEMPOTENCY_KEY_CHARACTERS_MAX",
    "KEY_CALLS_PER_MINUTE",
    "SESSION_CALLS_PER_MINUTE",
    "ADDRESS_CALLS_PER_MINUTE",
    "SIGN_INS_PER_MINUTE",
    "EMAIL_FAILURES_MAX",
    "EMAIL_FAILURES_S",
)


def missing(names: list[str], text: str) -> list[str]:
    """Which of these words the text does not hold, each as a whole word."""
    return [name for name in names if not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)]


def test_a_missing_word_is_found_missing() -> None:
    assert missing(["paid", "lost"], "it was `paid`, prepaid") == ["lost"]
    assert missing(["500"], "1500 and 5000") == ["500"]


def test_every_route_is_documented_and_every_documented_route_exists() -> None:
    documented = set(re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) /\S*)` \|", API + PAGES, re.MULTILINE))
    assert documented == {f"{route.method} {route.path}" for route in ROUTES}


def test_every_scope_that_a_route_needs_is_documented() -> None:
    assert missing([route.scope for route in ROUTES if route.scope], API) == []
    assert {route.scope for route in ROUTES if route.scope} <= set(SCOPES)


def test_every_error_code_is_documented_with_its_status() -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d{3}) \|", API, re.MULTILINE))
    assert documented == {code: str(kind.status) for code, kind in PROBLEM_TYPES.items()}


def test_every_refusal_has_an_answer() -> None:
    assert [refusal.value for refusal in Refusal if refusal.value not in PROBLEM_TYPES] == []


@each(
    "names",
    [list(payment.STATUSES), list(event.TYPES), list(CURRENCIES)],
)
def test_every_name_that_an_answer_can_hold_is_documented(names: list[str]) -> None:
    assert missing(names, API) == []


def test_every_limit_that_a_caller_can_meet_is_documented() -> None:
    values = {name: str(getattr(limits, name)) for name in CALLERS_LIMITS}
    assert [name for name, value in values.items() if missing([value], API)] == []


def test_every_setting_is_documented() -> None:
    documented = set(re.findall(r"^\| `(QIRSH_\w+)` \|", OPERATING, re.MULTILINE))
    assert documented == set(SETTINGS)


def test_every_act_of_an_operator_is_documented() -> None:
    words = {word for act in ACTIONS for word in act.split()}
    assert missing(sorted(words), OPERATING) == []


def test_links_between_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = document.read_text()
        for target in [*re.findall(r"\]\(([^)#:]+)\)", text), *re.findall(r'src(?:set)?="([^":]+)"', text)]:
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_links_to_a_part_of_a_document_lead_to_a_heading_of_it() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target, part in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
            text = (document.parent / target if target else document).read_text()
            headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert part in anchors, f"{document.name}: {target}#{part}"


def test_every_picture_is_shown_in_each_language_and_every_shown_one_is_there() -> None:
    shown = re.findall(r"\]\(screens/([\w-]+\.webp)\)", (ROOT / "docs/screens.md").read_text())
    assert sorted(shown) == sorted(file.name for file in (ROOT / "docs/screens").iterdir())
    names = {code: {name for name in shown if name.startswith(f"{code}-")} for code in LANGUAGES}
    assert len({frozenset(name.partition("-")[2] for name in own) for own in names.values()}) == 1


def test_every_number_of_an_invariant_stands_in_the_list() -> None:
    listed = {
        int(number) for number in re.findall(r"^\| (\d+) \|", (ROOT / "docs/invariants.md").read_text(), re.MULTILINE)
    }
    used = {
        invariant.number
        for invariant in (
            *invariants.ALL,
            attested_rows.CREDENTIALS,
            name_words.NAMES,
            hash_chain.CHAIN,
            *sqlite_verify.FILE,
            postgres_verify.GUARDS,
        )
    }
    assert used <= listed
    assert listed == set(range(1, len(listed) + 1))


def test_every_source_file_that_is_named_is_there() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {(page.name, path) for page in pages for path in re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", page.read_text())}
    assert named
    missing_files = [
        (page, path) for page, path in named if not any((root / path).exists() for root in (ROOT / "src/qirsh", ROOT))
    ]
    assert missing_files == []
