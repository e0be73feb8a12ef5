"""Why a probe failed or could not be run, read from its last attempt.

The table has a row for each kind, and the first row that finds its own is the answer.
A row reads what was recorded: the exit code, the answer, what the server did that gave
none, where the container listens; and what the manifest says of the probe. Ticks of a
cluster and old records have no more than the text of the kubelet, which says most of
it in Go's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import NO_HISTORY, ContainerHistory
from probetui.analysis.timing import HELD_FOR
from probetui.k8s.pod import Container
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.runtime import ANYWHERE, ListenerScope, SocketAddress
from probetui.kubelet.journal import HookEntry, HookType, ListenersEntry, TickEntry
from probetui.kubelet.outcome import Attempt, PeerBehavior, ProbeResult
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

_TIME_OUTS = ("deadline exceeded", "timed out", "i/o timeout", "did not complete")
_NO_COMMAND = ("executable file not found", "exec: ")
_EXITED, _COMMAND_TIMED_OUT = "exit ", "timed out, "
_SHELL_FOUND_NOTHING, _SHELL_CANNOT_EXECUTE = "exit 127", "exit 126"
_CANCELED = "context canceled"
_REFUSED = "connection refused"
_UNREACHABLE = ("no route to host", "network is unreachable", "host is down")
_UNRESOLVED = re.compile(r"dial \w+: lookup ([^\s:]+)(?: on \S+)?: ")
"""Go names the server that it asked, if it asked one: `lookup web on 10.0.0.10:53`."""
_CLOSED = ("EOF", "connection reset by peer", "broken pipe", "server closed idle")
_MALFORMED = re.compile(r'malformed HTTP \w+(?: \w+)? "((?:[^"\\]|\\.)*)')
"""What Go says of an answer that is no HTTP, with how it begins."""
_NO_HTTP_2 = "error reading server preface: http2:"
_HANDSHAKE = re.compile(
    r"remote error: (tls: .+)|(tls: server selected unsupported .+)"
)
_ENDLESS_REDIRECTS = "stopped after 10 redirects"
_HEALTH_ERROR = re.compile(r"health rpc probe failed: rpc error: code = (\w+)")
_CANNOT_BE_EXECUTED = re.compile(
    r'exec: "[^"]*": (permission denied)|(?:: |^)exec /\S+: (no such file or directory'
    r"|exec format error|permission denied)"
    r'|chdir to cwd \("([^"]+)"\)'
)
"""What a runtime says of a file that it found and could not execute.

