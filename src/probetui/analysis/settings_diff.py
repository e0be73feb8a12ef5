"""What a change of manifests does to containers, by the rules of the kubelet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from probetui.analysis.findings import Finding, findings_for
from probetui.analysis.timing import (
    TimeRange,
    kill_grace_period,
    ready_after_start,
    start_budget,
    timing_of,
)
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import Severity

_SECOND = timedelta(seconds=1)
_AT_ONCE = TimeRange(timedelta(), timedelta())
_NEVER = TimeRange(timedelta.max, timedelta.max)

PROBED_IN_ORDER = (ProbeType.STARTUP, ProbeType.LIVENESS, ProbeType.READINESS)


class Direction(StrEnum):
    """Whom a change of a time is hard on. The values are saved."""

    STRICTER = "stricter"
    """A container is killed, stopped or taken out sooner, or comes in later."""
    LOOSER = "looser"
    MIXED = "mixed"
    """Stricter at one end of the range, looser at the other."""


class Change(StrEnum):
    """What became of a container or a probe. The values are saved."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    SAME = "same"


class SettingEffect(NamedTuple):
    """A time that follows from a container's settings, as people feel it.

    Attributes:
        name: how JSON calls it; never changes.
        label: what it is, for people.
        missing: what it is where there is no time: killed never, ready at once.
        is_patience: more of it is looser; of the others, more is stricter.
        time_of: the time, None where there is none.
    """

    name: str
    label: str
    missing: str
    is_patience: bool
    time_of: Callable[[Pod, Container, KubeletRules], TimeRange | None]


class EffectChange(Struct, frozen=True):
    """An effect that differs; None is what `SettingEffect.missing` says."""

    effect: SettingEffect
    old: TimeRange | None
    new: TimeRange | None
    direction: Direction


class ProbeChange(Struct, frozen=True):
    """A probe that differs in any field."""

    probe_type: ProbeType
    old: Probe | None
    new: Probe | None

    @property
    def change(self) -> Change:
        """Whether it came, went, or is another."""
        return _change(self.old, self.new)


class WorkloadPod(Struct, frozen=True):
    """A pod, and the object whose pod it is."""

    kind: str
    name: str
    pod: Pod


class ContainerDiff(Struct, frozen=True):
    """A container before and after a change.

    Attributes:
        old: the workload before, None if it, or the container, was not there.
        new: the workload after, likewise.
        container: the container's name.
        effects: the times that differ, none if it came or went.
        probes: the probes that differ; all it has, if it came or went.
        found: the warnings of `check` that it has now and had not before.
        mended: those that it had and has no more.
    """

    old: WorkloadPod | None
    new: WorkloadPod | None
    container: str
    effects: Sequence[EffectChange] = ()
    probes: Sequence[ProbeChange] = ()
    found: Sequence[Finding] = ()
    mended: Sequence[Finding] = ()

    @property
    def change(self) -> Change:
        """Whether the container came, went, is another, or the same to its kubelet."""
        change = _change(self.old, self.new)
        if change is not Change.CHANGED:
            return change
        differs = self.effects or self.probes or self.found or self.mended
        return Change.CHANGED if differs else Change.SAME

    @property
    def workload(self) -> WorkloadPod:
        """The workload as it is now, or as it was."""
        workload = self.new or self.old
        assert workload is not None, "one of them is there"  # noqa: S101  # for the type
        return workload

    def has(self, direction: Direction) -> bool:
        """Return whether a time of it became stricter or looser, at one end or both."""
        wanted = {direction, Direction.MIXED}
        return any(effect.direction in wanted for effect in self.effects)


def diff_workloads(
    old: Sequence[WorkloadPod], new: Sequence[WorkloadPod], rules: KubeletRules
) -> list[ContainerDiff]:
    """Compare the containers of workloads, in the order of the new ones.

    Workloads are the same by namespace, kind and name, and containers by name. The only
    one that is left over on each side is taken as renamed.
    """
    pairs = _pair_workloads(old, new)
    return [
        diff
        for before, after in pairs
        for diff in _diff_containers(before, after, rules)
    ]


_Pair = tuple[WorkloadPod | None, WorkloadPod | None]


def _pair_workloads(
    old: Sequence[WorkloadPod], new: Sequence[WorkloadPod]
) -> Iterator[_Pair]:
    before = {_identity(workload): workload for workload in old}
    after = {_identity(workload): workload for workload in new}
    gone = [workload for key, workload in before.items() if key not in after]
    come = [workload for key, workload in after.items() if key not in before]
    renamed: Mapping[str, WorkloadPod] = {}
    if len(gone) == len(come) == 1:
        renamed = {_identity(come[0]): gone.pop()}
    for key, workload in after.items():
        yield before.get(key) or renamed.get(key), workload
    for workload in gone:
        yield workload, None


def _identity(workload: WorkloadPod) -> str:
    return f"{workload.pod.namespace}/{workload.kind}/{workload.name}"


