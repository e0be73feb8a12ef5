"""Build the command that repeats a probe by hand, quoted for a shell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.environment import ExpansionTooLargeError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    TCPSocketAction,
)
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.kubelet.kuberuntime.expansion import expand_command
from probetui.kubelet.prober.gates import short_id
from probetui.kubelet.runtime.go_format import to_bytes
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.record.masking import MASKED, Mask
from probetui.safe_text import is_combining, safe_line

_LONGEST_COMMAND = 12_000
"""In characters; a longer command is too long to be pasted."""

_NO_ADDRESS = "POD_IP"
_NO_MASK = Mask(hides=False)

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_SPELLED_WELL = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/[\]-]|%[0-9A-Fa-f]{2})*")
_KEPT_IN_PATHS = "$&+,/:;=@~"
"""What Go leaves unescaped when it escapes a path."""

_KEPT_IN_QUERIES = _KEPT_IN_PATHS + "?\"<>\\^`{|}[]!'()*%"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class CommandLineReach(Struct, frozen=True):
    """The connection options of `docker`, `crictl` and `kubectl exec`.

    `kubectl` is None unless the pods are a cluster's, whose runtime is out of reach.
    """

    docker: tuple[str, ...] = ()
    cri: tuple[str, ...] = ()
    kubectl: tuple[str, ...] | None = None

    @classmethod
    def by(
        cls,
        *,
        host: str | None = None,
        context: str | None = None,
        runtime_endpoint: str | None = None,
    ) -> CommandLineReach:
        """Return the options for the endpoint that a session uses.

        Args:
            host: the Docker host, None for the default.
            context: the Docker context, None for the default; `host` wins.
            runtime_endpoint: the CRI socket, None for the default.
        """
        if host:
            docker: tuple[str, ...] = ("-H", host)
        else:
            docker = ("--context", context) if context else ()
        return cls(docker, ("-r", runtime_endpoint) if runtime_endpoint else ())


LOCAL_REACH = CommandLineReach()


def reproduce_command(
    container: Container,
    probe: Probe,
    container_id: ContainerID,
    pod_ip: str,
    *,
    pod: Pod | None = None,
    mask: Mask = _NO_MASK,
    reach: CommandLineReach = LOCAL_REACH,
    redirects: Sequence[str] = (),
    rules: KubeletRules = PORTED_RULES,
) -> str:
    """Return a shell command for the runtime's machine, on one line.

    A command that is too long to paste is replaced by a comment with its length. A pod
    without an IP has `POD_IP` in its place. For a runtime without a command-line
    client, the command of an exec probe is returned as it is.

    Args:
        container: the probe's container.
        probe: the probe to repeat.
        container_id: the instance to run an exec probe in.
        pod_ip: empty if the pod has none.
        pod: the container's pod, by whose name kubectl finds it.
        mask: masks secrets, before quoting.
        reach: connection options of the runtime's client.
        redirects: the locations of the redirects that were followed.
        rules: those of the kubelet's version; they give the user agent.
    """
    command = _command(
        container,
        probe,
        container_id,
        pod_ip,
        pod,
        mask,
        reach,
        redirects,
        rules.probe_user_agent,
    )
    if len(command) > _LONGEST_COMMAND:
        return f"# command too long to paste ({len(command)} characters)"
    return command


def _command(
    container: Container,
    probe: Probe,
    container_id: ContainerID,
    pod_ip: str,
    pod: Pod | None,
    mask: Mask,
    reach: CommandLineReach,
    redirects: Sequence[str],
    user_agent: str,
) -> str:
    limit = str(probe.timeout_seconds)
    match probe.handler:
        case ExecAction() if container_id == NO_CONTAINER:
            return ""  # Outside its container the command means something else.
        case ExecAction(command):
            env = [
                replace(var, value=mask.value(var.name, var.value))
                for var in container.env
            ]
            try:
                command = expand_command(command, env)
            except ExpansionTooLargeError:
                return ""  # The probe reports it; there is no command to run by hand.
            expanded = map(mask.text, command)
            prefix = _exec_prefix(container, container_id, pod, reach)
            return quote_shell_line([*prefix, *expanded])
        case HTTPGetAction() as action:
            url = mask.text(_url(container, action, pod_ip))
            return quote_shell_line(
                _curl(action, url, limit, redirects, mask, user_agent)
            )
        case TCPSocketAction(port, host):
            address = host or pod_ip or _NO_ADDRESS
            number = str(_port_number(container, port))
            return quote_shell_line(["nc", "-zv", "-w", limit, address, number])
        case GRPCAction(service=service) as action:
            return quote_shell_line(_grpcurl(action, mask.text(service), limit, pod_ip))
        case None:
            return ""


def command_note(probe: Probe, command: str = "") -> str:
    """Return a remark about the use of a command, empty if it needs none."""
    if MASKED in command:
        return f"({MASKED} replaces a secret: fill in its value)"
    if isinstance(probe.handler, GRPCAction):
        return (
            "(grpcurl needs server reflection, the kubelet does not; without it, add "
            "-proto with gRPC's health.proto)"
        )
    return ""


def _exec_prefix(
    container: Container,
    container_id: ContainerID,
    pod: Pod | None,
    reach: CommandLineReach,
) -> tuple[str, ...]:
    """Return the words that run a command in a container, empty if none can."""
    if reach.kubectl is not None:
        if pod is None:
            return ()
        target = ("-n", pod.namespace, pod.name, "-c", container.name)
        return ("kubectl", "exec", *reach.kubectl, *target, "--")
    if container_id.startswith("process://"):
        return ("probetui", "exec", short_id(container_id).partition("@")[0])
    return engine_exec_command(container_id, reach)


def engine_exec_command(
    container_id: ContainerID, reach: CommandLineReach, *options: str
) -> tuple[str, ...]:
    """Return the engine's client and options that run the command that follows.

    Empty for a container of no engine, such as a plain process.

    Args:
        container_id: the container to run it in.
        reach: connection options of the client.
        options: options of its `exec`.
    """
    runtime, _, _ = container_id.partition("://")
    match runtime:
        case "docker":
            program = ("docker", *reach.docker)
        case "containerd" | "cri-o":
            program = ("crictl", *reach.cri)
        case _:
            return ()
    return (*program, "exec", *options, short_id(container_id))


def _curl(
    action: HTTPGetAction,
    url: str,
    limit: str,
    redirects: Sequence[str],
    mask: Mask,
    user_agent: str,
) -> Iterator[str]:
    """Yield the words of a curl command that sends the kubelet's request."""
    yield from ("curl", "-sv", "--max-time", limit)
    leads_to_tls = any(place.lower().startswith("https:") for place in redirects)
    if action.scheme.lower() == "https" or leads_to_tls:
        # The kubelet does not verify certificates either.
        yield "-k"
    if action.uses_http2 and action.scheme.lower() != "https":
        yield "--http2-prior-knowledge"
    # The kubelet ignores proxies, too.
    yield from ("--noproxy", "*")
    if redirects:
        yield from ("-L", "--max-redirs", str(len(redirects)))
    path = url.partition("://")[2].partition("/")[2]
    if re.search(r"[][{}]", path):
        yield "-g"
    if re.search(r"(?:^|/)[.]{1,2}(?:[/?]|$)", path):
        yield "--path-as-is"
    if all(
        http_header.name.lower() != "user-agent" for http_header in action.http_headers
    ):
        yield from ("-A", user_agent)
    for header in action.http_headers:
        yield from ("-H", _header(header, mask))
    yield url


