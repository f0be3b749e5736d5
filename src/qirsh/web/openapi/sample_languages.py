"""The languages of the samples: how each writes down a step, and what it needs to be told first."""

import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from qirsh.web.openapi.samples import FROM_ENVIRONMENT, Step, Variable

_API: Final = "/api/v1"
_WITH_BODY: Final = frozenset({"POST", "PATCH"})
_LINE_CHARACTERS_MAX: Final = 40  # Of a body that stands on one line.


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How a language writes values."""

    brackets: tuple[str, str]  # Of an object.
    name: Callable[[str], str]  # Of a field, with what stands before its value.
    text: Callable[[str], str]
    variable: Callable[[Variable], str]
    indent: int
    last_comma: str = ","


class SampleLanguage(msgspec.Struct, frozen=True, kw_only=True):
    """One of those that the reader can choose."""

    id: str
    name: str
    preamble: Callable[[str], str]  # For the service at this address.
    step: Callable[[Step], str]
    remark: str  # What begins a comment.

    def sample(self, steps: tuple[Step, ...]) -> str:
        """All that a call takes, to be pasted after the samples before it."""
        remarks = [f"{self.remark} {step.remark}\n" if step.remark else "" for step in steps]
        return "\n".join(remark + self.step(step) for remark, step in zip(remarks, steps, strict=True))


def _value(style: Style, value: Any, depth: int) -> str:  # noqa: ANN401 - JSON is anything
    match value:
        case Variable():
            return style.variable(value)
        case str():
            return style.text(value)
        case dict():
            return _object(style, value, depth)
    assert type(value) is int, "no sample has needed more than this"
    return str(value)


def _object(style: Style, fields: dict[str, Any], depth: int) -> str:
    opening, closing = style.brackets
    parts = [style.name(name) + _value(style, value, depth + 1) for name, value in fields.items()]
    line = f"{opening}{', '.join(parts)}{closing}"
    if len(line) <= _LINE_CHARACTERS_MAX:
        return line
    margin = " " * style.indent
    inside = f",\n{margin * (depth + 1)}".join(parts)
    return f"{opening.rstrip()}\n{margin * (depth + 1)}{inside}{style.last_comma}\n{margin * depth}{closing.lstrip()}"


def _address(style: Style, step: Step, form: str = "{}") -> str:
    """The path with the names of variables in it, each in the form that the language has for it."""
    return "".join(p if isinstance(p, str) else form.format(style.variable(p)) for p in step.path)


def _is_plain(step: Step) -> bool:
    return all(isinstance(piece, str) for piece in step.path)


# curl, in any sh. Only what is looked at later is kept.

_JSON: Final = Style(
    brackets=("{", "}"),
    name=lambda name: f'"{name}": ',
    text=lambda text: json.dumps(text, ensure_ascii=False),
    variable=lambda variable: f'"${_shell_name(variable)}"',
    indent=2,
    last_comma="",
)


def _shell_name(variable: Variable) -> str:
    return variable.environment or variable.words.upper().replace(" ", "_")


def _curl_preamble(base_url: str) -> str:
    return f"""\
API={base_url}{_API}
uuid() {{ uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid; }}
# Shows an answer, and takes a field out of it.
pick() {{ tee /dev/stderr | awk -F'"' -v name="$1" \\
  '{{ for (i = 2; i < NF; i += 2) if ($i == name) {{ print $(i + 2); exit }} }}'; }}"""


def _curl(step: Step) -> str:
    path = "".join(p if isinstance(p, str) else f"${_shell_name(p)}" for p in step.path)
    first = f'curl -sS --fail-with-body "$API{path}"'
    # What curl would choose by itself: GET, or with a body POST.
    is_usual = step.method == ("GET" if step.body is None else "POST")
    lines = [first if is_usual else f"{first} -X {step.method}"]
    if step.token is not None:
        lines.append(f'-H "Authorization: Bearer ${_shell_name(step.token)}"')
    if step.has_idempotency_key:
        lines.append('-H "Idempotency-Key: $(uuid)"')
    after = ""
    if step.body is not None:
        text = _object(_JSON, step.body, 0)
        lines.append("-H 'Content-Type: application/json'")
        if any(isinstance(value, Variable) for value in step.body.values()):
            lines.append("-d @- <<JSON")
            after = f"\n{text}\nJSON\n"
        else:
            lines.append("-d '{}'".format(text.replace("'", "'\\''")))
    call = " \\\n  ".join(lines)
    if step.keep is None:
        return call + after.rstrip()
    return f"{_shell_name(step.keep)}=$({call} | pick {step.field[-1]}{after})"


# Python, with nothing but what it brings along.


def _snake_name(variable: Variable) -> str:
    return variable.words.replace(" ", "_")


_PYTHON: Final = Style(
    brackets=("{", "}"),
    name=lambda name: f'"{name}": ',
    text=lambda text: json.dumps(text, ensure_ascii=False),
    variable=_snake_name,
    indent=4,
)


def _python_preamble(base_url: str) -> str:
    keys = "\n".join(f'{_snake_name(v)} = os.environ["{v.environment}"]' for v in FROM_ENVIRONMENT)
    return f"""\
import json, os, urllib.error, urllib.request, uuid

def call(method, path, token=None, key=None, body=None):
    headers = {{"Content-Type": "application/json"}}
    if token: headers["Authorization"] = f"Bearer {{token}}"
    if key: headers["Idempotency-Key"] = str(key)
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(API + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()) from None

