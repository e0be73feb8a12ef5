"""What may be wrong, where an answer suggests it."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, HTTPGetAction
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.lives import NO_PAST, ContainerPast
from probetui.presentation.refusals import as_sentence, refusal_words

_REFUSED = "connection refused"
_TIMED_OUT = ("deadline exceeded", "timed out", "i/o timeout")
_NO_COMMAND = ("executable file not found", "no such file or directory")
_CLIENT_ERROR, _SERVER_ERROR = "HTTP 4", "HTTP 5"


def hints(
    tick: TickEntry,
    container: Container | None,
    past: ContainerPast = NO_PAST,
) -> Iterator[str]:
    """Yield what to look at next, judged by what the last attempt said.

    Where a container listens is a fact, if it has been looked up. All else is a guess
    for people, told as such; nothing depends on it.
    """
    if not tick.attempts:
        return
    looked = past.listeners(tick)
    if looked is not None and looked.listeners is not None:
        yield f"{as_sentence(refusal_words(looked))}{_declared(container)}"
        return
    attempt = tick.attempts[-1]
    said = (attempt.error or attempt.output).lower()
    handler = None
    if container is not None and (probe := container.probe(tick.key.probe_type)):
        handler = probe.handler
    if _REFUSED in said:
        yield (
            "Nothing listens at that address and port: the program may not be up yet, "
            "listen on another port, or on 127.0.0.1 only, where the pod's IP does not "
            f"lead.{_declared(container)}"
        )
    elif any(each in said for each in _TIMED_OUT):
        yield "It took longer than timeoutSeconds, which is 1 unless it is set."
    elif attempt.error is not None and any(each in said for each in _NO_COMMAND):
        yield "The command is not in the image; a shell's own commands need `sh -c`."
    elif isinstance(handler, HTTPGetAction):
        yield from _http_hints(attempt)
    elif isinstance(handler, ExecAction) and attempt.detail == "exit 127":
        yield "Exit 127 is a shell that did not find a command."


def _declared(container: Container | None) -> str:
    if container is None or not container.ports:
        return ""
    ports = ", ".join(str(each.container_port) for each in container.ports)
    return f" The container declares: {ports}."


def _http_hints(attempt: Attempt) -> Iterator[str]:
    if attempt.result is ProbeResult.WARNING:
        yield (
            "A redirect to another host is not followed and counts as success; "
            "one on the same host is followed, at most nine times."
        )
    elif attempt.detail.startswith(_CLIENT_ERROR):
        yield "A 4xx answer is a failure: look at path, headers and authorization."
    elif attempt.detail.startswith(_SERVER_ERROR):
        yield "The program answered and said itself that it is not well."
