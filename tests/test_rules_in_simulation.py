"""Rules of versions that no recording shows, in simulated kubelets."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.drive.metrics import ProbeMetrics
from probetui.drive.scenario.behavior import (
    CallBehavior,
    InstanceBehavior,
    ProbeAnswer,
)
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.k8s.pod import ContainerPort, EnvVar, Pod, RestartPolicy, VolumeMount
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    Probe,
    SleepAction,
)
from probetui.k8s.status import PodStatus
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    Operation,
    Relist,
    RunHook,
    RunPodSandbox,
    RunProbe,
    StopContainer,
)
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    JournalEntry,
    StateEntry,
    StatusEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.kubelet.status.status_patch import StatusContext, api_status
from probetui.kubelet_rules import KubeletRules, rules_of
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.probers.http_request import build_bare_request, build_request, to_httpx
from tests.builders import START, a_container, a_pod, a_probe, at

CRASHES = InstanceBehavior(lasts=timedelta(seconds=1), exit_code=1)


def run(
    pod: Pod,
    version: str,
    world: World | None = None,
    *gates: str,
    seconds: float = 60,
) -> list[JournalEntry]:
    config = KubeletConfig(
        version=version, feature_gates=gates, queues_while_waiting=True
    )
    simulation = Simulation(Engine(config, START), world or World(), START)
    simulation.submit(SetPods((pod,)))
    simulation.run_until(at(seconds))
    return list(simulation.journal)


def _without_sandbox(call: Operation | Relist) -> CallBehavior:
    return CallBehavior(error="no" if isinstance(call, RunPodSandbox) else "")


@pytest.mark.parametrize(
    ("version", "begins"),
    [
        pytest.param("1.15", "Failed create pod sandbox", id="1.15"),
        pytest.param("1.17", "Failed to create pod sandbox", id="1.17"),
        pytest.param("1.20", "Failed to create pod sandbox", id="1.20"),
    ],
)
def test_a_sandbox_that_fails_has_the_event_of_its_version(
    version: str, begins: str
) -> None:
    journal = run(a_pod(a_container()), version, World(dealing=_without_sandbox))

    events = [entry.event for entry in journal if isinstance(entry, EventEntry)]
    (message, *_) = [
        event.message for event in events if event.reason == "FailedCreatePodSandBox"
    ]
    assert message.startswith(f"{begins}: ")


@pytest.mark.parametrize(
    ("version", "what"), [("1.15", "docker"), ("1.20", "docker"), ("1.28", "cri")]
)
def test_exec_errors_are_those_of_the_runtime_of_the_version(
    version: str, what: str
) -> None:
    assert rules_of(version).exec_errors_on_docker == what


@pytest.mark.parametrize(
    ("rules", "exec_errors", "limits"),
    [
        pytest.param(rules_of("1.19"), "docker", False, id="1.19 with dockershim"),
        pytest.param(rules_of("1.19"), "cri", True, id="1.19 with a CRI runtime"),
        pytest.param(rules_of("1.20"), "docker", True, id="1.20"),
        pytest.param(
            rules_of("1.20", ("ExecProbeTimeout=false",)),
            "docker",
            False,
            id="1.20 without the gate",
        ),
    ],
)
def test_dockershim_lets_slow_commands_end_where_a_time_out_is_no_failure(
    rules: KubeletRules, exec_errors: str, *, limits: bool
) -> None:
    assert rules.limits_commands(exec_errors) is limits


@pytest.mark.parametrize(
    ("version", "gates", "window"),
    [
        pytest.param(
            "1.34", ("ReduceDefaultCrashLoopBackOffDecay=true",), 60, id="1.34"
        ),
        pytest.param(
            "1.35", ("ReduceDefaultCrashLoopBackOffDecay=true",), 300, id="1.35"
        ),
    ],
)
def test_the_nodes_maximum_back_off_replaces_the_reduced_one(
    version: str, gates: tuple[str, ...], window: int
) -> None:
    config = KubeletConfig(version=version, feature_gates=gates)

    assert config.restart_back_off == (
        timedelta(seconds=1),
        timedelta(seconds=window),
    )


@pytest.mark.parametrize(
    ("gates", "pauses"),
    [
        pytest.param((), [10, 20, 40], id="default"),
        pytest.param(
            ("ReduceDefaultCrashLoopBackOffDecay=true",), [1, 2, 4], id="reduced"
        ),
    ],
)
def test_a_gate_reduces_back_off(gates: tuple[str, ...], pauses: list[int]) -> None:
    pod = a_pod(a_container())

    journal = run(pod, "1.33", World({"app": (CRASHES,)}), *gates, seconds=200)

    starts = [
        entry.at
        for entry in journal
        if isinstance(entry, ContainerEntry) and entry.what == "started"
    ]
    waited = [
        (later - earlier).total_seconds() - 1 for earlier, later in pairwise(starts[1:])
    ]
    for pause, least in zip(waited, pauses, strict=False):
        assert least <= pause < least + 20
    assert len(waited) >= len(pauses)


def _two_headers(version: str) -> list[tuple[bytes, bytes]]:
    headers = (HTTPHeader("x-a", "1"), HTTPHeader("host", "some.host"))
    action = HTTPGetAction(80, http_headers=headers)
    request = build_request(action, "10.0.0.1", 80, rules_of(version))
    return to_httpx(request).headers.raw


@pytest.mark.parametrize(
    ("version", "sent"),
    [
        pytest.param(
            "1.20",
            [(b"Host", b"10.0.0.1:80"), (b"host", b"some.host"), (b"x-a", b"1")],
            id="as written",
        ),
        pytest.param("1.32", [(b"Host", b"some.host"), (b"X-A", b"1")], id="canonical"),
    ],
)
def test_header_names_have_the_spelling_of_the_version(
    version: str, sent: list[tuple[bytes, bytes]]
) -> None:
    raw = _two_headers(version)

    assert [pair for pair in raw if pair[0].lower() in {b"host", b"x-a"}] == sent


def test_an_old_hook_sends_host_port_and_path_only() -> None:
    action = HTTPGetAction(
        80, path="/a", scheme="HTTPS", http_headers=(HTTPHeader("X-A", "1"),)
    )

    request = to_httpx(build_bare_request(action, "10.0.0.1", 80))

    assert request.extensions["target"] == b"//a"
    assert [name.lower() for name, _ in request.headers.raw] == [
        b"host",
        b"user-agent",
        b"accept-encoding",
        b"connection",
    ]


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("1.20", ["prober_probe"]),
        ("1.32", ["prober_probe", "prober_probe_duration_seconds"]),
    ],
)
def test_metrics_are_those_of_the_version(version: str, names: list[str]) -> None:
    metrics = ProbeMetrics(rules_of(version))

    assert [metric.name for metric in metrics.collect()] == names


WITHOUT_ITS_VOLUME = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  containers:
  - name: app
    image: busybox
    readinessProbe: {exec: {command: [a]}, periodSeconds: 1}
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, configMap: {name: missing}}]
"""


