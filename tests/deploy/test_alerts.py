"""Alerts fire when they must and lead to what is to be done; they and the board ask for what `/metrics` tells."""

import copy
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from yamllint import linter  # type: ignore[import-untyped]  # it has no types
from yamllint.config import YamlLintConfig  # type: ignore[import-untyped]  # the same

from qirsh.metrics.catalogue import ASKED, KEPT
from qirsh.service import layout
from tests.deploy import prometheus_rules as checks
from tests.deploy.prometheus_rules import BOARD, FOLDER, RULE_TESTS, RULES, RULES_FILE
from tests.deploy.prometheus_server import hurried
from tests.deploy.prometheus_tools import ROOT, promtool
from tests.live import Call, in_process

TOKEN: Final = "metrics-0123456789-abcdefghijklmn"
# A sentence is one line, and so is a moment of a test.
STYLE: Final = YamlLintConfig("{extends: default, rules: {line-length: disable, document-start: disable}}")
ALERTS: Final = checks.alerts()
PAGES: Final = ("docs/alerts.md",)
HEADINGS: Final = {page: checks.headings_in((ROOT / page).read_text()) for page in PAGES}
OF_RULES: Final = [rule["expr"] for rule in checks.all_rules()]
OF_BOARD: Final = [expression for _, expression in checks.expressions()]
OF_TESTS: Final = [one["series"] for test in RULE_TESTS["tests"] for one in test["input_series"]]
VARIABLES: Final = [one["definition"] for one in BOARD["templating"]["list"] if one["type"] == "query"]


@pytest.fixture(scope="module")
def scraped() -> str:
    """A real one."""
    with in_process(None, shops=1, people=1, more={"QIRSH_METRICS_TOKEN": TOKEN}) as world:
        world.paid(world.merchants[0], world.customers[0])
        world.change(has_mail=True)  # Without, nothing waits for the notifier.
        return world.send(Call("GET", "/metrics", TOKEN)).text


@pytest.fixture(scope="module")
def values(scraped: str) -> dict[str, Any]:
    """What labels can be."""
    families = text_string_to_metric_families(scraped)
    workers = {sample.labels["worker"] for one in families for sample in one.samples if "worker" in sample.labels}
    return checks.known_values(**layout().values, worker=sorted(workers), engine=["SQLite", "PostgreSQL"])


def told_names(scraped: str) -> set[str]:
    """Of each line that there can be: families are told also while they have none."""
    found = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", scraped, re.MULTILINE):
        found |= {f"{name}_{end}" for end in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


@pytest.mark.parametrize("file", sorted(FOLDER.iterdir()), ids=lambda file: file.name)
def test_the_files_are_well_written(file: Path) -> None:
    assert [str(problem) for problem in linter.run(file.read_text(), STYLE)] == []


def test_the_rules_are_valid() -> None:
    code, said = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES_FILE)
    assert code == 0, said


def test_the_example_of_a_scrape_is_valid(tmp_path: Path) -> None:
    for name in ("prometheus.yml", "rules.yml"):
        shutil.copy(FOLDER / name, tmp_path)
    code, said = promtool("check", "config", tmp_path / "prometheus.yml")
    assert code != 0, "it does not read the token from a file"
    assert "qirsh-metrics-token" in said
    (tmp_path / "qirsh-metrics-token").write_text(TOKEN)
    code, said = promtool("check", "config", tmp_path / "prometheus.yml")
    assert code == 0, said
    [scrape] = yaml.safe_load((tmp_path / "prometheus.yml").read_text())["scrape_configs"]
    assert re.fullmatch("qirsh.*", scrape["job_name"]), "the rules look for jobs of this name"


@pytest.mark.slow
def test_each_alert_fires_when_it_must(tmp_path: Path) -> None:
    """As `promtool test rules` has it, with those rules alone that a test asks for: it takes a tenth of the time."""
    files = list(parted(tmp_path))
    code, said = promtool("test", "rules", *files)
    assert code == 0, said
    assert said.count("SUCCESS") == len(files) == len(RULE_TESTS["tests"])


