"""Manifests of the traces for plain processes."""

from __future__ import annotations

import json
import re

import pytest

from tests.traces.processes import (
    LEFT_OUT,
    REWRITTEN,
    for_processes,
    in_the_traces_words,
)
from tests.traces.trace import load_traces
from tests.traces.virtual import a_pod_of

TRACES = load_traces()
OURS = re.compile(r"(?<![.\w])/(?:tmp|www|start|ready|ok)\b")
"""Paths that a container has for itself, and processes share."""


@pytest.mark.parametrize("name", sorted(TRACES.keys() - LEFT_OUT.keys()))
def test_commands_have_no_path_of_their_own_left(name: str) -> None:
    adapted = for_processes(name, TRACES[name].manifest)

    pod = a_pod_of(adapted)
    probes = [each.liveness_probe for each in pod.all_containers()]
    commands = [each.command + each.args for each in pod.all_containers()]
    assert not [each for each in (*commands, *probes) if OURS.search(str(each))]


@pytest.mark.parametrize("name", REWRITTEN)
def test_every_replacement_is_made_and_nothing_else_changes(name: str) -> None:
    manifest = TRACES[name].manifest

    adapted = for_processes(name, manifest)

    text, found = json.dumps(manifest), json.dumps(adapted)
    assert all(path in text for path, _ in REWRITTEN[name])
    assert all(here in found for _, here in REWRITTEN[name])
    assert found.count("cgi-bin") == text.count("cgi-bin")
    assert for_processes("crashloop", manifest) == manifest


def test_requests_keep_their_paths() -> None:
    adapted = for_processes("http-redirect", TRACES["http-redirect"].manifest)

    (container,) = adapted["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/cgi-bin/r?a=b"


def test_messages_are_retold_with_the_path_of_the_trace() -> None:
    said = "cat: can't open 'healthy': No such file or directory"

    assert in_the_traces_words(said) == said.replace("healthy", "/tmp/healthy")
