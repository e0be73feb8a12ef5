from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    LifecycleHandler,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.runtime import (
    ContainerID,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageStatus,
    GetPodSandboxStatus,
    Operation,
    RemoveContainer,
    RunHook,
    RunPodSandbox,
    StartContainer,
    StopContainer,
    StopPodSandbox,
)
from probetui.kubelet.facts import OperationValue
from probetui.kubelet.images.image_manager import ImageManager
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    ExitCause,
    LifecycleStep,
)
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.killing import Killer, hook_failure
from probetui.kubelet.kuberuntime.pod_actions import PodActions, compute_pod_actions
from probetui.kubelet.kuberuntime.sync_pod import PodSyncer, PodSyncResult, SyncResult
from probetui.kubelet.outcome import Result
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet.runtime.routines import StepResult
from tests.builders import (
    START,
    a_container,
    a_pod,
    a_runtime_status,
    a_sandbox,
    an_instance,
    at,
)
from tests.kubelet.effect_executor import EffectExecutor

CREATED, RUNNING, EXITED, UNKNOWN = RuntimeState
ALWAYS, ON_FAILURE, NEVER = RestartPolicy
APP, OTHER, INIT = map(a_container, ("app", "other", "init"))
SIDE = a_container("side", restart_policy=ALWAYS)
DEAD = a_sandbox(sandbox_id="dead", is_ready=False)
NEW = ContainerID("fake://new")


class Bench(EffectExecutor):
    """A pod syncer with a runtime whose operations succeed by default."""

    def __init__(self) -> None:
        super().__init__()
        lifecycle = ContainerLifecycle(self.turn_builder)
        windows = [
            timedelta(seconds=result_of_sync) for result_of_sync in (10, 300, 600)
        ]
        self.liveness: dict[ContainerID, Result] = {}
        self.startup: dict[ContainerID, Result] = {}
        self.syncer = PodSyncer(
            self.turn_builder,
            Killer(self.turn_builder, lifecycle),
            ImageManager(self.turn_builder, Backoff(*windows)),
            Backoff(*windows),
            lifecycle,
            self.liveness,
            self.startup,
        )
        self.result_of_sync: list[Operation] = []

    def begin(self, pod: Pod, status: RuntimePodStatus | None = None) -> None:
        status = status or RuntimePodStatus(pod.uid)
        self.start(self.syncer.sync_pod(pod, status, self.now))

    def obey(self, **errors: str) -> None:
        """Do all that is asked, but refuse these kinds of operations."""
        while self.pending_operations():
            self.obey_one(**errors)

    def obey_one(self, **errors: str) -> None:
        """Do what was asked first, but refuse these kinds of operations."""
        operation = self.pending_operations()[0]
        self.result_of_sync.append(operation)
        error = errors.get(type(operation).__name__)
        self.answer(None if error else a_value(operation), error=error)

    def sync(
        self, pod: Pod, status: RuntimePodStatus | None = None, **errors: str
    ) -> PodSyncResult:
        """Sync a pod from the beginning to the end."""
        self.begin(pod, status)
        self.obey(**errors)
        result = self.returned[-1]
        assert isinstance(result, PodSyncResult)
        return result

    def kinds(self) -> list[str]:
        return [type(result_of_sync).__name__ for result_of_sync in self.result_of_sync]

    def created(self) -> list[tuple[str, int, str]]:
        """Return name, attempt and sandbox of each container that was created."""
        return [
            (
                result_of_sync.container.name,
                result_of_sync.attempt,
                result_of_sync.sandbox_id,
            )
            for result_of_sync in self.result_of_sync
            if isinstance(result_of_sync, CreateContainer)
        ]

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.events()]


def a_value(operation: Operation) -> OperationValue:
    match operation:
        case RunPodSandbox():
            return "sandbox-1"
        case GetPodSandboxStatus(sandbox_id):
            return a_sandbox(sandbox_id=sandbox_id, ip="10.0.0.9")
        case GetImageStatus(image):
            return f"id of {image}"
        case CreateContainer():
            return NEW
        case _:
            return None


