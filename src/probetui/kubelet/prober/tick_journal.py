"""The tick journal: writes a tick and what it changed, each after its cause."""

from __future__ import annotations

from probetui.kubelet.journal import StateEntry, StateField, TickEntry
from probetui.kubelet.prober.prober import JudgedOutcome
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet.runtime.turn import TurnBuilder


class TickJournal:
    """Observes ticks and journals them; owned by the probe manager.

    Args:
        turn: where the entries go.
    """

    def __init__(self, turn: TurnBuilder) -> None:
        self._turn = turn

    def on_tick(self, worker: Worker, tick: TickEntry, judged: JudgedOutcome) -> None:
        """Journal a tick, its event and its changes."""
        self._turn.write(tick)
        if judged.reason is not None:
            self._turn.warning(
                worker.pod,
                judged.reason,
                judged.message or "",
                tick.at,
                tick.key.container_name,
                tick=tick,
            )
        stored, hold = tick.stored, tick.hold
        if tick.new_container or stored.before is not stored.after:
            before = "" if tick.new_container else str(stored.before)
            self._write_state(tick, StateField.RESULT, before, str(stored.after))
        if hold.before and tick.new_container:
            self._write_state(tick, StateField.HOLD, "on", "off")
        if hold.after and (tick.new_container or not hold.before):
            self._write_state(tick, StateField.HOLD, "off", "on")

    def _write_state(
        self, tick: TickEntry, field: StateField, before: str, after: str
    ) -> None:
        sequence = self._turn.next_sequence()
        self._turn.write(
            StateEntry(
                sequence, tick.at, *tick.key, field, before, after, tick.sequence
            )
        )
