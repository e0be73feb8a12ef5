"""What one tick led to, step by step, on one line."""

from __future__ import annotations

from probetui.kubelet.journal import Action, TickEntry
from probetui.presentation.sentences import why

_STEP = " -> "
_ACTIONS = {
    Action.KILL: ("kill requested",),
    Action.WOULD_KILL: ("would be killed",),
    Action.READY: ("container ready",),
    Action.NOT_READY: ("container not ready",),
    Action.STARTED: ("container started",),
}


def consequences(tick: TickEntry) -> str:
    """Return how far a tick's result got.

    `acted: run 3 of 3 -> stored Failure -> kill requested -> on hold`,
    `ignored: run 2 of 3 -> stored result stays Success`.
    """
    if tick.skip is not None or tick.exit is not None:
        return why(tick)
    if tick.result is None:
        times = len(tick.attempts)
        return f"discarded: errored {times} times{_STEP}run and stored result unchanged"
    run = f"run {tick.run} of {tick.threshold}"
    if tick.run < tick.threshold:
        stored = "none" if tick.stored_before is None else str(tick.stored_before)
        return f"ignored: {run}{_STEP}stored result stays {stored}"
    if tick.action is Action.NONE:
        return f"as stored: {run}{_STEP}stored {tick.result} as before"
    steps = [run, f"stored {tick.result}", *_ACTIONS.get(tick.action, ())]
    if tick.hold_after and not tick.hold_before:
        steps.append("on hold")
    acted = "not acted" if tick.action is Action.WOULD_KILL else "acted"
    return f"{acted}: {_STEP.join(steps)}"
