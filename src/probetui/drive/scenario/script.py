"""Scenario: how containers and probes behave in `sim`, and scheduled commands.

    start: 2026-01-01T00:00:00Z        # of the virtual clock
    containers:
      web:                             # or pod/web; one life, or a list: the first,
        - lasts: 20s                   # the second, ..., the last again and again
          exitCode: 1
          prints: "FATAL: no database" # before it exits
          stopsAfter: never            # once asked to end; or a length of time
          stopCode: 143
          preStop: 3s                  # how long the hook takes; so does postStart
          postStart: {takes: 1s, error: exited with 1}
          listens: ["127.0.0.1:8080"]  # what else is connected to is refused
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

A life may also have `oomKilled: true`, `createError: text` and `startError: text`; a
script `sandbox: {error: text}` and `volumes: {data: {error: text}}`.
Results are success, failure, warning (a redirect to another host; counts as success),
errored (could not be run) and timeout. What is not mentioned lives for ever and is
healthy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from operator import itemgetter

from msgspec import Struct, field

from probetui.debugger.commands import RestartContainer, TriggerProbe
from probetui.drive.scenario.behavior import IMMEDIATE, CallBehavior, InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.engine.inputs import Command, DeletePod
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.effects import (
    MountVolume,
    Operation,
    PullImage,
    Relist,
    RunHook,
    RunPodSandbox,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
"""The start of virtual time, unless a scenario has another."""


class ScriptAction(StrEnum):
    """The actions of a scenario on pods and containers."""

    RESTART = "restart"
    PROBE = "probe"
    DELETE = "delete"


class ScheduledCommand(Struct, frozen=True):
    """A command `after` the start, for all pods and containers of these names."""

    after: timedelta
    doing: ScriptAction
    pod: str = ""
    container: str = ""
    probe_type: ProbeType | None = None


class HookBehavior(Struct, frozen=True):
    """How a container's lifecycle hooks are answered."""

    post_start: CallBehavior = IMMEDIATE
    pre_stop: CallBehavior = IMMEDIATE


INIT_LIFE = InstanceBehavior(lasts=timedelta(seconds=1))
"""For an init container that no script mentions; otherwise the next could not start."""


class Scenario(Struct, frozen=True):
    """A scenario.

    Containers go by `name` or `pod/name`; `images` are those that have to be pulled.
    `sandbox` is how a pod's sandbox is created, `volumes` how those are mounted.
    """

    start: datetime = START
    lives: Mapping[str, tuple[InstanceBehavior, ...]] = field(default_factory=dict)
    hooks: Mapping[str, HookBehavior] = field(default_factory=dict)
    images: Mapping[str, CallBehavior] = field(default_factory=dict)
    volumes: Mapping[str, CallBehavior] = field(default_factory=dict)
    sandbox: CallBehavior = IMMEDIATE
    orders: tuple[ScheduledCommand, ...] = ()

    @property
    def knows_listeners(self) -> bool:
        """Whether it says of a container where it listens."""
        return any(
            life.listens is not None for lives in self.lives.values() for life in lives
        )

    def world(self) -> World:
        """Return a new world that follows the scenario."""
        dealing = _ScriptedRuntime(self)
        return World(
            self.lives, dealing=dealing, absent=self.images, init_life=INIT_LIFE
        )

    def commands(self, pods: Iterable[Pod]) -> list[tuple[datetime, Command]]:
        """Return the commands for these pods, in order of time."""
        known = tuple(pods)
        commands = [
            (self.start + order.after, command)
            for order in self.orders
            for pod in known
            if (command := _command(order, pod)) is not None
        ]
        return sorted(commands, key=itemgetter(0))


NO_SCENARIO = Scenario()


class _ScriptedRuntime(Struct, frozen=True):
    """The `RuntimeBehavior` of a scenario."""

    scenario: Scenario

    def __call__(self, call: Operation | Relist) -> CallBehavior:
        match call:
            case PullImage(image=image) if image in self.scenario.images:
                return self.scenario.images[image]
            case MountVolume(volume=volume) if volume.name in self.scenario.volumes:
                return self.scenario.volumes[volume.name]
            case RunPodSandbox():
                return self.scenario.sandbox
            case RunHook(pod, container, is_pre_stop=is_last):
                known = self.scenario.hooks
                hooks = known.get(f"{pod.name}/{container.name}")
                if hooks is None:
                    hooks = known.get(container.name, HookBehavior())
                return hooks.pre_stop if is_last else hooks.post_start
            case _:
                return CallBehavior()


def _command(order: ScheduledCommand, pod: Pod) -> Command | None:
    """Return the command for a pod, None if it is for another one."""
    if order.pod not in {"", pod.name}:
        return None
    if order.doing is ScriptAction.DELETE:
        return DeletePod(pod.uid)
    container = pod.container(order.container)
    if container is None:
        return None
    if order.doing is ScriptAction.RESTART:
        return RestartContainer(pod.uid, order.container)
    kind = order.probe_type
    if kind is None or container.probe(kind) is None:
        return None
    return TriggerProbe(ProbeKey(pod.uid, order.container, kind))