@pytest.mark.parametrize(("version", "ticks"), [("1.20", True), ("1.28", False)])
def test_old_workers_tick_before_volumes_are_mounted(
    version: str, *, ticks: bool
) -> None:
    source = SourceFile("pod.yaml", WITHOUT_ITS_VOLUME)
    (pod,) = load_manifests([source], rules=rules_of(version)).pods

    journal = run(pod, version)

    assert any(isinstance(entry, TickEntry) for entry in journal) is ticks


TWO_PODS = [a_pod(a_container(), uid=uid) for uid in ("old", "new")]


@pytest.mark.parametrize(
    ("version", "both_run"), [("1.20", True), ("1.28", False), ("1.36", False)]
)
def test_a_pod_with_a_reused_name_starts_beside_the_old_one_in_old_versions(
    version: str, *, both_run: bool
) -> None:
    old, new = TWO_PODS
    world = World({"app": (InstanceBehavior(stops_after=timedelta(seconds=20)),)})
    simulation = Simulation(Engine(KubeletConfig(version=version), START), world, START)
    simulation.submit(SetPods((old,)))
    simulation.run_until(at(10))
    simulation.submit(SetPods((new,)))
    simulation.run_until(at(20))

    running = [pod.pod_uid for pod in world.pods(at(20)) if pod.running()]

    assert (sorted(running) == ["new", "old"]) is both_run


