"""Every pod of the manifests is one that a namespace with the restricted profile lets in."""

import copy
from typing import Any

import pytest

from tests.deploy.kubernetes.manifests import Pod, manifests, of_kind, pods
from tests.deploy.kubernetes.pod_security import faults

ALL = list(pods(manifests()))
_SERVER = next(pod for pod in ALL if pod.owner.kind == "Deployment")
# Each of them alone, put into a pod that is right.
OF_POD = [
    {"hostNetwork": True},
    {"hostPID": True},
    {"hostIPC": True},
    {"automountServiceAccountToken": True},
    {"volumes": [{"name": "machine", "hostPath": {"path": "/"}}]},
    {"securityContext": {}},
]
OF_POD_CONTEXT = [
    {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]},
    {"runAsUser": 0},
    {"runAsNonRoot": False},
    {"seccompProfile": {"type": "Unconfined"}},
    {"appArmorProfile": {"type": "Unconfined"}},
    {"seLinuxOptions": {"type": "spc_t"}},
    {"seLinuxOptions": {"user": "system_u"}},
    {"windowsOptions": {"hostProcess": True}},
    {"runAsUser": 1000},
]
OF_CONTAINER = [
    {"ports": [{"containerPort": 8420, "hostPort": 8420}]},
    {"livenessProbe": {"httpGet": {"host": "metadata.example", "port": 80}}},
    {"lifecycle": {"preStop": {"tcpSocket": {"host": "other.example", "port": 80}}}},
    {"resources": {}},
    {"securityContext": {}},
]
OF_CONTAINER_CONTEXT = [
    {"privileged": True},
    {"allowPrivilegeEscalation": True},
    {"procMount": "Unmasked"},
    {"runAsNonRoot": False},
    {"runAsUser": 0},
    {"seccompProfile": {"type": "Unconfined"}},
    {"appArmorProfile": {"type": "Unconfined"}},
    {"capabilities": {}},
    {"capabilities": {"drop": ["NET_RAW"]}},
    {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
    {"readOnlyRootFilesystem": False},
]


def test_each_kind_of_pod_is_there() -> None:
    assert {pod.owner.kind for pod in ALL} == {"Deployment", "StatefulSet", "Job", "CronJob"}


@pytest.mark.parametrize("pod", ALL, ids=str)
def test_a_pod_keeps_to_the_restricted_profile(pod: Pod) -> None:
    assert faults(pod.spec) == []


@pytest.mark.parametrize("namespace", of_kind(manifests(), "Namespace"), ids=str)
def test_a_namespace_demands_the_restricted_profile(namespace: Any) -> None:  # noqa: ANN401 - a manifest, as pytest hands it over
    assert namespace.body["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("change", OF_POD, ids=str)
def test_a_pod_that_does_not_is_noticed(change: dict[str, Any]) -> None:
    assert faults(_SERVER.spec | change)


@pytest.mark.parametrize("change", OF_POD_CONTEXT, ids=str)
def test_a_context_of_a_pod_that_does_not_is_noticed(change: dict[str, Any]) -> None:
    assert faults(_SERVER.spec | {"securityContext": _SERVER.spec["securityContext"] | change})


@pytest.mark.parametrize("change", OF_CONTAINER, ids=str)
def test_a_container_that_does_not_is_noticed(change: dict[str, Any]) -> None:
    assert faults(_with_container(_SERVER, change))


@pytest.mark.parametrize("change", OF_CONTAINER_CONTEXT, ids=str)
def test_a_context_of_a_container_that_does_not_is_noticed(change: dict[str, Any]) -> None:
    own = _SERVER.containers[0]["securityContext"]
    assert faults(_with_container(_SERVER, {"securityContext": own | change}))


def test_a_container_that_runs_first_is_looked_at_too() -> None:
    spec = copy.deepcopy(_SERVER.spec)
    spec["initContainers"] = [spec["containers"][0] | {"securityContext": {"privileged": True}}]
    assert faults(spec)


def _with_container(pod: Pod, change: dict[str, Any]) -> dict[str, Any]:
    return pod.spec | {"containers": [pod.spec["containers"][0] | change]}
