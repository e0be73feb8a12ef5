"""Refused connections and findings in the detail and in `describe`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import Listeners, ListenerScope, SocketAddress
from probetui.kubelet.journal import (
    FindingEntry,
    JournalEntry,
    ListenersEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.container.card import card_lines
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.page import full_lines, short_lines
from probetui.presentation.kubectl.describe import describe_pod
from probetui.presentation.text.spans import text_of
from tests.presentation.container.test_detail import the_subject
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, NOW, changed_tick
from tests.tui.snapshots import demo

THERE = SocketAddress("10.1.2.3", 8080)
LOOPBACK = Listeners((SocketAddress("127.0.0.1", 8080),), ListenerScope.CONTAINER)
FINDING = FindingEntry(
    90, NOW, DEMO_KEY, "redirect-seen", "spec.x", "is \x1b so", "pod.yaml:9:7", 41
)


def past_of(*entries: JournalEntry) -> SessionHistory:
    past = SessionHistory(entries)
    past.add_entries(entries, 0)
    return past


def a_subject(attempt: Attempt, *entries: JournalEntry) -> Subject:
    """Return a container whose last probe had this attempt."""
    pod = demo("|sf")
    container = pod.containers[0]
    probe = container.probes[0]
    assert probe.last_run is not None
    last: TickEntry = changed_tick(probe.last_run, attempts=(attempt,))
    changed = replace(container, probes=(replace(probe, last_run=last),))
    past = past_of(last, *entries).container(DEMO_KEY.pod_uid, "liveness")
    return replace(the_subject(replace(pod, containers=(changed,))), history=past)


def detail(attempt: Attempt, *entries: JournalEntry) -> list[str]:
    """Return the lines of the detail."""
    subject = a_subject(attempt, *entries)
    return [text_of(line) for line in card_lines(subject, VIEW, 120, 20)]


def a_listeners_entry() -> ListenersEntry:
    pod = demo("|sf")
    last = pod.containers[0].probes[0].last_run
    assert last is not None
    return ListenersEntry(
        91, NOW, last.key, last.container_id, THERE, LOOPBACK, cause=last.sequence
    )


def test_a_refused_connection_is_explained_in_the_detail() -> None:
    refused = Attempt(ProbeResult.FAILURE, "refused", refused_at=THERE)

    lines = detail(refused, a_listeners_entry())

    (line,) = [line for line in lines if line.startswith("refused")]
    assert line.endswith(
        "the container listens on 127.0.0.1:8080 only; the probe connects to "
        "10.1.2.3, so "
        "it is refused"
    )


@pytest.mark.parametrize(
    "lines_of", [partial(short_lines, height=12), full_lines], ids=["short", "full"]
)
def test_a_refused_connection_is_explained_on_the_container_screen(
    lines_of: Callable[..., Any],
) -> None:
    refused = Attempt(ProbeResult.FAILURE, "refused", refused_at=THERE)
    subject = a_subject(refused, a_listeners_entry(), FINDING)

    labels = [text_of(line).split()[0:1] for line in lines_of(subject, VIEW, 78)]

    refusal = labels.index(["refused"])
    assert labels[refusal + 1] == ["finding"]


def test_listeners_are_no_hint_once_a_connection_succeeds() -> None:
    answered = Attempt(ProbeResult.FAILURE, "HTTP 500")

    assert "127.0.0.1:8080" not in "".join(detail(answered, a_listeners_entry()))


def test_a_finding_is_escaped_in_the_detail_of_its_probe() -> None:
    other = replace(
        FINDING, key=DEMO_KEY._replace(probe_type=ProbeType.READINESS), message="not it"
    )

    lines = detail(Attempt(ProbeResult.SUCCESS), FINDING, other)

    (line,) = [line for line in lines if line.startswith("finding")]
    assert line.endswith("pod.yaml:9:7: spec.x: is \\x1b so  redirect-seen")


def test_a_description_ends_with_the_findings() -> None:
    findings = past_of(FINDING).findings(DEMO_KEY.pod_uid)

    lines = [
        text_of(line).rstrip() for line in describe_pod(demo(), (), VIEW, findings)
    ]

    assert lines[-4:] == [
        "Findings:",
        "  Severity  Name           Container  Message",
        "  --------  ----           ---------  -------",
        "  Warning   redirect-seen  liveness   pod.yaml:9:7: spec.x: is \\x1b so",
    ]


def test_a_description_without_findings_is_the_same_as_kubectls() -> None:
    lines = [text_of(line) for line in describe_pod(demo(), (), VIEW)]

    assert not any(line.startswith("Findings") for line in lines)
    assert past_of().findings(DEMO_KEY.pod_uid) == []
