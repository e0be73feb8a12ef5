"""Why a container was never created, in one sentence."""

from __future__ import annotations

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.k8s.pod import Container, Pod
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