class TestSandbox:
    def test_a_new_pod_gets_a_sandbox_then_its_containers(self) -> None:
        bench = Bench()

        result = bench.sync(a_pod(APP, OTHER))

        assert bench.kinds() == [
            "RunPodSandbox",
            "GetPodSandboxStatus",
            *["GetImageStatus", "CreateContainer", "StartContainer"] * 2,
        ]
        assert bench.created() == [("app", 0, "sandbox-1"), ("other", 0, "sandbox-1")]
        assert result.error is None
        assert [sync_result.action for sync_result in result.results] == [
            "KillPodSandbox",
            "CreatePodSandbox",
            "ConfigPodSandbox",
            "StartContainer",
            "StartContainer",
        ]

    def test_one_that_died_is_replaced(self) -> None:
        bench = Bench()

        bench.sync(a_pod(), a_runtime_status(sandboxes=(DEAD,)))

        assert bench.events()[0][1:] == (
            "SandboxChanged",
            "Pod sandbox changed, it will be killed and re-created.",
        )
        assert bench.result_of_sync[:2] == [
            StopPodSandbox("dead"),
            RunPodSandbox(a_pod(), attempt=1),
        ]

    def test_with_it_the_instances_of_init_containers_go(self) -> None:
        bench = Bench()
        result_of_sync = an_instance(INIT, EXITED)

        bench.sync(
            a_pod(init_containers=(INIT,)),
            a_runtime_status(
                result_of_sync, an_instance(APP, EXITED), sandboxes=(DEAD,)
            ),
        )

        assert bench.kinds()[:3] == [
            "StopPodSandbox",
            "RemoveContainer",
            "RunPodSandbox",
        ]
        assert RemoveContainer(result_of_sync.container_id) in bench.result_of_sync

    def test_a_sandbox_that_is_fine_is_kept(self) -> None:
        bench = Bench()

        bench.sync(a_pod(), a_runtime_status())

        assert bench.created() == [("app", 0, "sandbox")]

    def test_without_a_sandbox_nothing_is_started(self) -> None:
        bench = Bench()

        result = bench.sync(a_pod(), RunPodSandbox="no network")

        assert bench.events() == [
            (
                "Warning",
                "FailedCreatePodSandBox",
                "Failed to create pod sandbox: no network",
            )
        ]
        assert result.results[-1] == SyncResult(
            "CreatePodSandbox",
            "web_default(uid-of-web)",
            "CreatePodSandboxError",
            'Failed to create sandbox for pod "web_default(uid-of-web)": no network',
        )
        assert bench.created() == []

    def test_nor_in_one_that_cannot_be_looked_at(self) -> None:
        bench = Bench()

        result = bench.sync(a_pod(), GetPodSandboxStatus="gone")

        assert bench.reasons() == ["FailedPodSandBoxStatus"]
        assert result.error == "failed to SyncPod: gone"
        assert bench.created() == []

    def test_a_pod_that_cannot_be_killed_is_not_started_anew(self) -> None:
        bench = Bench()

        result = bench.sync(
            a_pod(),
            a_runtime_status(an_instance(), sandboxes=(DEAD,)),
            StopContainer="busy",
            StopPodSandbox="stuck",
        )

        assert [
            (sync_result.action, sync_result.reason) for sync_result in result.results
        ] == [
            ("KillContainer", "KillContainerError"),
            ("KillPodSandbox", "KillPodSandboxError"),
        ]
        assert bench.created() == []
        assert result.error == (
            '[failed to "KillContainer" for "app" with KillContainerError: "busy", '
            'failed to "KillPodSandbox" for "uid-of-web" '
            'with KillPodSandboxError: "stuck"]'
        )

    def test_a_pod_with_nothing_left_to_run_is_only_killed(self) -> None:
        bench = Bench()

        result = bench.sync(
            a_pod(restart_policy=NEVER), a_runtime_status(an_instance(APP, EXITED))
        )

        assert bench.result_of_sync == [StopPodSandbox("sandbox")]
        assert result.error is None

    @pytest.mark.parametrize(
        ("host_network", "pod_ip"),
        [
            pytest.param(False, "10.0.0.9", id="its-own"),
            pytest.param(True, "", id="on-the-host-none"),
        ],
    )
    def test_hooks_get_the_address_of_the_new_sandbox(
        self, *, host_network: bool, pod_ip: str
    ) -> None:
        bench = Bench()
        app = a_container(post_start=ExecAction(("true",)))

        bench.sync(a_pod(app, host_network=host_network))

        (hook,) = [
            result_of_sync
            for result_of_sync in bench.result_of_sync
            if isinstance(result_of_sync, RunHook)
        ]
        assert hook.pod_ip == pod_ip


