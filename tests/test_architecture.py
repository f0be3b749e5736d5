"""The house rules that a machine can check, over the source as it stands.

Each rule is a function from the package's folder to a list of complaints, so that a second test can show it a
small bad house and see it complain.
"""

import ast
import graphlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

TESTS: Final = Path(__file__).parent
HOUSE: Final = TESTS.parent / "src" / "qirsh"

# Rooms, and the floor that each is on. A module imports from its own room and from those on lower floors: two rooms
# of one floor never meet. The same holds once more for the rooms inside some of them.
FLOORS: Final[dict[str, dict[str, int]]] = {
    "": {
        "__init__": -1,  # The package's own: it knows nothing of the rest.
        "domain": 0,
        "metrics": 0,
        "version": 0,
        "contract": 1,
        "language": 1,
        "outbound": 1,
        "store": 1,
        "tracing": 1,
        "backup": 2,
        "engine": 2,
        "web": 3,
        "workers": 3,
        "setting_values": 3,
        "secret_file": 4,
        "settings": 4,
        "doctor": 5,
        "roles": 5,
        "service": 6,
        "cli": 7,
        "__main__": 8,
    },
    "store": {
        "__init__": -1,
        "interface": 1,
        "migrate": 2,
        "record_restore": 2,
        "reads": 2,
        "integrity": 3,
        "postgres": 4,
        "sqlite": 4,
        "verify": 5,
    },
    "web": {
        "__init__": -1,
        "http": 0,
        "auth": 1,
        "documents": 1,
        "html": 2,
        "server": 3,
        "api": 4,
        "pay": 4,
        "account": 4,
        "wallet": 4,
        "business": 4,
        "operator": 4,
        "site": 4,
        "demo": 4,
        "openapi": 5,
        "routes": 6,
    },
    "cli": {
        "__init__": -1,
        "errors": 0,
        "failures": 0,
        "loading": 0,
        "log": 0,
        "private_file": 0,
        "control_client": 1,
        "running_server": 1,
        "healthcheck": 2,
        "serve": 2,
        "operator": 2,
        "developer": 2,
        "demo": 3,
        "doctor": 3,
        "restored": 3,
        "migrate": 4,
        "status": 4,
        "verify": 4,
        "backup": 5,
        "commands": 6,
        "main": 7,
    },
}
# What computes and neither reads, waits, guesses nor looks at the time.
PURE_MODULES: Final = (
    *("__future__", "collections", "csv", "dataclasses", "datetime", "enum", "functools", "hashlib", "hmac"),
    *("itertools", "json", "msgspec", "operator", "qirsh.domain", "re", "string", "struct", "typing", "unicodedata"),
    "urllib.parse",
)
IMPURE_CALLS: Final = {"open", "input", "print", "exec", "eval", "__import__"}
CLOCKS: Final = {"now", "utcnow", "today"}
WITHOUT_FLOATS: Final = ("domain/money.py", "domain/ledger.py", "domain/payment.py")
# The last two make click read it.
ENVIRONMENT: Final = {"environ", "environb", "getenv", "getenvb", "envvar", "auto_envvar_prefix"}
EMPTY_NAMES: Final = {"utils", "common", "helpers", "base", "manager", "core"}

FILE_LINES_MAX: Final = 400
FUNCTION_LINES_MAX: Final = 60
# "web/routes.py" or "web/routes.py::Router.answer": (the lines it may have, why it is not cut).
ARGUED: Final[dict[str, tuple[int, str]]] = {}

FIELDS_BY_POSITION_MAX: Final = 6
POSITIONS_MAX: Final = 3
# On the hot path, where names would cost a microsecond: each is one function that hides it.
MADE_BY_POSITION: Final = frozenset(
    {"domain/payment.py::Payment", "domain/rules/payment.py::Payment", "contract/views.py::PaymentView"}
)

