"""The JSON API as a developer's shell reaches it.

A connection for each call, so that a laptop that slept finds no dead one. Redirects and the shell's proxies are not
followed: they would carry the key to somebody else.
"""

import contextlib
import http.client
import ssl
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from qirsh.cli.errors import Declined, Stopped
from qirsh.cli.log import one_line

T = TypeVar("T")

_SILENCE_S_MAX: Final = 10.0
_GOOD: Final = range(200, 300)
_REQUEST_TIMEOUT: Final = 408
_RATE_LIMITED: Final = 429
_SERVER_ERROR: Final = 500
# What a developer can do about it, beyond what the service says.
_WHAT_NOW: Final = {
    "unauthorized": "Is {name} right, and of {base_url}?",
    "unknown_address": "Is QIRSH_BASE_URL right?",
    "missing_scope": "Use a key that has it.",
    "address_not_allowed": "Use a key that may be used from here.",
}


class ServerAway(Stopped):
    """Nobody answers at the address, or not as Qirsh does."""


class ApiProblem(Declined):
    """The service said no."""

    def __init__(self, code: str, detail: str, *, status: int, fields: frozenset[str], retry_after_s: int) -> None:
        super().__init__(code, detail)
        self.code = code
        self.status = status
        self.fields = fields  # Those that were wrong.
        self.retry_after_s = retry_after_s  # 0: it named none.

    @property
    def is_passing(self) -> bool:
        """Whether the same call may be answered later."""
        return self.status in {_REQUEST_TIMEOUT, _RATE_LIMITED} or self.status >= _SERVER_ERROR


class _FieldError(msgspec.Struct):
    field: str
    detail: str


class _Problem(msgspec.Struct):
    """What is read of RFC 9457."""

    code: str
    detail: str
    errors: list[_FieldError] = []


class ApiClient:
    """Calls of one service with one key."""

    def __init__(self, base_url: str, key: str, *, key_name: str, silence_s: float = _SILENCE_S_MAX) -> None:
        parts = urlsplit(base_url)
        try:
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise Stopped("QIRSH_BASE_URL: has no port from 1 to 65535") from None
        self.base_url = base_url
        self._path = f"{parts.path}/api/v1"
        self._key = key
        self._key_name = key_name  # The variable that it is from.
        self._silence_s = silence_s
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None

    def __repr__(self) -> str:
        """Without the key."""
        return f"ApiClient({self.base_url})"

    def read(self, kind: type[T], path: str, query: dict[str, str | int] | None = None) -> T:
        """The data of an answer to GET. Raises `ServerAway` and `ApiProblem`."""
        target = f"{path}?{urlencode(query)}" if query else path
        return self._data(kind, self._ask("GET", target, wait_s=int((query or {}).get("wait", 0))))

    def read_whole(self, kind: type[T], path: str) -> tuple[T, bytes]:
        """The data of an answer to GET, and the body that it stood in, as it came."""
        content = self._ask("GET", path)
        return self._data(kind, content), content

    def post(self, kind: type[T], path: str, body: dict[str, Any] | None = None) -> T:
        """The data of an answer to POST."""
        return self._data(kind, self._ask("POST", path, body=msgspec.json.encode(body or {})))

    def _ask(self, method: str, target: str, *, body: bytes | None = None, wait_s: int = 0) -> bytes:
        headers = {"Authorization": f"Bearer {self._key}", "User-Agent": "qirsh-cli", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        timeout = wait_s + self._silence_s
        try:
            with contextlib.closing(self._connection(timeout)) as connection:
                connection.request(method, f"{self._path}{target}", body, headers)
                answer = connection.getresponse()
                content = answer.read()
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise ServerAway(f"{self.base_url} does not answer ({_cause(error)})") from None
        if answer.status in _GOOD:
            return content
        raise self._problem(answer, content)

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)

    def _problem(self, answer: http.client.HTTPResponse, content: bytes) -> ApiProblem | ServerAway:
        try:
            problem = msgspec.json.decode(content, type=_Problem)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._stranger(f"answers {answer.status}")
        errors = [f"{error.field}: {error.detail}" for error in problem.errors]
        what_now = _WHAT_NOW.get(problem.code, "").format(name=self._key_name, base_url=self.base_url)
        retry_after = answer.headers.get("Retry-After", "")
        return ApiProblem(
            one_line(problem.code),
            one_line(" ".join(filter(None, (problem.detail, *errors, what_now)))),
            status=answer.status,
            fields=frozenset(error.field for error in problem.errors),
            retry_after_s=int(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0,
        )

    def _data(self, kind: type[T], content: bytes) -> T:
        try:
            return msgspec.convert(msgspec.json.decode(content, type=dict[str, Any])["data"], kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
            raise self._stranger("answers") from None

    def _stranger(self, what: str) -> ServerAway:
        return ServerAway(f"{self.base_url} {what}, but not as Qirsh does: is QIRSH_BASE_URL right?")


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    return one_line((error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__)
