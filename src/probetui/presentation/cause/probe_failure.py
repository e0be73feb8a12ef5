"""Why a probe failed, as a clause that follows what the probe did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urljoin, urlsplit

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_failure import FailedProbe, ProbeFailure
from probetui.analysis.probe_commands import shell_script
from probetui.durations import format_duration
from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, GRPCAction
from probetui.kubelet.outcome import HTTPAnswer, Redirect
from probetui.kubelet_rules import ROWS
from probetui.presentation.container.exits import signal_name
from probetui.presentation.probe.refusals import refusal_text
from probetui.presentation.text.view import View

_DEFAULT_TIMEOUT = 1
_DIAL_TIMED_OUT = re.compile(
    r"dial tcp [^:]*:\d+: (?:connect: )?(?:i/o|connection time)"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_GRPC_TLS = ROWS["grpc_mode"].gate
_LONGEST_LINE = 200
_LONGEST_BEGIN = 40
_CLIENT_CERTIFICATE = ("certificate required", "bad certificate")

_Clause = Callable[[ProbeFailure, View], str]


def failure_clause(failure: ProbeFailure, view: View) -> str:
    """Return why a probe failed, without a full stop; empty if no more is known."""
    return _CLAUSES[failure.kind](failure, view)


def first_line(text: str) -> str:
    """Return the first line of a text that says something, shortened."""
    lines = (line.strip() for line in text.splitlines())
    return next(filter(None, lines), "")[:_LONGEST_LINE]


def _nothing_more(_failure: ProbeFailure, _view: View) -> str:
    return ""


# -- connections


def _refused(failure: ProbeFailure, view: View) -> str:
    failed = failure.failed
    looked = failed.listeners
    if looked is not None:
        return view.safe(refusal_text(looked))
    if failed.attempt.is_forwarded:
        text = "nothing listens on that port at 127.0.0.1"
    else:
        text = (
            "nothing listens at that address and port: the program may not be up yet, "
            "listen on another port, or only on 127.0.0.1, which the pod's IP does not "
            "reach"
        )
    return f"{text}{_declared(failed.container)}"


def _declared(container: Container | None) -> str:
    if container is None or not container.ports:
        return ""
    ports = ", ".join(str(port.container_port) for port in container.ports)
    return f"; the container declares {ports}"


def _udp(failure: ProbeFailure, view: View) -> str:
    looked = failure.failed.listeners
    more = ""
    if looked is not None and looked.listeners is not None:
        more = f"; {view.safe(refusal_text(looked))}"
    name = view.safe(failure.name)
    return f"the port {name}, and a probe connects by TCP{more}"


def _tls(failure: ProbeFailure, _view: View) -> str:
    failed = failure.failed
    match failed.handler:
        case GRPCAction() if not failed.rules.grpc_mode:
            before = "" if _GRPC_TLS is None else f" before {_GRPC_TLS.first}"
            return f"the port speaks TLS, and gRPC probes speak no TLS{before}"
        case GRPCAction():
            return "the port speaks TLS: mode TLS makes the probe speak it as well"
        case _:
            who = "hook" if failed.is_hook else "probe"
            return f"the port speaks TLS: scheme HTTPS makes the {who} speak it as well"


def _plain(failure: ProbeFailure, _view: View) -> str:
    if isinstance(failure.failed.handler, GRPCAction):
        return "the port does not speak TLS, which mode TLS makes the probe speak"
    who = "hook" if failure.failed.is_hook else "probe"
    return f"the port does not speak TLS, which scheme HTTPS makes the {who} speak"


_HTTP_2_SETTINGS = re.compile(r"\\x00\\x00(?:\\x[0-9a-f]{2}|.)\\x04")
"""The head of SETTINGS, with which a server of HTTP/2 begins, as Go quotes it."""


def _speaks_other(failure: ProbeFailure, view: View) -> str:
    if isinstance(failure.failed.handler, GRPCAction):
        return (
            "what listens there answers, and not in HTTP/2, which gRPC is: a port of "
            "plain HTTP needs httpGet"
        )
    begins = failure.name
    if _HTTP_2_SETTINGS.match(begins):
        return (
            "the port answers in HTTP/2, as a gRPC server does: a gRPC health service "
            "needs a grpc probe"
        )
    return (
        f'what listens there answers "{view.safe(begins)[:_LONGEST_BEGIN]}", which is '
        "no HTTP: the port is one of another protocol, for which tcpSocket or exec is "
        "a probe"
    )


def _tls_refused(failure: ProbeFailure, view: View) -> str:
    said = view.safe(failure.name)
    if any(words in failure.name for words in _CLIENT_CERTIFICATE):
        return (
            "the server wants a certificate of the client, which a probe never has "
            f"({said}): probe a port without mutual TLS, or by exec"
        )
    return (
        f"the server speaks TLS and refused the handshake ({said}): a probe offers TLS "
        "1.2 and later, and no server name for an IP"
    )


def _unknown_port(failure: ProbeFailure, view: View) -> str:
    container = failure.failed.container
    names = () if container is None else container.ports
    known = ", ".join(port.name for port in names if port.name) or "none with a name"
    return (
        f"the container declares no port named {view.safe(failure.name)}; it declares "
        f"{view.safe(known)}"
    )


def _unresolved(failure: ProbeFailure, view: View) -> str:
    return (
        f"the name {view.safe(failure.name)} could not be resolved; it is looked up on "
        "the node, not in the pod"
    )


def _unreachable(_failure: ProbeFailure, _view: View) -> str:
    return "there is no route from the node to that address"


def _closed(failure: ProbeFailure, _view: View) -> str:
    if failure.failed.attempt.error is not None:
        return "the connection broke while the answer was read"
    return "the server accepted the connection and closed it without an answer"


# -- answers


def _redirected(failure: ProbeFailure, view: View) -> str:
    attempt = failure.failed.attempt
    if failure.because is None:
        to = f", the last to {_with_port(failure.name)}" if failure.name else ""
        return view.safe(f"redirects lead in a circle: ten were followed{to}")
    because = failure.because
    then = _TARGETS.get(because.kind, "gave no answer")
    if because.kind in _REFUSALS:
        looked = because.failed.listeners
        if looked is not None and looked.listeners is not None:
            then = f"{then}: {refusal_text(looked)}"
    if not attempt.followed:
        return view.safe(
            f"it was redirected to {_with_port(failure.name)}, as one on the same host "
            f"is followed; that {then}"
        )
    steps = " and ".join(map(_step, attempt.followed))
    return view.safe(f"{steps}; that {then}")


def _step(redirect: Redirect) -> str:
    try:
        target = urljoin(redirect.url, redirect.location)
    except ValueError:
        target = redirect.location
    return f"{redirect.url} answered {redirect.status} to {_with_port(target)}"


def _with_port(url: str) -> str:
    """Return a URL with its port, which explains where a redirect leads."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    default = _DEFAULT_PORTS.get(parts.scheme)
    if port is not None or default is None or not parts.netloc:
        return url
    return parts._replace(netloc=f"{parts.netloc}:{default}").geturl()