class TestKilling:
    def test_a_container_that_failed_its_liveness_probe_is_restarted(self) -> None:
        bench = Bench()
        app = an_instance()
        bench.liveness[app.container_id] = Result.FAILURE

        result = bench.sync(a_pod(), a_runtime_status(app))

        assert bench.kinds() == [
            "StopContainer",
            "GetImageStatus",
            "CreateContainer",
            "StartContainer",
        ]
        assert bench.events()[0][1:] == (
            "Killing",
            "Container app failed liveness probe, will be restarted",
        )
        assert bench.created() == [("app", 1, "sandbox")]
        assert result.results[0] == SyncResult("KillContainer", "app")

    def test_the_first_that_cannot_be_killed_ends_the_sync(self) -> None:
        bench = Bench()
        app, other = an_instance(APP), an_instance(OTHER)
        bench.liveness[app.container_id] = Result.FAILURE
        bench.startup[other.container_id] = Result.FAILURE

        result = bench.sync(
            a_pod(APP, OTHER), a_runtime_status(app, other), StopContainer="busy"
        )

        assert bench.kinds() == ["StopContainer"]
        assert [sync_result.reason for sync_result in result.results] == [
            "KillContainerError"
        ]

    def test_each_is_killed_at_its_own_instant(self) -> None:
        bench = Bench()
        app, other = an_instance(APP), an_instance(OTHER)
        bench.liveness[app.container_id] = Result.FAILURE
        bench.startup[other.container_id] = Result.FAILURE
        bench.begin(a_pod(APP, OTHER), a_runtime_status(app, other))

        bench.answer(after=7)

        stops = bench.entries(ContainerEntry)
        assert [(stop.at, stop.by) for stop in stops] == [
            (START, ExitCause.LIVENESS),
            (at(7), ExitCause.STARTUP),
        ]

    @pytest.mark.parametrize(
        ("ips", "pod_ip"),
        [
            pytest.param(("10.0.0.2", "fd00::2"), "10.0.0.2", id="its-first"),
            pytest.param((), "", id="on-the-host-none"),
        ],
    )
    def test_its_hook_gets_the_address_of_the_pod(
        self, ips: tuple[str, ...], pod_ip: str
    ) -> None:
        bench = Bench()
        app = a_container(pre_stop=HTTPGetAction(80, "/drain"))
        bench.liveness[an_instance().container_id] = Result.FAILURE

        bench.sync(a_pod(app), a_runtime_status(an_instance(app), ips=ips))

        hook = bench.result_of_sync[0]
        assert isinstance(hook, RunHook)
        assert hook.pod_ip == pod_ip

    def test_a_changed_definition_is_a_reason_of_its_own(self) -> None:
        bench = Bench()

        bench.sync(a_pod(), a_runtime_status(an_instance(hash=1)))

        (stop, *_) = bench.entries(ContainerEntry)
        assert (stop.what, stop.by) == (LifecycleStep.STOPPING, ExitCause.DEFINITION)

    def test_of_dead_init_instances_the_newest_stays(self) -> None:
        bench = Bench()
        old, older = (an_instance(INIT, EXITED, number) for number in (1, 0))
        unknown = an_instance(INIT, UNKNOWN, 2)

        bench.sync(
            a_pod(init_containers=(INIT,)),
            a_runtime_status(an_instance(), unknown, old, older),
        )

        assert bench.result_of_sync == [
            RemoveContainer(old.container_id),
            RemoveContainer(older.container_id),
        ]

    def test_a_victim_that_the_status_does_not_have_is_a_bug(self) -> None:
        status = a_runtime_status(an_instance())
        bench = Bench()
        bench.liveness[an_instance().container_id] = Result.FAILURE
        bench.begin(a_pod(), status)
        routine = bench.syncer._kill_listed(
            a_pod(),
            a_runtime_status(),
            _actions(bench, status),
            PodSyncResult(),
        )

        next(routine)

        with pytest.raises(AssertionError, match="is not in the status"):
            routine.send(StepResult(START))


