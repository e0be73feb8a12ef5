"""Choose the instance whose log is shown, and format the lines of the log.

Source: kubelet/kubelet_pods.go, v1.32.10, validateContainerLogStatus.
"""

from __future__ import annotations

from msgspec import Struct

from probetui.engine.snapshot import ContainerSnapshot
from probetui.k8s.runtime import NO_CONTAINER, ContainerID, LogLine, parse_container_id
from probetui.k8s.status import ContainerStatus, Running, Terminated, Waiting
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.presentation.text.view import View

STAMP = 11
"""The width, in cells, of the time before a line, if the runtime reports it."""

_SKIPPED = "(lines may be missing) "


def log_cells(printed: LogLine, view: View, *, is_after_skip: bool = False) -> Line:
    """Format a line with its time; standard error is marked with `!`."""
    stamp = "" if printed.at is None else view.times.stamp(printed.at).ljust(STAMP)
    mark = Span("! ", Role.WARNING) if printed.is_stderr else Span("")
    skipped = Span(_SKIPPED, Role.ERROR) if is_after_skip else Span("")
    return line(muted(stamp), skipped, mark, log_text(printed, view))


def log_text(printed: LogLine, view: View) -> str:
    """Return a printed line, safe for the terminal and with secrets masked."""
    text = view.mask.text(printed.text)
    return one_line(text, newline=view.marks.newline)


class LogTarget(Struct, frozen=True):
    """The instance whose log is shown; without one, `problem` says why."""

    container_id: ContainerID = NO_CONTAINER
    problem: str = ""


def current_log(container: ContainerSnapshot) -> LogTarget:
    """Return the running instance, or else the last one that ended."""
    match container.status:
        case ContainerStatus(state=Running() | Terminated(), container_id=identifier):
            return LogTarget(parse_container_id(identifier))
        case ContainerStatus(last_state=Terminated(container_id=identifier)):
            return LogTarget(parse_container_id(identifier))
        case ContainerStatus(state=Waiting(reason)) if reason:
            return LogTarget(problem=f"the container is waiting to start: {reason}")
        case _:
            return LogTarget(problem="the container is waiting to start: no logs yet")


def previous_log(container: ContainerSnapshot) -> LogTarget:
    """Return the instance before the current one of the status."""
    match container.status:
        case ContainerStatus(last_state=Terminated(container_id=identifier)) if (
            identifier
        ):
            return LogTarget(parse_container_id(identifier))
        case _:
            return LogTarget(
                problem="the container has no previous instance that ended"
            )