def _redirect_elsewhere(_failure: ProbeFailure, _view: View) -> str:
    return (
        "a redirect to another host is not followed and counts as success; one on the "
        "same host is followed, at most nine times"
    )


def _status(failure: ProbeFailure, view: View) -> str:
    answer = failure.failed.attempt.http
    said = "" if answer is None else view.safe(first_line(answer.body))
    where = _after_redirects(answer, view)
    status = failure.name
    match status[:1]:
        case "5":
            text = f"the server itself reports a failure{where}"
            return f"{text}: {said}" if said else text
        case "4":
            text = (
                f"{status}{where} is a 4xx status, a failure: check path, headers, "
                "authorization"
            )
        case _:
            text = f"{status}{where} is no success"
    return f"{text}; the body says: {said}" if said else text


def _after_redirects(answer: HTTPAnswer | None, view: View) -> str:
    if answer is None or not answer.redirects:
        return ""
    return f" after a redirect to {view.safe(answer.redirects[-1])}"


def _not_serving(failure: ProbeFailure, view: View) -> str:
    attempt, handler = failure.failed.attempt, failure.failed.handler
    code = failure.name or attempt.detail
    if code == "NotFound" and isinstance(handler, GRPCAction):
        return (
            f"the health service does not know the service {view.safe(handler.service)}"
        )
    if code in {"Unauthenticated", "PermissionDenied"}:
        return (
            "the server wants credentials for its health service, which a probe never "
            "has"
        )
    return ""  # The kubelet says it in these words.