@pytest.mark.parametrize(
    ("version", "beginning"),
    [
        pytest.param("1.20", 'Http lifecycle hook (/a) for Container "app"', id="1.20"),
        pytest.param("1.32", "PostStartHook failed", id="1.32"),
    ],
)
def test_a_failed_hook_has_the_event_of_its_version(
    version: str, beginning: str
) -> None:
    pod = a_pod(a_container(post_start=HTTPGetAction(80, path="/a")))

    journal = run(pod, version, World(dealing=_without_hook))

    events = [entry.event for entry in journal if isinstance(entry, EventEntry)]
    (message, *_) = [
        event.message for event in events if event.reason == "FailedPostStartHook"
    ]
    assert message.startswith(beginning)


def _without_hook(call: Operation | Relist) -> CallBehavior:
    return CallBehavior(error="refused" if isinstance(call, RunHook) else "")


@pytest.mark.parametrize(("version", "restarts"), [("1.28", False), ("1.36", True)])
def test_a_sidecar_is_an_ordinary_init_container_in_old_versions(
    version: str, *, restarts: bool
) -> None:
    """The field is unknown there, so that the pod waits for the exit of its sidecar."""
    source = SourceFile("pod.yaml", SIDECAR)
    (pod,) = load_manifests([source], rules=rules_of(version)).pods

    journal = run(pod, version)

    started = {
        entry.container_name
        for entry in journal
        if isinstance(entry, ContainerEntry) and entry.what == "started"
    }
    assert ("app" in started) is restarts


SIDECAR = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  initContainers: [{name: proxy, image: busybox, restartPolicy: Always}]
  containers: [{name: app, image: busybox}]
