"""Plain lines carry every fact of the detail pane."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.debugger.commands import (
    InjectContainerFault,
    Injected,
    InjectResults,
    MuteProbes,
)
from probetui.debugger.scope import ALL_PROBES
from probetui.drive.scenario.behavior import InstanceBehavior as Lasting
from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.engine.inputs import Command
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Fault
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.page import full_lines
from probetui.presentation.plain.lines import PlainLines
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import TimeFormatter, View
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.drive.engine_bench import ERRS, FAILS, EngineBench, always, probing
from tests.presentation.looking import RULES

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

OBSERVANT = KubeletConfig(finds_listeners=True, tells_findings=True)
REFUSED = ProbeAnswer(
    Attempt(
        ProbeResult.FAILURE, detail="exit 1", refused_at=SocketAddress("10.0.0.1", 80)
    )
)
MISSING = ProbeAnswer(
    Attempt(ProbeResult.UNKNOWN, error="not there", detail="", is_missing=True)
)

PatternOf = Callable[[str], str | None]


def pattern(of_the_detail: str, in_plain: str) -> PatternOf:
    """Return a function from a fact of the detail pane to its pattern in plain lines.

    Groups of the first pattern are inserted for `{0}`, `{1}`, … in the second one.
    """

    def expected(value: str) -> str | None:
        found = re.search(of_the_detail, value)
        if found is None:
            return None
        return in_plain.format(*(re.escape(group or "") for group in found.groups()))

    return expected


def with_zero_counts(value: str) -> str:
    """Return how counts read in plain lines: those the detail pane omits are zero."""
    shown = {word: count for count, word in re.findall(r"(\d+) (\w+)", value)}
    words = ("succeeded", "failed", "errored", "skipped")
    return "results " + ", ".join(f"{shown.get(word, '0')} {word}" for word in words)


FACTS: dict[str, list[PatternOf]] = {
    "handler": [pattern("(.+)", "(liveness|readiness|startup) probes {0} period=")],
    "timing": [
        pattern(
            r"period (\w+)  timeout (\w+)  delay (\w+)  failures (\d+)",
            "period={0} timeout={1} delay={2} failures={3} ",
        )
    ],
    "result run": [
        pattern(r"(\d+/\d+) failures", " run {0} "),
        pattern(r"(\d+) (?:success|failure)(?:e?s)?, no change", " run {0}/"),
        pattern("not probed yet", "started restart="),
        pattern(r"0 \(reset on hold\)", "kill grace="),
        pattern("in a row, not counted", "errored x3"),
    ],
    "stored": [
        pattern("(Success|Failure)", " result .*->{0}"),
        pattern("none", "started restart="),
    ],
    "on hold": [pattern("no", ""), pattern("yes", "liveness hold off->on")],
    "initial delay": [
        pattern(r"(?:^|over \()(\d+)s", "delay={0}s "),
        pattern("the startup probe has to succeed", "skipped not-started"),
    ],
    # A line has the time of its tick, and the first line has the period.
    "next tick": [pattern("(.+)", r"period=\d+s ")],
    "why": [
        pattern("below threshold", "no-action"),
        pattern("stored result is .* already", "no-action"),
        pattern("on hold", "skipped on-hold"),
        pattern("not running", "skipped not-running"),
        pattern("not counted", "errored x3 .*discarded"),
        pattern("killed", "kill grace="),
        pattern("initial delay", "skipped initial-delay"),
        pattern("no container", "skipped container-missing"),
        pattern("no tick yet", ""),
        pattern("startup probe", "skipped not-started"),
        pattern("muted", " muted"),
        pattern("would be killed", "would-kill"),
    ],
    "next failure": [
        pattern(r"failure (\d+) of (\d+), no", r"(next-failure run \d->{0} of {1}|)"),
        pattern(
            r"kill.*, (\d+)s grace \((\w+)\)", r"next-failure kill grace={0}s\({1}"
        ),
        pattern("restart without back-off", "next-failure kill .* backoff=none"),
        pattern(
            r"then back-off, (\w+) to",
            r"next-failure kill .* backoff=waits\({0}\)",
        ),
        pattern("would kill", "next-failure would-kill"),
        pattern("stays not ready", "next-failure stays not-ready"),
        pattern("muted", "next-failure none: muted"),
        pattern("startup probe", "skipped not-started"),
        pattern("none: on hold", "next-failure none: on hold"),
        pattern("none: no running", "skipped not-running|exit "),
    ],
    "back-off": [
        pattern(r"(\w+) from", "backoff waits .*backoff={0}"),
        pattern(r"would wait: .* of (\w+) after", "exit .*"),
    ],
    "kill": [pattern(r"of (\d+)s grace left \((\w+)\)", "stopping grace={0}s")],
    "last output": [
        pattern(r"exit (\d+)", "failure|success"),
        pattern("errored", "errored x3"),
        pattern(r"in (\w+)", "{0}"),
        pattern("injected", " injected "),
    ],
    "state": [
        pattern("Running", "started restart="),
        pattern("Starting", "started restart="),
        pattern("Stopping", "stopping grace="),
        pattern("Back-off", "backoff waits"),
        pattern("Frozen", "user freeze web/app"),
        pattern("Cut off", "user cut network web"),
    ],
    "frozen": [pattern("by you", "user freeze web/app")],
    "cut off": [pattern("by you", "user cut network web")],
    "then": [pattern("never killed", "never-kills")],
    "last exit": [pattern(r"exit (\d+)", "exit {0} ")],
    "image": [pattern(r"(\S+)  id (\w+)", "image {0} id {1}")],
    "results": [with_zero_counts],
    "latency": [
        pattern(
            r"last ([\w.]+)   median ([\w.]+)   max ([\w.]+)",
            "latency last {0} median {1} max {2} timeout ",
        ),
        pattern("not probed yet", ""),
    ],
    "cost": [
        pattern(r"(\w+) runs a minute", "latency last"),
        pattern("nothing yet", ""),
    ],
    "noticed after": [pattern(r"(\w+) to (\w+) ", "noticed-after={0}-{1}")],
    "then killed": [pattern(r"to (\d+)s later", "kill-grace={0}s")],
    "doing": [pattern("(.*)", "")],
    "refused": [pattern("(.+)", 'liveness refused "{0}"')],
    "because": [pattern("(.+)", 'liveness because "{0}"')],
    "finding": [
        pattern(r": (is .+?|.+? is not .+?)  ([a-z-]+)$", "finding warning {1} .*")
    ],
}
"""For every label of the detail pane, how its fact reads in plain lines."""


def of_the_detail(bench: EngineBench, pod: Pod) -> dict[str, str]:
    """Return the facts of the detail pane by their labels."""
    past = SessionHistory(bench.journal)
    past.add_entries(bench.journal, 0)
    shown = bench.snapshot.pods[0]
    container = shown.containers[0]
    probe = container.probes[0]
    # Without its instances: their strips show ticks, each of which has a plain line.
    known = replace(past.container(pod.uid, "app"), instances=())
    subject = Subject(shown, container, probe, past.timeline(probe.key), history=known)
    view = View(
        TimeFormatter(at(bench.now), START, zone=UTC),
        acts=bench.snapshot.acts,
        rules=RULES,
    )
    labels: dict[str, str] = {}
    label = ""
    lines = [text_of(line) for line in full_lines(subject, view, 400) if line]
    # The verdict above the handler has sentences with the facts below.
    begins = next(n for n, line in enumerate(lines) if line.startswith("handler"))
    for line in lines[begins:]:
        starts = bool(line[:1].strip())
        label = line[:14].strip() if starts else label
        fact = line[14 if starts else 0 :].strip()
        labels[label] = f"{labels[label]}  {fact}" if label in labels else fact
    return {
        label: value
        for label, value in labels.items()
        if re.fullmatch("[a-z][a-z -]+", label) and not label.startswith("instance")
    }


def in_plain(bench: EngineBench, pod: Pod) -> str:
    """Return all plain lines of a session."""
    lines = PlainLines(is_verbose=True, acts=bench.snapshot.acts, rules=RULES)
    lines.register_pods([pod])
    printed = [line for entry in bench.journal for line in lines.format_entry(entry)]
    return "\n".join([*printed, *lines.flush(at(bench.now))])


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
        pytest.param(
            22,
            {"probing": probing(liveness=always(REFUSED)), "config": OBSERVANT},
            id="refused",
        ),
        pytest.param(
            22,
            {"probing": probing(liveness=always(MISSING)), "config": OBSERVANT},
            id="missing",
        ),
    ],
)
def test_every_fact_of_the_detail_pane_is_in_plain_lines(
    seconds: float, script: dict[str, Any]
) -> None:
    bench = EngineBench(POD, **script)
    bench.run_until(seconds)

    facts = of_the_detail(bench, POD)
    plain = in_plain(bench, POD)

    check(facts, plain)


LIVENESS = a_key(ProbeType.LIVENESS)
ALSO_STARTS = a_pod(
    a_container(liveness_probe=a_probe(), startup_probe=a_probe(period_seconds=5))
)
READY = a_pod(a_container(readiness_probe=a_probe(period_seconds=5)))


@pytest.mark.parametrize(
    ("pod", "command", "script"),
    [
        pytest.param(
            READY, None, {"probing": probing(readiness=always(FAILS))}, id="not ready"
        ),
        pytest.param(
            ALSO_STARTS, None, {"probing": probing(startup=always(FAILS))}, id="gated"
        ),
        pytest.param(
            POD,
            MuteProbes(ALL_PROBES),
            {"probing": probing(liveness=always(FAILS))},
            id="muted",
        ),
        pytest.param(
            POD, InjectResults(LIVENESS, (Injected.FAILURE,) * 2), {}, id="injected"
        ),
        pytest.param(
            POD,
            InjectContainerFault(POD.uid, "app", Fault.FREEZE),
            {},
            id="frozen",
        ),
        pytest.param(
            POD,
            InjectContainerFault(POD.uid, "app", Fault.CUT_NETWORK),
            {},
            id="cut off",
        ),
        pytest.param(
            POD,
            None,
            {
                "probing": probing(liveness=always(FAILS)),
                "config": KubeletConfig(kills=False, restarts=False),
            },
            id="not acting",
        ),
    ],
)
def test_facts_of_other_probes_and_of_interventions_are_in_plain_lines(
    pod: Pod, command: Command | None, script: dict[str, Any]
) -> None:
    bench = EngineBench(pod, **script)
    bench.run_until(3)
    if command is not None:
        bench.send(command)
    bench.run_until(14)

    check(of_the_detail(bench, pod), in_plain(bench, pod))


@pytest.mark.parametrize("seconds", [12, 26, 42, 56, 95, 110])
def test_the_next_failure_shows_whether_the_restart_would_wait(seconds: int) -> None:
    bench = EngineBench(POD, probing=probing(liveness=always(FAILS)))
    bench.run_until(seconds)

    check(of_the_detail(bench, POD), in_plain(bench, POD))


def check(facts: Mapping[str, str], plain: str) -> None:
    """Check that plain lines contain every fact of the detail pane."""
    for label, value in facts.items():
        expected = [pattern_of(value) for pattern_of in FACTS[label]]
        known = [pattern for pattern in expected if pattern is not None]
        assert known, f"nobody knows how {label!r} reads in plain: {value!r}"
        for pattern in known:
            assert re.search(pattern, plain), (
                f"{label}: {value!r} is not in plain lines: {pattern}"
            )


@pytest.mark.parametrize("kind", ["readiness", "startup"])
def test_the_other_probes_are_introduced_too(kind: str) -> None:
    probe = a_probe(period_seconds=5)
    probes: dict[str, Any] = {f"{kind}_probe": probe}
    pod = a_pod(a_container(**probes))
    bench = EngineBench(pod)
    bench.run_until(5)

    plain = in_plain(bench, pod)

    assert f"web/app {kind} probes exec true period=5s" in plain
    assert ("never-kills" in plain) is (kind == "readiness")