def _no_health_service(_failure: ProbeFailure, _view: View) -> str:
    return "the server speaks gRPC and has no health service, grpc.health.v1.Health"


def _timed_out(failure: ProbeFailure, _view: View) -> str:
    probe = failure.failed.probe
    if _DIAL_TIMED_OUT.search(failure.failed.text):
        return (
            "not even the connection was answered: a firewall or a network policy "
            "drops it, or the program does not accept connections"
        )
    if probe is None or probe.timeout_seconds == _DEFAULT_TIMEOUT:
        return "it took longer than timeoutSeconds, which is 1 by default"
    return f"it took longer than timeoutSeconds, which is {probe.timeout_seconds}"


# -- commands


def _held_open(failure: ProbeFailure, _view: View) -> str:
    probe = failure.failed.probe
    limit = 0 if probe is None else probe.timeout_seconds
    length = format_duration(failure.failed.attempt.duration)
    return (
        "a child of the command keeps its output open, and the runtime waits for it: "
        f"{length} instead of {limit}s"
    )


def _variable(failure: ProbeFailure, view: View) -> str:
    return view.safe(failure.name)


def _not_found(failure: ProbeFailure, view: View) -> str:
    failed = failure.failed
    if failure.name:
        return (
            f"the shell did not find {view.safe(failure.name)}; the exit code of a "
            "script is that of its last command"
        )
    if failed.attempt.detail == "exit 127" and not failed.attempt.is_missing:
        return "exit code 127: a shell did not find the command"
    program = ""
    if isinstance(failed.handler, ExecAction) and failed.handler.command:
        program = f": {view.safe(failed.handler.command[0])}"
    return f"the command is not in the image{program}; shell built-ins need `sh -c`"


def _not_executable(failure: ProbeFailure, view: View) -> str:
    match failure.name:
        case folder if folder.startswith("/"):
            return (
                f"workingDir {view.safe(folder)} is not there, or the container's "
                "user may not enter it"
            )
        case "permission denied":
            return (
                "the command is in the image, and may not be executed: it lacks the "
                "mode x, or its directory, for the container's user"
            )
        case "exec format error":
            return (
                "the command is in the image, and cannot be executed: it is a program "
                "for another processor, or a script without a first line #!"
            )
        case "no such file or directory":
            return (
                "the command is in the image, and what its first line (#!) or its "
                "loader names is not; a CR at the end of that line is part of the name"
            )
        case _:
            return "exit code 126: the shell cannot execute the command it found"


def _command_failed(failure: ProbeFailure, view: View) -> str:
    attempt = failure.failed.attempt
    clauses: list[str] = []
    if "connection refused" in attempt.output.lower():
        clauses.append(
            "the command printed this: what it connects to, from inside the container, "
            "does not listen"
        )
    clauses += _exit_meaning(failure.failed)
    if failure.name:
        clauses.append(
            f"${view.safe(failure.name)} is not among the container's variables: "
            "unless the image sets it, the shell leaves nothing in its place"
        )
    return "; ".join(clauses)


_EXITS: Mapping[str, Mapping[int, str]] = {
    "curl": {
        6: "it could not resolve the host",
        7: "it could not connect",
        22: "the server answered with a status of 400 or above",
        28: "it timed out",
        35: "the TLS handshake failed",
        52: "the server closed the connection without an answer",
        56: "the connection was reset",
        60: "it does not trust the server's certificate (-k skips that)",
    },
    "pg_isready": {
        1: "the server rejects connections, as while it starts",
        2: "nothing answers",
        3: "its parameters are wrong, no connection was tried",
    },
    "grpc_health_probe": {
        1: "its arguments are wrong",
        2: "it could not connect",
        3: "the health call failed",
        4: "the service is not serving",
    },
}
"""What exit codes of programs mean that print nothing, by the program's manual."""

_KILLED = 137
_SEVERAL = ("|", ";", "&&", "\n", "$(")
_EXIT_CODE = re.compile(r"exit (\d+)")