def parted(folder: Path) -> Iterator[Path]:
    """Each test in a file of its own."""
    for number, test in enumerate(RULE_TESTS["tests"]):
        asked = " ".join(one["expr"] for one in test["promql_expr_test"])
        names = set(re.findall(r'alertname="(\w+)"', asked))
        is_of_all = re.search(r"ALERTS\{alertstate", asked)
        chosen = [rule for rule in checks.all_rules() if is_of_all or "record" in rule or rule["alert"] in names]
        rules, file = folder / f"rules-{number}.yml", folder / f"test-{number}.yml"
        rules.write_text(yaml.safe_dump({"groups": [{"name": "chosen", "rules": chosen}]}))
        file.write_text(yaml.safe_dump({**RULE_TESTS, "rule_files": [rules.name], "tests": [test]}))
        yield file


@pytest.mark.slow
def test_all_rules_together_do_the_same() -> None:
    code, said = promtool("test", "rules", FOLDER / "rules_test.yml")
    assert code == 0, said


@pytest.mark.slow
def test_what_an_alert_says_can_be_read(tmp_path: Path) -> None:
    tests = []
    for test in RULE_TESTS["tests"]:
        firing = [one for one in test["promql_expr_test"] if one["exp_samples"] and "alertname" in one["expr"]]
        asked = [(re.findall(r'alertname="(\w+)"', one["expr"])[0], one["eval_time"]) for one in firing]
        moments = [{"alertname": name, "eval_time": at, "exp_alerts": []} for name, at in asked]
        tests.append({**test, "promql_expr_test": [], "alert_rule_test": moments})
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({**RULE_TESTS, "rule_files": [str(RULES_FILE)], "tests": tests}))
    _, said = promtool("test", "rules", file)
    assert {name for name in ALERTS if f"alertname: {name}," in said} == set(ALERTS)
    told = re.findall(r'summary="([^"]*)"', said)
    assert len(told) >= len(ALERTS)
    # A label that is not there leaves nothing between two blanks, or before a mark.
    assert [text for text in told if re.search(r"  |^ | [.,;]|<|error|%!", text)] == []


@pytest.mark.parametrize("name", ALERTS)
def test_each_alert_is_tested_and_says_what_to_do(name: str) -> None:
    assert list(checks.test_faults(ALERTS[name], checks.assertions().get(name, []))) == []
    assert list(checks.alert_faults(ALERTS[name], HEADINGS)) == []


def test_the_page_tells_of_each_alert_with_its_severity() -> None:
    page = (ROOT / "docs/alerts.md").read_text()
    told = re.findall(r"^### (Qirsh\w+)\n\n`(\w+)`", page, re.MULTILINE)
    assert sorted(told) == sorted((name, rule["labels"]["severity"]) for name, rule in ALERTS.items())


def test_each_link_of_the_page_leads_somewhere() -> None:
    page = (ROOT / "docs/alerts.md").read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page)
    for name, heading in links:
        target = ROOT / "docs" / (name or "alerts.md")
        assert target.exists(), name
        assert not heading or heading in checks.headings_in(target.read_text()), (name, heading)
    assert links


def test_the_board_is_complete() -> None:
    assert list(checks.panel_faults(BOARD)) == []


def test_each_expression_of_the_board_is_valid(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": checks.plain(expression)} for number, expression in enumerate(OF_BOARD)
    ]
    assert not [rule for rule in rules if "$" in rule["expr"]]
    file = tmp_path / "board.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    code, said = promtool("check", "rules", file)
    assert code == 0, said
    assert f"{len(rules)} rules found" in said


@pytest.mark.parametrize("texts", [OF_RULES, OF_BOARD, OF_TESTS, VARIABLES], ids=["rules", "board", "tests", "choice"])
def test_what_is_asked_for_is_told_by_a_real_scrape(texts: list[str], scraped: str, values: dict[str, Any]) -> None:
    assert checks.named_in(*texts) - told_names(scraped) == set()
    assert [fault for text in texts for fault in checks.label_faults(text, values)] == []


