"""What keeps pods from the state that `--until` waited for, when its time is over."""

from __future__ import annotations

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.cli.printing import Notes
from probetui.drive.session import Session
from probetui.headless.condition import ConditionWatch
from probetui.headless.follow import EndCondition
from probetui.presentation.cause.answer import answer_clause
from probetui.presentation.plain.steps import step_view
from probetui.record.masking import Mask


def note_obstacles(
    watch: EndCondition, session: Session, mask: Mask, notes: Notes
) -> None:
    """Print why each container is not ready or started yet, one line each.

    Nothing is printed of a condition that is no state, as `killed`.
    """
    if not isinstance(watch, ConditionWatch):
        return
    past = SessionHistory(session.journal)
    past.add_entries(session.journal, 0)
    snapshot = session.snapshot
    view = step_view(snapshot, mask)
    pods = {shown.pod.uid: shown.pod for shown in snapshot.pods}
    for pod, container in watch.unmet():
        answer = explain(pod, container, past, view.now, view.rules, pods, is_live=True)
        if answer.now.kind is not CauseKind.READY:
            notes.note(f"{pod.name}/{container.name} {answer_clause(answer, view)}")
