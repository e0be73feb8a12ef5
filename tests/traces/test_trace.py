"""Loading of traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.traces.trace import DATA, containers, load_traces


def a_trace(name: str, **status: Any) -> dict[str, Any]:
    event = {"t": 1.5, "type": "Normal", "reason": "Started", "message": "m"}
    return {
        "pod": {
            "metadata": {"name": name},
            "spec": {
                "initContainers": [{"name": "first"}],
                "containers": [{"name": "app", "livenessProbe": {"periodSeconds": 4}}],
            },
        },
        "events": [
            event | {"fieldPath": "spec.containers{app}"},
            event | {"t": 2.5, "fieldPath": "spec.initContainers{first}"},
            event | {"t": 3.5, "fieldPath": None},
        ],
        "statuses": [{"t": 2.0, "phase": "Running", "conditions": {"Ready": "True"}}],
    }


def test_traces_are_read_plain_and_packed(tmp_path: Path) -> None:
    one, two = a_trace("one"), a_trace("two")
    two["events"][0]["t"] = 9.5
    (tmp_path / "one.json").write_text(json.dumps(one))
    (tmp_path / "two.json.gz").write_bytes(gzip.compress(json.dumps(two).encode()))

    traces = load_traces(tmp_path)

    assert list(traces) == ["one", "two"]
    assert {trace.observation.end for trace in traces.values()} == {9.5}
    assert {trace.statuses_end for trace in traces.values()} == {2.0}


def test_events_name_their_containers(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(a_trace("one")))

    observation = load_traces(tmp_path)["one"].observation

    assert [event.container for event in observation.events] == ["app", "first", None]


def test_statuses_have_conditions(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(a_trace("one")))

    (status,) = load_traces(tmp_path)["one"].observation.statuses

    assert status.phase == "Running"
    assert status.is_ready("pod")


def test_a_manifest_that_was_removed_is_a_deletion(tmp_path: Path) -> None:
    trace = a_trace("one")
    trace["statuses"] += [{"t": 5.0, "manifestRemoved": True}, {"t": 6.0, "gone": True}]
    (tmp_path / "one.json").write_text(json.dumps(trace))

    found = load_traces(tmp_path)["one"]

    assert found.deleted_at == 5.0
    assert found.observation.gone == [6.0]


@pytest.mark.parametrize(
    ("probe", "period"),
    [
        pytest.param({}, 0, id="no probe"),
        pytest.param({"readinessProbe": {}}, 10, id="the default"),
        pytest.param(
            {"readinessProbe": {"periodSeconds": 2}, "startupProbe": {}},
            10,
            id="the longest",
        ),
    ],
)
def test_the_longest_period_of_a_container_counts(
    tmp_path: Path, probe: dict[str, Any], period: int
) -> None:
    trace = a_trace("one")
    trace["pod"]["spec"]["containers"] = [{"name": "app", **probe}]
    (tmp_path / "one.json").write_text(json.dumps(trace))

    assert load_traces(tmp_path)["one"].periods == {"first": 0, "app": period}


def test_init_containers_come_first() -> None:
    found = containers(a_trace("one")["pod"])

    assert [mapping["name"] for mapping in found] == ["first", "app"]


def test_a_file_can_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "Some.Pod_v2.json").write_text(json.dumps(a_trace("one")))

    (trace,) = load_traces(tmp_path).values()

    assert (trace.name, trace.pod_name) == ("Some.Pod_v2", "one")


def test_a_trace_has_the_version_of_its_kubelet(tmp_path: Path) -> None:
    for version in ("1.32", "1.32.10", "1.36.2"):
        text = json.dumps(a_trace("one") | {"kubelet": version})
        (tmp_path / f"of{version}.json").write_text(text)
    (tmp_path / "of.json").write_text(json.dumps(a_trace("one")))

    traces = load_traces(tmp_path).values()

    assert {trace.name: trace.version for trace in traces} == {
        "of": "1.32",
        "of1.32": "1.32",
        "of1.32.10": "1.32",
        "of1.36.2": "1.36",
    }


def test_an_edit_is_not_a_deletion(tmp_path: Path) -> None:
    trace = a_trace("one")
    trace["statuses"].append({"t": 5.0, "manifestEdited": True})
    (tmp_path / "one.json").write_text(json.dumps(trace))

    found = load_traces(tmp_path)["one"]

    assert found.deleted_at is None
    assert found.observation.actions == [("edit", 5.0)]


def test_there_are_traces() -> None:
    assert load_traces(), f"no traces in {DATA}"
