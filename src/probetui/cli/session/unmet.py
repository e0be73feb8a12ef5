"""What keeps pods from the state that `--until` waited for, when its time is over."""

from __future__ import annotations

from probetui.cli.printing import Notes
from probetui.drive.session import Session
from probetui.headless.condition import ConditionWatch
from probetui.headless.follow import EndCondition
from probetui.presentation.cause.obstacle import state_clauses
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
    snapshot = session.snapshot
    pods = [shown.pod for shown in snapshot.pods]
    view = step_view(snapshot, mask)
    for text in state_clauses(watch.unmet(), session.journal, pods, view):
        notes.note(text)
