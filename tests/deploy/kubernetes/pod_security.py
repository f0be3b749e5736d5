"""The rules of the restricted profile of the Pod Security Standards, and ours on top, as complaints about a pod."""

from collections.abc import Iterator
from typing import Any, Final

Body = dict[str, Any]

_VOLUMES: Final = frozenset(
    {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
)
_SECCOMP: Final = frozenset({"RuntimeDefault", "Localhost"})
_SE_LINUX: Final = frozenset({None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_syncookies",
    }
)
_HOOKS: Final = ("livenessProbe", "readinessProbe", "startupProbe")
USER: Final = 10001


def faults(spec: Body) -> list[str]:
    """What the restricted profile would refuse, or we do not want."""
    return [*_of_pod(spec), *(fault for container in _containers(spec) for fault in _of_container(spec, container))]


def _containers(spec: Body) -> list[Body]:
    return [
        container
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(kind, ())
    ]


def _of_pod(spec: Body) -> Iterator[str]:
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name):
            yield f"{name} is set"
    for volume in spec.get("volumes", ()):
        if kinds := set(volume) - {"name"} - _VOLUMES:
            yield f"volume {volume['name']} is a {', '.join(kinds)}"
    context = spec.get("securityContext", {})
    for sysctl in context.get("sysctls", ()):
        if sysctl["name"] not in _SYSCTLS:
            yield f"sysctl {sysctl['name']}"
    yield from _of_context("the pod", context)
    if spec.get("automountServiceAccountToken") is not False:
        yield "ours: a token of the cluster is mounted"
    if context.get("runAsUser") != USER or context.get("runAsGroup") != USER:
        yield f"ours: it does not run as {USER}"


def _of_container(spec: Body, container: Body) -> Iterator[str]:
    name, own, pods = container["name"], container.get("securityContext", {}), spec.get("securityContext", {})
    yield from _of_context(name, own)
    if own.get("privileged"):
        yield f"{name} is privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{name} may gain privileges"
    if own.get("procMount", "Default") != "Default":
        yield f"{name} has another /proc"
    if own.get("runAsNonRoot", pods.get("runAsNonRoot")) is not True:
        yield f"{name} may run as root"
    if own.get("seccompProfile", pods.get("seccompProfile", {})).get("type") not in _SECCOMP:
        yield f"{name} has no seccomp profile"
    if own.get("readOnlyRootFilesystem") is not True:
        yield f"ours: {name} may write to its image"
    yield from _of_capabilities(name, own.get("capabilities", {}))
    yield from _of_machine(name, container)


def _of_capabilities(name: str, capabilities: Body) -> Iterator[str]:
    if "ALL" not in capabilities.get("drop", ()):
        yield f"{name} keeps capabilities"
    if more := set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"{name} adds capabilities: {', '.join(sorted(more))}"


def _of_machine(name: str, container: Body) -> Iterator[str]:
    """What it takes of the machine that it runs on."""
    for port in container.get("ports", ()):
        if port.get("hostPort"):
            yield f"{name} takes a port of the machine"
    handlers = [container.get(hook, {}) for hook in _HOOKS] + list(container.get("lifecycle", {}).values())
    if any(handler.get(kind, {}).get("host") for handler in handlers for kind in ("httpGet", "tcpSocket")):
        yield f"{name} has a probe of another host"
    if "memory" not in container.get("resources", {}).get("limits", {}):
        yield f"ours: {name} may take all memory of its machine"


def _of_context(name: str, context: Body) -> Iterator[str]:
    """What may be said of a pod and of a container alike."""
    if context.get("runAsUser") == 0:
        yield f"{name} runs as root"
    if context.get("runAsNonRoot") is False:
        yield f"{name} is let run as root"
    if context.get("seccompProfile", {}).get("type", "RuntimeDefault") not in _SECCOMP:
        yield f"{name} switches seccomp off"
    if context.get("appArmorProfile", {}).get("type", "RuntimeDefault") not in _SECCOMP:
        yield f"{name} switches AppArmor off"
    labels = context.get("seLinuxOptions", {})
    if labels.get("type") not in _SE_LINUX or labels.get("user") or labels.get("role"):
        yield f"{name} chooses its SELinux label"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield f"{name} is a process of the machine"
