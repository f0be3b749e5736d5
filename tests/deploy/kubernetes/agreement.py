"""What must be the same in several places of the manifests, as complaints about a folder of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from qirsh import service
from qirsh.cli.serve import supervisor
from qirsh.web.routes import ROUTES
from tests.deploy.kubernetes.manifests import (
    KUSTOMIZATION,
    SETS,
    Body,
    Manifest,
    Pod,
    files,
    is_example,
    manifests,
    of_kind,
    of_set,
    pods,
)
from tests.deploy.kubernetes.pod_settings import environment

_GETS: Final = {route.path for route in ROUTES if route.method == "GET"}
_PROBES: Final = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


def kustomization_faults(folder: Path) -> list[str]:
    """What a kustomization names and is not there, and what is there and no kustomization names."""
    found = []
    for file in files(folder):
        if file.name != KUSTOMIZATION:
            continue
        home, body = file.parent, yaml.safe_load(file.read_text())
        generated = [name for maps in body.get("configMapGenerator", ()) for name in maps["files"]]
        named = [*body.get("resources", ()), *body.get("components", ()), *generated]
        found += [f"{home.name}: {name} is not there" for name in named if not (home / name).exists()]
        there = {path.name for path in home.iterdir() if not is_example(path)} - {KUSTOMIZATION}
        found += [f"{home.name}: {name} is not listed" for name in sorted(there - set(named))]
        if body["kind"] == "Kustomization" and body.get("namespace") != "qirsh":
            found.append(f"{home.name}: it is for another namespace")
    alone = {path.parent for path in files(folder)} - {file.parent for file in folder.rglob(KUSTOMIZATION)} - {folder}
    return found + [f"{home.name} has no {KUSTOMIZATION}" for home in alone]


def selector_faults(folder: Path) -> list[str]:
    """Selectors that choose nothing, and pods that no NetworkPolicy guards."""
    found = []
    for name in SETS:
        among = of_set(name, folder)
        own = list(pods(among))
        for manifest in among:
            found += [
                f"{manifest}: {selector} chooses no pod"
                for selector in _selectors(manifest)
                if not any(_chooses(selector, pod.labels) for pod in own)
            ]
            if manifest.kind in {"Deployment", "StatefulSet"}:
                [pod] = pods([manifest])
                if not _chooses(manifest.body["spec"]["selector"], pod.labels):
                    found.append(f"{manifest} does not choose its own pods")
        guards = [policy.body["spec"]["podSelector"] for policy in of_kind(among, "NetworkPolicy")]
        found += [
            f"{pod} is guarded by no NetworkPolicy"
            for pod in own
            if not any(_chooses(selector, pod.labels) for selector in guards)
        ]
        labels = [service.body["metadata"]["labels"] for service in of_kind(among, "Service")]
        found += [
            f"{monitor} watches no Service, or more than one"
            for monitor in of_kind(among, "ServiceMonitor")
            if sum(_chooses(monitor.body["spec"]["selector"], of_service) for of_service in labels) != 1
        ]
    return found


def port_faults(folder: Path) -> list[str]:
    """Ports, by number or by name, that are not the one that the server listens on."""
    found = []
    for name in SETS:
        among = of_set(name, folder)
        [server] = _servers(among)
        [container] = server.containers
        [port] = container["ports"]
        if str(port["containerPort"]) != environment(among, container)["QIRSH_PORT"]:
            found.append(f"{server}: its port is not QIRSH_PORT")
        fronts = {(front.name, one["name"]): one for front in of_kind(among, "Service") for one in _ports(front)}
        found += [f"{front}: {one}" for front, one in fronts.items() if one["targetPort"] != port["name"]]
        asked = {probe: container[probe]["httpGet"]["port"] for probe in _PROBES}
        found += [f"{server}: {probe} asks {other}" for probe, other in asked.items() if other != port["name"]]
        for monitor in of_kind(among, "ServiceMonitor"):
            ends = monitor.body["spec"]["endpoints"]
            found += [f"{monitor}: {end}" for end in ends if ("qirsh", end["port"]) not in fronts]
        for ingress in of_kind(among, "Ingress"):
            backs = [path["backend"]["service"] for rule in ingress.body["spec"]["rules"] for path in _paths(rule)]
            found += [f"{ingress}: {back}" for back in backs if (back["name"], back["port"]["name"]) not in fronts]
        for policy in of_kind(among, "NetworkPolicy"):
            if _chooses(policy.body["spec"]["podSelector"], server.labels):
                open_ports = [one["port"] for rule in policy.body["spec"]["ingress"] for one in rule["ports"]]
                found += [f"{policy}: {open_port}" for open_port in open_ports if open_port != port["containerPort"]]
    return found


def probe_faults(folder: Path) -> list[str]:
    """Paths that are no routes, or not the ones that are meant."""
    found = []
    for name in SETS:
        among = of_set(name, folder)
        for server in _servers(among):
            for probe, path in _PROBES.items():
                asked = server.containers[0][probe]["httpGet"]["path"]
                if asked != path or asked not in _GETS:
                    found.append(f"{server}: {probe} asks {asked}")
        for monitor in of_kind(among, "ServiceMonitor"):
            found += [f"{monitor}" for end in monitor.body["spec"]["endpoints"] if end["path"] != "/metrics"]
        for ingress in of_kind(among, "Ingress"):
            begin = [path["path"] for rule in ingress.body["spec"]["rules"] for path in _paths(rule)]
            found += [f"{ingress}: {path}" for path in begin if not any(route.startswith(path) for route in _GETS)]
    return found


def stop_faults(folder: Path) -> list[str]:
    """Servers that would be told to stop while they are sent requests, or killed while they answer."""
    found = []
    for server in _servers(manifests(folder)):
        before_s = server.containers[0].get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        if before_s < 5:
            found.append(f"{server}: it stops before others know")
        left_s = server.spec.get("terminationGracePeriodSeconds", 30) - before_s
        if left_s <= max(service._GRACE_S, supervisor._KILL_S):  # noqa: SLF001 - the times that must fit
            found.append(f"{server}: it is killed before it has ended")
    return found


def replica_faults(folder: Path) -> list[str]:
    """Budgets that would keep a machine from being emptied, or would let the last server go."""
    found = []
    for name in SETS:
        among = of_set(name, folder)
        [server] = _servers(among)
        replicas = server.owner.body["spec"]["replicas"]
        if server.owner.kind == "StatefulSet" and replicas != 1:
            found.append(f"{server}: SQLite has one process")
        if server.owner.kind == "Deployment" and not of_kind(among, "PodDisruptionBudget"):
            found.append(f"{server} has no budget")
        found += [
            f"{budget} does not fit {replicas} replicas"
            for budget in of_kind(among, "PodDisruptionBudget")
            if not 1 <= budget.body["spec"]["minAvailable"] < replicas
        ]
    return found


def reference_faults(folder: Path) -> list[str]:
    """Names of other objects that neither the manifests have nor an operator makes from them."""
    found = []
    for name in SETS:
        among = of_set(name, folder)
        there = set(_made(among, folder))
        for pod in pods(among):
            found += [f"{pod}: there is no {kind} {wanted}" for kind, wanted in _wanted(pod) - there]
        for cluster in of_kind(among, "Cluster"):
            secrets = {role["passwordSecret"]["name"] for role in cluster.body["spec"]["managed"]["roles"]}
            found += [
                f"{cluster}: there is no Secret {secret}" for secret in secrets if ("Secret", secret) not in there
            ]
        for monitor in of_kind(among, "ServiceMonitor"):
            keys = {(secret.name, key) for secret in of_kind(among, "Secret") for key in secret.body["stringData"]}
            for end in monitor.body["spec"]["endpoints"]:
                token = end["authorization"]["credentials"]
                if (token["name"], token["key"]) not in keys:
                    found.append(f"{monitor}: there is no {token}")
        hosts = [rule["host"] for ingress in of_kind(among, "Ingress") for rule in ingress.body["spec"]["rules"]]
        [settings] = of_kind(among, "ConfigMap")
        if [f"https://{host}" for host in hosts] != [settings.body["data"]["QIRSH_BASE_URL"]]:
            found.append(f"{settings}: QIRSH_BASE_URL is not what the Ingress serves")
    return found


def mount_faults(folder: Path) -> list[str]:
    """Mounts without a volume, and volumes that nobody mounts."""
    found = []
    for pod in pods(manifests(folder)):
        claims = pod.owner.body["spec"].get("volumeClaimTemplates", ())
        volumes = {volume["name"] for volume in pod.spec.get("volumes", ())}
        volumes |= {claim["metadata"]["name"] for claim in claims}
        mounted = {mount["name"] for container in pod.containers for mount in container["volumeMounts"]}
        found += [f"{pod}: {name}" for name in volumes ^ mounted]
    return found


def _servers(among: list[Manifest]) -> list[Pod]:
    return list(pods(of_kind(among, "Deployment", "StatefulSet")))


def _ports(front: Manifest) -> list[Body]:
    ports: list[Body] = front.body["spec"]["ports"]
    return ports


def _paths(rule: Body) -> list[Body]:
    paths: list[Body] = rule["http"]["paths"]
    return paths


def _selectors(manifest: Manifest) -> Iterator[Body]:
    """All by which pods of ours are chosen. Those of the database's pods are its operator's."""
    spec = manifest.body.get("spec", {})
    if manifest.kind == "Service":
        yield {"matchLabels": spec["selector"]}
    if manifest.kind == "PodDisruptionBudget":
        yield spec["selector"]
    if manifest.kind == "NetworkPolicy":
        peers = [peer for rule in spec.get("ingress", ()) for peer in rule.get("from", ())]
        chosen = [spec["podSelector"], *(peer["podSelector"] for peer in peers if "podSelector" in peer)]
        yield from (one for one in chosen if "cnpg.io/cluster" not in one["matchLabels"])
    for pod in pods([manifest]):
        yield from (spread["labelSelector"] for spread in pod.spec.get("topologySpreadConstraints", ()))
        near = pod.spec.get("affinity", {}).get("podAffinity", {})
        yield from (term["labelSelector"] for term in near.get("requiredDuringSchedulingIgnoredDuringExecution", ()))


def _chooses(selector: Body, labels: Body) -> bool:
    among = all(labels.get(rule["key"]) in rule["values"] for rule in selector.get("matchExpressions", ()))
    return among and selector.get("matchLabels", {}).items() <= labels.items()


def _wanted(pod: Pod) -> set[tuple[str, str]]:
    kinds = {"secret": "secretName", "configMap": "name", "persistentVolumeClaim": "claimName"}
    found = {
        (kind[0].upper() + kind[1:], volume[kind][name])
        for volume in pod.spec.get("volumes", ())
        for kind, name in kinds.items()
        if kind in volume
    }
    sources = [source for container in pod.containers for source in container.get("envFrom", ())]
    return found | {("ConfigMap", source["configMapRef"]["name"]) for source in sources}


def _made(among: list[Manifest], folder: Path) -> Iterator[tuple[str, str]]:
    for manifest in among:
        yield manifest.kind, manifest.name
        if manifest.kind == "Cluster":  # Its operator makes them: the authority, and the owner of the database.
            yield "Secret", f"{manifest.name}-ca"
            yield "Secret", f"{manifest.name}-app"
        if manifest.kind == "StatefulSet":
            for claim in manifest.body["spec"]["volumeClaimTemplates"]:
                yield "PersistentVolumeClaim", f"{claim['metadata']['name']}-{manifest.name}-0"
    for file in folder.rglob(KUSTOMIZATION):
        for generated in yaml.safe_load(file.read_text()).get("configMapGenerator", ()):
            yield "ConfigMap", generated["name"]