def _exit_meaning(failed: FailedProbe) -> Iterator[str]:
    """Yield what the exit code of a command says that its output does not."""
    match = _EXIT_CODE.match(failed.attempt.detail)
    if match is None or not isinstance(failed.handler, ExecAction):
        return
    code = int(match[1])
    if signal := signal_name(code):
        memory = ", as the kernel does when memory runs out" if code == _KILLED else ""
        yield f"exit code {code}: {signal} ended the command{memory}"
    last = _last_program(failed.handler.command)
    if meaning := _EXITS.get(last, {}).get(code):
        yield f"exit code {code} of {last}: {meaning}"


def _last_program(command: Sequence[str]) -> str:
    """Return the name of the only program of a command; empty if there are several."""
    script = shell_script(command)
    words = list(command) if script is None else script.split()
    if not words or any(mark in (script or "") for mark in _SEVERAL):
        return ""
    return words[0].rpartition("/")[2]


def _runtime_error(_failure: ProbeFailure, _view: View) -> str:
    return (
        "the container runtime gave this error and did not run the command; it says "
        "nothing about the container"
    )


def _canceled(_failure: ProbeFailure, view: View) -> str:
    return (
        f"the kubelet {view.rules.version} runs no command of a probe once the pod is "
        "being deleted: this counts for nothing, and the container stays as ready as "
        "it was (k/k#140881)"
    )


def _not_sent(_failure: ProbeFailure, _view: View) -> str:
    return (
        "the probe could not be sent from this machine; it says nothing about the "
        "container"
    )


_REFUSALS = frozenset(
    {
        CauseKind.NOTHING_LISTENS,
        CauseKind.CONNECTION_REFUSED,
        CauseKind.LISTENS_ON_LOOPBACK,
        CauseKind.LISTENS_ELSEWHERE,
    }
)

_TARGETS: Mapping[CauseKind, str] = {
    **dict.fromkeys(_REFUSALS, "was refused"),
    CauseKind.PORT_SPEAKS_TLS: "speaks TLS",
    CauseKind.TLS_REFUSED: "refused the TLS handshake",
    CauseKind.PORT_SPEAKS_OTHER: "answered in another protocol",
    CauseKind.PORT_SPEAKS_PLAIN: "does not speak TLS",
    CauseKind.HOST_NOT_RESOLVED: "has a name that could not be resolved",
    CauseKind.HOST_UNREACHABLE: "cannot be reached",
    CauseKind.CONNECTION_RESET: "closed the connection",
    CauseKind.TIMED_OUT: "did not answer within timeoutSeconds",
}
"""What became of the request that a redirect led to."""

_CLAUSES: Mapping[CauseKind, _Clause] = {
    **dict.fromkeys(_REFUSALS, _refused),
    CauseKind.PORT_IS_UDP: _udp,
    CauseKind.PORT_SPEAKS_TLS: _tls,
    CauseKind.PORT_SPEAKS_PLAIN: _plain,
    CauseKind.PORT_SPEAKS_OTHER: _speaks_other,
    CauseKind.TLS_REFUSED: _tls_refused,
    CauseKind.PORT_NAME_UNKNOWN: _unknown_port,
    CauseKind.HOST_NOT_RESOLVED: _unresolved,
    CauseKind.HOST_UNREACHABLE: _unreachable,
    CauseKind.CONNECTION_RESET: _closed,
    CauseKind.REDIRECT_FOLLOWED: _redirected,
    CauseKind.REDIRECT_NOT_FOLLOWED: _redirect_elsewhere,
    CauseKind.HTTP_STATUS: _status,
    CauseKind.GRPC_NOT_SERVING: _not_serving,
    CauseKind.GRPC_NO_HEALTH_SERVICE: _no_health_service,
    CauseKind.TIMED_OUT: _timed_out,
    CauseKind.OUTPUT_HELD_OPEN: _held_open,
    CauseKind.VARIABLE_NOT_EXPANDED: _variable,
    CauseKind.COMMAND_NOT_FOUND: _not_found,
    CauseKind.COMMAND_NOT_EXECUTABLE: _not_executable,
    CauseKind.COMMAND_FAILED: _command_failed,
    CauseKind.RUNTIME_ERROR: _runtime_error,
    CauseKind.EXEC_CANCELED: _canceled,
    CauseKind.PROBE_NOT_SENT: _not_sent,
    CauseKind.RESULT_INJECTED: _nothing_more,
    CauseKind.PROBE_FAILED: _nothing_more,
}
