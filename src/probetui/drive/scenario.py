"""A script for `sim`: how containers behave, what probes meet, who does what when.

    start: 2026-01-01T00:00:00Z        # of the virtual clock
    containers:
      web:                             # or pod/web; one life, or a list: the first,
        - lasts: 20s                   # the second, ..., the last again and again
          exitCode: 1
          stopsAfter: never            # once asked to end; or a length of time
          stopCode: 143
          preStop: 3s                  # how long the hook takes; so does postStart
          liveness:                    # likewise readiness, startup
            - success                  # one probe; the last result goes on for ever
            - {result: failure, times: 3, output: not well, takes: 20ms}
            - {result: success, until: 60s}   # of the container's age
          readiness:
            repeat: true               # after the last result the first one follows
            results: [success, {result: failure, times: 2}]
    images:
      busybox:1.36: {takes: 3s}        # has to be pulled; or {error: text}
    do:
      - {at: 30s, command: restart, container: pod/web}
      - {at: 40s, command: probe, container: web, type: liveness}
      - {at: 50s, command: delete, pod: pod}

Results are success, failure, warning (a redirect to another host; counts as success),
errored (could not be run) and timeout. What is not mentioned lives for ever and is
healthy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from probetui.drive.scripted_lives import NO_TIME, Life, Manner
from probetui.drive.world import World
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.effects import Operation, PullImage, Relist, RunHook
from probetui.kubelet.inputs import (
    Command,
    DeletePod,
    RestartContainer,
    TriggerProbe,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When virtual time begins, unless a script says otherwise."""


class Doing(StrEnum):
    """What a script may do to pods and containers."""

    RESTART = "restart"
    PROBE = "probe"
    DELETE = "delete"


class Order(NamedTuple):
    """One thing to do, `after` the start, to what has a name like that."""

    after: timedelta
    doing: Doing
    pod: str = ""
    container: str = ""
    probe_type: ProbeType | None = None


@dataclass(frozen=True, slots=True)
class HookTimes:
    """How long the hooks of a container take."""

    post_start: timedelta = NO_TIME
    pre_stop: timedelta = NO_TIME


@dataclass(frozen=True, slots=True)
class Scenario:
    """A script as it was read.

    Containers go by `name` or `pod/name`; `images` are those that have to be pulled.
    """

    start: datetime = START
    lives: Mapping[str, tuple[Life, ...]] = field(default_factory=dict)
    hooks: Mapping[str, HookTimes] = field(default_factory=dict)
    images: Mapping[str, Manner] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()

    def world(self) -> World:
        """Return a new world that goes by the script."""
        dealing = _Dealing(self.hooks, self.images)
        return World(self.lives, dealing=dealing, absent=self.images)

    def commands(self, pods: Iterable[Pod]) -> list[tuple[datetime, Command]]:
        """Return what is to be done to some pods, in order of time."""
        known = tuple(pods)
        found = [
            (self.start + order.after, command)
            for order in self.orders
            for pod in known
            if (command := _command(order, pod)) is not None
        ]
        return sorted(found, key=lambda each: each[0])


NO_SCENARIO = Scenario()


@dataclass(frozen=True, slots=True)
class _Dealing:
    """How the runtime of a scenario deals with calls; a `Dealing`."""

    hooks: Mapping[str, HookTimes]
    images: Mapping[str, Manner]

    def __call__(self, call: Operation | Relist) -> Manner:
        match call:
            case PullImage(_, image) if image in self.images:
                return self.images[image]
            case RunHook(pod, container, handler=handler):
                times = self.hooks.get(f"{pod.name}/{container.name}")
                if times is None:
                    times = self.hooks.get(container.name, HookTimes())
                is_first = handler is container.post_start
                return Manner(times.post_start if is_first else times.pre_stop)
            case _:
                return Manner()


def _command(order: Order, pod: Pod) -> Command | None:
    """Return what an order comes to for a pod, None if it is about another one."""
    if order.pod not in {"", pod.name}:
        return None
    if order.doing is Doing.DELETE:
        return DeletePod(pod.uid)
    container = pod.container(order.container)
    if container is None:
        return None
    if order.doing is Doing.RESTART:
        return RestartContainer(pod.uid, order.container)
    kind = order.probe_type
    if kind is None or container.probe(kind) is None:
        return None
    return TriggerProbe(ProbeKey(pod.uid, order.container, kind))
