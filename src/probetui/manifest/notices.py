"""What Kubernetes takes without a word and people should know all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lightkube.models import core_v1

from probetui.manifest.api_warnings import containers_with_paths
from probetui.manifest.defaults import LONGEST_SECONDS
from probetui.manifest.problem import clipped, escape


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning about a field of a pod; `rule` names it for machines."""

    path: str
    message: str
    rule: str


def notices_for(pod: core_v1.Pod) -> Iterator[Notice]:
    """Yield what is worth a warning in a pod that breaks no rule."""
    if pod.spec is None:
        return
    if not _has_probe(pod.spec):
        message = "no container has a probe, nothing will be probed"
        yield Notice("spec", message, "no-probe")
    for path, container in containers_with_paths(pod.spec):
        yield from _port_names(container, path)
        yield from _hooks(container, path)
    for path, seconds in _seconds(pod.spec):
        if seconds is not None and seconds > LONGEST_SECONDS:
            message = f"is {seconds}, counts as {LONGEST_SECONDS}, which is 68 years"
            yield Notice(path, message, "too-long")
    grace = pod.spec.terminationGracePeriodSeconds
    if grace is not None and grace < 0:
        message = f"is {grace}, counts as 1 when the pod is stopped"
        yield Notice("spec.terminationGracePeriodSeconds", message, "negative-grace")


def _seconds(spec: core_v1.PodSpec) -> Iterator[tuple[str, int | None]]:
    """Yield every length of time that may have 64 bits, with its path."""
    yield "spec.terminationGracePeriodSeconds", spec.terminationGracePeriodSeconds
    for path, container in containers_with_paths(spec):
        for name in ("livenessProbe", "startupProbe"):
            probe = getattr(container, name)
            if probe is not None:
                field = f"{path}.{name}.terminationGracePeriodSeconds"
                yield field, probe.terminationGracePeriodSeconds
        lifecycle = container.lifecycle or core_v1.Lifecycle()
        for name in ("postStart", "preStop"):
            hook = getattr(lifecycle, name)
            if hook is not None and hook.sleep is not None:
                yield f"{path}.lifecycle.{name}.sleep.seconds", hook.sleep.seconds


def _has_probe(spec: core_v1.PodSpec) -> bool:
    return any(
        container.livenessProbe or container.readinessProbe or container.startupProbe
        for _, container in containers_with_paths(spec)
    )


def _port_names(container: core_v1.Container, path: str) -> Iterator[Notice]:
    known = [each.name for each in container.ports or () if each.name]
    for field, port in _ports(container):
        if isinstance(port, str) and port not in known:
            end = "fails" if ".lifecycle." in field else "errors at every try"
            message = (
                f"{clipped(port)} is not a port name of container"
                f" {clipped(container.name)} ({_has(known)}), so the"
                f" {'hook' if '.lifecycle.' in field else 'probe'} {end}"
            )
            yield Notice(f"{path}{field}", message, "port-name")


def _ports(container: core_v1.Container) -> Iterator[tuple[str, int | str]]:
    """Yield every port that a probe or an HTTP hook dials, with its path."""
    lifecycle = container.lifecycle or core_v1.Lifecycle()
    handlers = {
        ".livenessProbe": container.livenessProbe,
        ".readinessProbe": container.readinessProbe,
        ".startupProbe": container.startupProbe,
        ".lifecycle.postStart": lifecycle.postStart,
        ".lifecycle.preStop": lifecycle.preStop,
    }
    for path, handler in handlers.items():
        if handler is None:
            continue
        if handler.httpGet is not None:
            yield f"{path}.httpGet.port", handler.httpGet.port
        if handler.tcpSocket is not None and ".lifecycle." not in path:
            yield f"{path}.tcpSocket.port", handler.tcpSocket.port


def _hooks(container: core_v1.Container, path: str) -> Iterator[Notice]:
    lifecycle = container.lifecycle or core_v1.Lifecycle()
    for name, hook in (
        ("postStart", lifecycle.postStart),
        ("preStop", lifecycle.preStop),
    ):
        if hook is not None and hook.tcpSocket is not None:
            field = f"{path}.lifecycle.{name}.tcpSocket"
            message = "is accepted by Kubernetes, but no hook can use it: it fails"
            yield Notice(field, message, "tcp-hook")


def _has(known: Iterable[str]) -> str:
    listed = ", ".join(map(escape, known))
    return f"has: {listed}" if listed else "it names none"
