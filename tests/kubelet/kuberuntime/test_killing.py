from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, HTTPGetAction, SleepAction, TCPSocketAction
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import Operation, RunHook, StopContainer, StopPodSandbox
from probetui.kubelet.journal import ContainerEntry, ExitCause, LifecycleStep
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.killing import (
    Kill,
    KilledPod,
    Killer,
    TerminationOrder,
)
from tests.builders import (
    START,
    a_container,
    a_pod,
    a_probe,
    a_runtime_status,
    a_sandbox,
    an_instance,
)
from tests.kubelet.effect_executor import EffectExecutor

HOOK = ExecAction(("/bin/drain",))
SIDECAR = RestartPolicy.ALWAYS


class Bench(EffectExecutor):
    """A killer and what carries its routines."""

    def __init__(self) -> None:
        super().__init__()
        self.lifecycle = ContainerLifecycle(self.turn_builder)
        self.killer = Killer(self.turn_builder, self.lifecycle)

    def kill(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus | None = None,
        order: TerminationOrder | None = None,
        **kill: Any,
    ) -> None:
        """Kill one container of a pod, by default `app`."""
        what = Kill(instance or an_instance(pod.containers[0]), **kill)
        self.start(self.killer.kill_container(pod, what, "10.0.0.2", self.now, order))

    def kill_pod(self, pod: Pod, status: RuntimePodStatus, **how: Any) -> None:
        self.start(self.killer.kill_pod(pod, status, self.now, **how))

    def graces(self) -> list[tuple[str, int]]:
        """Return which containers are being stopped, and with how much grace."""
        return [
            (operation.container_name, operation.grace_period_seconds)
            for operation in self.pending_operations()
            if isinstance(operation, StopContainer)
        ]


FELL_BACK = (
    "Warning",
    "LifecycleHTTPFallback",
    (
        "request to HTTPS lifecycle hook 10.0.0.2:443 got HTTP response, "
        "retry with HTTP succeeded"
    ),
)


def with_hook(hook: Any = HOOK, grace: int = 30, **fields: Any) -> Pod:
    return a_pod(
        a_container(pre_stop=hook), termination_grace_period_seconds=grace, **fields
    )


class TestContainer:
    def test_a_container_is_stopped_with_the_grace_period_of_its_pod(self) -> None:
        bench = Bench()

        bench.kill(a_pod(termination_grace_period_seconds=20))

        assert bench.pending_operations() == [
            StopContainer(an_instance().container_id, "app", 20)
        ]
        assert bench.events() == [("Normal", "Killing", "Stopping container app")]

    def test_a_container_is_killed_once_the_runtime_reports_it(self) -> None:
        bench = Bench()
        bench.kill(a_pod())

        bench.answer()

        assert bench.returned == [None]

    def test_an_error_of_the_runtime_is_returned(self) -> None:
        bench = Bench()
        bench.kill(a_pod())

        bench.answer(error="daemon gone")

        assert bench.returned == ["daemon gone"]

    def test_what_is_gone_already_has_been_stopped(self) -> None:
        bench = Bench()
        bench.kill(a_pod())

        bench.answer(error="no such container", not_found=True)

        assert bench.returned == [None]

    def test_a_probe_may_bring_a_message_and_a_grace_period_of_its_own(self) -> None:
        bench = Bench()
        probe = a_probe(termination_grace_period_seconds=60)

        bench.kill(
            a_pod(a_container(liveness_probe=probe)),
            message="Container app failed liveness probe",
            reason=KillReason.LIVENESS_PROBE,
            by=ExitCause.LIVENESS,
        )

        assert bench.graces() == [("app", 60)]
        assert bench.events() == [
            ("Normal", "Killing", "Container app failed liveness probe")
        ]
        (entry,) = bench.entries(ContainerEntry)
        assert (entry.what, entry.by) == (LifecycleStep.STOPPING, ExitCause.LIVENESS)
        assert (entry.grace_period_seconds, entry.grace_source) == (
            60,
            "liveness probe",
        )

    def test_an_override_replaces_the_grace_period(self) -> None:
        bench = Bench()

        bench.kill(a_pod(), override_seconds=7)

        assert bench.graces() == [("app", 7)]
        (entry,) = bench.entries(ContainerEntry)
        assert entry.grace_source == "deletion"

    @pytest.mark.parametrize("grace", [0, 1, 2])
    def test_at_least_two_seconds_are_left(self, grace: int) -> None:
        bench = Bench()

        bench.kill(a_pod(termination_grace_period_seconds=grace))

        assert bench.graces() == [("app", 2)]

    def test_an_end_that_the_kubelet_did_not_want_is_not_announced(self) -> None:
        bench = Bench()

        bench.kill(a_pod(), by=ExitCause.USER, is_announced=False)

        assert bench.events() == []
        assert bench.graces() == [("app", 30)]

    def test_a_container_that_the_pod_does_not_have_cannot_be_killed(self) -> None:
        bench = Bench()

        bench.kill(a_pod(), an_instance(a_container("old")), message="why")

        assert bench.returned == [
            (
                'failed to get containerSpec "old" (id="fake://old-0") in pod '
                '"web_default(uid-of-web)" when killing container for reason "why"'
            )
        ]
        assert bench.pending_operations() == []


