"""The manifests of Kubernetes are well-formed, and agree with each other, with Qirsh and with the docs."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import kubernetes_validate.utils  # type: ignore[import-untyped]  # it has no types
import pytest
import yaml
from yamllint import linter  # type: ignore[import-untyped]  # the same
from yamllint.config import YamlLintConfig  # type: ignore[import-untyped]  # the same

import qirsh
from qirsh.doctor.postgres_checks import _CONNECTIONS_A_WORKER
from qirsh.store.postgres.connection import ALONE
from tests.deploy.kubernetes import agreement, pod_settings
from tests.deploy.kubernetes.manifests import FOLDER, Body, edited, files, manifests, of_kind, pods

Rule = Callable[[Path], list[str]]

# The oldest that knows all fields that are used (preStop.sleep), and the newest that the schemas are there for.
VERSIONS: Final = ("1.30.0", "1.37.0")
# Whose fields are looked at by tests/deploy/kubernetes/test_custom_resources.py.
CUSTOM: Final = {"ServiceMonitor", "Cluster"}
_STYLE: Final = YamlLintConfig(
    "extends: default\n"
    "rules:\n"
    "  document-start: disable\n"
    "  line-length: {max: 120}\n"
    "  indentation: {spaces: 2, indent-sequences: true}\n"
    "  truthy: {level: error}\n"
)
_DOCS: Final = FOLDER.parents[1] / "docs" / "operating.md"
_CHAPTERS: Final = re.findall(r"^#+ (.*)$", _DOCS.read_text(), re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def _schemas_are_read_once() -> Iterator[None]:
    """Else megabytes of them are read again for each object."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kubernetes_validate.utils, "schema_contents", cache(kubernetes_validate.utils.schema_contents))
        yield


def style_faults(folder: Path) -> list[str]:
    return [f"{file.name}{fault}" for file in files(folder) for fault in _style_faults(file.read_text())]


@cache
def _style_faults(text: str) -> list[str]:
    return [f":{problem.line}: {problem.desc}" for problem in linter.run(text, _STYLE)]


