"""Findings about a pod: each kind has a name that stays; here are those of probes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeType,
    TCPSocketAction,
)
from probetui.kubelet.grace_period import GraceSource
from probetui.kubelet.journal import FindingEntry
from probetui.kubelet.sightings import EXEC_MISSING, REDIRECT
from probetui.manifest.problem import Severity, clipped
from probetui.presentation.durations import age
from probetui.presentation.timing import timing_of

DEFAULT_TIMEOUT_SECONDS = 1
LONG_GRACE_SECONDS = 30
"""The default; who chose a longer one thought of an orderly end, not of a hung app."""

TLS_PORTS = frozenset({443, 8443})
_TLS_NAME = re.compile(r"\b(https|tls|grpcs)\b")

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_INTERPRETERS = frozenset({"busybox", "env", "nsenter", "su", "sudo", "timeout"})
"""Programs that run another one: what comes after them may be a shell."""

_SHELL_WORDS = re.compile(r"[|;<>`*]|&&|\$[A-Za-z_{]")
_OPERATORS = frozenset({"|", "||", "&&", ";", ">", ">>", "<"})


class Rule(NamedTuple):
    """A kind of finding: how much it matters, and what it is about in general."""

    severity: Severity
    about: str


RULES: Mapping[str, Rule] = MappingProxyType({
    "no-readiness-probe": Rule(
        Severity.NOTE, "A container gets traffic as soon as it runs."
    ),
    "liveness-without-startup": Rule(
        Severity.NOTE, "A liveness probe kills an app that is slow to start."
    ),
    "liveness-same-as-readiness": Rule(
        Severity.WARNING,
        "Liveness and readiness ask the same: what should only lose its traffic is "
        "killed.",
    ),
    "liveness-faster-than-readiness": Rule(
        Severity.WARNING, "A container is killed before it is taken out of traffic."
    ),
    "timeout-at-default": Rule(
        Severity.NOTE, "A probe has one second, which a busy machine may use up."
    ),
    "timeout-exceeds-period": Rule(
        Severity.WARNING, "A probe may take longer than its period: ticks are dropped."
    ),
    "port-not-declared": Rule(
        Severity.NOTE, "A probe uses a port that its container does not declare."
    ),
    "exec-needs-shell": Rule(
        Severity.WARNING, "A command has words for a shell, and is not run by one."
    ),
    EXEC_MISSING: Rule(
        Severity.WARNING, "A command is not in the container, seen when it was run."
    ),
    "grpc-tls": Rule(
        Severity.WARNING, "A gRPC probe speaks plain text, to a port meant for TLS."
    ),
    "host-set": Rule(
        Severity.WARNING, "A probe goes to a host of its own instead of the pod."
    ),
    REDIRECT: Rule(
        Severity.WARNING, "A probe was redirected, seen when it was answered."
    ),
    "liveness-grace-long": Rule(
        Severity.NOTE, "An app that hangs is given a long time to end by itself."
    ),
    "host-privileged": Rule(
        Severity.WARNING, "A container may do all that root may do on this machine."
    ),
    "host-pid": Rule(
        Severity.WARNING, "A pod is among the processes of this machine."
    ),
    "host-network": Rule(Severity.WARNING, "A pod is in the network of this machine."),
    "host-ipc": Rule(
        Severity.WARNING, "A pod shares memory with the programs of this machine."
    ),
    "host-capability": Rule(
        Severity.WARNING, "A container has a capability that reaches out of it."
    ),
    "host-runtime-socket": Rule(
        Severity.WARNING, "A pod commands the container runtime of this machine."
    ),
    "host-path-system": Rule(
        Severity.WARNING, "A pod has a folder of this machine's system, or of keys."
    ),
    "host-device": Rule(Severity.WARNING, "A pod has a device of this machine."),
    "host-path-as-root": Rule(
        Severity.NOTE, "A container writes to a hostPath as this machine's root."
    ),
    "host-seccomp": Rule(
        Severity.WARNING, "A container may make every system call there is."
    ),
    "host-port": Rule(
        Severity.NOTE, "A container is open to all who reach this machine."
    ),
})  # fmt: skip
"""Every kind of finding, in the order in which they are looked for.