def _actions(bench: Bench, status: RuntimePodStatus) -> PodActions:
    return compute_pod_actions(a_pod(), status, bench.liveness, bench.startup)


class TestStarting:
    def test_a_container_is_created_and_started(self) -> None:
        bench = Bench()

        bench.sync(a_pod(), a_runtime_status())

        assert [message for _, _, message in bench.events()] == [
            'Container image "busybox:1.36" already present on machine',
            "Created container: app",
            "Started container app",
        ]
        (create,) = [
            result_of_sync
            for result_of_sync in bench.result_of_sync
            if isinstance(result_of_sync, CreateContainer)
        ]
        assert create.image_id == "id of busybox:1.36"
        assert StartContainer(NEW) in bench.result_of_sync
        assert [entry.what for entry in bench.entries(ContainerEntry)] == [
            LifecycleStep.CREATED,
            LifecycleStep.STARTED,
        ]

    @pytest.mark.parametrize(
        ("kind", "reason", "message"),
        [
            pytest.param(
                "GetImageStatus",
                "ImageInspectError",
                'Failed to inspect image "": no',
                id="image",
            ),
            pytest.param("CreateContainer", "CreateContainerError", "no", id="create"),
            pytest.param("StartContainer", "RunContainerError", "no", id="start"),
        ],
    )
    def test_a_failed_container_is_an_event_and_the_others_start(
        self, kind: str, reason: str, message: str
    ) -> None:
        bench = Bench()
        bench.begin(a_pod(APP, OTHER), a_runtime_status())
        while type(bench.pending_operations()[0]).__name__ != kind:
            bench.answer(a_value(bench.pending_operations()[0]))
        bench.answer(error="no")

        bench.obey()

        (result,) = bench.returned
        assert [
            (result_of_sync.target, result_of_sync.reason, result_of_sync.message)
            for result_of_sync in result.results[1:]
        ] == [("app", reason, message), ("other", "", "")]
        assert "Failed" in bench.reasons()
        assert result.error == (
            f'failed to "StartContainer" for "app" with {reason}: {_quoted(message)}'
        )

    def test_a_container_that_asks_for_what_cannot_be_prepared_has_a_bad_config(
        self,
    ) -> None:
        bench = Bench()
        bench.begin(a_pod(APP), a_runtime_status())
        while not isinstance(bench.pending_operations()[0], CreateContainer):
            bench.answer(a_value(bench.pending_operations()[0]))

        bench.answer(error="failed to prepare subPath", config_error=True)

        (result,) = bench.returned
        assert [
            (result_of_sync.reason, result_of_sync.message)
            for result_of_sync in result.results[1:]
        ] == [("CreateContainerConfigError", "failed to prepare subPath")]
        assert "Failed" in bench.reasons()

    def test_a_plain_init_container_that_fails_ends_the_sync(self) -> None:
        bench = Bench()

        result = bench.sync(
            a_pod(init_containers=(INIT,)),
            a_runtime_status(),
            CreateContainer="no",
        )

        assert bench.created() == [("init", 0, "sandbox")]
        assert [sync_result.target for sync_result in result.results] == [
            "sandbox",
            "init",
        ]

    def test_an_init_container_of_a_pod_with_sidecars_too(self) -> None:
        bench = Bench()

        bench.sync(
            a_pod(init_containers=(INIT, SIDE)),
            a_runtime_status(),
            CreateContainer="no",
        )

        assert bench.created() == [("init", 0, "sandbox")]

    def test_a_sidecar_that_fails_does_not_keep_the_others_from_starting(self) -> None:
        bench = Bench()

        bench.sync(
            a_pod(APP, OTHER, init_containers=(SIDE,)),
            a_runtime_status(an_instance(SIDE, EXITED), an_instance()),
            CreateContainer="no",
        )

        assert [name for name, _, _ in bench.created()] == ["side", "other"]

    def test_ephemeral_containers_come_first(self) -> None:
        bench = Bench()
        debug = a_container("debug")

        bench.sync(
            a_pod(ephemeral_containers=(debug,)),
            a_runtime_status(),
        )

        assert [name for name, _, _ in bench.created()] == ["debug", "app"]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