API = "{base_url}{_API}"
{keys}"""


def _python(step: Step) -> str:
    start = f'"{step.method}", {"" if _is_plain(step) else "f"}"{_address(_PYTHON, step, "{{{}}}")}"'
    token = "" if step.token is None else f"token={_snake_name(step.token)}"
    if step.method not in _WITH_BODY:
        call = f"call({start}, {token})"
    else:
        key = "key=uuid.uuid4()" if step.has_idempotency_key else ""
        body = "" if step.body is None else f"body={_object(_PYTHON, step.body, 1)}"
        call = "call(\n    " + ",\n    ".join(filter(None, (start, token, key, body))) + ",\n)"
    if step.keep is None:
        return f"print({call})"
    name = _snake_name(step.keep)
    return f"{name} = {call}{''.join(f'[{json.dumps(part)}]' for part in step.field)}\nprint({name})"


# Node 18 and newer.


def _camel_name(variable: Variable) -> str:
    first, *rest = variable.words.split()
    return first + "".join(word.capitalize() for word in rest)


_NODE: Final = Style(
    brackets=("{ ", " }"),
    name=lambda name: f"{name}: ",
    text=lambda text: json.dumps(text, ensure_ascii=False),
    variable=_camel_name,
    indent=2,
)


def _node_preamble(base_url: str) -> str:
    keys = "\n".join(f"const {_camel_name(v)} = process.env.{v.environment};" for v in FROM_ENVIRONMENT)
    return f"""\
// Node 18 or newer, in a file whose name ends in .mjs.
const {{ randomUUID }} = await import("node:crypto");

const API = "{base_url}{_API}";
{keys}

async function call(method, path, {{ token, key, body }}) {{
  const headers = {{ "Content-Type": "application/json" }};
  if (token) headers["Authorization"] = `Bearer ${{token}}`;
  if (key) headers["Idempotency-Key"] = key;
  const request = {{ method, headers, body: body && JSON.stringify(body) }};
  const answer = await fetch(API + path, request);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).data;
}}"""


def _node(step: Step) -> str:
    quote = '"' if _is_plain(step) else "`"
    start = f'"{step.method}", {quote}{_address(_NODE, step, "${{{}}}")}{quote}'
    token = "" if step.token is None else f"token: {_camel_name(step.token)}"
    if step.method not in _WITH_BODY:
        call = f"await call({start}, {{ {token} }})"
    else:
        key = "key: randomUUID()" if step.has_idempotency_key else ""
        body = "" if step.body is None else f"body: {_object(_NODE, step.body, 1)}"
        call = f"await call({start}, {{\n  " + ",\n  ".join(filter(None, (token, key, body))) + ",\n})"
    if step.keep is None:
        return f"console.log({call});"
    taken = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in step.field)
    name = _camel_name(step.keep)
    return f"const {name} = ({call}){taken};\nconsole.log({name});"


# PHP 8, without extensions.


def _php_text(text: str) -> str:
    return "'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))


_PHP: Final = Style(
    brackets=("[", "]"),
    name=lambda name: f"'{name}' => ",
    text=_php_text,
    variable=lambda variable: f"${_camel_name(variable)}",
    indent=4,
)


def _php_preamble(base_url: str) -> str:
    keys = "\n".join(f"{_PHP.variable(v)} = getenv('{v.environment}');" for v in FROM_ENVIRONMENT)
    return f"""\
<?php
const API = '{base_url}{_API}';
{keys}

function call($method, $path, $token = null, $key = null, $body = null) {{
    $header = ['Content-Type: application/json'];
    if ($token) $header[] = "Authorization: Bearer $token";
    if ($key) $header[] = "Idempotency-Key: $key";
    $content = $body ? json_encode($body) : '';
    $options = compact('method', 'header', 'content') + ['ignore_errors' => true];
    $stream = fopen(API . $path, 'r', false, stream_context_create(['http' => $options]));
    $answer = stream_get_contents($stream);
    $status = explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
    if ($status >= 400) throw new Exception($answer);
    return json_decode($answer, true)['data'];
}}"""


def _php(step: Step) -> str:
    quote = "'" if _is_plain(step) else '"'
    start = f"'{step.method}', {quote}{_address(_PHP, step)}{quote}"
    token = "" if step.token is None else f"token: {_PHP.variable(step.token)}"
    if step.method not in _WITH_BODY:
        call = f"call({start}, {token})"
    else:
        key = "key: bin2hex(random_bytes(16))" if step.has_idempotency_key else ""
        body = "" if step.body is None else f"body: {_object(_PHP, step.body, 1)}"
        call = "call(\n    " + ",\n    ".join(filter(None, (start, token, key, body))) + ",\n)"
    if step.keep is None:
        return f"print_r({call});"
    name = _PHP.variable(step.keep)
    taken = "".join(f"[{part}]" if isinstance(part, int) else f"['{part}']" for part in step.field)
    return f'{name} = {call}{taken};\necho {name}, "\\n";'


LANGUAGES: Final = (
    SampleLanguage(id="curl", name="curl", preamble=_curl_preamble, step=_curl, remark="#"),
    SampleLanguage(id="python", name="Python", preamble=_python_preamble, step=_python, remark="#"),
    SampleLanguage(id="node", name="Node", preamble=_node_preamble, step=_node, remark="//"),
    SampleLanguage(id="php", name="PHP", preamble=_php_preamble, step=_php, remark="//"),
)
