"""What keeps pods from the state that `--until` waited for, when its time is over."""

from __future__ import annotations

from probetui.analysis.container_history import SessionHistory
from probetui.cli.printing import Notes
from probetui.drive.session import Session
from probetui.headless.condition import ConditionWatch
from probetui.headless.follow import EndCondition
from probetui.presentation.container.readiness import obstacle_of
from probetui.presentation.plain.steps import step_view
from probetui.presentation.tick.why import WhyContext
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
    for pod, container in watch.unmet():
        context = WhyContext(
            pod,
            f"{pod.name}/{container.name}",
            container.name,
            past.pod_ip(pod.uid),
            past.container(pod.uid, container.name),
            view,
        )
        if reason := obstacle_of(context, past, pod.uid):
            notes.note(f"{context.shown_name}: {reason}")
