"""Recordings of a machine that was too busy to be followed in time.

Commands of a second ran into their time limits there by chance, so that no script leads
to what was recorded. Given the results that the kubelet had, the rules kill the same
instances, at the same result, and probe none of them any more.
"""

from __future__ import annotations

import gzip
import json
from itertools import groupby
from typing import Any

import pytest

from probetui.k8s.probe import ProbeType
from probetui.k8s.status import Running
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.worker import ProbeNow, Worker
from probetui.kubelet_rules import rules_of
from tests.builders import START, a_container_status, a_key, a_status
from tests.traces.test_versions import NOT_YET
from tests.traces.trace import OWN_DATA, a_pod_of, only_own

pytestmark = only_own

BUSY = sorted(set(NOT_YET) - {"1.20-dockershim/readiness-flap"})
"""But for the one in which nothing kills."""
RESULTS = {"succeeded": Result.SUCCESS, "failed": Result.FAILURE}
LIVENESS = ProbeType.LIVENESS


def recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        gzip.decompress((OWN_DATA / f"{name}.json.gz").read_bytes())
    )
    return found


def steps(name: str) -> list[tuple[float, str, str]]:
    """Return starts, kills by liveness and its results, in their order."""
    found = recording(name)
    events = [
        (event["t"], event["reason"], "")
        for event in found["events"]
        if event["reason"] == "Started"
        or (event["reason"] == "Killing" and "liveness" in event["message"])
    ]
    probes = [
        (at, "probe", result)
        for at, _, probe_type, result in found["probes"]
        if probe_type == LIVENESS and result in RESULTS
    ]
    return sorted([*events, *probes])


@pytest.mark.parametrize("name", BUSY)
def test_the_same_instances_are_killed_given_what_their_probes_found(
    name: str,
) -> None:
    rules = rules_of("1.20")
    pod = a_pod_of(recording(name)["pod"], rules)
    (container,) = pod.containers
    assert container.liveness_probe is not None
    worker = Worker(
        a_key(LIVENESS),
        pod,
        container,
        container.liveness_probe,
        rules=rules,
    )
    results = ResultsManager(LIVENESS)
    instance, killed, recorded, probed_on = 0, [], [], []

    for at, what, result in steps(name):
        if what == "Started":
            instance += 1
        elif what == "Killing":
            recorded.append(instance)
        else:
            running = a_container_status(
                name=container.name,
                state=Running(START),
                container_id=f"docker://{instance}",
                started=True,
            )
            decision = worker.decide(a_status(running), results, START)
            if not isinstance(decision, ProbeNow):
                probed_on.append(at)
            elif worker.record(RESULTS[result], results).stored and worker.on_hold:
                killed.append(instance)

    assert recorded
    assert (killed, probed_on) == (recorded, [])


def test_the_container_is_ready_as_often_given_what_its_probe_found() -> None:
    found = recording("1.20-dockershim/readiness-flap")
    rules = rules_of("1.20")
    pod = a_pod_of(found["pod"], rules)
    (container,) = pod.containers
    assert container.readiness_probe is not None
    key = a_key(ProbeType.READINESS)
    worker = Worker(key, pod, container, container.readiness_probe, rules=rules)
    results = ResultsManager(ProbeType.READINESS)
    running = a_container_status(name=container.name, state=Running(START))
    ready = [False]

    for _, _, _, result in found["probes"]:
        worker.decide(a_status(running), results, START)
        worker.record(RESULTS[result], results)
        ready.append(results.get(worker.container_id) is Result.SUCCESS)

    shown = [
        container_status["ready"]
        for status in found["statuses"]
        for container_status in status.get("containerStatuses", ())
    ]
    changes = [value for value, _ in groupby(ready)]
    shown_changes = [value for value, _ in groupby(shown)]
    assert len(shown_changes) > len(found["statuses"]) / 2
    assert changes[: len(shown_changes)] == shown_changes