Where its kernel says so only after the runtime has let go, that is the output, with
exit code 1. The folder that it is to be run in is part of that.
"""
_TOOL_MISSING = re.compile(
    r"^(?:/bin/)?(?:ba|da|a)?sh: (?:line )?(?:\d+: )?([\w./-]+): "
    r"(?:command )?not found",
    re.MULTILINE,
)
"""What a shell says of a command in a script that goes on without it."""
_NO_TLS = (
    "server gave HTTP response to HTTPS client",
    "first record does not look like a TLS handshake",
)
_TLS_RECORD = re.compile(r'malformed HTTP response "\\x1[56]\\x03')
"""What Go says of the first bytes of TLS: an alert or a handshake record."""

_TLS_WANTED = re.compile(
    r"HTTP request (?:was sent )?to (?:an )?HTTPS"
    r"|plain HTTP to an SSL-enabled|This combination of host and port requires TLS"
    r"|HTTP requests? to an? (?:HTTPS|TLS|SSL)",
    re.IGNORECASE,
)
"""What servers answer in plain HTTP at a port of TLS: Go, nginx, Apache, Tomcat."""

_STATUS = re.compile(r"HTTP probe failed with statuscode: (\d+)")
_REQUESTED = re.compile(r'Get "([^"\\]+)": ')
_HOOK_EXITED = re.compile(r"^command '.*' exited with (\d+): ", re.DOTALL)
_UNSET = re.compile(
    r"\b([A-Za-z_][A-Za-z0-9_]*): (?:unbound variable|parameter not set)"
)
"""What shells say of a variable that is not set, where `set -u` is on."""

_NOT_SERVING = "service unhealthy"
_NO_SERVICE = "does not implement the grpc health protocol"
_UNKNOWN_SERVICE = "code = NotFound"


class FailedProbe(Struct, frozen=True):
    """What is known of an attempt that did not succeed.

    Attributes:
        attempt: the attempt.
        probe: its definition, None if that is not known.
        container: the container's definition, None if that is not known.
        listeners: where the container listened when a connection was refused.
        rules: those of the kubelet's version.
        is_hook: a lifecycle hook failed, which is made a probe of the same handler.
    """

    attempt: Attempt
    probe: Probe | None = None
    container: Container | None = None
    listeners: ListenersEntry | None = None
    rules: KubeletRules = PORTED_RULES
    is_hook: bool = False

    @property
    def handler(self) -> ProbeHandler | None:
        """What the probe does."""
        return None if self.probe is None else self.probe.handler

    @property
    def is_command(self) -> bool:
        """Whether a command failed, and not a connection of ours."""
        if self.attempt.refused_at is not None:
            return False
        if self.handler is None:
            return self.attempt.detail.startswith((_EXITED, _COMMAND_TIMED_OUT))
        return isinstance(self.handler, ExecAction)

    @property
    def text(self) -> str:
        """What was said of it: its error or its output."""
        attempt = self.attempt
        return attempt.output if attempt.error is None else attempt.error

    @property
    def has_timed_out(self) -> bool:
        """Whether it took longer than it may."""
        is_command = self.attempt.detail.startswith(_COMMAND_TIMED_OUT)
        return is_command or any(words in self.text for words in _TIME_OUTS)

    @property
    def is_refused(self) -> bool:
        """Whether the connection was refused."""
        return self.attempt.refused_at is not None or (
            not self.is_command and _REFUSED in self.text.lower()
        )


class ProbeFailure(Struct, frozen=True):
    """Why a probe failed; each kind has what its sentence needs.

    Attributes:
        kind: the kind of cause.
        failed: what is known of the attempt.
        name: a host, a port or a status that it is about, or what is wrong with a
            variable.
        because: why what a redirect leads to failed.
    """

    kind: CauseKind
    failed: FailedProbe
    name: str = ""
    because: ProbeFailure | None = None


Row = Callable[[FailedProbe], ProbeFailure | None]
"""Returns the failure of its kind, None if it is of another."""


def probe_failure(failed: FailedProbe) -> ProbeFailure | None:
    """Return why an attempt failed, errored or was redirected; None for a success."""
    if failed.attempt.result is ProbeResult.SUCCESS:
        return None
    return _first_of(_ROWS, failed)


def tick_failure(
    tick: TickEntry,
    container: Container | None,
    history: ContainerHistory = NO_HISTORY,
    rules: KubeletRules = PORTED_RULES,
) -> ProbeFailure | None:
    """Return why the last attempt of a tick failed, None if it did not.

    Args:
        tick: the tick.
        container: the container's definition, None if that is not known.
        history: that of the container, for where it listened.
        rules: those of the kubelet's version.
    """
    if not tick.attempts:
        return None
    failed = FailedProbe(
        tick.attempts[-1],
        None if container is None else container.probe(tick.key.probe_type),
        container,
        history.listeners(tick),
        rules,
    )
    if tick.overridden.injected:
        return ProbeFailure(CauseKind.RESULT_INJECTED, failed)
    return probe_failure(failed)


def hook_failure(
    hook: HookEntry,
    container: Container | None = None,
    rules: KubeletRules = PORTED_RULES,
) -> ProbeFailure | None:
    """Return why a lifecycle hook failed, None if no more is known than its error."""
    if hook.error is None:
        return None
    handler = None
    if container is not None:
        is_first = hook.hook is HookType.POST_START
        handler = container.post_start if is_first else container.pre_stop
    probe = None
    if isinstance(handler, ExecAction | HTTPGetAction):
        probe = Probe(handler)
    exited = _HOOK_EXITED.search(hook.error)
    attempt = Attempt(
        ProbeResult.FAILURE,
        hook.error,
        duration=(hook.ended_at or hook.at) - hook.started_at,
        detail="" if exited is None else f"{_EXITED}{exited[1]}",
        peer=hook.peer,
    )
    failed = FailedProbe(attempt, probe, container, rules=rules, is_hook=True)
    rows = _COMMAND_ROWS if failed.is_command else (_port_name_unknown, *_ANSWER_ROWS)
    failure = _first_of(rows, failed)
    is_known = failure.kind is not CauseKind.PROBE_FAILED
    return failure if is_known else None


def _first_of(rows: tuple[Row, ...], failed: FailedProbe) -> ProbeFailure:
    for row in rows:
        if (failure := row(failed)) is not None:
            return failure
    return ProbeFailure(CauseKind.PROBE_FAILED, failed)


# -- what could not be run


def _port_name_unknown(failed: FailedProbe) -> ProbeFailure | None:
    handler, container = failed.handler, failed.container
    has_run = failed.attempt.error is None and not failed.is_hook
    if has_run or container is None:
        return None
    match handler:
        case HTTPGetAction(port=str(name)) | TCPSocketAction(port=str(name)):
            pass
        case _:
            return None
    if name.isdigit() or any(port.name == name for port in container.ports):
        return None
    return ProbeFailure(CauseKind.PORT_NAME_UNKNOWN, failed, name)


def _canceled(failed: FailedProbe) -> ProbeFailure | None:
    """Find a command that the kubelet does not run in a pod that is being deleted.

    Source: kubelet_rules.py, `cancels_exec_on_deletion`; k/k#140881.
    """
    is_canceled = _CANCELED in (failed.attempt.error or "") and failed.is_command
    if not (is_canceled and failed.rules.cancels_exec_on_deletion):
        return None
    return ProbeFailure(CauseKind.EXEC_CANCELED, failed)


def _error(failed: FailedProbe) -> ProbeFailure | None:
    """Find an error of the runtime or of this machine, never of the container."""
    attempt = failed.attempt
    if attempt.error is None:
        return None
    if failed.is_command:
        if failed.has_timed_out:
            return _held_open(failed) or ProbeFailure(CauseKind.TIMED_OUT, failed)
        return ProbeFailure(CauseKind.RUNTIME_ERROR, failed)
    if attempt.detail.startswith("HTTP "):  # The head came, and the body did not.
        is_late = failed.has_timed_out
        kind = CauseKind.TIMED_OUT if is_late else CauseKind.CONNECTION_RESET
        return ProbeFailure(kind, failed)
    is_known = failed.handler is not None
    kind = CauseKind.PROBE_NOT_SENT if is_known else CauseKind.PROBE_FAILED
    return ProbeFailure(kind, failed)


# -- commands


def _command_not_executable(failed: FailedProbe) -> ProbeFailure | None:
    attempt = failed.attempt
    said = attempt.output if attempt.error is None else attempt.error
    if not (failed.is_command or failed.is_hook):
        return None
    match = _CANNOT_BE_EXECUTED.search(said)
    if match is None:
        return None
    why = match[1] or match[2] or match[3]
    return ProbeFailure(CauseKind.COMMAND_NOT_EXECUTABLE, failed, why)


def _command_not_found(failed: FailedProbe) -> ProbeFailure | None:
    attempt = failed.attempt
    error = (attempt.output if failed.is_hook else attempt.error or "").lower()
    if attempt.is_missing or any(words in error for words in _NO_COMMAND):
        return ProbeFailure(CauseKind.COMMAND_NOT_FOUND, failed)
    return None


def _held_open(failed: FailedProbe) -> ProbeFailure | None:
    """Find a command that its runtime waited for beyond its time limit."""
    probe, attempt = failed.probe, failed.attempt
    if probe is None or not (failed.is_command and failed.has_timed_out):
        return None
    limit = timedelta(seconds=probe.timeout_seconds)
    if attempt.duration - limit < HELD_FOR:
        return None
    return ProbeFailure(CauseKind.OUTPUT_HELD_OPEN, failed)


def _variable_not_expanded(failed: FailedProbe) -> ProbeFailure | None:
    handler, container = failed.handler, failed.container
    has_exited = failed.is_command and not failed.has_timed_out
    if not isinstance(handler, ExecAction) or container is None or not has_exited:
        return None
    # Late: only what failed is looked at so closely.
    from probetui.analysis.probe_commands import find_in_command  # noqa: PLC0415

    for rule, message in find_in_command(
        handler.command, container.env, is_hook=failed.is_hook
    ):
        if rule == "variable-not-expanded":
            return ProbeFailure(CauseKind.VARIABLE_NOT_EXPANDED, failed, message)
    if match := _UNSET.search(failed.attempt.output):
        message = f"the shell has no variable {match[1]}"
        return ProbeFailure(CauseKind.VARIABLE_NOT_EXPANDED, failed, message)
    return None


def _command_failed(failed: FailedProbe) -> ProbeFailure | None:
    if not failed.is_command:
        return None
    if failed.has_timed_out:
        return ProbeFailure(CauseKind.TIMED_OUT, failed)
    if failed.attempt.detail == _SHELL_FOUND_NOTHING:
        return ProbeFailure(CauseKind.COMMAND_NOT_FOUND, failed)
    if failed.attempt.detail == _SHELL_CANNOT_EXECUTE:
        return ProbeFailure(CauseKind.COMMAND_NOT_EXECUTABLE, failed)
    if match := _TOOL_MISSING.search(failed.attempt.output):
        return ProbeFailure(CauseKind.COMMAND_NOT_FOUND, failed, match[1])
    return ProbeFailure(CauseKind.COMMAND_FAILED, failed, _doubtful_variable(failed))


def _doubtful_variable(failed: FailedProbe) -> str:
    """Return a variable of a shell's script that only the image can set, or empty."""
    handler, container = failed.handler, failed.container
    if not isinstance(handler, ExecAction) or container is None:
        return ""
    # Late: only what failed is looked at so closely.
    from probetui.analysis.probe_commands import undefined_variable  # noqa: PLC0415

    is_known = bool(container.env_from)
    return "" if is_known else undefined_variable(handler.command, container.env)


