"""Simulate the pods of traces on virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from operator import itemgetter

from msgspec.structs import replace

from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import FILE_SOURCE
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import KubeletRules
from probetui.record.codec import encode_entry
from probetui.record.format import RecordContext
from tests.builders import START, at
from tests.conformance.observation import Observation
from tests.conformance.translation import Translation
from tests.traces.machine_pace import pace_of
from tests.traces.pod_world import PodWorld
from tests.traces.trace import Json, RefusedError, Trace, a_pod_of


def world_of(
    trace: Trace,
    rules: KubeletRules,
    listens_after: float = 0.0,
    *,
    has_recorded_pace: bool = False,
) -> PodWorld:
    """Return a world for the pod of a trace.

    Only properties of its machine are taken from the trace: whether there was an image,
    which runtime ran commands, and when it was so busy that a command of a probe ran
    into its time limit.
    """
    return PodWorld(
        has_images=not trace.lacks_image,
        is_docker=trace.is_of_docker and rules.exec_errors_on_docker == "docker",
        listens_after=listens_after,
        timeouts=trace.timeouts,
        pace=pace_of(trace) if has_recorded_pace else None,
    )


def simulate(
    trace: Trace,
    config: KubeletConfig | None = None,
    end: float | None = None,
    begins_at: float = 0.0,
    listens_after: float = 0.0,
    *,
    has_recorded_pace: bool = False,
) -> Observation:
    """Simulate the pod of a trace for as long as the kubelet ran, or until `end`.

    It is added `begins_at` seconds after the start of the kubelet, whose relists have a
    phase. The observation of a pod that is refused is empty.
    """
    config = config or trace.config
    try:
        pod = a_pod_of(trace.manifest, config.rules)
    except RefusedError:
        return Observation.of(
            [{"t": trace.observation.end if end is None else end, "kind": "end"}]
        )
    edited = replace(pod, uid=f"{pod.uid}-edited")
    end = trace.observation.end if end is None else end
    end += begins_at
    others: list[Json] = [{"t": end, "kind": "end"}]
    engine = Engine(config, START)
    world = world_of(
        trace, config.rules, listens_after, has_recorded_pace=has_recorded_pace
    )
    with closing(world):
        simulation = Simulation(engine, world, START)
        simulation.run_until(at(begins_at))
        simulation.submit(SetPods((pod,), source=FILE_SOURCE))
        for action, when in trace.changes:
            if when + begins_at > end:
                break
            others.append({"t": when + begins_at, "kind": "action", "do": action})
            simulation.run_until(at(when + begins_at))
            is_edit = action == "edit"
            simulation.submit(
                SetPods((edited,), source=FILE_SOURCE)
                if is_edit
                else DeletePod(pod.uid)
            )
        simulation.run_until(at(end))

    context = RecordContext(START, {pod.uid: pod, edited.uid: edited})
    translation = Translation(trace.pod_name)
    records = (
        record
        for entry in simulation.journal
        if not _is_of_replaced_pod(written := encode_entry(entry, context), pod, others)
        for record in translation.records(written)
    )
    return Observation.of(sorted([*others, *records], key=itemgetter("t")))


def _is_of_replaced_pod(written: Json, pod: Pod, others: Sequence[Json]) -> bool:
    """Return whether a status is of a pod that was replaced in the pod list."""
    if written["type"] != "status" or written["podUID"] != pod.uid:
        return False
    return any(
        other.get("do") == "edit" and other["t"] <= written["t"] for other in others
    )