class TestPreStopHook:
    @pytest.mark.parametrize(
        "hook",
        [
            pytest.param(HOOK, id="exec"),
            pytest.param(HTTPGetAction(80, "/drain"), id="http"),
        ],
    )
    def test_the_hook_comes_before_the_stop(
        self, hook: ExecAction | HTTPGetAction
    ) -> None:
        bench = Bench()
        pod = with_hook(hook)
        app = pod.containers[0]
        instance = an_instance(app)

        bench.kill(pod)

        assert bench.pending_operations() == [
            RunHook(pod, app, instance.container_id, hook, "10.0.0.2", is_pre_stop=True)
        ]
        bench.answer()
        assert bench.graces() == [("app", 30)]

    @pytest.mark.parametrize(
        ("took", "left"),
        [
            pytest.param(0.9, 30, id="less-than-a-second"),
            pytest.param(4.9, 26, id="whole-seconds-count"),
            pytest.param(29, 2, id="two-remain"),
        ],
    )
    def test_its_time_is_taken_off_the_grace_period(
        self, took: float, left: int
    ) -> None:
        bench = Bench()
        bench.kill(with_hook())

        bench.answer(after=took)

        assert bench.graces() == [("app", left)]

    def test_a_hook_with_a_server_without_tls_is_an_event_of_the_pod(self) -> None:
        bench = Bench()
        bench.kill(with_hook(HTTPGetAction(443, scheme="HTTPS")))

        bench.answer(fallback_host="10.0.0.2:443")

        assert bench.events()[-1] == FELL_BACK
        assert bench.graces() == [("app", 30)]

    @pytest.mark.parametrize(
        ("hook", "result", "reasons"),
        [
            pytest.param(
                HOOK,
                {"error": "command 'bye' exited with 137: "},
                ["FailedPreStopHook"],
                id="a command that is killed with its container",
            ),
            pytest.param(
                HTTPGetAction(80),
                {"error": 'Get "http://10.0.0.2:80/": EOF'},
                ["FailedPreStopHook"],
                id="a request to a server that ends",
            ),
            pytest.param(
                HTTPGetAction(443, scheme="HTTPS"),
                {"fallback_host": "10.0.0.2:443"},
                ["LifecycleHTTPFallback"],
                id="a request that is answered without TLS",
            ),
            pytest.param(HOOK, {}, [], id="a command that succeeds"),
        ],
    )
    def test_a_hook_that_takes_too_long_is_reported_when_it_ends(
        self,
        hook: ExecAction | HTTPGetAction,
        result: dict[str, Any],
        reasons: list[str],
    ) -> None:
        """Quirk: it is left running, and fails at the end of its container."""
        bench = Bench()
        bench.kill(with_hook(hook, grace=10))

        bench.wait(10)

        assert bench.graces() == [("app", 2)]
        assert [reason for _, reason, _ in bench.events()] == ["Killing"]
        bench.answer(after=1, **result)
        assert [reason for _, reason, _ in bench.events()[1:]] == reasons
        bench.answer(after=1)
        assert bench.returned == [None]

    def test_a_sleep_that_takes_too_long_is_no_failure(self) -> None:
        bench = Bench()
        bench.kill(with_hook(SleepAction(20), grace=10))

        bench.wait(10)
        bench.answer(after=1)
        bench.wait(20)

        assert [reason for _, reason, _ in bench.events()] == ["Killing"]
        assert bench.returned == [None]

    def test_a_failed_hook_is_an_event_and_the_stop_follows(self) -> None:
        bench = Bench()
        bench.kill(with_hook())

        bench.answer(error="exit 1", after=2)

        assert bench.events()[-1] == (
            "Warning",
            "FailedPreStopHook",
            "PreStopHook failed",
        )
        assert bench.graces() == [("app", 28)]

    def test_a_hook_with_tcp_socket_cannot_be_run(self) -> None:
        bench = Bench()

        bench.kill(with_hook(TCPSocketAction(80)))

        assert bench.events()[-1][1] == "FailedPreStopHook"
        assert bench.graces() == [("app", 30)]

    @pytest.mark.parametrize(
        ("seconds", "waits", "left"),
        [
            pytest.param(5, 5, 25, id="within-the-grace-period"),
            pytest.param(60, 30, 2, id="not-beyond-it"),
        ],
    )
    def test_a_hook_may_sleep(self, seconds: int, waits: int, left: int) -> None:
        bench = Bench()
        bench.kill(with_hook(SleepAction(seconds)))
        bench.wait(waits - 0.1)
        assert bench.pending_operations() == []

        bench.wait(0.1)

        assert bench.graces() == [("app", left)]

    def test_without_grace_there_is_no_hook(self) -> None:
        bench = Bench()

        bench.kill(with_hook(grace=0))

        assert bench.graces() == [("app", 2)]