# -- answers


def _wants_tls(failed: FailedProbe) -> ProbeFailure | None:
    """Find a server that speaks TLS, by its first bytes, its words or its handshake."""
    attempt, handler = failed.attempt, failed.handler
    answer = attempt.http
    said = attempt.output if answer is None else f"{attempt.output}{answer.body}"
    is_https = isinstance(handler, HTTPGetAction) and handler.scheme == "HTTPS"
    is_tls = attempt.peer is PeerBehavior.TLS or (
        not is_https and (_TLS_RECORD.search(said) or _TLS_WANTED.search(said))
    )
    return ProbeFailure(CauseKind.PORT_SPEAKS_TLS, failed) if is_tls else None


def _speaks_plain(failed: FailedProbe) -> ProbeFailure | None:
    attempt = failed.attempt
    is_plain = attempt.peer is PeerBehavior.PLAIN or any(
        words in attempt.output for words in _NO_TLS
    )
    return ProbeFailure(CauseKind.PORT_SPEAKS_PLAIN, failed) if is_plain else None


def _tls_refused(failed: FailedProbe) -> ProbeFailure | None:
    match = _HANDSHAKE.search(failed.attempt.output)
    if match is None:
        return None
    return ProbeFailure(CauseKind.TLS_REFUSED, failed, match[1] or match[2])


