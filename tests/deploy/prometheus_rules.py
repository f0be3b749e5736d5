"""The rules, their tests and the board as they lie in the repository, and what is wrong with those given."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final

import yaml

from qirsh.metrics.catalogue import ASKED, KEPT, VALUES, Metric
from tests.deploy.prometheus_tools import ROOT

FOLDER: Final = ROOT / "deploy/prometheus"
RULES_FILE: Final = FOLDER / "rules.yml"
BOARD_FILE: Final = ROOT / "deploy/grafana/qirsh.json"
RULES: Final[dict[str, Any]] = yaml.safe_load(RULES_FILE.read_text())
RULE_TESTS: Final[dict[str, Any]] = yaml.safe_load((FOLDER / "rules_test.yml").read_text())
BOARD: Final[dict[str, Any]] = json.loads(BOARD_FILE.read_text())
ROWS: Final = ["Money", "Speed", "Queue", "Webhooks", "Database", "Processes"]
SEVERITIES: Final = ("page", "ticket")

Rule = Mapping[str, Any]
# Who scrapes adds the first two, and a histogram has the third.
_OF_SCRAPES: Final = {"job", "instance", "le"}
# Not after a colon: those are recorded by ourselves.
_NAME: Final = re.compile(r"(?<![\w:])(qirsh_\w+)")
_SELECTED: Final = re.compile(r"(?<![\w:])(qirsh_\w+)\{((?:[^}\"]|\"[^\"]*\")*)\}")
_MATCHER: Final = re.compile(r"(\w+)\s*(=~|!~|!=|=)\s*\"([^\"]*)\"")
_QUOTED: Final = re.compile(r"\"[^\"]*\"")
_GROUPED: Final = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
_ASSERTED: Final = re.compile(r'alertname="(\w+)", alertstate="firing"')


def all_rules(rules: Rule = RULES) -> list[Rule]:
    """Of all groups."""
    return [rule for group in rules["groups"] for rule in group["rules"]]


def alerts(rules: Rule = RULES) -> dict[str, Rule]:
    """By name."""
    return {rule["alert"]: rule for rule in all_rules(rules) if "alert" in rule}


def panels(board: Rule = BOARD) -> list[Rule]:
    """All but the rows."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions(board: Rule = BOARD) -> list[tuple[str, str]]:
    """Of each panel, with its title, as Prometheus is asked for them."""
    return [(panel["title"], target["expr"]) for panel in panels(board) for target in panel["targets"]]


def plain(expression: str) -> str:
    """Without the variables of Grafana."""
    return expression.replace("$__rate_interval", "1m").replace("$job", "qirsh")


def named_in(*texts: str) -> set[str]:
    """Metrics whose names stand in expressions."""
    return set(chain.from_iterable(_NAME.findall(_QUOTED.sub('""', text)) for text in texts))


def samples(metric: Metric) -> set[str]:
    """The names of its lines."""
    if metric.kind == "histogram":
        return {f"{metric.name}_{end}" for end in ("bucket", "sum", "count")}
    return {f"{metric.name}_total" if metric.kind == "counter" else metric.name}


SAMPLES: Final = {name: metric for metric in (*KEPT, *ASKED) for name in samples(metric)}


