"""The choice between dialling a pod's IP and port-forward."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, StrEnum

CHECK_SECONDS = 1.0
"""How long a pod's IP has for its answer."""

_FORWARDED = (
    "HTTP, TCP and gRPC probes go by port-forward, {why}. A forwarded port "
    "reaches 127.0.0.1 in the pod and not its IP: a server that listens on localhost "
    "only succeeds here and fails the kubelet's probes, and one that does not listen "
    "on localhost fails here and succeeds there."
)


class ReachMode(StrEnum):
    """How to reach the ports of a pod."""

    AUTO = "auto"
    DIRECT = "direct"
    FORWARD = "forward"


class PodReach:
    """Decides how the ports of one pod are reached.

    Args:
        mode: the user's choice.
        ports: those that probes connect to; none where no probe needs the network.
        notify: called with a sentence when it changes.
    """

    def __init__(
        self, mode: ReachMode, ports: Sequence[int], notify: Callable[[str], None]
    ) -> None:
        self._mode = mode
        self._ports = ports
        self._notify = notify
        self._ip = ""
        self.forwards = mode is ReachMode.FORWARD
        """Whether ports are forwarded; else the pod's IP is connected to."""

    @property
    def description(self) -> str:
        """The way that is used, as text."""
        if not self._ports:
            return "exec by the API"
        if self.forwards:
            return "by port-forward to 127.0.0.1 in the pod"
        return f"at the pod's IP {self._ip}" if self._ip else "at the pod's IP"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the way that is used."""
        if not (self.forwards and self._ports):
            return ()
        asked = self._mode is ReachMode.FORWARD
        why = (
            "as --reach forward says"
            if asked
            else "because the pod's IP "
            + (
                f"{self._ip} is not reached from here"
                if self._ip
                else "is not known yet"
            )
        )
        return (_FORWARDED.format(why=why),)

    async def check(self, ip: str, *, is_ready: bool) -> None:
        """Check whether an IP can be reached, unless that is known or decided.

        A refusal comes from the pod, unless the pod is ready by probes of these ports:
        then something in between refuses.
        """
        if not ip or ip == self._ip:
            return
        is_first, self._ip = not self._ip, ip
        if self._mode is not ReachMode.AUTO or not self._ports:
            return
        answers = await asyncio.gather(*(_answer(ip, port) for port in self._ports))
        wanted = {_Answer.CONNECTED} if is_ready else set(_Answer) - {_Answer.NONE}
        forwards = wanted.isdisjoint(answers)
        if forwards != self.forwards and not is_first:
            self.forwards = forwards
            self._notify(f"the pod is reached {self.description} now")
        self.forwards = forwards


class _Answer(Enum):
    CONNECTED = "connected"
    REFUSED = "refused"
    NONE = "none"


async def _answer(ip: str, port: int) -> _Answer:
    """Dial a port of an IP and return the outcome."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            _, writer = await asyncio.open_connection(ip, port)
    except ConnectionRefusedError:
        return _Answer.REFUSED
    except (OSError, TimeoutError):
        return _Answer.NONE
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return _Answer.CONNECTED
