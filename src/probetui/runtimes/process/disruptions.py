"""What happens to programs in real life, done on purpose to processes by signals."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Disruption
from probetui.runtimes.disruption_notes import FROZEN, DisruptionNotes
from probetui.runtimes.process.child import send
from probetui.runtimes.process.listing import Listed
from probetui.runtimes.process_identity import (
    Process,
    identify,
    is_alive,
    is_stopped,
)

logger = logging.getLogger(__name__)

NETWORK_OF_ALL = "processes share the network of this machine, which is not cut"
ITSELF = "probetui itself is one of its processes, and would stand still with it"

_ON_NETWORK = {Disruption.CUT_NETWORK, Disruption.RESTORE_NETWORK}
_SIGNALS = {Disruption.STOP: signal.SIGTERM, Disruption.KILL: signal.SIGKILL}


def why_not(
    pod: Pod,  # noqa: ARG001  # all of them are in one network
    disruption: Disruption,
) -> str:
    """Return why it cannot be done to a pod, empty where it may be tried."""
    return NETWORK_OF_ALL if disruption in _ON_NETWORK else ""


class Disruptions:
    """Freezes and signals processes that others started.

    Frozen is a process with all that it started, directly or not: a server and its
    workers. Signals go to the process itself.

    Args:
        listed: returns the processes there are.
        notes: where it is noted what is frozen.
    """

    def __init__(
        self, listed: Callable[[], Iterable[Listed]], notes: DisruptionNotes
    ) -> None:
        self._listed = listed
        self._notes = notes
        self._frozen: dict[Process, set[Process]] = {}

    def disrupt(self, process: Process, disruption: Disruption) -> None:
        """Do it; raises `ContainerRuntimeError`, or `OSError` if it is not allowed."""
        match disruption:
            case Disruption.FREEZE:
                self._freeze(process)
            case Disruption.UNFREEZE:
                self._thaw(process)
            case Disruption.STOP | Disruption.KILL:
                send(process, _SIGNALS[disruption])
            case Disruption.CUT_NETWORK | Disruption.RESTORE_NETWORK:
                raise ContainerRuntimeError(NETWORK_OF_ALL)

    def undo(self) -> None:
        """Let go on what was frozen here, but for who is another user's by now."""
        frozen, self._frozen = self._frozen, {}
        for leader, stopped in frozen.items():
            for process in stopped:
                _let_go_on(process)
            self._notes.remove(FROZEN, _name(leader))

    def undo_left(self) -> list[str]:
        """Let go on what a probetui froze that was killed; return which processes."""
        thawed = []
        for note in self._notes.left():
            noted = note.how.get("stopped")
            stopped = [*map(_process, noted if isinstance(noted, list) else ())]
            going_on = [process for process in stopped if _let_go_on(process)]
            self._notes.remove(note.kind, note.thing_id)
            thawed += [f"process {process.pid}" for process in going_on[:1]]
        return thawed

    def _freeze(self, process: Process) -> None:
        stopped = self._frozen.setdefault(process, set())
        # Again, for what was forked meanwhile.
        while fresh := [
            each
            for each in self._family(process)
            if each not in stopped and not is_stopped(each)
        ]:
            if any(each.pid == os.getpid() for each in fresh):
                self._thaw(process)
                raise ContainerRuntimeError(ITSELF)
            stopped.update(fresh)
            how = {"stopped": [[each.pid, each.born] for each in stopped]}
            self._notes.write(FROZEN, _name(process), how)
            for each in fresh:
                send(each, signal.SIGSTOP)

    def _thaw(self, process: Process) -> None:
        """Let go on what was stopped here; everything, if it was not done here."""
        for each in self._frozen.pop(process, None) or set(self._family(process)):
            send(each, signal.SIGCONT)
        self._notes.remove(FROZEN, _name(process))

    def _family(self, first: Process) -> Iterator[Process]:
        """Yield a process and all that descend from it."""
        children: dict[int, list[int]] = {}
        for each in self._listed():
            children.setdefault(each.parent, []).append(each.pid)
        pids = [first.pid]
        for pid in pids:  # it grows meanwhile
            pids += children.get(pid, ())
        yield first
        for pid in pids[1:]:
            if found := identify(pid):
                yield found


def _let_go_on(process: Process) -> bool:
    """Continue a process; False if it has ended or, which is logged, it is refused."""
    try:
        send(process, signal.SIGCONT)
    except PermissionError as error:
        logger.warning("process %d is left frozen: %s", process.pid, error.strerror)
        return False
    return is_alive(process)


def _name(process: Process) -> str:
    """Return what a frozen process is noted by."""
    return f"{process.pid} {process.born}"


def _process(noted: object) -> Process:
    """Read a process back; what is none is one that never lives."""
    match noted:
        case [int() as pid, str() as born] if pid > 0:
            return Process(pid, born)
        case _:
            return Process(0, "")