def schema_faults(folder: Path, versions: tuple[str, ...] = VERSIONS) -> list[str]:
    """Fields that a cluster of one of the versions does not know, or takes otherwise."""
    found = []
    for manifest in manifests(folder):
        for version in versions:
            try:
                kubernetes_validate.validate(manifest.body, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                found.append(f"{manifest} at {version}: {error.message}")
            except kubernetes_validate.SchemaNotFoundError as error:
                if manifest.kind not in CUSTOM:
                    found.append(f"{manifest}: {error.message}")
    return found


def image_faults(folder: Path) -> list[str]:
    """Images that are not chosen in the one place for it, and another version of Qirsh than this one."""
    chosen: Body = yaml.safe_load((folder / "image" / "kustomization.yaml").read_text())
    tags = {image["name"]: image["newTag"] for image in chosen["images"]}
    used = {container["image"] for pod in pods(manifests(folder)) for container in pod.containers}
    found = [f"{image} is not in image/kustomization.yaml" for image in used - tags.keys()]
    if tags["qirsh"] != qirsh.__version__:
        found.append(f"image/kustomization.yaml has Qirsh {tags['qirsh']}, and this is {qirsh.__version__}")
    return found


def grant_faults(folder: Path) -> list[str]:
    """What the job grants, where it is not what the docs say."""
    granted = (folder / "postgres-migrate" / "grants.sql").read_text()
    statements = [line for line in granted.splitlines() if not line.startswith("--")]
    [told] = [block for block in re.findall(r"```sql\n(.*?)```", _DOCS.read_text(), re.DOTALL) if "REVOKE" in block]
    return [] if statements == told.splitlines() else ["grants.sql is not what docs/operating.md says"]


def quorum_faults(folder: Path) -> list[str]:
    """What would let the example's database acknowledge what one machine alone has, or run out of connections."""
    found = []
    among = manifests(folder)
    [cluster] = of_kind(among, "Cluster")
    spec, own = cluster.body["spec"], cluster.body["spec"]["postgresql"]
    if spec["instances"] < 3 or own["synchronous"] != {
        "method": "any",
        "number": 1,
        "dataDurability": "required",
        "failoverQuorum": True,
    }:
        found.append("a commit does not wait for one of two standbys")
    if own["parameters"]["synchronous_commit"] in {"off", *ALONE}:
        found.append("a commit does not wait for the disk of a standby")
    roles = {spec["bootstrap"]["initdb"]["owner"], *(role["name"] for role in spec["managed"]["roles"])}
    if roles != {"qirsh_owner", "qirsh"} or "GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO qirsh;" not in (
        (folder / "postgres-migrate" / "grants.sql").read_text()
    ):
        found.append("the roles are not those that the rights are given to")
    [server] = of_kind(among, "Deployment")
    servers = server.body["spec"]["replicas"] + server.body["spec"]["strategy"]["rollingUpdate"]["maxSurge"]
    if servers * _CONNECTIONS_A_WORKER > int(own["parameters"]["max_connections"]) // 2:
        found.append("the servers take more than half of the connections")
    return found


def readme_faults(folder: Path) -> list[str]:
    """Folders, files, objects and chapters that its commands and links name and that are not there."""
    text = (folder / "README.md").read_text()
    objects = {f"{one.kind.lower()}/{one.name}" for one in manifests(folder)}
    named = re.findall(r"\b((?:deployment|statefulset|job|cronjob|cluster)/[a-z-]+)", text)
    found = [f"there is no {one}" for one in named if one not in objects]
    kustomized = re.findall(r"apply -k ([\w-]+)", text)
    found += [f"there is no {one}" for one in kustomized if not (folder / one / "kustomization.yaml").exists()]
    paths = {path.replace("secret.yaml", "secret.example.yaml") for path in re.findall(r"[\w/-]+/[\w.-]+\.yaml", text)}
    found += [f"there is no {path}" for path in paths if not (folder / path).exists()]
    chapters = {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in _CHAPTERS}
    return found + [f"no chapter {one}" for one in re.findall(r"operating\.md#([\w-]+)", text) if one not in chapters]


RULES: Final[tuple[Rule, ...]] = (
    style_faults,
    schema_faults,
    image_faults,
    grant_faults,
    quorum_faults,
    readme_faults,
    agreement.kustomization_faults,
    agreement.selector_faults,
    agreement.port_faults,
    agreement.probe_faults,
    agreement.stop_faults,
    agreement.replica_faults,
    agreement.reference_faults,
    agreement.mount_faults,
    pod_settings.settings_faults,
    pod_settings.secret_faults,
    pod_settings.command_faults,
    pod_settings.service_link_faults,
    pod_settings.secrets_in_the_open,
)
_SERVER: Final = "postgres/deployment.yaml"
_BACKUP: Final = "postgres/backup.yaml"
_POLICY: Final = "postgres/networkpolicy.yaml"
_CLUSTER: Final = "cloudnative-pg/cluster.yaml"
_NAMED: Final = "app.kubernetes.io/name: qirsh"
# One edit each, which the rule must notice.
BROKEN: Final[tuple[tuple[Rule, str, str, str], ...]] = (
    (style_faults, _SERVER, "replicas: 2", "replicas:  2"),
    (style_faults, _SERVER, "minReadySeconds: 10", "minReadySeconds: 10\n  minReadySeconds: 20"),
    (schema_faults, _SERVER, "minReadySeconds: 10", "minReadySecond: 10"),
    (schema_faults, _SERVER, "replicas: 2", "replicas: two"),
    (schema_faults, _BACKUP, "apiVersion: batch/v1", "apiVersion: batch/v1beta1"),
    (schema_faults, "ingress.example.yaml", "pathType: Prefix", "pathTypes: Prefix"),
    (image_faults, "image/kustomization.yaml", f'newTag: "{qirsh.__version__}"', 'newTag: "0.0.1"'),
    (image_faults, "postgres-migrate/job.yaml", "image: postgres", "image: psql"),
    (grant_faults, "postgres-migrate/grants.sql", "GRANT DELETE ON pin, ", "GRANT DELETE ON transfer, pin, "),
    (quorum_faults, _CLUSTER, "number: 1", "number: 0"),
    (quorum_faults, _CLUSTER, "dataDurability: required", "dataDurability: preferred"),
    (quorum_faults, _CLUSTER, "instances: 3", "instances: 2"),
    (quorum_faults, _CLUSTER, 'synchronous_commit: "on"', "synchronous_commit: local"),
    (quorum_faults, _CLUSTER, "owner: qirsh_owner", "owner: qirsh"),
    (quorum_faults, _SERVER, "replicas: 2", "replicas: 9"),
    (readme_faults, "README.md", "apply -k monitoring", "apply -k monitor"),
    (readme_faults, "README.md", "job/qirsh-migrate", "job/migrate"),
    (readme_faults, "README.md", "postgres/settings.yaml", "postgres/setting.yaml"),
    (readme_faults, "README.md", "operating.md#after-a-restore", "operating.md#after-restore"),
    (agreement.kustomization_faults, "postgres/kustomization.yaml", "  - service.yaml\n", ""),
    (agreement.kustomization_faults, "sqlite/kustomization.yaml", "statefulset.yaml", "deployment.yaml"),
    (agreement.kustomization_faults, "sqlite/kustomization.yaml", "../image", "../images"),
    (agreement.kustomization_faults, "postgres-migrate/kustomization.yaml", "- grants.sql", "- grant.sql"),
    (agreement.kustomization_faults, "monitoring/kustomization.yaml", "namespace: qirsh", "namespace: other"),
    (agreement.selector_faults, "postgres/service.yaml", _NAMED, "app.kubernetes.io/name: other"),
    (agreement.selector_faults, "postgres/poddisruptionbudget.yaml", _NAMED, "app.kubernetes.io/name: other"),
    (agreement.selector_faults, _POLICY, "component: server", "component: servers"),
    (agreement.selector_faults, _POLICY, "          - migrate\n", ""),
    (agreement.selector_faults, "sqlite/backup.yaml", "component: server", "component: servers"),
    (agreement.selector_faults, "monitoring/servicemonitor.yaml", "component: server", "component: servers"),
    (agreement.selector_faults, "sqlite/service.yaml", "component: console", "component: server"),
    (agreement.selector_faults, "cloudnative-pg/networkpolicy.yaml", _NAMED, "app.kubernetes.io/name: other"),
    (agreement.port_faults, _SERVER, "containerPort: 8420", "containerPort: 8421"),
    (agreement.port_faults, "postgres/settings.yaml", 'QIRSH_PORT: "8420"', 'QIRSH_PORT: "8421"'),
    (agreement.port_faults, "sqlite/service.yaml", "targetPort: http", "targetPort: https"),
    (agreement.port_faults, "sqlite/statefulset.yaml", "port: http\n", "port: https\n"),
    (agreement.port_faults, "ingress.example.yaml", "name: http", "name: https"),
    (agreement.port_faults, "ingress.example.yaml", "name: qirsh-console", "name: console"),
    (agreement.port_faults, "monitoring/servicemonitor.yaml", "port: http", "port: https"),
    (agreement.port_faults, _POLICY, "port: 8420", "port: 8421"),
    (agreement.probe_faults, _SERVER, "path: /readyz", "path: /ready"),
    (agreement.probe_faults, "sqlite/statefulset.yaml", "path: /healthz", "path: /readyz"),
    (agreement.probe_faults, "monitoring/servicemonitor.yaml", "path: /metrics", "path: /metric"),
    (agreement.probe_faults, "ingress.example.yaml", "path: /operator", "path: /operators"),
    (agreement.stop_faults, _SERVER, "terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 45"),
    (agreement.stop_faults, "sqlite/statefulset.yaml", "seconds: 10", "seconds: 1"),
    (agreement.replica_faults, "postgres/poddisruptionbudget.yaml", "minAvailable: 1", "minAvailable: 2"),
    (agreement.replica_faults, "sqlite/statefulset.yaml", "replicas: 1", "replicas: 2"),
    (agreement.reference_faults, _SERVER, "name: qirsh-settings", "name: qirsh-setting"),
    (agreement.reference_faults, _SERVER, "secretName: qirsh-db-ca", "secretName: qirsh-ca"),
    (agreement.reference_faults, _BACKUP, "claimName: qirsh-backups", "claimName: qirsh-backup"),
    (agreement.reference_faults, "sqlite-restore/job.yaml", "claimName: data-qirsh-0", "claimName: data-qirsh"),
    (agreement.reference_faults, _CLUSTER, "name: qirsh-db-serving", "name: qirsh-serving"),
    (agreement.reference_faults, "monitoring/servicemonitor.yaml", "key: metrics-token", "key: token"),
    (agreement.reference_faults, "ingress.example.yaml", "- host: pay.example.org", "- host: shop.example.org"),
    (agreement.mount_faults, _SERVER, "- name: data\n              mountPath", "- name: dat\n              mountPath"),
    (pod_settings.settings_faults, "postgres/settings.yaml", "QIRSH_LOG:", "QIRSH_LOGS:"),
    (pod_settings.settings_faults, "sqlite/settings.yaml", "QIRSH_LOG: json", "QIRSH_LOG: yaml"),
    (pod_settings.settings_faults, "sqlite/settings.yaml", "QIRSH_LOG:", "QIRSH_SECRET_KEY: x\n  QIRSH_LOG:"),
    (pod_settings.settings_faults, _SERVER, "QIRSH_SMTP_URL_FILE", "QIRSH_SMTP_FILE"),
    (pod_settings.secret_faults, "secret.example.yaml", "secret-key: CHANGE-ME", f"secret-key: {'0123456789' * 4}"),
    (pod_settings.secret_faults, "secret.example.yaml", "database-url: CHANGE-ME post", "database-url: post"),
    (pod_settings.secret_faults, "secret.example.yaml", "smtp-url: CHANGE-ME smtp", "smtp-url: smtp"),
    (pod_settings.secret_faults, "secret.example.yaml", "metrics-token:", "metric-token:"),
    (pod_settings.secret_faults, "postgres-migrate/secret.example.yaml", "uri: CHANGE-ME post", "uri: post"),
    (pod_settings.secret_faults, _SERVER, "value: /run/secrets/qirsh/secret-key", "value: /run/secrets/secret-key"),
    (pod_settings.command_faults, _BACKUP, "- --keep", "- --keeps"),
    (pod_settings.command_faults, "postgres-migrate/job.yaml", "- migrate\n", "- migrat\n"),
    (pod_settings.command_faults, _SERVER, "args:", "command:"),
    (pod_settings.service_link_faults, _SERVER, "enableServiceLinks: false", "enableServiceLinks: true"),
    (pod_settings.secrets_in_the_open, _SERVER, "QIRSH_SMTP_URL_FILE", "QIRSH_SMTP_URL"),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_manifests_keep_a_rule(rule: Rule) -> None:
    assert rule(FOLDER) == []


def test_a_manifest_that_breaks_a_rule_is_noticed(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for number, (rule, file, old, new) in enumerate(BROKEN):
        with subtests.test(f"{rule.__name__}: {new}"):
            folder = tmp_path / str(number)
            folder.mkdir()
            assert rule(edited(folder, file, old, new))


def test_each_rule_is_seen_to_fail() -> None:
    assert set(RULES) == {rule for rule, *_ in BROKEN}


def test_both_versions_of_kubernetes_are_looked_at() -> None:
    assert kubernetes_validate.latest_version() == VERSIONS[-1]
    # Newer than the first of them, and so proof that it is that one which is asked.
    assert schema_faults(FOLDER, ("1.28.0",))
