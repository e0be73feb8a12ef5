"""Why containers are not in the state that is waited for, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.journal import JournalEntry
from probetui.presentation.cause.answer import answer_clause
from probetui.presentation.text.view import View


def obstacle_sentence(
    pod: Pod, container: Container, past: SessionHistory, view: View
) -> str:
    """Return what a container waits for, empty if the kubelet has yet to come to it."""
    answer = explain(pod, container, past, view.now, view.rules, is_live=True)
    if answer.now.kind is CauseKind.NOT_SYNCED:
        return ""
    return f"It {answer_clause(answer, view)}."


def state_clauses(
    containers: Iterable[tuple[Pod, Container]],
    journal: Sequence[JournalEntry],
    pods: Iterable[Pod],
    view: View,
    *,
    tells_ready: bool = False,
) -> Iterator[str]:
    """Yield why each container is as it is, without a full stop.

    Args:
        containers: the containers.
        journal: the entries of the session until now.
        pods: all of the session, as one may wait for another.
        view: formats instants, and makes foreign text safe.
        tells_ready: also tell of those that are ready.
    """
    past = SessionHistory(journal)
    past.add_entries(journal, 0)
    known = {pod.uid: pod for pod in pods}
    for pod, container in containers:
        answer = explain(
            pod, container, past, view.now, view.rules, known, is_live=True
        )
        if tells_ready or answer.now.kind is not CauseKind.READY:
            yield f"{pod.name}/{container.name} {answer_clause(answer, view)}"
