"""The dashboard: its expressions are PromQL about series that there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probetui.drive.worker_metrics import WORKER_METRICS

BOARD = Path(__file__).parents[3] / "packaging/grafana/probes.json"
_TIMES = ("$__interval", "$__rate_interval")
_STATES = (
    "kube_pod_container_status_restarts_total",
    "kube_pod_container_status_ready",
    "kube_pod_container_status_last_terminated_reason",
)
_KUBELET = ("prober_probe_total", "prober_probe_duration_seconds_bucket")


def expressions() -> Iterator[str]:
    board: dict[str, Any] = json.loads(BOARD.read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            text: str = target["expr"]
            for variable in _TIMES:
                text = text.replace(variable, "5m")
            yield text


def test_every_expression_reads_series_that_there_are() -> None:
    promql_parser = pytest.importorskip("promql_parser")
    from probetui.analysis.rule_findings import rule_findings  # noqa: PLC0415

    read: set[str] = set()
    for text in expressions():
        assert list(rule_findings(text, "expr")) == []
        nodes: list[Any] = []
        promql_parser.walk(promql_parser.parse(text), nodes.append)
        read |= {
            node.name
            for node in nodes
            if isinstance(node, promql_parser.VectorSelector)
        }

    ours = {name for name, _, _ in WORKER_METRICS}
    assert read - ours == {*_STATES, *_KUBELET}
    assert read & ours == ours - {"probetui_probe_successes_in_a_row"}


def test_panels_have_a_place_of_their_own() -> None:
    board: dict[str, Any] = json.loads(BOARD.read_text())
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert panel["description"].endswith(".")
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