def _speaks_other(failed: FailedProbe) -> ProbeFailure | None:
    """Find an answer in another protocol; its name is how it begins, if that is known.

    TLS is found before.
    """
    match = _MALFORMED.search(failed.attempt.output)
    is_other = failed.attempt.peer is PeerBehavior.OTHER
    if match is None and not is_other and _NO_HTTP_2 not in failed.attempt.output:
        return None
    begins = "" if match is None else match[1]
    return ProbeFailure(CauseKind.PORT_SPEAKS_OTHER, failed, begins)


def _redirect_not_followed(failed: FailedProbe) -> ProbeFailure | None:
    if failed.attempt.result is not ProbeResult.WARNING:
        return None
    return ProbeFailure(CauseKind.REDIRECT_NOT_FOLLOWED, failed)


def _redirect_followed(failed: FailedProbe) -> ProbeFailure | None:
    """Find a redirect that led to where no answer came.

    The kubelet's text names the last URL that was requested, which is all that ticks
    of a cluster have of it.
    """
    attempt = failed.attempt
    if attempt.http is not None:
        return None
    if _ENDLESS_REDIRECTS in attempt.output:
        last = attempt.followed[-1].location if attempt.followed else ""
        return ProbeFailure(CauseKind.REDIRECT_FOLLOWED, failed, last)
    requested = _REQUESTED.search(attempt.output)
    is_elsewhere = requested is not None and _is_elsewhere(requested[1], failed)
    if not attempt.followed and not is_elsewhere:
        return None
    target = replace(failed, probe=None)
    name = "" if requested is None else requested[1]
    because = _first_of(_ANSWER_ROWS, target)
    return ProbeFailure(CauseKind.REDIRECT_FOLLOWED, failed, name, because)


def _is_elsewhere(url: str, failed: FailedProbe) -> bool:
    """Return whether a URL is not the one that a probe requests at first."""
    handler, container = failed.handler, failed.container
    if not isinstance(handler, HTTPGetAction) or container is None:
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    numbers: set[int | str] = {
        declared.container_port
        for declared in container.ports
        if handler.port in {declared.name, declared.container_port}
    } or {handler.port}
    if not all(isinstance(number, int) for number in numbers):
        return False
    scheme = handler.scheme.lower() or "http"
    return parts.scheme != scheme or port not in numbers


def _http_status(failed: FailedProbe) -> ProbeFailure | None:
    answer = failed.attempt.http
    said = _STATUS.search(failed.attempt.output) or re.fullmatch(
        r"HTTP (\d{3})", failed.attempt.detail
    )
    if answer is None and said is None:
        return None
    status = said[1] if answer is None and said is not None else ""
    return ProbeFailure(
        CauseKind.HTTP_STATUS, failed, status or str(answer.status if answer else "")
    )