"""


@pytest.mark.parametrize(
    ("version", "latest"), [pytest.param("1.35", 1.1, id="1.35"), ("1.36", 0.1)]
)
def test_a_start_is_noticed_at_once_in_versions_that_request_relists(
    version: str, latest: float
) -> None:
    journal = run(a_pod(a_container()), version)

    (at_once,) = [
        (entry.at - START).total_seconds()
        for entry in journal
        if isinstance(entry, StateEntry) and entry.after == "Running"
    ]
    assert latest - 1 < at_once <= latest


def _run_and_delete(
    pod: Pod, version: str, world: World | None = None
) -> list[JournalEntry]:
    """Return the journal of a pod that is deleted after 10 s."""
    config = KubeletConfig(version=version, queues_while_waiting=True)
    simulation = Simulation(Engine(config, START), world or World(), START)
    simulation.submit(SetPods((pod,)))
    simulation.run_until(at(10))
    simulation.submit(DeletePod(pod.uid))
    simulation.run_until(at(30))
    return list(simulation.journal)


@pytest.mark.parametrize(
    ("version", "edit", "restarts"),
    [
        pytest.param("1.30", {"env": (EnvVar("A", "2"),)}, 1, id="1.30, a variable"),
        pytest.param("1.31", {"env": (EnvVar("A", "2"),)}, 0, id="1.31, a variable"),
        pytest.param("1.30", {"image": "other"}, 1, id="1.30, the image"),
        pytest.param("1.31", {"image": "other"}, 1, id="1.31, the image"),
        pytest.param("1.30", {}, 0, id="1.30, nothing"),
    ],
)
def test_an_edit_restarts_a_container_by_the_fields_that_the_version_hashes(
    version: str, edit: dict[str, Any], restarts: int
) -> None:
    pod = a_pod(a_container(env=(EnvVar("A", "1"),)))
    config = KubeletConfig(version=version, queues_while_waiting=True)
    simulation = Simulation(Engine(config, START), World(), START)
    simulation.submit(SetPods((pod,)))
    simulation.run_until(at(10))

    (app,) = pod.containers
    simulation.submit(SetPods((replace(pod, containers=(replace(app, **edit),)),)))
    simulation.run_until(at(200))

    messages = [
        entry.event.message
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Killing"
    ]
    assert (
        messages == ["Container app definition changed, will be restarted"] * restarts
    )


def _ticks_after_deletion(
    version: str, readiness: Probe, world: World | None = None
) -> list[TickEntry]:
    """Return the readiness ticks of a pod after its deletion, at 10 s."""
    app = a_container(readiness_probe=readiness, pre_stop=ExecAction(("sleep", "8")))
    journal = _run_and_delete(a_pod(app), version, world)
    return [
        entry
        for entry in journal
        if isinstance(entry, TickEntry) and entry.timing.started_at > at(10)
    ]


EVERY_SECOND: dict[str, Any] = {"period_seconds": 1, "failure_threshold": 1}


@pytest.mark.parametrize(
    ("version", "is_command", "is_canceled"),
    [
        ("1.34", True, False),
        ("1.35", True, True),
        ("1.35", False, False),
        ("1.36.2", True, False),
        ("1.36.3", True, True),
        ("1.36.3", False, False),
        ("1.37", True, False),
    ],
)
def test_commands_of_a_deleted_pod_are_canceled_in_the_releases_that_do(
    version: str, *, is_command: bool, is_canceled: bool
) -> None:
    handler = ExecAction(("true",)) if is_command else HTTPGetAction(80)
    world = World(probing=_fail_late, dealing=_with_slow_hooks)

    ticks = _ticks_after_deletion(version, a_probe(handler, **EVERY_SECOND), world)

    assert ticks
    probed = [tick for tick in ticks if tick.attempts]
    if is_canceled:
        assert all(tick.result is None for tick in probed)
        assert {
            (len(tick.attempts), attempt.error)
            for tick in probed
            for attempt in tick.attempts
        } == {(3, "rpc error: code = Canceled desc = context canceled")}
        assert all(tick.stored.after is Result.SUCCESS for tick in probed)
    else:
        assert probed[1].stored.after is Result.FAILURE


def _fail_late(effect: RunProbe, age: timedelta) -> ProbeAnswer:
    """Succeed until a pod is deleted, then fail."""
    is_early = age < timedelta(seconds=10.5)
    return ProbeAnswer(
        Attempt(ProbeResult.SUCCESS if is_early else ProbeResult.FAILURE)
    )


def test_a_command_that_runs_when_its_pod_is_deleted_is_canceled() -> None:
    probe = a_probe(ExecAction(("sleep", "5")), timeout_seconds=60, **EVERY_SECOND)
    world = World(
        probing=lambda _effect, _age: ProbeAnswer(
            Attempt(ProbeResult.FAILURE), timedelta(seconds=5)
        ),
        dealing=_with_slow_hooks,
    )
    app = a_container(readiness_probe=probe, pre_stop=ExecAction(("sleep", "8")))

    journal = _run_and_delete(a_pod(app), "1.35", world)

    (cut, *_) = [
        entry
        for entry in journal
        if isinstance(entry, TickEntry) and entry.timing.started_at < at(10) <= entry.at
    ]
    assert (cut.at, cut.result) == (at(10), None)


@pytest.mark.parametrize(
    ("version", "probes"),
    [
        ("1.21", True),
        ("1.22.10", False),
        ("1.22.11", True),
        ("1.24.1", False),
        ("1.25", True),
    ],
)
def test_readiness_is_not_probed_in_a_deleted_pod_in_the_releases_that_stop_it(
    version: str, *, probes: bool
) -> None:
    world = World(dealing=_with_slow_hooks)

    ticks = _ticks_after_deletion(version, a_probe(**EVERY_SECOND), world)

    assert (
        any(tick.attempts and tick.timing.started_at > at(11) for tick in ticks)
        is probes
    )


@pytest.mark.parametrize(
    ("version", "graces"),
    [
        pytest.param("1.21", [10], id="1.21: the hook's time counts"),
        pytest.param("1.22", [30], id="1.22: the whole of it is left"),
        pytest.param("1.27", [30], id="1.27"),
        pytest.param("1.28", [10], id="1.28: the hook's time counts"),
    ],
)
def test_the_time_of_a_hook_is_taken_off_the_grace_period_of_a_deleted_pod(
    version: str, graces: list[int]
) -> None:
    asked: list[int] = []

    def note(call: Operation | Relist) -> CallBehavior:
        if isinstance(call, StopContainer):
            asked.append(call.grace_period_seconds)
        return _with_slow_hooks(call)

    app = a_container(pre_stop=ExecAction(("sleep", "20")))

    _run_and_delete(
        a_pod(app, termination_grace_period_seconds=30), version, World(dealing=note)
    )

    assert asked == graces


@pytest.mark.parametrize(("version", "in_order"), [("1.28", False), ("1.29", True)])
def test_sidecars_are_stopped_one_by_one_since_1_29(
    version: str, *, in_order: bool
) -> None:
    sidecar = a_container("proxy", restart_policy=RestartPolicy.ALWAYS)
    pod = a_pod(a_container(), init_containers=(sidecar,))
    takes_5_s = InstanceBehavior(stops_after=timedelta(seconds=5))
    config = KubeletConfig(
        version=version,
        feature_gates=("SidecarContainers=true",),
        queues_while_waiting=True,
    )
    world = World({"app": (takes_5_s,)})
    simulation = Simulation(Engine(config, START), world, START)
    simulation.submit(SetPods((pod,)))
    simulation.run_until(at(10))

    simulation.submit(DeletePod(pod.uid))
    simulation.run_until(at(40))

    ends = {
        entry.container_name: entry.at
        for entry in simulation.journal
        if isinstance(entry, ContainerEntry) and entry.what == "exited"
    }
    assert (ends["proxy"] >= ends["app"]) is in_order


def _last_status(journal: list[JournalEntry]) -> PodStatus:
    statuses = [entry.status for entry in journal if isinstance(entry, StatusEntry)]
    return statuses[-1]


@pytest.mark.parametrize(("version", "runs"), [("1.20", False), ("1.28", True)])
def test_a_hook_runs_without_a_grace_period_since_a_second_is_granted(
    version: str, *, runs: bool
) -> None:
    pod = a_pod(
        a_container(pre_stop=ExecAction(("sleep", "5"))),
        termination_grace_period_seconds=0,
    )
    calls: list[Operation | Relist] = []

    def note(call: Operation | Relist) -> CallBehavior:
        calls.append(call)
        return CallBehavior()

    _run_and_delete(pod, version, World(dealing=note))

    assert any(isinstance(call, RunHook) for call in calls) is runs


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        pytest.param(
            ExecAction(("sleep", "20")),
            "command 'sleep 20' exited with 137: ",
            id="a command",
        ),
        pytest.param(
            HTTPGetAction("admin", "/drain"),
            'Get "http://10.0.0.1:8081/drain": EOF',
            id="a request",
        ),
        pytest.param(
            HTTPGetAction(80, host="10.9.9.9"), "", id="a request to elsewhere"
        ),
        pytest.param(SleepAction(20), "", id="a sleep"),
    ],
)
@pytest.mark.parametrize("version", ["1.20", "1.36"])
def test_a_hook_that_outlives_the_grace_fails_at_the_end_of_its_container(
    hook: LifecycleHandler, error: str, version: str
) -> None:
    port = ContainerPort(8081, name="admin")
    app = a_container(pre_stop=hook, ports=(port,))
    ignores_sigterm = InstanceBehavior(stops_after=None)
    world = World({"app": (ignores_sigterm,)}, dealing=_with_slow_hooks)

    journal = _run_and_delete(
        a_pod(app, termination_grace_period_seconds=6), version, world
    )

    failed = [
        ((entry.at - START).total_seconds(), entry.event.message)
        for entry in journal
        if isinstance(entry, EventEntry) and entry.event.reason == "FailedPreStopHook"
    ]
    assert [when for when, _ in failed] == ([18.0] if error else [])
    if error and rules_of(version).tells_hook_errors:
        assert error in failed[0][1]


def _with_slow_hooks(call: Operation | Relist) -> CallBehavior:
    return CallBehavior(timedelta(seconds=20 if isinstance(call, RunHook) else 0))


@pytest.mark.parametrize(
    ("version", "exit_code", "phase"),
    [
        pytest.param("1.20", 0, "Running", id="1.20"),
        pytest.param("1.28", 0, "Succeeded", id="1.28, exit code 0"),
        pytest.param("1.28", 1, "Failed", id="1.28, exit code 1"),
    ],
)
def test_a_deleted_pod_ends_in_the_phase_of_its_version(
    version: str, exit_code: int, phase: str
) -> None:
    world = World({"app": (InstanceBehavior(stop_code=exit_code),)})

    journal = _run_and_delete(a_pod(a_container()), version, world)

    assert _last_status(journal).phase == phase


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(
            "1.20",
            ("ContainersNotReady", "containers with unready status: [app]"),
            id="1.20",
        ),
        pytest.param("1.28", ("PodFailed", ""), id="1.28"),
    ],
)
def test_a_failed_pod_has_the_conditions_of_its_version(
    version: str, expected: tuple[str, str]
) -> None:
    pod = a_pod(a_container(), restart_policy=RestartPolicy.NEVER)

    journal = run(pod, version, World({"app": (CRASHES,)}))

    status = _last_status(journal)
    for name in ("Ready", "ContainersReady"):
        condition = status.condition(name)
        assert condition is not None
        assert (condition.reason, condition.message) == expected


def _last_statuses(version: str, *gates: str) -> list[PodStatus]:
    mount = VolumeMount("data", "/data")
    probe = a_probe(period_seconds=1)
    pod = a_pod(
        a_container(readiness_probe=probe, volume_mounts=(mount,)),
        volumes=(Volume("data", EmptyDir()),),
    )
    journal = run(pod, version, None, *gates, seconds=20)
    return [entry.status for entry in journal if isinstance(entry, StatusEntry)]


@pytest.mark.parametrize(
    ("version", "gates", "fields"),
    [
        pytest.param("1.15", (), set(), id="1.15"),
        pytest.param("1.16", (), {"started", "podIPs"}, id="1.16"),
        pytest.param("1.28", (), {"started", "podIPs"}, id="1.28"),
        pytest.param(
            "1.28",
            ("PodHostIPs=true",),
            {"started", "podIPs", "hostIPs"},
            id="1.28 with the gate",
        ),
        pytest.param("1.30", (), {"started", "podIPs", "hostIPs"}, id="1.30"),
        pytest.param(
            "1.31", (), {"started", "podIPs", "hostIPs", "volumeMounts"}, id="1.31"
        ),
        pytest.param(
            "1.36", (), {"started", "podIPs", "hostIPs", "volumeMounts"}, id="1.36"
        ),
    ],
)
def test_a_status_has_the_fields_of_its_version(
    version: str, gates: tuple[str, ...], fields: set[str]
) -> None:
    statuses = _last_statuses(version, *gates)

    written = [
        api_status(
            {},
            status,
            {},
            StatusContext(("192.0.2.1",), rules_of(version, gates)),
            START,
            could_have_running_containers=True,
        )
        for status in statuses
    ]
    asked = {"started", "podIPs", "hostIPs", "volumeMounts"}
    seen = {key for json in written for key in (*json, *json["containerStatuses"][0])}
    assert seen & asked == fields
    assert {"podIP", "hostIP", "ready"} <= seen
    assert [status.ready for status in statuses[-1].container_statuses or ()] == [True]


@pytest.mark.parametrize(("version", "reports"), [("1.27", False), ("1.28", True)])
def test_a_missing_pull_secret_has_an_event_since_1_28(
    version: str, *, reports: bool
) -> None:
    journal = run(a_pod(a_container(), image_pull_secrets=("absent",)), version)
    reasons = {entry.event.reason for entry in journal if isinstance(entry, EventEntry)}
    assert "Started" in reasons
    assert ("FailedToRetrieveImagePullSecret" in reasons) is reports