def _diff_containers(
    old: WorkloadPod | None, new: WorkloadPod | None, rules: KubeletRules
) -> Iterator[ContainerDiff]:
    names = [
        name
        for workload in (new, old)
        if workload is not None
        for name in workload.pod.container_names()
    ]
    for name in dict.fromkeys(names):
        before = None if old is None else old.pod.container(name)
        after = None if new is None else new.pod.container(name)
        probes = [*_diff_probes(before, after)]
        if old is None or new is None or before is None or after is None:
            yield ContainerDiff(
                old if before else None, new if after else None, name, probes=probes
            )
            continue
        known, found = (_findings(workload.pod, name, rules) for workload in (old, new))
        yield ContainerDiff(
            old,
            new,
            name,
            [*_diff_effects((old.pod, before), (new.pod, after), rules)],
            probes,
            [finding for key, finding in found.items() if key not in known],
            [finding for key, finding in known.items() if key not in found],
        )


def _diff_probes(old: Container | None, new: Container | None) -> Iterator[ProbeChange]:
    for probe_type in PROBED_IN_ORDER:
        before = None if old is None else old.probe(probe_type)
        after = None if new is None else new.probe(probe_type)
        if before != after:
            yield ProbeChange(probe_type, before, after)


def _change(old: object | None, new: object | None) -> Change:
    if old is None:
        return Change.ADDED
    return Change.REMOVED if new is None else Change.CHANGED


def _findings(
    pod: Pod, container: str, rules: KubeletRules
) -> dict[tuple[str, str], Finding]:
    """Return the warnings about a container, by their rule and place in it."""
    path = next(
        path for path, known in pod.containers_with_paths() if known.name == container
    )
    return {
        (finding.rule, finding.path.removeprefix(path)): finding
        for finding in findings_for(pod, rules)
        if finding.severity is not Severity.NOTE
        and (finding.path == path or finding.path.startswith(f"{path}."))
    }


def _diff_effects(
    old: tuple[Pod, Container], new: tuple[Pod, Container], rules: KubeletRules
) -> Iterator[EffectChange]:
    for effect in EFFECTS:
        before, after = effect.time_of(*old, rules), effect.time_of(*new, rules)
        if before != after:
            direction = _direction(effect, before, after)
            yield EffectChange(effect, before, after, direction)


def _direction(
    effect: SettingEffect, old: TimeRange | None, new: TimeRange | None
) -> Direction:
    missing = _NEVER if effect.is_patience else _AT_ONCE
    before, after = old or missing, new or missing
    shorter = after.least < before.least or after.most < before.most
    longer = after.least > before.least or after.most > before.most
    if shorter and longer:
        return Direction.MIXED
    return Direction.STRICTER if shorter is effect.is_patience else Direction.LOOSER


def _is_probed(pod: Pod, container: Container) -> bool:
    """Return whether a kubelet probes a container at all."""
    return container.is_sidecar or container not in pod.init_containers


def _noticed(probe_type: ProbeType) -> Callable[..., TimeRange | None]:
    def time_of(
        pod: Pod, container: Container, rules: KubeletRules
    ) -> TimeRange | None:
        if container.probe(probe_type) is None or not _is_probed(pod, container):
            return None
        return timing_of(pod, container, probe_type, rules).noticed

    return time_of


def _recovered(pod: Pod, container: Container, rules: KubeletRules) -> TimeRange | None:
    if container.readiness_probe is None or not _is_probed(pod, container):
        return None
    return timing_of(pod, container, ProbeType.READINESS, rules).recovered


def _budget(pod: Pod, container: Container, rules: KubeletRules) -> TimeRange | None:
    return start_budget(container, rules) if _is_probed(pod, container) else None


def _ready(pod: Pod, container: Container, rules: KubeletRules) -> TimeRange | None:
    return ready_after_start(container, rules) if _is_probed(pod, container) else None


def _kill_grace(
    pod: Pod, container: Container, rules: KubeletRules
) -> TimeRange | None:
    if container.liveness_probe is None or not _is_probed(pod, container):
        return None
    return _exactly(
        kill_grace_period(pod, container, ProbeType.LIVENESS, rules).seconds
    )


def _stop_grace(
    pod: Pod, _container: Container, _rules: KubeletRules
) -> TimeRange | None:
    return _exactly(pod.termination_grace_period_seconds or 0)


def _exactly(seconds: int) -> TimeRange:
    return TimeRange(seconds * _SECOND, seconds * _SECOND)


EFFECTS: Sequence[SettingEffect] = (
    SettingEffect(
        "killed-after-failure",
        "killed once the app fails for",
        "never",
        is_patience=True,
        time_of=_noticed(ProbeType.LIVENESS),
    ),
    SettingEffect(
        "start-budget",
        "killed unless it is up within",
        "never",
        is_patience=True,
        time_of=_budget,
    ),
    SettingEffect(
        "not-ready-after-failure",
        "out of the endpoints once the app fails for",
        "never",
        is_patience=True,
        time_of=_noticed(ProbeType.READINESS),
    ),
    SettingEffect(
        "ready-after-recovery",
        "back in once the app is well for",
        "at once",
        is_patience=False,
        time_of=_recovered,
    ),
    SettingEffect(
        "ready-after-start",
        "ready after its start, if it answers at once",
        "at once",
        is_patience=False,
        time_of=_ready,
    ),
    SettingEffect(
        "kill-grace",
        "time to stop when liveness kills it",
        "never",
        is_patience=True,
        time_of=_kill_grace,
    ),
    SettingEffect(
        "stop-grace",
        "time to stop when the pod is deleted",
        "never",
        is_patience=True,
        time_of=_stop_grace,
    ),
)
"""What is compared, in the order in which it is told."""
