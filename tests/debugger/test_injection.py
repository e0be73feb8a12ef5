from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.debugger.commands import Injected
from probetui.debugger.injection import Injections, injected_outcome
from probetui.k8s.pod import ContainerPort
from probetui.k8s.probe import HTTPGetAction, Probe, ProbeType, TCPSocketAction
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import ProbeResult
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.kubelet.prober.bench import Bench, with_probe

KEY = a_key()
APP = a_container(ports=(ContainerPort(8080, "http"),))
TWO_SECONDS = timedelta(seconds=2)


def a_run(probe_id: int = 1, probe: Probe | None = None) -> RunProbe:
    return RunProbe(
        probe_id, KEY, a_pod(APP), APP, probe or a_probe(), ContainerID("x://1"), "::1"
    )


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        pytest.param(
            a_probe(HTTPGetAction("http", "ready", scheme="HTTPS")),
            'Get "https://[fd00::1]:8080/ready": context deadline exceeded '
            "(Client.Timeout exceeded while awaiting headers)",
            id="named-port-and-ipv6",
        ),
        pytest.param(
            a_probe(TCPSocketAction("nosuch", "db")),
            "dial tcp db:nosuch: i/o timeout",
            id="unknown-port-and-a-host",
        ),
        pytest.param(Probe(None), "missing probe handler", id="no-handler"),
    ],
)
def test_a_time_out_speaks_as_the_handler_does(probe: Probe, words: str) -> None:
    outcome = injected_outcome(Injected.TIMED_OUT, probe, APP, "fd00::1", START)

    assert outcome.injected
    assert outcome.last.result is ProbeResult.FAILURE
    assert outcome.last.output == f"injected: {words}"


@pytest.mark.parametrize("injected", Injected, ids=str)
def test_every_injected_outcome_is_marked_as_injected(injected: Injected) -> None:
    outcome = injected_outcome(injected, a_probe(), APP, "", START)

    text = outcome.last.error or outcome.last.output
    assert outcome.injected
    assert text.startswith("injected")


class TestInjections:
    def test_without_any_the_probe_is_run(self) -> None:
        assert Injections().next_outcome(a_run(), START) is None

    def test_one_is_used_up_by_each_run(self) -> None:
        injections = Injections()
        injections.set(KEY, (Injected.FAILURE, Injected.SUCCESS))

        outcomes = [
            injections.next_outcome(a_run(number), START) for number in range(3)
        ]

        assert [outcome is not None for outcome in outcomes] == [True, True, False]
        assert injections.pending(KEY) == ()

    def test_it_comes_back_when_the_probe_would_have_ended(self) -> None:
        bench = Bench(with_probe(ProbeType.LIVENESS, timeout_seconds=2))
        bench.overrides.injections.set(a_key(), (Injected.TIMED_OUT,))

        bench.run(1.9)
        early = bench.ticks()
        bench.run(2)

        (tick,) = bench.ticks()
        assert early == []
        assert (tick.at, tick.timing.duration, tick.overridden.injected) == (
            at(2),
            TWO_SECONDS,
            True,
        )

    def test_those_of_a_pod_that_is_gone_are_forgotten(self) -> None:
        injections = Injections()
        injections.set(KEY, (Injected.FAILURE,))

        injections.forget_pod(KEY.pod_uid)

        assert injections.pending(KEY) == ()