def _grpc_answer(failed: FailedProbe) -> ProbeFailure | None:
    output = failed.attempt.output
    if match := _HEALTH_ERROR.search(output):
        return ProbeFailure(CauseKind.GRPC_NOT_SERVING, failed, match[1])
    if _NOT_SERVING in output or _UNKNOWN_SERVICE in output:
        return ProbeFailure(CauseKind.GRPC_NOT_SERVING, failed)
    if _NO_SERVICE in output:
        return ProbeFailure(CauseKind.GRPC_NO_HEALTH_SERVICE, failed)
    return None


# -- connections


def _host_not_resolved(failed: FailedProbe) -> ProbeFailure | None:
    match = _UNRESOLVED.search(failed.attempt.output)
    if match is None:
        return None
    return ProbeFailure(CauseKind.HOST_NOT_RESOLVED, failed, match[1])


def _port_is_udp(failed: FailedProbe) -> ProbeFailure | None:
    container, handler = failed.container, failed.handler
    if container is None or not failed.is_refused:
        return None
    match handler:
        case (
            HTTPGetAction(port=port)
            | TCPSocketAction(port=port)
            | GRPCAction(port=port)
        ):
            pass
        case _:
            return None
    protocols = {
        declared.protocol
        for declared in container.ports
        if port in {declared.name, declared.container_port}
    }
    if not protocols or "TCP" in protocols:
        return None
    name = f"{port} is declared as {', '.join(sorted(protocols))}"
    return ProbeFailure(CauseKind.PORT_IS_UDP, failed, name)


def _refused(failed: FailedProbe) -> ProbeFailure | None:
    if not failed.is_refused:
        return None
    kind = CauseKind.CONNECTION_REFUSED
    if failed.attempt.is_forwarded:
        kind = CauseKind.NOTHING_LISTENS
    entry = failed.listeners
    if entry is not None and entry.listeners is not None:
        kind = _by_listeners(entry)
    return ProbeFailure(kind, failed)


def _by_listeners(entry: ListenersEntry) -> CauseKind:
    listeners, there = entry.listeners, entry.refused_at
    assert listeners is not None, "the caller's condition"  # noqa: S101  # for the type
    on_port = [
        endpoint for endpoint in listeners.endpoints if endpoint.port == there.port
    ]
    if any(reaches(endpoint, there) for endpoint in on_port):
        return CauseKind.CONNECTION_REFUSED
    if on_port:
        is_local = all(_is_loopback(endpoint.address) for endpoint in on_port)
        if is_local:
            return CauseKind.LISTENS_ON_LOOPBACK
        return CauseKind.LISTENS_ELSEWHERE
    is_own = listeners.extent is ListenerScope.CONTAINER
    if listeners.endpoints and is_own:
        return CauseKind.LISTENS_ELSEWHERE
    return CauseKind.NOTHING_LISTENS


def reaches(listener: SocketAddress, target: SocketAddress) -> bool:
    """Return whether what listens at one address accepts connections to another."""
    return listener.address in ANYWHERE or listener.address == target.address


def _is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


def _unreachable(failed: FailedProbe) -> ProbeFailure | None:
    if not any(words in failed.attempt.output for words in _UNREACHABLE):
        return None
    return ProbeFailure(CauseKind.HOST_UNREACHABLE, failed)


def _closed(failed: FailedProbe) -> ProbeFailure | None:
    attempt = failed.attempt
    is_closed = attempt.peer is PeerBehavior.CLOSES or any(
        words in attempt.output for words in _CLOSED
    )
    return ProbeFailure(CauseKind.CONNECTION_RESET, failed) if is_closed else None


def _late(failed: FailedProbe) -> ProbeFailure | None:
    return ProbeFailure(CauseKind.TIMED_OUT, failed) if failed.has_timed_out else None


_ANSWER_ROWS: tuple[Row, ...] = (
    _wants_tls,
    _speaks_plain,
    _tls_refused,
    _speaks_other,
    _redirect_not_followed,
    _http_status,
    _grpc_answer,
    _host_not_resolved,
    _port_is_udp,
    _refused,
    _unreachable,
    _closed,
    _late,
)

_ROWS: tuple[Row, ...] = (
    _command_not_executable,
    _command_not_found,
    _port_name_unknown,
    _canceled,
    _error,
    _held_open,
    _variable_not_expanded,
    _command_failed,
    _redirect_followed,
    *_ANSWER_ROWS,
)
"""A row for each kind, the most telling one first."""

_COMMAND_ROWS: tuple[Row, ...] = (
    _command_not_executable,
    _command_not_found,
    _variable_not_expanded,
)
"""Those of a hook's command, whose exit code and output its error has."""
