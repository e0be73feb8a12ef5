"""The pods of traces on virtual time, in worlds by script."""

from __future__ import annotations

from operator import itemgetter

import yaml

from probetui.drive.recording import RecordContext, encode_entry
from probetui.drive.simulation import Simulation
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import AddPod, DeletePod
from probetui.manifest.load import load_manifests
from probetui.manifest.parse import Source
from probetui.presentation.api_json import pod_status_to_json
from tests.builders import START, at
from tests.conformance.observation import Observation
from tests.conformance.translation import Translation
from tests.traces.scripts import Script
from tests.traces.trace import Json, Trace

AS_IT_IS = KubeletConfig()


def play(
    trace: Trace,
    script: Script,
    config: KubeletConfig = AS_IT_IS,
    end: float | None = None,
) -> Observation:
    """Run the pod of a trace for as long as the kubelet did, or until `end`."""
    pod = a_pod_of(trace.manifest)
    simulation = Simulation(Engine(config, START), script.world(), START)
    end = trace.seen.end if end is None else end
    others: list[Json] = [{"t": end, "kind": "end"}]
    simulation.submit(AddPod(pod))
    if trace.deleted_at is not None:
        others.append({"t": trace.deleted_at, "kind": "action", "do": "delete"})
        simulation.run_until(at(trace.deleted_at))
        simulation.submit(DeletePod(pod.uid))
    simulation.run_until(at(end))

    context = RecordContext(START, {pod.uid: pod}, pod_status_to_json)
    translation = Translation(trace.name)
    records = (
        record
        for entry in simulation.journal
        for record in translation.records(encode_entry(entry, context))
    )
    return Observation.of(sorted([*others, *records], key=itemgetter("t")))


def a_pod_of(manifest: Json) -> Pod:
    """Return the pod of a manifest, defaults filled in."""
    source = Source("pod.yaml", yaml.safe_dump(dict(manifest)))
    (pod,) = load_manifests([source]).pods
    return pod