class TestBackOff:
    def crash(self, bench: Bench, seconds: float, number: int = 0) -> PodSyncResult:
        """Sync a pod whose last instance exited at that second, relisted at once."""
        bench.now = max(bench.now, at(seconds))
        instance = an_instance(APP, EXITED, number, finished_at=at(seconds))
        return bench.sync(a_pod(), a_runtime_status(instance))

    def test_a_first_start_has_no_back_off_entry(self) -> None:
        bench = Bench()

        bench.sync(a_pod(), a_runtime_status())

        assert bench.entries(BackoffEntry) == []

    def test_the_first_crash_restarts_at_once_and_the_next_one_waits(self) -> None:
        bench = Bench()

        self.crash(bench, 5)
        result = self.crash(bench, 8, number=1)

        first, second = bench.entries(BackoffEntry)
        assert (first.waits, first.window, first.next_window) == (
            False,
            timedelta(),
            timedelta(seconds=10),
        )
        assert (second.waits, second.since, second.until) == (True, at(8), at(18))
        assert result.results[-1] == SyncResult(
            "StartContainer",
            "app",
            "CrashLoopBackOff",
            (
                "back-off 10s restarting failed container=app "
                "pod=web_default(uid-of-web)"
            ),
            at(18),
        )
        assert bench.reasons()[-1] == "BackOff"

    def test_a_wait_is_journaled_once_and_its_event_is_repeated(self) -> None:
        bench = Bench()
        self.crash(bench, 5)

        for _ in range(3):
            self.crash(bench, 8, number=1)

        assert len(bench.entries(BackoffEntry)) == 2
        assert bench.reasons().count("BackOff") == 3

    def test_the_wait_ends_when_its_window_is_over(self) -> None:
        bench = Bench()
        self.crash(bench, 5)
        self.crash(bench, 8, number=1)
        bench.now = at(18)

        self.crash(bench, 8, number=1)

        *_, last = bench.entries(BackoffEntry)
        assert (last.waits, last.window, last.next_window) == (
            False,
            timedelta(seconds=10),
            timedelta(seconds=20),
        )

    def test_the_last_back_off_is_kept_for_the_screen(self) -> None:
        bench = Bench()
        self.crash(bench, 5)

        self.crash(bench, 8, number=1)

        decision = bench.syncer.backoff_decisions["uid-of-web", "app"]
        assert (decision.window, decision.since) == (timedelta(seconds=10), at(8))
        assert (decision.until, decision.next_window) == (at(18), timedelta(seconds=20))

    def test_until_the_pod_is_gone(self) -> None:
        bench = Bench()
        self.crash(bench, 5)
        decisions = bench.syncer.backoff_decisions
        decisions["another", "app"] = decisions["uid-of-web", "app"]

        bench.syncer.forget_pod("uid-of-web")

        assert list(decisions) == [("another", "app")]

    def test_an_instance_killed_in_this_sync_does_not_count(self) -> None:
        bench = Bench()
        app = an_instance()
        bench.liveness[app.container_id] = Result.FAILURE

        bench.sync(a_pod(), a_runtime_status(app))

        (entry,) = bench.entries(BackoffEntry)
        assert (entry.waits, entry.since) == (False, None)


def with_hook(hook: LifecycleHandler) -> Container:
    return a_container(post_start=hook)


