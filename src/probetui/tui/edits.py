"""The timings that people gave probes in memory."""

from __future__ import annotations

from collections.abc import Iterable

from probetui.k8s.probe import ProbeKey
from probetui.kubelet.snapshot import PodSnapshot
from probetui.kubelet.timing import Timing


def edited_timings(pods: Iterable[PodSnapshot]) -> dict[ProbeKey, Timing]:
    """Return the timing of each probe that has another one than its manifest says."""
    return {
        probe.key: Timing.of(probe.probe)
        for pod in pods
        for container in pod.containers
        for probe in container.probes
        if probe.manifest_probe is not None
    }