class TestPod:
    def test_all_that_runs_is_stopped_side_by_side_then_the_sandboxes(self) -> None:
        bench = Bench()
        app, other, dead = map(a_container, ("app", "other", "dead"))
        old = a_sandbox(sandbox_id="old", is_ready=False)

        bench.kill_pod(
            a_pod(app, other, dead),
            a_runtime_status(
                an_instance(app),
                an_instance(other),
                an_instance(dead, RuntimeState.EXITED),
                sandboxes=(a_sandbox(), old),
            ),
        )

        assert bench.graces() == [("app", 30), ("other", 30)]
        bench.answer(index=1)
        bench.answer()
        assert bench.pending_operations() == [StopPodSandbox("sandbox")]
        bench.answer()
        assert bench.pending_operations() == [StopPodSandbox("old")]
        bench.answer()
        assert bench.returned == [KilledPod((("app", None), ("other", None)), None)]

    def test_the_cause_and_the_grace_period_reach_every_container(self) -> None:
        bench = Bench()

        bench.kill_pod(
            a_pod(),
            a_runtime_status(an_instance(), ips=()),
            by=ExitCause.DELETE,
            override_seconds=4,
        )

        (entry,) = bench.entries(ContainerEntry)
        assert (entry.by, entry.grace_period_seconds) == (ExitCause.DELETE, 4)

    def test_the_end_of_a_pod_need_not_be_announced(self) -> None:
        bench = Bench()

        bench.kill_pod(a_pod(), a_runtime_status(an_instance()), is_announced=False)

        assert bench.events() == []
        assert bench.graces() == [("app", 30)]

    def test_sandboxes_are_stopped_although_a_container_was_not(self) -> None:
        bench = Bench()
        bench.kill_pod(a_pod(), a_runtime_status(an_instance()))
        bench.answer(error="daemon busy")

        bench.answer()

        (killed,) = bench.returned
        assert killed == KilledPod((("app", "daemon busy"),), None)
        assert killed.error == "daemon busy"

    def test_an_error_of_a_sandbox_ends_it(self) -> None:
        bench = Bench()
        bench.kill_pod(
            a_pod(),
            a_runtime_status(sandboxes=(a_sandbox(), a_sandbox(sandbox_id="old"))),
        )

        bench.answer(error="no network plugin")

        assert bench.returned == [KilledPod((), "no network plugin")]
        assert bench.returned[0].error == "no network plugin"
        assert bench.pending_operations() == []

    def test_a_sandbox_that_is_gone_is_no_error(self) -> None:
        bench = Bench()
        bench.kill_pod(a_pod(), a_runtime_status())

        bench.answer(error="no such sandbox", not_found=True)

        assert bench.returned[0].error is None


