"""The pods of traces on virtual time, in worlds by script."""

from __future__ import annotations

from operator import itemgetter

from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod
from probetui.kubelet.config import KubeletConfig
from probetui.record.codec import encode_entry
from probetui.record.format import RecordContext
from tests.builders import START, at
from tests.conformance.observation import Observation
from tests.conformance.translation import Translation
from tests.traces.scripts import Script
from tests.traces.trace import Json, Trace, a_pod_of


def play(
    trace: Trace,
    script: Script,
    config: KubeletConfig | None = None,
    end: float | None = None,
    begins: float = 0.0,
) -> Observation:
    """Run the pod of a trace for as long as the kubelet did, or until `end`.

    It is added `begins` seconds after the kubelet, whose relists have a phase.
    """
    pod = a_pod_of(trace.manifest, trace.config.rules)
    simulation = Simulation(
        Engine(config or trace.config, START), script.world(), START
    )
    end = trace.seen.end if end is None else end
    end += begins
    others: list[Json] = [{"t": end, "kind": "end"}]
    simulation.run_until(at(begins))
    simulation.submit(AddPod(pod))
    if trace.deleted_at is not None:
        deleted_at = trace.deleted_at + begins
        others.append({"t": deleted_at, "kind": "action", "do": "delete"})
        simulation.run_until(at(deleted_at))
        simulation.submit(DeletePod(pod.uid))
    simulation.run_until(at(end))

    context = RecordContext(START, {pod.uid: pod})
    translation = Translation(trace.pod_name)
    records = (
        record
        for entry in simulation.journal
        for record in translation.records(encode_entry(entry, context))
    )
    return Observation.of(sorted([*others, *records], key=itemgetter("t")))