def test_every_metric_is_used_by_a_rule_or_a_panel() -> None:
    used = checks.named_in(*OF_RULES, *OF_BOARD)
    assert [metric.name for metric in (*KEPT, *ASKED) if not checks.samples(metric) & used] == []


def test_the_scrape_tells_what_the_catalogue_has(scraped: str) -> None:
    assert told_names(scraped) == set(checks.SAMPLES)


@pytest.mark.parametrize(
    "expression",
    [
        'qirsh_requests_total{code="500"}',
        'qirsh_requests_total{status="502"}',
        'qirsh_requests_total{status=~"500|599"}',
        'qirsh_waiting_seconds{worker="mails"}',
        'qirsh_roles{role!~"mail sender|secret rotater"}',
        "sum by (worker) (qirsh_roles)",
        'qirsh_request_seconds_bucket{route="POST /api/v1/payments"}',
    ],
)
def test_a_selector_that_chooses_nothing_is_noticed(expression: str, values: dict[str, Any]) -> None:
    assert list(checks.label_faults(expression, values))


def test_a_name_that_nobody_tells_is_noticed(scraped: str) -> None:
    unknown = {"qirsh_requests", "qirsh_queue", "qirsh_batch_seconds"}
    assert (
        checks.named_in("qirsh_requests + qirsh_queue - qirsh_batch_seconds + qirsh_ready") - told_names(scraped)
        == unknown
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("labels", "severity"), "warning"),
        (("annotations", "action"), "Look. And look again."),
        (("annotations", "summary"), "no sentence"),
        (("annotations", "runbook_url"), "docs/alerts.md#nowhere"),
        (("annotations", "runbook_url"), "docs/alerts.md#qirshslow"),
        (("annotations", "more"), "More."),
    ],
)
def test_an_alert_that_lacks_something_is_noticed(path: tuple[str, str], value: str) -> None:
    rule = copy.deepcopy(dict(ALERTS["QirshDown"]))
    rule[path[0]][path[1]] = value
    assert list(checks.alert_faults(rule, HEADINGS))


@pytest.mark.parametrize(
    "moments",
    [[], [(60, True), (120, False)], [(60, False), (120, True)], [(60, False), (3000, True), (3060, False)]],
    ids=["none", "never silent", "never clears", "long before"],
)
def test_an_alert_without_a_full_test_is_noticed(moments: list[tuple[int, bool]]) -> None:
    assert list(checks.test_faults(ALERTS["QirshDown"], [moments] if moments else []))


@pytest.mark.parametrize("spoil", ["row", "datasource", "id", "description", "unit", "source", "job", "place"])
def test_a_board_that_lacks_something_is_noticed(spoil: str) -> None:
    board = copy.deepcopy(BOARD)
    first, second = board["panels"][1:3]
    match spoil:
        case "row":
            board["panels"][0]["title"] = "Coins"
        case "datasource":
            board["templating"]["list"].pop(0)
        case "id":
            first["id"] = second["id"]
        case "description":
            del first["description"]
        case "unit":
            del first["fieldConfig"]["defaults"]["unit"]
        case "source":
            first["targets"][0]["datasource"] = {"type": "prometheus", "uid": "mine"}
        case "job":
            first["targets"][0]["expr"] = "qirsh_ready"
        case "place":
            first["gridPos"] = second["gridPos"]
    assert list(checks.panel_faults(board))


def test_no_two_alerts_have_one_name() -> None:
    assert len(ALERTS) == sum("alert" in rule for rule in checks.all_rules(RULES))


def test_the_hurried_rules_are_the_same_but_for_their_times() -> None:
    rules = (FOLDER / "rules.yml").read_text()
    assert hurried("rate(a[2m]) for: 1m\n x offset 1h") == "rate(a[15s]) for: 7s\n x offset 450s"
    assert len(hurried(rules).splitlines()) == len(rules.splitlines())
    assert not re.search(r"\[\d+[mhd]\]| for: \d+[mhd]", hurried(rules))