class TestOrder:
    """Sidecars end last to first, after all others."""

    def pod(self, grace: int = 30) -> tuple[Pod, RuntimePodStatus]:
        first = a_container("first", restart_policy=SIDECAR)
        last = a_container("last", restart_policy=SIDECAR)
        pod = a_pod(
            init_containers=(first, a_container("init"), last),
            termination_grace_period_seconds=grace,
        )
        return pod, a_runtime_status(
            an_instance(first), an_instance(last), an_instance()
        )

    def kinds(self, operations: list[Operation]) -> list[str]:
        return [type(operation).__name__ for operation in operations]

    def test_a_sidecar_waits_for_the_app_and_the_sidecars_after_it(self) -> None:
        bench = Bench()
        bench.kill_pod(*self.pod())
        assert bench.graces() == [("app", 30)]

        bench.answer(after=3)
        assert bench.graces() == [("last", 27)]

        bench.answer(after=4.5)
        assert bench.graces() == [("first", 23)]

        bench.answer()
        assert self.kinds(bench.pending_operations()) == ["StopPodSandbox"]

    def test_it_waits_no_longer_than_its_grace_period(self) -> None:
        bench = Bench()
        bench.kill_pod(*self.pod(grace=10))

        bench.wait(10)

        assert bench.graces() == [("app", 10), ("first", 2), ("last", 2)]

    def test_without_grace_nobody_waits(self) -> None:
        bench = Bench()

        bench.kill_pod(*self.pod(grace=0))

        assert bench.graces() == [("first", 2), ("last", 2), ("app", 2)]

    def test_what_did_not_run_has_stopped(self) -> None:
        bench = Bench()
        pod, _ = self.pod()
        first = pod.init_containers[0]

        bench.kill_pod(pod, a_runtime_status(an_instance(first)))

        assert bench.graces() == [("first", 30)]

    def test_all_kills_are_reported_at_once(self) -> None:
        bench = Bench()

        bench.kill_pod(*self.pod())

        assert [event[1] for event in bench.events()] == ["Killing"] * 3
        assert bench.lifecycle.stopping_of(an_instance().container_id) is not None

    def test_a_container_of_no_sidecar_waits_for_nothing(self) -> None:
        pod, _ = self.pod()
        order = TerminationOrder(pod, frozenset({"app"}))

        order.mark_stopped("a stranger")

        assert order.containers_before("app") == ()
        assert len(order.containers_before("last")) == 1
        assert len(order.containers_before("first")) == 2


def test_a_kill_is_reckoned_from_when_it_was_decided() -> None:
    bench = Bench()
    bench.now = START + timedelta(seconds=9)

    bench.kill(with_hook())
    bench.answer(after=5)

    assert bench.graces() == [("app", 25)]