Two of them take a running container, and are told by sessions alone. Those of
`host_access` are about what a pod may do to its machine, all others about probes.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something found; `path` is the field of the pod that it is about."""

    rule: str
    path: str
    message: str

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return RULES[self.rule].severity


def severity_of(rule: str) -> Severity:
    """Return how much a finding matters; one of a newer probetui is a note."""
    return RULES[rule].severity if rule in RULES else Severity.NOTE


def seen_words(entry: FindingEntry) -> str:
    """Return what a probe showed, with its place, as `check` writes a finding."""
    return ": ".join(filter(None, (entry.place, entry.path, entry.message)))


def findings_for(pod: Pod) -> Iterator[Finding]:
    """Yield what is found about a pod, container by container."""
    for path, container in pod.containers_with_paths():
        is_probed = container.is_sidecar or container not in pod.init_containers
        if is_probed:
            yield from _about_container(pod, container, path)


def _about_container(pod: Pod, container: Container, path: str) -> Iterator[Finding]:
    if container.readiness_probe is None and pod.restart_policy is RestartPolicy.ALWAYS:
        message = "has no readinessProbe: it counts as ready as soon as it runs"
        yield Finding("no-readiness-probe", path, message)
    yield from _about_liveness(pod, container, f"{path}.livenessProbe")
    for field, _, probe in _probes(container):
        yield from _about_time(probe, f"{path}.{field}")
        yield from _about_handler(container, probe, f"{path}.{field}")


def _about_liveness(pod: Pod, container: Container, path: str) -> Iterator[Finding]:
    liveness, readiness = container.liveness_probe, container.readiness_probe
    if liveness is None:
        return
    timing = timing_of(pod, container, ProbeType.LIVENESS)
    if container.startup_probe is None:
        up = age(timing.first.least + timing.noticed.least)
        message = f"without a startupProbe it kills an app that is not up within {up}"
        yield Finding("liveness-without-startup", path, message)
    grace = timing.grace
    if (
        grace is not None
        and grace.source is GraceSource.POD
        and grace.seconds > LONG_GRACE_SECONDS
    ):
        message = (
            f"an app that hangs is given {grace.seconds}s to end; "
            "terminationGracePeriodSeconds of the probe shortens that"
        )
        yield Finding("liveness-grace-long", path, message)
    if readiness is None:
        return
    if liveness.handler == readiness.handler:
        message = "asks the same as the readinessProbe: what is not ready is killed"
        yield Finding("liveness-same-as-readiness", path, message)
    unready = timing_of(pod, container, ProbeType.READINESS)
    if timing.noticed.most < unready.noticed.most:
        message = (
            f"kills within {age(timing.noticed.most)}, readiness takes up to "
            f"{age(unready.noticed.most)} to notice"
        )
        yield Finding("liveness-faster-than-readiness", path, message)


def _about_time(probe: Probe, path: str) -> Iterator[Finding]:
    field = f"{path}.timeoutSeconds"
    if probe.timeout_seconds == DEFAULT_TIMEOUT_SECONDS and not isinstance(
        probe.handler, TCPSocketAction
    ):
        yield Finding("timeout-at-default", field, "is 1, the default")
    if probe.timeout_seconds > probe.period_seconds:
        message = (
            f"is {probe.timeout_seconds}, more than the period of "
            f"{probe.period_seconds}s: a slow probe drops ticks"
        )
        yield Finding("timeout-exceeds-period", field, message)


def _about_handler(container: Container, probe: Probe, path: str) -> Iterator[Finding]:
    match probe.handler:
        case ExecAction(command):
            yield from _about_command(command, f"{path}.exec.command")
        case HTTPGetAction(port=port, host=host):
            yield from _about_host(host, f"{path}.httpGet.host")
            yield from _about_port(container, port, f"{path}.httpGet.port")
        case TCPSocketAction(port=port, host=host):
            yield from _about_host(host, f"{path}.tcpSocket.host")
            yield from _about_port(container, port, f"{path}.tcpSocket.port")
        case GRPCAction(port=port):
            yield from _about_port(container, port, f"{path}.grpc.port")
            if port in TLS_PORTS or _TLS_NAME.search(_name_of(container, port)):
                message = f"is {port}, but gRPC probes speak no TLS"
                yield Finding("grpc-tls", f"{path}.grpc.port", message)
        case None:
            return


def _about_command(command: tuple[str, ...], path: str) -> Iterator[Finding]:
    if not command or _runs_a_shell(command):
        return
    if len(command) == 1 and " " in command[0].strip():
        message = f"{clipped(command[0])} is one word, and so the name of a program"
        yield Finding("exec-needs-shell", path, message)
        return
    for word in command[1:]:
        if word in _OPERATORS:
            message = (
                f'{clipped(word)} means something to a shell only: ["sh", "-c", …]'
            )
            yield Finding("exec-needs-shell", path, message)
            return
    if _SHELL_WORDS.search(command[0]):
        message = f"{clipped(command[0])} is for a shell, and none is run"
        yield Finding("exec-needs-shell", path, message)


def _runs_a_shell(command: tuple[str, ...]) -> bool:
    for word in command:
        name = word.rpartition("/")[2]
        if name in _SHELLS:
            return True
        if name not in _INTERPRETERS:
            return False
    return False


def _about_host(host: str, path: str) -> Iterator[Finding]:
    if host:
        message = (
            f"is {clipped(host)}: from the node, not from inside the container; "
            "without it the probe goes to the pod"
        )
        yield Finding("host-set", path, message)


def _about_port(container: Container, port: int | str, path: str) -> Iterator[Finding]:
    """Look at numbers only: a name that is not there is told of as such."""
    if isinstance(port, int) and all(
        each.container_port != port for each in container.ports
    ):
        message = f"is {port}, which is not among the container's ports"
        yield Finding("port-not-declared", path, message)


def _name_of(container: Container, port: int) -> str:
    return next(
        (each.name for each in container.ports if each.container_port == port), ""
    )


def _probes(container: Container) -> Iterator[tuple[str, ProbeType, Probe]]:
    for field, each in (
        ("startupProbe", ProbeType.STARTUP),
        ("livenessProbe", ProbeType.LIVENESS),
        ("readinessProbe", ProbeType.READINESS),
    ):
        if (probe := container.probe(each)) is not None:
            yield field, each, probe