# A test waits for an event (`tests/waiting.py`), and pytest alone ends what hangs. On a busy machine anything
# shorter than this passes before the thing that was waited for.
HURRY_S: Final = 60
# Which argument says it. Those of some names say other things as well: only a number is a deadline there.
DEADLINES: Final = {"timeout": 0, "settimeout": 0, "wait_for": 1, "join": 0, "wait": 0}
OFTEN_SOMETHING_ELSE: Final = {"join", "wait"}
# A file without any of these words is not parsed. A name may stand for a number.
IN_A_HURRY: Final = re.compile(
    r"sleep\(|timeout|wait_for\(|monotonic|perf_counter|time\.time\(|\.(?:join|wait)\([0-9A-Z_]"
)
NUMBER: Final = re.compile(r"^(\w+)(?:: [\w\[\].]+)? = ([0-9][0-9_.]*)(?:  #.*)?$", re.MULTILINE)
CLOCKS_THAT_MEASURE: Final = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
# The function, and why no machine, however slow or fast, makes a test fail by it.
HURRIED: Final[dict[str, str]] = {
    "waiting.py::wait_until": "this is how tests wait: it looks again and again, and never gives up",
    "waiting.py::until": "the same",
    "cli/serve/test_supervisor.py::_load.client": "some clients are seldom idle, others often; every call succeeds",
    "cli/serve/test_shared_metrics.py::Clients.run.scrape": "a pause between scrapes; the test waits for enough",
    "deploy/test_release.py::test_the_same_commit_gives_the_same_bytes_elsewhere_and_at_another_time": (
        "the times in a zip must differ; a longer pause changes nothing"
    ),
    "faults/history.py::Operation.hear": "who was answered before whom asked; slowness makes more overlap",
    "faults/load.py::Load._client": "clients think for a moment; whatever they have asked for by then is checked",
    "faults/test_kill.py::_wait": "kills at a random moment; the outcome is checked either way",
    "faults/test_webhooks.py::rotate_and_remove.scene": (
        "what is signed after an answer is told by the machine's time; near the end of a second more of it counts"
    ),
    "web/business/test_verification_snippets.py::test_a_receiver_takes_what_we_sign_and_nothing_else": (
        "receivers in other languages read the machine's clock, and take what is five minutes old"
    ),
    "web/business/test_verification_snippets.py::test_a_delivery_as_curl_sends_the_very_bytes": "the same",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[Path], list[str]]


class Module(NamedTuple):
    name: str
    path: str
    station: str
    lines: int
    tree: ast.Module


@cache
def modules(root: Path) -> list[Module]:
    found = []
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        parts = path.with_suffix("").parts
        station = root.name if parts == ("__init__",) else parts[0]
        name = ".".join((root.name, *parts)).removesuffix(".__init__")
        text = file.read_text()
        found.append(Module(name, path.as_posix(), station, len(text.splitlines()), ast.parse(text)))
    return found


@cache
def imports(module: Module) -> tuple[tuple[str, str], ...]:
    """Where an import stands, and the full name of what it takes: a module, or a name inside one."""
    package = module.name.split(".") if module.path.endswith("__init__.py") else module.name.split(".")[:-1]
    found: list[tuple[str, str]] = []
    for node in ast.walk(module.tree):
        above: list[str | None] = []
        if isinstance(node, ast.ImportFrom):
            above = [*package[: len(package) - node.level + 1], node.module] if node.level else [node.module]
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [
                (f"{module.path}:{node.lineno}", ".".join(filter(None, [*above, alias.name]))) for alias in node.names
            ]
    return tuple(found)


def arrows(root: Path) -> list[str]:
    complaints = []
    for module in modules(root):
        for outer, floors in FLOORS.items():
            prefix = f"{root.name}.{outer}".rstrip(".")
            own = _room(module.name, prefix)
            if own is None:
                continue
            if own not in floors:
                complaints.append(f"{module.path}: {own} is no room of {outer or root.name}")
                continue
            for place, name in imports(module):
                target = _room(name, prefix)
                # What is no room is a name in the package itself.
                if target not in {None, own} and floors.get(target or "", -1) >= floors[own]:
                    complaints.append(f"{place}: {prefix.removeprefix('qirsh.')}.{own} imports {target}")
    return complaints


