"""Init containers that wait for a Service whose pods cannot be ready before they end.

A pod is ready once its init containers have ended. One that waits for a Service of its
own pod, or for a pod that waits for it in turn, waits for ever.

What waits is guessed from commands: a program that is known to connect, and the name of
a Service where that program has a host. A name that is looked up counts only of a
headless Service, as any other one has an address from the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from probetui.analysis.findings import Finding
from probetui.analysis.probe_commands import shell_script
from probetui.k8s.pod import Container, Pod
from probetui.k8s.service import Service
from probetui.manifest.problem import quote_short

INIT_WAITS = "init-waits-for-service"

_CONNECTS = re.compile(
    r"(?:^|[\s!(/])(?:nc|ncat|netcat|telnet|curl|wget|(?:k8s-)?wait-for(?:-it)?(?:\.sh)?|"
    r"wait4x|dockerize|pg_isready|mysqladmin|redis-cli|grpc_health_probe)(?=\s)|/dev/tcp/"
)
_LOOKS_UP = re.compile(r"(?:^|[\s!(/])(?:nslookup|dig|host|getent)(?=\s)")
_ENDS_OF_COMMANDS = re.compile(r"[;\n]|&&|\|\|?|\b(?:do|then|else)\b")
_CONDITIONAL = re.compile(r"\s*(?:el)?if\b")
_GIVES_UP = re.compile(r"\|\|\s*(?:true|:|echo)(?![\w-])")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")


class _Wait(Struct, frozen=True):
    """An init container that waits for a Service."""

    pod: Pod
    index: int
    field: str
    service: Service


def init_wait_findings(
    pods: Sequence[Pod], services: Sequence[Service]
) -> Iterator[tuple[Pod, Finding]]:
    """Yield each init container that waits for ever, with its pod.

    Args:
        pods: all pods of the manifests.
        services: all Services of the manifests.
    """
    waits = [wait for pod in pods for wait in _waits_of(pod, services)]
    waiting = {id(wait.pod) for wait in waits}
    selected = {
        id(service): [pod for pod in pods if service.selects(pod)]
        for service in services
    }
    while True:
        stuck = {id(wait.pod) for wait in waits if _is_stuck(wait, selected, waiting)}
        if stuck == waiting:
            break
        waiting = stuck
    for wait in waits:
        if _is_stuck(wait, selected, waiting):
            path = f"spec.initContainers[{wait.index}].{wait.field}"
            others = selected[id(wait.service)]
            yield wait.pod, Finding(INIT_WAITS, path, _message(wait, others))


def _is_stuck(
    wait: _Wait, selected: Mapping[int, Sequence[Pod]], waiting: set[int]
) -> bool:
    """Return whether no pod of a Service can be ready before the wait is over."""
    endpoints = selected[id(wait.service)]
    return bool(endpoints) and all(id(pod) in waiting for pod in endpoints)


def _message(wait: _Wait, endpoints: Sequence[Pod]) -> str:
    name = quote_short(wait.service.name)
    if all(pod is wait.pod for pod in endpoints):
        return (
            f"waits for the Service {name}, which selects this pod alone: it is not "
            "ready before its init containers have ended"
        )
    names = ", ".join(dict.fromkeys(quote_short(pod.name) for pod in endpoints))
    return (
        f"waits for the Service {name}, whose pods ({names}) cannot be ready before: "
        "they wait in init containers as well, for one another"
    )


def _waits_of(pod: Pod, services: Sequence[Service]) -> Iterator[_Wait]:
    for index, container in enumerate(pod.init_containers):
        if container.is_sidecar:
            continue
        commands = list(_commands(container))
        for service in services:
            if service.namespace != pod.namespace or service.publishes_not_ready:
                continue
            if any(_waits_for(command, service) for command in commands):
                field = "command" if container.command else "args"
                yield _Wait(pod, index, field, service)


def _commands(container: Container) -> Iterator[str]:
    """Yield the simple commands of a container, with the variables that it sets."""
    words = [*container.command, *container.args]
    if not container.command:  # Images are named after the program that they run.
        words.insert(0, container.image.rpartition("/")[2].partition(":")[0])
    values = {variable.name: variable.value for variable in container.env}

    def expand(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2] or match[3]) or match[0]

    script = _VARIABLE.sub(expand, shell_script(words) or " ".join(words))
    if _GIVES_UP.search(script):
        return
    for command in _ENDS_OF_COMMANDS.split(script.replace("\\\n", " ")):
        if not _CONDITIONAL.match(command):
            yield command


def _waits_for(command: str, service: Service) -> bool:
    tool = _CONNECTS.search(command)
    if tool is None and service.is_headless:
        tool = _LOOKS_UP.search(command)
    if tool is None:
        return False
    namespace = re.escape(service.namespace)
    name = (
        rf"(?:^|[\s'\"@=]|//|/dev/tcp/){re.escape(service.name)}"
        rf"(?:\.{namespace}(?:\.svc(?:\.[\w.-]+)?)?)?(?=[:/\s'\"]|$)"
    )
    return re.search(name, command[tool.start() :]) is not None