class TestPostStartHook:
    def test_a_hook_that_goes_well_is_part_of_the_start(self) -> None:
        bench = Bench()
        app = with_hook(ExecAction(("/bin/warm-up",)))

        result = bench.sync(a_pod(app), a_runtime_status())

        assert bench.result_of_sync[-1] == RunHook(
            a_pod(app), app, NEW, ExecAction(("/bin/warm-up",)), "10.0.0.2"
        )
        assert result.error is None

    def test_a_hook_that_fails_kills_the_container(self) -> None:
        bench = Bench()
        app = with_hook(ExecAction(("/bin/warm-up", "now")))

        result = bench.sync(a_pod(app), a_runtime_status(), RunHook="exit 3")

        assert bench.result_of_sync[-1] == StopContainer(NEW, "app", 30)
        assert bench.events()[-2:] == [
            ("Warning", "FailedPostStartHook", "PostStartHook failed"),
            ("Normal", "Killing", "FailedPostStartHook"),
        ]
        assert result.results[-1] == SyncResult(
            "StartContainer",
            "app",
            "PostStartHookError",
            (
                'Exec lifecycle hook ([/bin/warm-up now]) for Container "app" in '
                'Pod "web_default(uid-of-web)" failed - error: exit 3, message: ""'
            ),
        )

    def test_a_hook_with_a_server_without_tls_is_an_event_of_the_pod(self) -> None:
        bench = Bench()
        hook = HTTPGetAction(443, scheme="HTTPS")
        bench.begin(a_pod(with_hook(hook)), a_runtime_status())
        while not isinstance(bench.pending_operations()[0], RunHook):
            bench.answer(a_value(bench.pending_operations()[0]))

        bench.answer(fallback_host="10.0.0.2:443")

        assert bench.reasons()[-2:] == ["Started", "LifecycleHTTPFallback"]
        assert bench.returned[-1].error is None

    def test_a_hook_may_sleep(self) -> None:
        bench = Bench()
        bench.begin(a_pod(with_hook(SleepAction(5))), a_runtime_status())
        bench.obey()
        assert bench.returned == []

        bench.wait(5)

        assert bench.returned[0].error is None

    def test_a_hook_with_tcp_socket_cannot_be_run(self) -> None:
        bench = Bench()

        result = bench.sync(a_pod(with_hook(TCPSocketAction(80))), a_runtime_status())

        assert result.results[-1].message == "Cannot run handler: invalid handler"
        assert "RunHook" not in bench.kinds()

    @pytest.mark.parametrize(
        ("hook", "outcome", "message"),
        [
            pytest.param(
                ExecAction(("a", "b")),
                StepResult(START, value="out\n", error="exit 1"),
                (
                    'Exec lifecycle hook ([a b]) for Container "app" in '
                    'Pod "web_default(uid-of-web)" failed - error: exit 1, '
                    'message: "out\\n"'
                ),
                id="exec",
            ),
            pytest.param(
                HTTPGetAction(80, "/x"),
                StepResult(START, error="refused"),
                (
                    'HTTP lifecycle hook (/x) for Container "app" in '
                    'Pod "web_default(uid-of-web)" failed - error: refused'
                ),
                id="http",
            ),
            pytest.param(
                SleepAction(3),
                StepResult(START, error="gone"),
                (
                    'Sleep lifecycle hook (3) for Container "app" in '
                    'Pod "web_default(uid-of-web)" failed - error: gone'
                ),
                id="sleep",
            ),
        ],
    )
    def test_each_kind_of_hook_fails_in_words_of_its_own(
        self, hook: LifecycleHandler, outcome: StepResult, message: str
    ) -> None:
        assert hook_failure(a_pod(), with_hook(hook), hook, outcome) == message


class TestResult:
    def test_without_errors_there_is_no_error(self) -> None:
        result = PodSyncResult()
        result.add("StartContainer", "app")

        assert (result.errors, result.error) == ([], None)

    def test_equal_errors_are_reported_once(self) -> None:
        result = PodSyncResult(sync_error="gone")
        for _ in range(2):
            result.add("StartContainer", "app", "ErrImagePull", "no")

        assert result.error == (
            "[failed to SyncPod: gone, "
            'failed to "StartContainer" for "app" with ErrImagePull: "no"]'
        )
        assert len(result.errors) == 3
