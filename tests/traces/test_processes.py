"""Manifests of the traces for plain processes."""

from __future__ import annotations

import json
import re

import pytest

from tests.traces.processes import for_processes, rewrite_to_trace_paths
from tests.traces.trace import OWN_DATA, a_pod_of, load_traces, only_own

TRACES = {name: trace for name, trace in load_traces().items() if not trace.lacks_image}
OWN = load_traces(OWN_DATA)
OURS = re.compile(r"(?<![.\w])(?<!Location: )/(?:tmp|www|start|ready|ok)\b")
"""Paths that a container has for itself, and processes share."""


@pytest.mark.parametrize("name", TRACES)
def test_commands_have_no_absolute_path_left(name: str) -> None:
    if TRACES[name].is_of_another_version:
        pytest.skip("fields of another version")

    adapted = for_processes(TRACES[name].manifest)

    pod = a_pod_of(adapted)
    probes = [container.liveness_probe for container in pod.all_containers()]
    commands = [
        container.command + container.args for container in pod.all_containers()
    ]
    assert not [part for part in (*commands, *probes) if OURS.search(str(part))]


@only_own
@pytest.mark.parametrize(
    ("name", "replaced"),
    [
        pytest.param("exec-liveness", {"/tmp/healthy": "healthy"}, id="files"),
        pytest.param(
            "http-liveness",
            {
                "-p 8080": "-p $POD_IP:8080",
                "cat /start": "cat ../../start",
                ">/start": ">start",
                "/www": "www",
            },
            id="a server that reads files",
        ),
        pytest.param(
            "http-redirect",
            {"-p 8080": "-p $POD_IP:8080", "/www": "www"},
            id="a server that redirects",
        ),
        pytest.param("readiness-flap", {"/ready": "ready"}, id="in turn"),
        pytest.param("startup-slow", {"/ok": "ok"}, id="in several probes"),
        pytest.param("crashloop", {}, id="no files"),
        pytest.param("exec-missing-binary", {}, id="no such program"),
    ],
)
def test_all_paths_are_replaced_and_nothing_else(
    name: str, replaced: dict[str, str]
) -> None:
    manifest = OWN[name].manifest

    adapted = for_processes(manifest)

    expected = json.dumps(manifest)
    for path, here in replaced.items():
        assert path in expected
        expected = expected.replace(path, here)
    assert json.dumps(adapted) == expected


@only_own
def test_requests_keep_their_paths() -> None:
    adapted = for_processes(OWN["http-redirect"].manifest)

    (container,) = adapted["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/cgi-bin/r?a=b"


def test_a_location_is_no_path() -> None:
    script = "cat >/www/cgi-bin/r <<'X'\n#!/bin/sh\necho 'Location: /nope'\nX\nhttpd -f"
    container = {"name": "app", "command": ["sh", "-c", script]}

    adapted = for_processes({"spec": {"containers": [container]}})

    (found,) = adapted["spec"]["containers"]
    assert found["command"][2] == script.replace("/www", "www")


def test_messages_are_rewritten_to_the_paths_of_the_trace() -> None:
    message = "cat: can't open 'healthy': No such file or directory"
    command = ["cat", "/tmp/healthy"]
    probe = {"exec": {"command": command}}
    manifest = {"spec": {"containers": [{"name": "app", "livenessProbe": probe}]}}

    rewrite = rewrite_to_trace_paths(manifest)

    assert rewrite(message) == message.replace("healthy", "/tmp/healthy")
