"""What `deploy/kubernetes` holds, read for the rules that are checked of it."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

FOLDER: Final = Path(__file__).parents[3] / "deploy" / "kubernetes"
KUSTOMIZATION: Final = "kustomization.yaml"
# What is applied together: the servers on either engine, each with what belongs to it.
SETS: Final = {
    "postgres": ("postgres", "postgres-migrate", "postgres-restore", "monitoring", "cloudnative-pg"),
    "sqlite": ("sqlite", "sqlite-restore", "monitoring"),
}

# As YAML has it: nobody types what a cluster takes.
Body = dict[str, Any]


class Manifest(NamedTuple):
    """One object of one file."""

    file: Path
    body: Body

    @property
    def kind(self) -> str:
        """Such as Deployment."""
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        """Its name in the cluster."""
        return str(self.body["metadata"]["name"])

    def __str__(self) -> str:
        """Where it is found."""
        return f"{self.file.parent.name}/{self.file.name} {self.kind} {self.name}"


class Pod(NamedTuple):
    """What the pods of a workload are made from."""

    owner: Manifest
    template: Body

    @property
    def spec(self) -> Body:
        """How it runs."""
        spec: Body = self.template["spec"]
        return spec

    @property
    def labels(self) -> Body:
        """What selectors look at."""
        labels: Body = self.template["metadata"]["labels"]
        return labels

    @property
    def containers(self) -> list[Body]:
        """All of them, in no order."""
        return [*self.spec.get("initContainers", ()), *self.spec["containers"]]

    def __str__(self) -> str:
        """Whose it is."""
        return str(self.owner)


def files(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.rglob("*.yaml"))


def is_example(file: Path) -> bool:
    """To be copied and edited, and so a part of no kustomization."""
    return file.name.endswith(".example.yaml")


def manifests(folder: Path = FOLDER) -> list[Manifest]:
    """Everything but the kustomizations."""
    return [
        Manifest(file, body)
        for file in files(folder)
        if file.name != KUSTOMIZATION
        for body in _parsed(file.read_text())
    ]


@cache
def _parsed(text: str) -> list[Body]:
    """Each text once: rules are asked of many copies that differ in a line, and none changes what it reads."""
    return list(yaml.safe_load_all(text))


def of_set(name: str, folder: Path = FOLDER) -> list[Manifest]:
    """What is in a cluster that serves from one of the engines, with the examples that belong there."""
    return [
        manifest
        for manifest in manifests(folder)
        if manifest.file.parent == folder or manifest.file.parent.name in SETS[name]
    ]


def pods(among: list[Manifest]) -> Iterator[Pod]:
    for manifest in among:
        spec = manifest.body.get("spec", {})
        if manifest.kind == "CronJob":
            yield Pod(manifest, spec["jobTemplate"]["spec"]["template"])
        elif manifest.kind in {"Deployment", "StatefulSet", "Job"}:
            yield Pod(manifest, spec["template"])


def of_kind(among: list[Manifest], *kinds: str) -> list[Manifest]:
    return [manifest for manifest in among if manifest.kind in kinds]


def edited(target: Path, file: str, old: str, new: str) -> Path:
    """A copy of them all with one text replaced by another wherever it stands in that file."""
    copy = target / "kubernetes"
    shutil.copytree(FOLDER, copy)
    text = (copy / file).read_text()
    assert old in text, f"{file} has no {old!r} to be replaced"
    (copy / file).write_text(text.replace(old, new))
    return copy
