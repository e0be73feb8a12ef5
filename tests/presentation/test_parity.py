"""Plain lines carry every fact of the detail pane (UX-52)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, timedelta
from typing import Any

import pytest

from probetui.drive.scripted_lives import Life as Lasting
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction
from probetui.presentation.detail import Subject, full_detail
from probetui.presentation.durations import Times
from probetui.presentation.lines import PlainLines
from probetui.presentation.past import Past
from probetui.presentation.spans import text_of
from probetui.presentation.view import View
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.stage import ERRS, FAILS, Stage, always, probing

POD = a_pod(
    a_container(
        liveness_probe=a_probe(
            ExecAction(("cat", "/tmp/healthy")),
            period_seconds=5,
            initial_delay_seconds=2,
        )
    )
)
CRASHES = (Lasting(timedelta(seconds=4), exit_code=1),)
STUBBORN = (Lasting(stops_after=None),)

Told = Callable[[str], str | None]


def pattern(of_the_detail: str, in_plain: str) -> Told:
    """Return how a fact of the detail pane reads in plain lines, as a pattern.

    Groups of the first pattern stand for `{0}`, `{1}`, … in the second one.
    """

    def expected(value: str) -> str | None:
        found = re.search(of_the_detail, value)
        if found is None:
            return None
        return in_plain.format(*(re.escape(each or "") for each in found.groups()))

    return expected


FACTS: dict[str, list[Told]] = {
    "handler": [pattern("(.+)", "liveness probes {0} period=")],
    "timing": [
        pattern(
            r"period (\w+)  timeout (\w+)  delay (\w+)  failures (\d+)",
            "period={0} timeout={1} delay={2} failures={3} ",
        )
    ],
    "result run": [
        pattern(r"(\d+/\d+) failures", " run {0} "),
        pattern(r"(\d+) success", " run {0}/"),
        pattern("not probed yet", "started restart="),
        pattern(r"0 \(reset on hold\)", "kill grace="),
        pattern("nothing counted yet", "errored x3"),
    ],
    "stored": [
        pattern("(Success|Failure)", "liveness result .*->{0}"),
        pattern("none", "started restart="),
    ],
    "on hold": [pattern("no", ""), pattern("yes", "liveness hold off->on")],
    "initial delay": [pattern(r"(\d+)s", "delay={0}s ")],
    # A line has the time of its tick, and the period is told at the start.
    "next tick": [pattern("(.+)", r"period=\d+s ")],
    "why": [
        pattern("below threshold", "no-action"),
        pattern("agrees with the stored result", "no-action"),
        pattern("on hold", "skipped on-hold"),
        pattern("not running", "skipped not-running"),
        pattern("thrown away", "errored x3 .*discarded"),
        pattern("killed", "kill grace="),
        pattern("initial delay", "skipped initial-delay"),
        pattern("no container", "skipped container-missing"),
        pattern("no tick yet", ""),
    ],
    "next failure": [
        pattern(r"run (\d+)->(\d+) of (\d+)", "(next-failure run {0}->{1} of {2}|)"),
        pattern(
            r"kill.*, (\d+)s grace \((\w+)\)", r"next-failure kill grace={0}s\({1}"
        ),
        pattern("none: on hold", "next-failure none: on hold"),
        pattern("none: no running", "skipped not-running|exit "),
    ],
    "back-off": [
        pattern(r"window (\w+)", "backoff waits .*window={0}"),
    ],
    "kill": [pattern(r"of (\d+)s grace left \((\w+)\)", "stopping grace={0}s")],
    "last output": [
        pattern(r"exit (\d+)", "failure|success"),
        pattern("errored", "errored x3"),
        pattern(r"in (\w+)", "{0}"),
    ],
    "state": [
        pattern("Running", "started restart="),
        pattern("Stopping", "stopping grace="),
        pattern("CrashLoopBackOff", "backoff waits"),
    ],
    "last exit": [pattern(r"exit (\d+)", "exit {0} ")],
    "image": [pattern(r"(\S+)  id (\w+)", "image {0} id {1}")],
    "counted": [pattern("(.+)", "counted {0}")],
    "latency": [
        pattern(
            r"last (\w+)   median (\w+)   max (\w+)   timeout ([\w.]+)",
            "latency last {0} median {1} max {2} timeout {3}",
        ),
        pattern("not probed yet", ""),
    ],
    "noticed after": [pattern(r"(\w+) to (\w+) ", "noticed-after={0}-{1}")],
    "then killed": [pattern(r"to (\d+)s later", "kill-grace={0}s")],
    "doing": [pattern("(.*)", "")],
}
"""For every label of the detail pane, how its fact reads in plain lines."""


def of_the_detail(stage: Stage, pod: Pod) -> dict[str, str]:
    """Return what the detail pane says, by its labels."""
    past = Past(stage.journal)
    past.feed(stage.journal, 0)
    shown = stage.snapshot.pods[0]
    container = shown.containers[0]
    probe = container.probes[0]
    subject = Subject(shown, container, probe, past.timeline(probe.key))
    view = View(Times(at(stage.now), START, zone=UTC))
    lines = [text_of(each) for each in full_detail(subject, view, 400)]
    labels = {each[:14].strip(): each[14:] for each in lines if each[:1].strip()}
    return {
        label: value
        for label, value in labels.items()
        if re.fullmatch("[a-z][a-z -]+", label)
    }


def in_plain(stage: Stage, pod: Pod) -> str:
    """Return everything that is said in plain lines."""
    lines = PlainLines(is_verbose=True)
    lines.know([pod])
    told = [line for each in stage.journal for line in lines.feed(each)]
    return "\n".join([*told, *lines.flush(at(stage.now))])


@pytest.mark.parametrize(
    ("seconds", "script"),
    [
        pytest.param(22, {}, id="healthy"),
        pytest.param(13, {"probing": probing(liveness=always(FAILS))}, id="failing"),
        pytest.param(
            40,
            {"probing": probing(liveness=always(FAILS)), "lives": {"app": STUBBORN}},
            id="being killed",
        ),
        pytest.param(12, {"lives": {"app": CRASHES}}, id="waiting in back-off"),
        pytest.param(22, {"probing": probing(liveness=always(ERRS))}, id="errored"),
    ],
)
def test_every_fact_of_the_detail_pane_is_told_in_plain(
    seconds: float, script: dict[str, Any]
) -> None:
    stage = Stage(POD, **script)
    stage.run_until(seconds)

    facts = of_the_detail(stage, POD)
    plain = in_plain(stage, POD)

    for label, value in facts.items():
        expected = [each(value) for each in FACTS[label]]
        known = [each for each in expected if each is not None]
        assert known, f"nobody knows how {label!r} reads in plain: {value!r}"
        assert re.search(known[0], plain), f"{label}: {value!r} is not told: {known[0]}"


@pytest.mark.parametrize("kind", ["readiness", "startup"])
def test_the_other_probes_are_introduced_too(kind: str) -> None:
    probe = a_probe(period_seconds=5)
    probes: dict[str, Any] = {f"{kind}_probe": probe}
    pod = a_pod(a_container(**probes))
    stage = Stage(pod)
    stage.run_until(5)

    plain = in_plain(stage, pod)

    assert f"web/app {kind} probes exec true period=5s" in plain
    assert ("never-kills" in plain) is (kind == "readiness")
