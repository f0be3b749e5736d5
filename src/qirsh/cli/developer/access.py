"""Which service and which key a developer's command uses. Keys stand in the environment, never in the arguments."""

from collections.abc import Callable
from typing import Final, TypeVar

import click

from qirsh.cli.developer.api_client import ApiClient
from qirsh.cli.errors import Stopped
from qirsh.domain.api_key import is_token, key_kind
from qirsh.settings import DeveloperKeys, developer_keys, read_settings

F = TypeVar("F", bound=Callable[..., None])

_LIVE: Final = f"{key_kind('live')}_"
_TEST: Final = f"{key_kind('test')}_"
_EITHER: Final = "QIRSH_API_KEY"
_TEST_ONLY: Final = "QIRSH_TEST_API_KEY"


class Access:
    """The client, and the key itself for what is made from it."""

    def __init__(self, client: ApiClient, key: str) -> None:
        self.client = client
        self.key = key


def live_option(arguments: F) -> F:
    """For commands that only look: what moves live money has no such option."""
    return click.option("--live", "is_live", is_flag=True, help="Use the live key in QIRSH_API_KEY.")(arguments)


def open_access(*, is_live: bool = False, takes_live: bool = True) -> Access:
    """As the environment says. Raises `Stopped` if there is no key that will do."""
    settings = read_settings()
    name, key = choose_key(developer_keys(), is_live=is_live, takes_live=takes_live)
    return Access(ApiClient(settings.base_url, key, key_name=name), key)


def choose_key(keys: DeveloperKeys, *, is_live: bool, takes_live: bool = True) -> tuple[str, str]:
    """The variable and its key: a test key, unless a live one is asked for in so many words."""
    name, key = _EITHER, keys.either
    if is_live:
        if not key:
            raise Stopped(f"--live needs a live key ({_LIVE}...) in {_EITHER}")
        if key.startswith(_TEST):
            raise Stopped(f"{_EITHER} is a test key: leave --live out, or set it to a live one ({_LIVE}...)")
    elif not key.startswith(_TEST) and keys.test:
        name, key = _TEST_ONLY, keys.test
    if not key:
        raise Stopped(
            f"there is no API key: set {_EITHER} to a test key ({_TEST}...) of your business;"
            ' for the demo, set -a; eval "$(qirsh status --env)"; set +a'
        )
    if key.startswith(_LIVE) and not is_live:
        way = "add --live to use it, or " if takes_live and name == _EITHER else ""
        raise Stopped(f"{name} is a live key: {way}set {_TEST_ONLY} to a test key ({_TEST}...)")
    if not key.startswith((_LIVE, _TEST)):
        raise Stopped(f"{name} is no API key: one begins with {_TEST} or {_LIVE}")
    if not is_token(key):
        raise Stopped(f"{name} is damaged: its last characters do not fit the rest. Copy it again, whole")
    return name, key