def label_faults(expression: str, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Labels that a metric does not have, and values that none of them ever has: such a selector chooses nothing."""
    of_all = set(chain.from_iterable(SAMPLES[name].labels for name in named_in(expression) if name in SAMPLES))
    for name, selectors in _SELECTED.findall(expression):
        for label, kind, value in _MATCHER.findall(selectors):
            if label in _OF_SCRAPES:
                continue
            if name not in SAMPLES or label not in SAMPLES[name].labels:
                yield f"{name} has no label {label}"
            elif label in values and not _chosen(value, kind, values[label]):
                yield f"{label} of {name} is never {value}"
    for group in _GROUPED.findall(_QUOTED.sub('""', expression)):
        labels = {label.strip() for label in group.split(",")} - _OF_SCRAPES
        yield from (f"no metric here has the label {label}" for label in labels - of_all)


def _chosen(value: str, kind: str, known: Sequence[str]) -> bool:
    if kind in {"=", "!="}:
        return value in known
    # Each way out of the expression must be one that is taken.
    ways = value.split("|") if "(" not in value else [value]
    return all(any(re.fullmatch(way, one) for one in known) for way in ways)


def known_values(**more: Sequence[str]) -> dict[str, Sequence[str]]:
    """Of labels, those of the catalogue and more."""
    return {**VALUES, **more}


def alert_faults(rule: Rule, headings: Mapping[str, set[str]]) -> Iterator[str]:
    """What an alert lacks, for who is woken by it; the headings are those of each page, as links name them."""
    severity = rule["labels"].get("severity")
    told: Mapping[str, str] = rule["annotations"]
    if severity not in SEVERITIES:
        yield f"its severity is {severity}"
    if set(told) != {"summary", "action", "runbook_url"}:
        yield f"it tells {sorted(told)}"
        return
    yield from (f"{key} is not one sentence" for key in ("summary", "action") if not is_sentence(told[key]))
    page, _, heading = told["runbook_url"].partition("#")
    if heading not in headings.get(page, set()):
        yield f"{told['runbook_url']} leads nowhere"
    if heading != rule["alert"].lower():
        yield f"{told['runbook_url']} leads to another"


def is_sentence(text: str) -> bool:
    """One, and not several."""
    return bool(re.fullmatch(r"[A-Z{].*\.", text)) and not re.search(r"\. [A-Z]", text)


def headings_in(text: str) -> set[str]:
    """Of a page, as links name them."""
    found = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def assertions(rule_tests: Rule = RULE_TESTS) -> dict[str, list[list[tuple[int, bool]]]]:
    """Of each alert, the moments of each test in seconds, and whether it must fire then."""
    found: dict[str, list[list[tuple[int, bool]]]] = {}
    for test in rule_tests["tests"]:
        moments: dict[str, list[tuple[int, bool]]] = {}
        for asked in test["promql_expr_test"]:
            for name in _ASSERTED.findall(asked["expr"]):
                moments.setdefault(name, []).append((seconds(asked["eval_time"]), bool(asked["exp_samples"])))
        for name, of_test in moments.items():
            found.setdefault(name, []).append(sorted(of_test))
    return found


def seconds(duration: str) -> int:
    """Of `1h30m` and the like."""
    sizes = {"h": 3600, "m": 60, "s": 1}
    return sum(int(count) * sizes[unit] for count, unit in re.findall(r"(\d+)([hms])", duration))


def test_faults(rule: Rule, of_alert: Sequence[Sequence[tuple[int, bool]]]) -> Iterator[str]:
    """An alert is to be seen silent, then firing, then silent again, and silent until shortly before it fires."""
    turns = [[fires for _, fires in moments] for moments in of_alert]
    if not any(turn[0] is False and True in turn and turn[-1] is False for turn in turns):
        yield "no test sees it silent, then firing, then silent again"
    steps = (step for moments in of_alert for step in pairwise(moments))
    begins = [later[0] - earlier[0] for earlier, later in steps if (earlier[1], later[1]) == (False, True)]
    near = max(seconds(rule.get("for", "0s")), 180)
    if not any(seconds_between <= near for seconds_between in begins):
        yield "no test sees it silent shortly before it fires"


def panel_faults(board: Rule) -> Iterator[str]:
    """What a board lacks."""
    if [panel["title"] for panel in board["panels"] if panel["type"] == "row"] != ROWS:
        yield "its rows are others"
    if [one["name"] for one in board["templating"]["list"] if one["type"] == "datasource"] != ["datasource"]:
        yield "it has no variable for its datasource"
    numbers = [panel["id"] for panel in board["panels"]]
    if len(set(numbers)) != len(numbers):
        yield "two panels have one number"
    for panel in panels(board):
        title = panel["title"]
        if not is_sentence(panel.get("description", "")):
            yield f"{title}: its description is not one sentence"
        if not panel["fieldConfig"]["defaults"].get("unit"):
            yield f"{title}: it has no unit"
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        if any(source != {"type": "prometheus", "uid": "${datasource}"} for source in sources):
            yield f"{title}: its datasource is not the chosen one"
        if any('job=~"$job"' not in target["expr"] for target in panel["targets"]):
            yield f"{title}: it shows every installation"
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    if len(set(cells)) != len(cells) or max(x for x, _ in cells) >= 24:
        yield "two panels lie on each other, or beside the board"
