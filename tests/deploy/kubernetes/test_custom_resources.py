"""The fields of objects that operators bring along, by types made from their sources; and what kustomize builds."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.deploy.kubernetes.manifests import FOLDER, KUSTOMIZATION, Body, manifests, of_kind

# By exact versions, from npm. The types are made from the sources of CloudNativePG and of the Prometheus operator.
PACKAGES: Final = (
    "@kubernetes-models/cloudnative-pg@2.0.0",
    "@kubernetes-models/prometheus-operator@6.0.0",
    "typescript@5.9.3",
)
TYPES: Final = {
    "Cluster": ("ICluster", "@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1/Cluster"),
    "ServiceMonitor": (
        "IServiceMonitor",
        "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor",
    ),
}
# Each is one that the types must not take: a name that is not there, and a value of another kind.
WRONG: Final = (
    ("Cluster", '"failoverQuorum"', '"failoverQuorums"'),
    ("Cluster", '"number": 1', '"number": "1"'),
    ("Cluster", '"instances": 3', '"instances": "three"'),
    ("Cluster", '"passwordSecret"', '"password"'),
    ("ServiceMonitor", '"credentials"', '"credential"'),
    ("ServiceMonitor", '"scrapeTimeout"', '"timeout"'),
)
_MINUTES_S: Final = 300
_BUILT: Final = sorted(
    file.parent for file in FOLDER.rglob(KUSTOMIZATION) if yaml.safe_load(file.read_text())["kind"] == "Kustomization"
)


@pytest.mark.slow
def test_operators_know_every_field_of_their_objects(tmp_path: Path) -> None:
    _run(
        *("npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *PACKAGES),
        folder=tmp_path,
    )
    (tmp_path / "package.json").write_text('{"type":"module"}')
    texts = {kind: json.dumps(body) for kind, body in _custom().items()}
    for kind, text in texts.items():
        _write(tmp_path / f"right{kind}.ts", kind, text)
    for number, (kind, old, new) in enumerate(WRONG):
        assert old in texts[kind], old
        _write(tmp_path / f"wrong{number}.ts", kind, texts[kind].replace(old, new))
    said = _run(
        *(tmp_path / "node_modules" / ".bin" / "tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022"),
        *("--module", "nodenext", *sorted(tmp_path.glob("*.ts"))),
        folder=tmp_path,
        is_good=False,
    )
    found = set(re.findall(r"^(\w+)\.ts\(", said, re.MULTILINE))
    assert found == {f"wrong{number}" for number in range(len(WRONG))}, said


@pytest.mark.parametrize(
    "folder",
    [
        # Each takes kubectl a third of a second: for each change those that most people build.
        pytest.param(one, id=one.name, marks=[] if one.name in {"sqlite", "postgres"} else pytest.mark.slow)
        for one in _BUILT
    ],
)
def test_kustomize_builds_each_kustomization(folder: Path) -> None:
    _need_kubectl()
    built: list[Body] = list(yaml.safe_load_all(_run("kubectl", "kustomize", folder, folder=folder)))
    own = {
        (one.kind, one.name)
        for one in manifests(FOLDER)
        if one.file.parent == folder and one.file.suffixes[0] != ".example"
    }
    there = {(one["kind"], one["metadata"]["name"]) for one in built}
    generated = {(kind, name) for kind, name in there - own if re.fullmatch(r"qirsh-grants-\w+", name)}
    assert there - generated == own
    outside = [one for one in built if one["kind"] != "Namespace" and one["metadata"].get("namespace") != "qirsh"]
    assert outside == []
    assert not re.search(r'"image": "(qirsh|postgres)"', json.dumps(built))


def _custom() -> dict[str, Body]:
    return {manifest.kind: manifest.body for manifest in of_kind(manifests(), *TYPES)}


def _write(file: Path, kind: str, text: str) -> None:
    name, module = TYPES[kind]
    file.write_text(f'import type {{ {name} }} from "{module}";\nexport const it: {name} = {text};\n')


def _need_kubectl() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("NOT TESTED: what kustomize builds, since there is no kubectl (neither PyPI nor npm have it)")
    version = json.loads(_run("kubectl", "version", "--client", "--output=json", folder=FOLDER))
    if not re.match(r"v[5-9]\.", version.get("kustomizeVersion", "")):
        pytest.skip("NOT TESTED: what kustomize builds, since this kubectl brings an older one than 5 (Debian 12 does)")


def _run(*command: object, folder: Path, is_good: bool = True) -> str:
    """What a program says. Node and npm are those of the environment."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_MINUTES_S,
        check=False,
    )
    assert (done.returncode == 0) == is_good, done.stdout + done.stderr
    return done.stdout