def _room(name: str, prefix: str) -> str | None:
    """Which room below the prefix a module is in; None if it is elsewhere."""
    if name == prefix:
        return "__init__"
    return name.removeprefix(f"{prefix}.").split(".")[0] if name.startswith(f"{prefix}.") else None


def environment(root: Path) -> list[str]:
    taken = []
    for module in modules(root):
        if module.path == "settings.py":
            continue
        taken += [place for place, name in imports(module) if name in {f"os.{word}" for word in ENVIRONMENT}]
        for node in ast.walk(module.tree):
            match node:
                case ast.Attribute(attr=word) | ast.keyword(arg=word) if word in ENVIRONMENT:
                    taken.append(f"{module.path}:{node.lineno}")
    return [f"{place}: only settings.py reads the environment" for place in taken]


def cycles(root: Path) -> list[str]:
    house = modules(root)
    known = {module.name for module in house}
    graph: dict[str, set[str]] = {module.name: set() for module in house}
    for module in house:
        for _, name in imports(module):
            target = name if name in known else name.rpartition(".")[0]
            if target in known:
                graph[module.name].add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return ["cycle: " + " <- ".join(error.args[1])]
    return []


def purity(root: Path) -> list[str]:
    complaints = []
    for module in modules(root):
        if module.station != "domain":
            continue
        for place, name in imports(module):
            if not f"{name}.".startswith(tuple(f"{pure}." for pure in PURE_MODULES)):
                complaints.append(f"{place}: domain imports {name}")
        for node in ast.walk(module.tree):
            match node:
                case ast.AsyncFunctionDef():
                    complaints.append(f"{module.path}:{node.lineno}: domain waits")
                case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                    complaints.append(f"{module.path}:{node.lineno}: domain calls {name}")
                case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCKS:
                    complaints.append(f"{module.path}:{node.lineno}: domain looks at the clock with {name}")
    return complaints


def whole_coins(root: Path) -> list[str]:
    house = {module.path: module for module in modules(root)}
    complaints = [f"{path}: missing, so not checked" for path in WITHOUT_FLOATS if path not in house]
    for path in WITHOUT_FLOATS:
        for node in ast.walk(house[path].tree) if path in house else ():
            match node:
                case ast.Constant(value=float()) | ast.Name(id="float"):
                    complaints.append(f"{path}:{node.lineno}: a float")
                case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                    complaints.append(f"{path}:{node.lineno}: a division that makes floats")
    return complaints


def functions(node: ast.AST, inside: str = "") -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, Function | ast.ClassDef):
            name = f"{inside}.{child.name}".lstrip(".")
            if not isinstance(child, ast.ClassDef):
                yield name, child
        yield from functions(child, name)