def _header(header: HTTPHeader, mask: Mask) -> str:
    """Format a header for curl, which drops one that has nothing after its colon."""
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
        # Quirk of the kubelet: it escapes such a path as a whole, with the query.
        path, mark, query = quote(whole, safe=_KEPT_IN_PATHS), "", ""
    elif not _SPELLED_WELL.fullmatch(path):
        path = quote(unquote_to_bytes(path), safe=_KEPT_IN_PATHS)
    query = quote(query, safe=_KEPT_IN_QUERIES)
    return (
        f"{scheme}://{host}:{_port_number(container, action.port)}{path}{mark}{query}"
    )


def _grpcurl(
    action: GRPCAction, service: str, limit: str, pod_ip: str
) -> Iterator[str]:
    security = "-insecure" if action.uses_tls else "-plaintext"
    yield from ("grpcurl", security, "-max-time", limit)
    if service:
        yield from ("-d", json.dumps({"service": service}))
    yield f"{_bracketed(pod_ip or _NO_ADDRESS)}:{action.port}"
    yield "grpc.health.v1.Health/Check"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _port_number(container: Container, port: int | str) -> int | str:
    """Resolve a named port; return the name if the container does not declare it."""
    if isinstance(port, int):
        return port
    for container_port in container.ports:
        if container_port.name == port:
            return container_port.container_port
    return port


def quote_shell_line(words: Iterable[str]) -> str:
    """Quote words as one line that bash, zsh and ksh split into the same words.

    A word with characters that are unsafe to print is written as `$'…'`: a terminal
    has no control sequence to obey, printing it needs no further escapes, and a script
    of several lines can be pasted.
    """
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if safe_line(word, limit=None) == word:
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    if (escape := _ESCAPES.get(character)) is not None:
        return escape
    if safe_line(character) == character and not is_combining(character):
        return character
    return "".join(f"\\x{byte:02x}" for byte in to_bytes(character))
