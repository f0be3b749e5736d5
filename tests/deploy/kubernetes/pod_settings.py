"""What the manifests tell Qirsh: settings, secrets as files, and commands, as complaints about a folder of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from qirsh.cli.main import qirsh
from qirsh.settings import SETTINGS, BadSetting, read_settings
from tests.deploy.kubernetes.manifests import SETS, Body, Manifest, Pod, is_example, of_kind, of_set, pods

_FILE: Final = "_FILE"
# One good value for each secret that a pod takes from a file.
_GOOD: Final = {
    "QIRSH_SECRET_KEY": "0123456789abcdef0123456789abcdef",
    "QIRSH_METRICS_TOKEN": "fedcba9876543210fedcba9876543210",
    "QIRSH_DATABASE_URL": "postgresql://qirsh:1f2e3d@qirsh-db-rw.qirsh/qirsh",
    "QIRSH_SMTP_URL": "smtp+starttls://qirsh:1f2e3d@mail.example.org:587",
}


class SecretFile(NamedTuple):
    """A setting that a container reads from a Secret."""

    setting: str  # Without _FILE.
    secret: str
    key: str


def settings_faults(folder: Path) -> list[str]:
    """Names that are no settings, and what `read_settings` does not take, of each container that runs Qirsh."""
    return [
        f"{pod} {container['name']}: {fault}"
        for among, pod, container in _containers(folder)
        for fault in _environment_faults(environment(among, container))
    ]


def secret_faults(folder: Path) -> list[str]:
    """Secrets that are not there, and examples that Qirsh would start with."""
    found = []
    for among, pod, container in _containers(folder):
        for file in secret_files(pod, container):
            value = _example(among, file)
            if isinstance(file, str) or value is None:
                found.append(f"{pod} {container['name']}: no example has {file}")
            elif not is_refused(file.setting, value):
                found.append(f"{pod} {container['name']}: the example's value of {file.setting} is taken")
    return found


def command_faults(folder: Path) -> list[str]:
    """Words that the command line does not know."""
    found = []
    for _, pod, container in _containers(folder):
        if "command" in container:
            found.append(f"{pod} {container['name']}: the image's own entry point is not used")
            continue
        try:
            _parse(qirsh, container["args"])
        except click.UsageError as error:
            found.append(f"{pod} {container['name']}: {error.message}")
    return found


def service_link_faults(folder: Path) -> list[str]:
    """Pods into which a cluster would put names of its own that begin as ours do, by the Service's name."""
    return [str(pod) for _, pod, _ in _containers(folder) if pod.spec.get("enableServiceLinks") is not False]


def secrets_in_the_open(folder: Path) -> list[str]:
    """Values of secrets that stand in the environment, which everybody sees who may describe a pod."""
    return [
        f"{pod} {container['name']}: {name}"
        for among, pod, container in _containers(folder)
        for name in environment(among, container).keys() & _GOOD.keys()
    ]


def environment(among: list[Manifest], container: Body) -> dict[str, str]:
    """What it is started with, as far as the manifests say."""
    maps = {manifest.name: manifest.body["data"] for manifest in of_kind(among, "ConfigMap")}
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        found |= maps[source["configMapRef"]["name"]]
    return found | {variable["name"]: variable["value"] for variable in container.get("env", ())}


def secret_files(pod: Pod, container: Body) -> Iterator[SecretFile | str]:
    """Where each `..._FILE` comes from; a path that no Secret is mounted at as it is."""
    for variable in container.get("env", ()):
        name, path = variable["name"], variable.get("value", "")
        if name.startswith("QIRSH_") and name.endswith(_FILE):
            yield _mounted(pod, container, name.removesuffix(_FILE), Path(path))


def is_refused(setting: str, value: str) -> bool:
    """Whether a start with it stops, and says that it is because of this setting."""
    try:
        # Beside a sender, without which a mail server is refused whatever its address.
        read_settings({setting: value, "QIRSH_MAIL_FROM": "pay@example.org"})
    except BadSetting as error:
        return str(error).startswith(f"{setting}:")
    return False


def _containers(folder: Path) -> Iterator[tuple[list[Manifest], Pod, Body]]:
    """Those that run Qirsh, each with the manifests beside it."""
    for name in SETS:
        among = of_set(name, folder)
        for pod in pods(among):
            for container in pod.containers:
                if container["image"] == "qirsh":
                    yield among, pod, container


def _environment_faults(variables: dict[str, str]) -> list[str]:
    own = {name: value for name, value in variables.items() if name.startswith("QIRSH_")}
    if unknown := [name for name in own if name.removesuffix(_FILE) not in SETTINGS]:
        return [f"{', '.join(unknown)} is no setting"]
    if twice := [name for name in own if name + _FILE in own]:
        return [f"{', '.join(twice)} is there by value and by file"]
    given = {
        name.removesuffix(_FILE): _GOOD[name.removesuffix(_FILE)] if name.endswith(_FILE) else value
        for name, value in own.items()
    }
    try:
        read_settings(given)
    except BadSetting as error:
        return [str(error)]
    return []


def _mounted(pod: Pod, container: Body, setting: str, path: Path) -> SecretFile | str:
    volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", ())}
    for mount in container["volumeMounts"]:
        secret = volumes.get(mount["name"], {}).get("secret")
        if secret is not None and Path(mount["mountPath"]) == path.parent:
            keys = {item["path"]: item["key"] for item in secret.get("items", ())} or {path.name: path.name}
            if path.name in keys:
                return SecretFile(setting, secret["secretName"], keys[path.name])
    return str(path)


def _example(among: list[Manifest], file: SecretFile | str) -> str | None:
    if isinstance(file, str):
        return None
    for manifest in of_kind(among, "Secret"):
        if manifest.name == file.secret and is_example(manifest.file):
            value: str | None = manifest.body["stringData"].get(file.key)
            return value
    return None


def _parse(command: click.Command, words: list[str]) -> None:
    """As the command line would, without doing it."""
    context: Any = command.make_context(command.name, list(words))
    if isinstance(command, click.Group):
        _, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])  # noqa: SLF001 - click parses it so
        assert inner is not None
        _parse(inner, rest)
