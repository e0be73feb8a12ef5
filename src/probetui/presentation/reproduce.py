"""The command that repeats a probe by hand, quoted for a shell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, unquote_to_bytes

from probetui.drive.masking import MASKED, Mask
from probetui.k8s.expansion import ExpansionTooLargeError
from probetui.k8s.pod import Container
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.expansion import expand_command
from probetui.kubelet.gates import short_id
from probetui.presentation.detail import Subject
from probetui.presentation.reach import AT_HAND, Reach
from probetui.presentation.shell_words import shell_line
from probetui.presentation.text_cells import LONGEST_TEXT
from probetui.presentation.view import View

_NO_ADDRESS = "POD_IP"
_USER_AGENT = f"kube-probe/{KubeletConfig().version}"
_NO_MASK = Mask(hides=False)

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_SPELLED_WELL = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/[\]-]|%[0-9A-Fa-f]{2})*")
_KEPT_IN_PATHS = "$&+,/:;=@~"
"""By Go, where anything in a path has to be escaped."""

_KEPT_IN_QUERIES = _KEPT_IN_PATHS + "?\"<>\\^`{|}[]!'()*%"


def reproduce(
    container: Container,
    probe: Probe,
    container_id: ContainerID,
    pod_ip: str,
    *,
    mask: Mask = _NO_MASK,
    reach: Reach = AT_HAND,
    redirects: int = 0,
) -> str:
    """Return a command for a shell on the runtime's machine, on one line.

    One that is too long to be pasted is not given, only its length. Where the pod has
    no IP at the moment it says `POD_IP`; where the runtime is none that a command line
    reaches, an exec probe's own command is all there is.

    Args:
        container: the probe's.
        probe: what is to be repeated.
        container_id: in which instance.
        pod_ip: empty for none.
        mask: what is secret: it is masked before it is quoted.
        reach: what the runtime's program has to be told.
        redirects: so many were followed, where a redirect was met.
    """
    command = _command(container, probe, container_id, pod_ip, mask, reach, redirects)
    if len(command) > LONGEST_TEXT:
        return f"# its command has {len(command)} characters, too many to be pasted"
    return command


def _command(
    container: Container,
    probe: Probe,
    container_id: ContainerID,
    pod_ip: str,
    mask: Mask,
    reach: Reach,
    redirects: int,
) -> str:
    limit = str(probe.timeout_seconds)
    match probe.handler:
        case ExecAction(command):
            env = [
                replace(each, value=mask.value(each.name, each.value))
                for each in container.env
            ]
            try:
                command = expand_command(command, env)
            except ExpansionTooLargeError:
                return ""  # The probe says so; there is nothing to run by hand.
            expanded = map(mask.text, command)
            return shell_line([*_prefix(container_id, reach), *expanded])
        case HTTPGetAction() as action:
            url = mask.text(_url(container, action, pod_ip))
            return shell_line(_curl(action, url, limit, redirects, mask))
        case TCPSocketAction(port, host):
            address = host or pod_ip or _NO_ADDRESS
            number = str(_number(container, port))
            return shell_line(["nc", "-zv", "-w", limit, address, number])
        case GRPCAction(port, service):
            return shell_line(_grpcurl(port, mask.text(service), limit, pod_ip))
        case None:
            return ""


def by_hand(subject: Subject, view: View) -> str:
    """Return the command for what is chosen, harmless; empty without a probe."""
    container, probe = subject.container, subject.probe
    if probe is None:
        return ""
    status = container.status
    return reproduce(
        container.container,
        probe.probe,
        ContainerID(status.container_id if status else ""),
        subject.pod.status.pod_ip,
        mask=view.mask,
        reach=view.reach,
    )


def needs(probe: Probe, command: str = "") -> str:
    """Return what has to be known to use the command; empty if nothing."""
    if MASKED in command:
        return f"({MASKED} stands for what is secret: put that in)"
    if isinstance(probe.handler, GRPCAction):
        return (
            "(grpcurl asks the server to describe itself, the kubelet does not: where "
            "it cannot, add -proto with the health.proto of gRPC)"
        )
    return ""


def _prefix(container_id: ContainerID, reach: Reach) -> tuple[str, ...]:
    """Return what runs a command in a container, nothing where no program does."""
    runtime, _, _ = container_id.partition("://")
    match runtime:
        case "docker":
            return ("docker", *reach.docker, "exec", short_id(container_id))
        case "containerd" | "cri-o":
            return ("crictl", *reach.cri, "exec", short_id(container_id))
        case "process":
            return ("probetui", "exec", short_id(container_id).partition("@")[0])
        case _:
            return ()


def _curl(
    action: HTTPGetAction, url: str, limit: str, redirects: int, mask: Mask
) -> Iterator[str]:
    """Yield the words of a request that is the kubelet's."""
    yield from ("curl", "-sv", "--max-time", limit)
    if action.scheme.lower() == "https":
        # The kubelet does not look at certificates either.
        yield "-k"
    # It goes straight to the pod, too, whatever proxies there are.
    yield from ("--noproxy", "*")
    if redirects:
        yield from ("-L", "--max-redirs", str(redirects))
    path = url.partition("://")[2].partition("/")[2]
    if re.search(r"[][{}]", path):
        yield "-g"
    if re.search(r"(?:^|/)[.]{1,2}(?:[/?]|$)", path):
        yield "--path-as-is"
    if all(each.name.lower() != "user-agent" for each in action.http_headers):
        yield from ("-A", _USER_AGENT)
    for header in action.http_headers:
        yield from ("-H", _header(header, mask))
    yield url


def _header(header: HTTPHeader, mask: Mask) -> str:
    """Return a header as curl takes it, which drops one that ends with its colon."""
    if header.value:
        return f"{header.name}: {mask.value(header.name, header.value)}"
    drops = header.name.lower() in {"accept", "user-agent", "host"}
    return f"{header.name}{':' if drops else ';'}"


def _url(container: Container, action: HTTPGetAction, pod_ip: str) -> str:
    scheme = action.scheme.lower() or "http"
    host = _bracketed(action.host or pod_ip or _NO_ADDRESS)
    whole = action.path if action.path.startswith(("/", "?")) else f"/{action.path}"
    path, mark, query = whole.partition("#")[0].partition("?")
    if _BROKEN_ESCAPE.search(path):
        # Quirk of the kubelet: such a path is escaped whole, question mark and all.
        path, mark, query = quote(whole, safe=_KEPT_IN_PATHS), "", ""
    elif not _SPELLED_WELL.fullmatch(path):
        path = quote(unquote_to_bytes(path), safe=_KEPT_IN_PATHS)
    query = quote(query, safe=_KEPT_IN_QUERIES)
    return f"{scheme}://{host}:{_number(container, action.port)}{path}{mark}{query}"


def _grpcurl(port: int, service: str, limit: str, pod_ip: str) -> Iterator[str]:
    yield from ("grpcurl", "-plaintext", "-max-time", limit)
    if service:
        yield from ("-d", json.dumps({"service": service}))
    yield f"{_bracketed(pod_ip or _NO_ADDRESS)}:{port}"
    yield "grpc.health.v1.Health/Check"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _number(container: Container, port: int | str) -> int | str:
    """Return the number of a port that is named; the name if nobody has it."""
    if isinstance(port, int):
        return port
    for each in container.ports:
        if each.name == port:
            return each.container_port
    return port
