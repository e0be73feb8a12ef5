"""What one attempt of a probe came to, as a sentence goes on about it."""

from __future__ import annotations

from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.durations import took
from probetui.presentation.view import View

_EXIT = "exit "
_TIMED_OUT = "timed out"
_CONNECTED = "connected"


def came_to(attempt: Attempt, view: View) -> str:
    """Return what follows on `It`: `gave exit 1 after 34ms and printed: not well`."""
    after = f"after {took(attempt.duration)}"
    if attempt.error is not None:
        return (
            f"could not be run ({took(attempt.duration)}): {view.safe(attempt.error)}"
        )
    how, said = view.safe(attempt.detail), view.safe(attempt.output)
    if how.startswith(_EXIT):
        printed = f"printed: {said}" if said else "printed nothing"
        return f"gave {how} {after} and {printed}"
    more = f": {said}" if said else ""
    if how.startswith(_TIMED_OUT):
        return f"{how} ({after}){more}"
    if how == _CONNECTED:
        return f"{how} {after}{more}"
    if how:
        return f"was answered {how} {after}{more}"
    did = "failed" if attempt.result is ProbeResult.FAILURE else "succeeded"
    return f"{did} {after}{more}"
