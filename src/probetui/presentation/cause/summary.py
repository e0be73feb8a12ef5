"""The summary of a session for the terminal that its screen has left."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from probetui.analysis.session_summary import SessionSummary, WorstContainer
from probetui.durations import format_age
from probetui.k8s.pod import Pod
from probetui.presentation.cause.answer import cause_clause
from probetui.presentation.container.table import object_name, pod_names
from probetui.presentation.text.view import View

_COMMANDS = {
    "why": "what happened to each container, and why",
    "replay": "the session once more, forwards and back",
    "report": "a page of it, to send and to keep",
}
_INDENT = "  "
_WIDTH = max(len(f"probetui {word}") for word in _COMMANDS)


def summary_lines(
    summary: SessionSummary,
    pods: Iterable[Pod],
    view: View,
    record: str,
    *,
    is_last: bool,
) -> Iterator[str]:
    """Yield what a session came to, and where to read more.

    Args:
        summary: of the session.
        pods: all that it had.
        view: formats instants, and makes foreign text safe.
        record: the file that it is recorded in, empty if in none.
        is_last: whether commands without a file read that record.
    """
    kills = _count(summary.kills, "kill" if view.acts else "would-be kill")
    restarts = _count(summary.restarts, "restart")
    yield f"The session ran for {format_age(summary.lasted)}: {kills}, {restarts}."
    yield (
        "Nothing failed."
        if summary.worst is None
        else _worst(summary.worst, pod_names(pods), view)
    )
    if not record:
        yield "Record: none."
        return
    yield f"Record: {view.safe(record)}"
    for word, gives in _COMMANDS.items():
        command = f"probetui {word}"
        if is_last:
            yield f"{_INDENT}{command.ljust(_WIDTH)}{_INDENT}{gives}"
        else:
            yield f"{_INDENT}{command} {shlex.quote(record)}"


def _count(number: int, thing: str) -> str:
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"


def _worst(worst: WorstContainer, names: dict[str, str], view: View) -> str:
    name = object_name(names, worst.pod.uid, worst.container.name)
    clause = cause_clause(worst.cause, view, worst.until)
    return f"Worst: {view.safe(name)} {clause}."