def late_imports(root: Path) -> list[str]:
    return [
        f"{module.path}:{node.lineno}: import inside {name}"
        for module in modules(root)
        for name, function in functions(module.tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def sizes(root: Path, argued: dict[str, tuple[int, str]] = ARGUED) -> list[str]:
    found: dict[str, tuple[int, int]] = {}
    for module in modules(root):
        found[module.path] = (module.lines, FILE_LINES_MAX)
        for name, node in functions(module.tree):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            found[f"{module.path}::{name}"] = (length, FUNCTION_LINES_MAX)
    complaints = [
        f"{key}: {lines} lines, at most {argued.get(key, (most, ''))[0]}"
        for key, (lines, most) in found.items()
        if lines > argued.get(key, (most, ""))[0]
    ]
    for key, (_, reason) in argued.items():
        lines, most = found.get(key, (0, 0))
        if lines <= most or not reason:
            complaints.append(f"{key}: argued without need or reason")
    return complaints


def names(root: Path) -> list[str]:
    return [
        f"{module.path}: a name that says nothing"
        for module in modules(root)
        if EMPTY_NAMES & set(module.name.split("."))
    ]


def named_fields(root: Path, argued: frozenset[str] = MADE_BY_POSITION) -> list[str]:
    """Records with many fields are made by name: two of one type could change places in silence."""
    fields = {
        node.name: sum(isinstance(line, ast.AnnAssign) for line in node.body)
        for module in modules(root)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    complaints = []
    for module in modules(root):
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(func=ast.Name(id=name), args=args) if fields.get(name, 0) > FIELDS_BY_POSITION_MAX:
                    is_row = any(isinstance(argument, ast.Starred) for argument in args)
                    if len(args) > POSITIONS_MAX and not is_row and f"{module.path}::{name}" not in argued:
                        complaints.append(f"{module.path}:{node.lineno}: {name} is made by position")
    return complaints


def hurry(root: Path, argued: dict[str, str] = HURRIED) -> list[str]:
    """Sleeps, short deadlines and measured times, by function."""
    texts = {file.relative_to(root).as_posix(): file.read_text() for file in sorted(root.rglob("*.py"))}
    known = {name: float(value) for text in texts.values() for name, value in NUMBER.findall(text)}
    found: dict[str, list[str]] = {}
    for path, text in texts.items():
        if not IN_A_HURRY.search(text):  # To parse all of them takes ten times as long.
            continue
        own = known | {name: float(value) for name, value in NUMBER.findall(text)}
        for place, node in _calls(path, ast.parse(text)):
            complaint = _hurries(node, own)
            if complaint:
                found.setdefault(place, []).append(f"{path}:{node.lineno}: {complaint}")
    complaints = [line for place, lines in found.items() if place not in argued for line in lines]
    return complaints + [f"{place}: argued without need" for place in argued if place not in found]


def _calls(path: str, tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Each call, and the innermost function that makes it."""
    open_nodes: list[tuple[str, ast.AST]] = [("", tree)]
    while open_nodes:
        place, node = open_nodes.pop()
        if isinstance(node, ast.Call):
            yield f"{path}::{place}", node
        if isinstance(node, Function | ast.ClassDef):
            place = f"{place}.{node.name}".lstrip(".")
        open_nodes += [(place, child) for child in ast.iter_child_nodes(node)]


def _hurries(node: ast.Call, constants: dict[str, float]) -> str:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in CLOCKS_THAT_MEASURE or (name == "time" and ast.unparse(node.func) == "time.time"):
        return "measures time"
    if name == "sleep":
        seconds = _seconds(node.args[0], constants)
        return "" if seconds == 0 or (seconds or 0) >= HURRY_S else "sleeps"
    deadlines = [word.value for word in node.keywords if word.arg == "timeout"]
    if name in DEADLINES:
        deadlines += node.args[DEADLINES[name] :][:1]
    for deadline in deadlines:
        seconds = _seconds(deadline, constants)
        is_handed_on = isinstance(deadline, ast.Name) and deadline.id in {"timeout", "timeout_s"}
        is_none = isinstance(deadline, ast.Constant) and deadline.value is None
        if seconds is None and (is_none or is_handed_on or name in OFTEN_SOMETHING_ELSE):
            continue
        if seconds is None or seconds < HURRY_S:
            return f"gives up after {ast.unparse(deadline)}"
    return ""


def _seconds(node: ast.expr, constants: dict[str, float]) -> float | None:
    """A number, or a name of one; None for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return constants.get(name)
    return None


LONG: Final = "x = 1\n" * (FILE_LINES_MAX + 1)
TALL: Final = "class C:\n    def f(self):\n" + "        x = 1\n" * FUNCTION_LINES_MAX
# Each rule, and the houses it must complain about.
BAD: Final[tuple[tuple[Rule, dict[str, str], str], ...]] = (
    (arrows, {"store/verify.py": "from qirsh.engine.batcher import Batcher"}, "qirsh.store imports engine"),
    (arrows, {"store/verify.py": "from ..engine import batcher"}, "qirsh.store imports engine"),
    (arrows, {"web/routes.py": "import qirsh.workers.sealer"}, "qirsh.web imports workers"),
    (arrows, {"workers/sealer.py": "from qirsh import web"}, "qirsh.workers imports web"),
    (arrows, {"engine/clock.py": "from qirsh.settings import Settings"}, "qirsh.engine imports settings"),
    (arrows, {"contract/views.py": "from qirsh.store import migrate"}, "qirsh.contract imports store"),
    (arrows, {"language/catalog.py": "from qirsh.store import migrate"}, "qirsh.language imports store"),
    (arrows, {"store/verify.py": "from qirsh.language import catalog"}, "qirsh.store imports language"),
    (arrows, {"outbound/guard.py": "from qirsh.engine import clock"}, "qirsh.outbound imports engine"),
    (arrows, {"outbound/guard.py": "from qirsh.store import migrate"}, "qirsh.outbound imports store"),
    (arrows, {"settings.py": "from qirsh import service"}, "qirsh.settings imports service"),
    (arrows, {"__init__.py": "from qirsh.domain import money"}, "qirsh.__init__ imports domain"),
    (arrows, {"attic/box.py": ""}, "attic is no room of qirsh"),
    (arrows, {"store/reads/queries.py": "from qirsh.store.sqlite import sql"}, "store.reads imports sqlite"),
    (arrows, {"store/sqlite/store.py": "import qirsh.store.postgres.sql"}, "store.sqlite imports postgres"),
    (arrows, {"store/interface.py": "from qirsh.store import migrate"}, "store.interface imports migrate"),
    (arrows, {"store/attic.py": ""}, "attic is no room of store"),
    (arrows, {"web/http/route.py": "from qirsh.web.html.forms import read_form"}, "web.http imports html"),
    (arrows, {"web/pay/pay_page.py": "from qirsh.web.account import pin"}, "web.pay imports account"),
    (arrows, {"web/wallet/history.py": "from ..business import keys"}, "web.wallet imports business"),
    (arrows, {"web/operator/actions.py": "from qirsh.web.api.events import E"}, "web.operator imports api"),
    (arrows, {"web/api/routes.py": "from qirsh.web.openapi import schemas"}, "web.api imports openapi"),
    (arrows, {"web/openapi/schemas.py": "from qirsh.web import routes"}, "web.openapi imports routes"),
    (arrows, {"web/customer/box.py": ""}, "customer is no room of web"),
    (arrows, {"cli/serve/command.py": "from qirsh.cli.demo import seed"}, "cli.serve imports demo"),
    (arrows, {"cli/operator/people.py": "from qirsh.cli import status"}, "cli.operator imports status"),
    (arrows, {"cli/developer/listen.py": "from qirsh.cli.operator import people"}, "cli.developer imports operator"),
    (arrows, {"cli/running.py": ""}, "running is no room of cli"),
    (environment, {"service.py": "import os\nos.environ['A']"}, "service.py:2"),
    (environment, {"cli/serve/command.py": "from os import getenv"}, "cli/serve/command.py:1"),
    (environment, {"cli/serve/command.py": "option('--port', envvar='PORT')"}, "cli/serve/command.py:1"),
    (cycles, {"domain/a.py": "from . import b", "domain/b.py": "from qirsh.domain.a import A"}, "cycle: "),
    (purity, {"domain/a.py": "import time"}, "imports time"),
    (purity, {"domain/a.py": "from os import path"}, "imports os.path"),
    (purity, {"domain/a.py": "import urllib.request"}, "imports urllib.request"),
    (purity, {"domain/a.py": "from qirsh.store import migrate"}, "imports qirsh.store.migrate"),
    (purity, {"domain/a.py": "async def f(): pass"}, "waits"),
    (purity, {"domain/a.py": "open('a')"}, "calls open"),
    (purity, {"domain/a.py": "from datetime import datetime\ndatetime.now()"}, "clock with now"),
    (whole_coins, {"domain/money.py": "x = 0.5"}, "money.py:1: a float"),
    (whole_coins, {"domain/ledger.py": "def f(x: float): ..."}, "ledger.py:1: a float"),
    (whole_coins, {"domain/payment.py": "x = 4 / 2"}, "payment.py:1: a division"),
    (whole_coins, {"domain/payment.py": "x = 4\nx /= 2"}, "payment.py:2: a division"),
    (whole_coins, {}, "domain/money.py: missing"),
    (late_imports, {"cli/serve/command.py": "class C:\n    def f(self):\n        import json"}, "inside C.f"),
    (sizes, {"web/routes.py": LONG}, "web/routes.py: 401 lines"),
    (sizes, {"web/routes.py": TALL}, "web/routes.py::C.f: 61 lines"),
    (
        named_fields,
        {
            "domain/a.py": "class A:\n"
            + "".join(f"    f{n}: int\n" for n in range(7))
            + "A(1, 2, 3, 4, f4=5, f5=6, f6=7)"
        },
        "domain/a.py:9: A is made by position",
    ),
    (names, {"web/utils.py": ""}, "web/utils.py"),
    (names, {"web/core/app.py": ""}, "web/core"),
)
RULES: Final = tuple(dict.fromkeys(rule for rule, _, _ in BAD))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_its_rules(rule: Rule) -> None:
    assert modules(HOUSE)
    complaints = rule(HOUSE)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("rule", "files", "complaint"), BAD)
def test_each_rule_can_fail(rule: Rule, files: dict[str, str], complaint: str, tmp_path: Path) -> None:
    root = tmp_path / "qirsh"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert any(complaint in line for line in rule(root)), rule(root)


@pytest.mark.parametrize(
    ("argued", "complaints"),
    [
        ({"app.py": (401, "one table")}, []),
        ({"app.py": (400, "one table")}, ["app.py: 401 lines, at most 400"]),
        ({"app.py": (401, "")}, ["app.py: argued without need or reason"]),
        ({"app.py": (401, "a"), "gone.py": (500, "b")}, ["gone.py: argued without need or reason"]),
    ],
    ids=["argued", "grown", "without a reason", "no longer needed"],
)
def test_an_argued_size_may_stand_but_not_grow_or_outlive_its_need(
    argued: dict[str, tuple[int, str]], complaints: list[str], tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(LONG)
    assert sizes(tmp_path, argued) == complaints


def test_tests_wait_for_events_and_not_for_time() -> None:
    complaints = hurry(TESTS)
    assert not complaints, "\n".join(complaints)


HURRIES: Final = {
    "time.sleep(0.1)": "sleeps",
    "await asyncio.sleep(PAUSE)": "sleeps",
    "await asyncio.wait_for(work, 5)": "gives up after 5",
    "async with asyncio.timeout(SHORT): pass": "gives up after SHORT",
    "async with asyncio.timeout(unknown()): pass": "gives up after unknown()",
    "subprocess.run(words, timeout=30)": "gives up after 30",
    "thread.join(2)": "gives up after 2",
    "began = time.monotonic()": "measures time",
    "began = time.time()": "measures time",
}
UNHURRIED: Final = (
    *("await asyncio.sleep(0)", "await asyncio.sleep(3600)", "await asyncio.wait_for(work, 60)", "thread.join()"),
    *(
        "async with asyncio.timeout(LONG): pass",
        "subprocess.run(words, timeout=None)",
        "','.join(words)",
        "time.time_ns()",
    ),
)


def test_hurry_is_found_and_patience_is_not(tmp_path: Path, subtests: pytest.Subtests) -> None:
    rows = [*HURRIES.items(), *((text, "") for text in UNHURRIED)]
    for number, (text, complaint) in enumerate(rows):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "test_a.py").write_text(f"SHORT = 3\nLONG: int = 600\nasync def test_b() -> None:\n    {text}\n")
        with subtests.test(text):
            assert hurry(root, {}) == ([f"test_a.py:4: {complaint}"] if complaint else [])
            assert hurry(root, {"test_a.py::test_b": "argued"}) == (
                [] if complaint else ["test_a.py::test_b: argued without need"]
            )
