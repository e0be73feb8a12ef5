from __future__ import annotations

import copy
import pickle
from datetime import timedelta
from random import Random

import pytest

from probetui.errors import GoError, UsageError
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import RestartPolicy, RestartRule
from probetui.k8s.probe import ExecAction, GRPCAction, HTTPGetAction, ProbeType
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.k8s.status import Running
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.events.event_correlator import EventCorrelator
from probetui.kubelet.journal import Exit, Trigger
from probetui.kubelet.kuberuntime.container_hash import stable_key
from probetui.kubelet.kuberuntime.grace_period import (
    KillReason,
    termination_grace_period,
)
from probetui.kubelet.kuberuntime.restart import should_container_be_restarted
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult, Result
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.prober.prober import judge_outcome
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.timeout_text import timed_out
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet.prober.worker_loop import WorkerLoop, start_jitter
from probetui.kubelet.status.status_patch import StatusContext, api_status
from probetui.kubelet_rules import (
    DEFAULT_VERSION,
    FIRST,
    ROWS,
    VERSIONS,
    KubeletRules,
    parse_version,
    rules_for_kubelet,
    rules_of,
)
from probetui.manifest.load import load_manifests
from probetui.manifest.problem import Severity
from probetui.manifest.yaml.parser import SourceFile
from probetui.probers.http_request import build_request
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    at,
)

IN_42 = RestartRule("Restart", "In", (42,))
NOT_IN_42 = RestartRule("Restart", "NotIn", (42,))
TIMED_OUT = 'command timed out: "sleep 9" timed out after 1s'
LIVENESS, STARTUP = ProbeType.LIVENESS, ProbeType.STARTUP
HOUR, SECONDS = timedelta(hours=1), timedelta(seconds=10)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_has_rules_with_its_name(version: str) -> None:
    assert rules_of(version).version == version
    assert rules_of(version) is rules_of(version)


def test_a_session_without_a_version_has_rules() -> None:
    assert DEFAULT_VERSION in VERSIONS


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.36", "1.36"), ("v1.36", "1.36"), ("1.36.2", "1.36.2"), ("v1.36.0", "1.36.0")],
)
def test_a_version_can_be_written_with_its_patch(text: str, version: str) -> None:
    assert parse_version(text) == version
    assert rules_of(text).release == version
    assert rules_of(text).version == "1.36"


def test_there_are_rules_of_each_minor_release() -> None:
    assert tuple(f"1.{minor}" for minor in range(15, 38)) == VERSIONS


@pytest.mark.parametrize("field", ROWS)
def test_a_row_has_values_of_the_type_of_its_field(field: str) -> None:
    row = ROWS[field]
    releases = [release for release, _ in row.values]

    assert row.about.endswith(".")
    assert row.source
    assert releases == sorted(set(releases))
    assert releases[0] == FIRST
    assert {type(value) for _, value in row.values} == {
        {"bool": bool, "str": str}[KubeletRules.__annotations__[field]]
    }


@pytest.mark.parametrize(
    ("field", "version", "value"),
    [
        pytest.param("holds_after_startup_success", "1.31", False, id="k/k#121206"),
        pytest.param("holds_after_startup_success", "1.32.0", True, id="1.32.0"),
        pytest.param("hashes_whole_container", "1.30", True, id="k/k#124220"),
        pytest.param("hashes_whole_container", "1.31.0", False, id="1.31.0"),
        pytest.param("probes_from_addition", "1.23.7", True, id="before a backport"),
        pytest.param("probes_from_addition", "1.23.8", False, id="a backport"),
        pytest.param("probes_from_addition", "1.24.1", True, id="the next minor"),
        pytest.param("probes_from_addition", "1.24", False, id="its newest patch"),
        pytest.param("sidecar_workers_end_with_never", "1.33.5", True, id="1.33.5"),
        pytest.param("sidecar_workers_end_with_never", "1.33.6", False, id="1.33.6"),
        pytest.param("sidecar_workers_end_with_never", "1.34.1", True, id="1.34.1"),
        pytest.param("cancels_exec_on_deletion", "1.34", False, id="1.34"),
        pytest.param("cancels_exec_on_deletion", "1.35", True, id="1.35"),
        pytest.param("cancels_exec_on_deletion", "1.36", False, id="1.36 is 1.36.2"),
        pytest.param("cancels_exec_on_deletion", "1.36.3", True, id="1.36.3"),
        pytest.param("cancels_exec_on_deletion", "1.37", False, id="1.37"),
        pytest.param("sidecars", "1.28", False, id="alpha"),
        pytest.param("sidecars", "1.29", True, id="beta"),
    ],
)
def test_a_rule_counts_from_the_release_that_it_came_with(
    field: str, version: str, value: object
) -> None:
    assert getattr(rules_of(version), field) == value


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("v1.33.4-gke.1", "1.33.4"),
        ("v1.36.3", "1.36.3"),
        ("v1.99.1", "1.37"),
        ("v1.9.1", "1.15"),
        ("odd", DEFAULT_VERSION),
    ],
)
def test_a_node_has_the_rules_of_its_patch(text: str, release: str) -> None:
    assert rules_for_kubelet(text).release == release


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("1.14", " (nearest: 1.15)", id="earlier"),
        pytest.param("1.99", " (nearest: 1.37)", id="later"),
        pytest.param("2.0", "1.37", id="of another major"),
        pytest.param("latest", "1.37", id="no number"),
        pytest.param("", "1.37", id="nothing"),
    ],
)
def test_a_version_without_rules_is_refused(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_version(text)

    assert str(caught.value).startswith(f'"{text}" is not one of 1.15 to')
    assert str(caught.value).endswith(hint)


@pytest.mark.parametrize(
    ("version", "gate", "message"),
    [
        pytest.param(
            "1.20",
            "ExecProbTimeout=true",
            'kubelet 1.20 has no feature gate "ExecProbTimeout" that can be set here '
            "(nearest: ExecProbeTimeout)",
            id="misspelt",
        ),
        pytest.param(
            "1.35",
            "ExecProbeTimeout=false",
            'kubelet 1.35 has no feature gate "ExecProbeTimeout" that can be set here '
            "(nearest: ExecProbeTimeout, in 1.20 to 1.34)",
            id="locked",
        ),
        pytest.param(
            "1.36",
            "SidecarContainer=false",
            'kubelet 1.36 has no feature gate "SidecarContainer" that can be set here '
            "(nearest: SidecarContainers, in 1.28 to 1.32)",
            id="misspelt, of others",
        ),
        pytest.param(
            "1.20",
            "ExecProbeTimeout",
            'feature gate "ExecProbeTimeout": write ExecProbeTimeout=true or '
            "ExecProbeTimeout=false",
            id="without a value",
        ),
    ],
)
def test_a_gate_unknown_to_the_version_is_refused(
    version: str, gate: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        rules_of(version, (gate,))

    assert str(caught.value) == message


def test_a_gate_switches_a_rule_of_its_version() -> None:
    rules = rules_of("1.28", ("SidecarContainers=true",))

    assert (rules_of("1.28").sidecars, rules.sidecars) == (False, True)
    assert rules.feature_gates == ("SidecarContainers=true",)


def test_a_copied_state_has_the_same_rules() -> None:
    rules = rules_of("1.20", ("ExecProbeTimeout=false",))

    assert copy.deepcopy(rules) is rules
    assert pickle.loads(pickle.dumps(rules)) is rules  # our own


def test_an_old_record_has_the_version_that_was_ported() -> None:
    assert KubeletConfig().rules is rules_of("1.32")


@pytest.mark.parametrize(
    ("version", "waits"), [("1.20", True), ("1.28", False), ("1.36", False)]
)
def test_only_workers_of_old_kubelets_always_wait_first(
    version: str, *, waits: bool
) -> None:
    jitter = start_jitter(SECONDS, HOUR, Random(1), rules_of(version))

    assert (jitter > timedelta()) is waits


@pytest.mark.parametrize(("version", "holds"), [("1.31", False), ("1.32", True)])
def test_a_startup_worker_is_on_hold_after_a_success(
    version: str, *, holds: bool
) -> None:
    container = a_container()
    rules = rules_of(version)
    worker = Worker(a_key(STARTUP), a_pod(), container, a_probe(), rules=rules)

    worker.record(Result.SUCCESS, ResultsManager(STARTUP))

    assert worker.on_hold is holds


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.32", "Liveness probe errored: no route"),
        ("1.33", "Liveness probe errored and resulted in unknown state: no route"),
    ],
)
def test_an_errored_probe_has_the_event_of_the_version(
    version: str, message: str
) -> None:
    attempt = Attempt(ProbeResult.UNKNOWN, error="no route")

    judged = judge_outcome(LIVENESS, ProbeOutcome((attempt,), START), rules_of(version))

    assert judged.message == message


@pytest.mark.parametrize(("version", "reason"), [("1.32", "Unhealthy"), ("1.33", None)])
def test_an_unknown_result_has_an_event_in_old_versions(
    version: str, reason: str | None
) -> None:
    outcome = ProbeOutcome((Attempt(ProbeResult.UNKNOWN),), START)

    assert judge_outcome(LIVENESS, outcome, rules_of(version)).reason == reason


@pytest.mark.parametrize(("version", "seconds"), [("1.20", 30), ("1.28", 5)])
def test_a_probe_can_have_its_own_grace_period(version: str, seconds: int) -> None:
    probe = a_probe(termination_grace_period_seconds=5)
    container = a_container(liveness_probe=probe)

    grace = termination_grace_period(
        a_pod(container), container, KillReason.LIVENESS_PROBE, rules_of(version)
    )

    assert grace.seconds == seconds


@pytest.mark.parametrize(("version", "anew"), [("1.31", False), ("1.32", True)])
def test_a_probe_out_of_turn_begins_the_period_anew_since_1_32(
    version: str, *, anew: bool
) -> None:
    pod = a_pod(a_container(readiness_probe=a_probe(period_seconds=10)))
    worker = Worker(
        a_key(ProbeType.READINESS),
        pod,
        pod.containers[0],
        a_probe(),
        rules=rules_of(version),
    )
    loop = WorkerLoop(worker, START)
    loop.select(START, Random(1))
    loop.trigger = Trigger.READINESS

    loop.select(at(4), Random(1))

    assert loop.ticker_at == at(14 if anew else 10)


@pytest.mark.parametrize(
    ("version", "port", "error"),
    [
        ("1.36", "metrcis", 'strconv.Atoi: parsing "metrcis": invalid syntax'),
        ("1.37", "metrcis", 'port "metrcis" not found'),
        ("1.36", "8080", ""),
        ("1.37", "8080", 'port "8080" not found'),
    ],
)
def test_a_port_that_the_container_does_not_have_has_the_words_of_the_version(
    version: str, port: str, error: str
) -> None:
    if not error:
        assert resolve_port(port, a_container(), rules_of(version)) == int(port)
        return

    with pytest.raises(GoError) as caught:
        resolve_port(port, a_container(), rules_of(version))

    assert str(caught.value) == error


@pytest.mark.parametrize(("version", "is_same"), [("1.34", False), ("1.35", True)])
def test_an_edit_keeps_the_back_off(version: str, *, is_same: bool) -> None:
    rules = rules_of(version)
    keys = {
        stable_key(a_pod(), a_container(image=image), rules) for image in ("a", "b")
    }

    assert (len(keys) == 1) is is_same


def exited(code: int) -> RuntimePodStatus:
    instance = RuntimeContainerStatus(
        ContainerID("x://1"), "app", RuntimeState.EXITED, exit_code=code
    )
    return RuntimePodStatus("uid", containers=(instance,))


@pytest.mark.parametrize(
    ("own", "rules", "code", "restarts"),
    [
        pytest.param(None, (), 1, False, id="the pod's policy"),
        pytest.param(RestartPolicy.ALWAYS, (), 0, True, id="always"),
        pytest.param(RestartPolicy.ON_FAILURE, (), 0, False, id="on failure, none"),
        pytest.param(RestartPolicy.ON_FAILURE, (), 1, True, id="on failure"),
        pytest.param(RestartPolicy.NEVER, (IN_42,), 42, True, id="in"),
        pytest.param(RestartPolicy.NEVER, (IN_42,), 1, False, id="not in"),
        pytest.param(RestartPolicy.NEVER, (NOT_IN_42,), 1, True, id="by NotIn"),
    ],
)
def test_a_container_can_have_its_own_restart_policy_and_rules(
    own: RestartPolicy | None,
    rules: tuple[RestartRule, ...],
    code: int,
    *,
    restarts: bool,
) -> None:
    container = a_container(restart_policy=own, restart_rules=rules)
    pod = a_pod(container, restart_policy=RestartPolicy.NEVER)

    decision = should_container_be_restarted("app", pod, exited(code), rules_of("1.36"))

    assert decision is restarts


POD = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  containers:
  - name: app
    image: busybox
    restartPolicy: Never
    restartPolicyRules:
    - {action: Restart, exitCodes: {operator: In, values: [42]}}
    startupProbe: {exec: {command: [a]}}
    livenessProbe: {grpc: {port: 1}}
"""


@pytest.mark.parametrize(
    ("version", "problems"),
    [
        pytest.param("1.36", [], id="1.36"),
        pytest.param(
            "1.32",
            [
                (9, "spec.containers[0].restartPolicy", "only init containers may"),
                (10, "spec.containers[0].restartPolicyRules", "unknown to Kubernetes"),
            ],
            id="1.32",
        ),
        pytest.param(
            "1.15",
            [
                (
                    9,
                    "spec.containers[0].restartPolicy",
                    "unknown to Kubernetes 1.15",
                ),
                (10, "spec.containers[0].restartPolicyRules", "unknown to Kubernetes"),
                (
                    12,
                    "spec.containers[0].startupProbe",
                    "unknown to Kubernetes 1.15",
                ),
                (13, "spec.containers[0].livenessProbe", ""),
                (13, "spec.containers[0].livenessProbe.grpc", "unknown to Kubernetes"),
            ],
            id="1.15",
        ),
    ],
)
def test_a_manifest_is_read_as_the_version_reads_it(
    version: str, problems: list[tuple[int, str, str]]
) -> None:
    source = SourceFile("pod.yaml", POD)

    found = load_manifests([source], rules=rules_of(version)).problems

    places = [(problem.line, problem.path) for problem in found]
    assert places == [(line, path) for line, path, _ in problems]
    for problem, (_, _, message) in zip(found, problems, strict=True):
        assert message in problem.message


@pytest.mark.parametrize(
    ("version", "output", "is_error"),
    [("1.19", "", True), ("1.20", "", False), ("1.28", TIMED_OUT, False)],
)
def test_a_command_that_times_out_has_the_result_of_the_version(
    version: str, output: str, *, is_error: bool
) -> None:
    probe = a_probe(ExecAction(("sleep", "9")))

    attempt = timed_out(probe, a_container(), "10.0.0.1", rules_of(version))

    assert (attempt.output, attempt.error is not None) == (output, is_error)


@pytest.mark.parametrize(
    ("version", "accept", "encoding"),
    [("1.19", "", "gzip"), ("1.20", "*/*", ""), ("1.36", "*/*", "")],
)
def test_a_request_has_the_headers_of_its_version(
    version: str, accept: str, encoding: str
) -> None:
    request = build_request(HTTPGetAction(80), "10.0.0.1", 80, rules_of(version))

    names = ("User-Agent", "Accept", "Accept-Encoding")
    assert [request.header(name) for name in names] == [
        f"kube-probe/{version}",
        accept,
        encoding,
    ]


@pytest.mark.parametrize(("version", "is_left"), [("1.20", False), ("1.28", True)])
def test_liveness_probes_continue_in_a_deleted_pod_in_old_versions(
    version: str, *, is_left: bool
) -> None:
    container = a_container()
    pod = a_pod(container, deletion_requested_at=START)
    worker = Worker(a_key(), pod, container, a_probe(), rules=rules_of(version))
    running = a_container_status(state=Running(START), started=True)

    decision = worker.decide(a_status(running), ResultsManager(LIVENESS), START)

    assert (decision is Exit.POD_DELETED) is is_left


GRPC_IN_TLS = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  containers:
  - name: app
    image: busybox
    livenessProbe: {grpc: {port: 8443, mode: TLS}}
"""


@pytest.mark.parametrize(
    ("version", "gates", "mode", "problem_text"),
    [
        pytest.param("1.36", (), "", "unknown to Kubernetes 1.36", id="1.36"),
        pytest.param("1.37", (), "", "plaintext", id="1.37"),
        pytest.param("1.37", ("GRPCContainerProbeTLS=true",), "TLS", "", id="gate"),
    ],
)
def test_a_grpc_probe_uses_tls_only_with_its_gate_and_reports_it_otherwise(
    version: str, gates: tuple[str, ...], mode: str, problem_text: str
) -> None:
    source = SourceFile("pod.yaml", GRPC_IN_TLS)

    found = load_manifests([source], rules=rules_of(version, gates))

    (pod,) = found.pods
    probe = pod.containers[0].liveness_probe
    assert probe is not None
    assert probe.handler == GRPCAction(8443, "", mode)
    problems = [(problem.line, problem.message) for problem in found.problems]
    assert [line for line, _ in problems] == [9] * (not mode)
    assert all(problem_text in message for _, message in problems)


HTTP_2 = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  containers:
  - name: app
    image: busybox
    livenessProbe: {httpGet: {port: 80, protocol: HTTP2}}
"""
H2C = ("H2CContainerProbe=true",)


@pytest.mark.parametrize(
    ("version", "gates", "protocol", "problem_text"),
    [
        pytest.param("1.36", (), "", "unknown to Kubernetes 1.36", id="1.36"),
        pytest.param("1.37", (), "", "HTTP/1.1", id="1.37"),
        pytest.param("1.37", H2C, "HTTP2", "", id="gate"),
    ],
)
def test_an_http_probe_uses_http_2_only_with_its_gate_and_reports_it_otherwise(
    version: str, gates: tuple[str, ...], protocol: str, problem_text: str
) -> None:
    source = SourceFile("pod.yaml", HTTP_2)

    found = load_manifests([source], rules=rules_of(version, gates))

    (pod,) = found.pods
    probe = pod.containers[0].liveness_probe
    assert probe is not None
    assert isinstance(probe.handler, HTTPGetAction)
    assert probe.handler.protocol == protocol
    problems = [(problem.line, problem.message) for problem in found.problems]
    assert [line for line, _ in problems] == [9] * (not protocol)
    assert all(problem_text in message for _, message in problems)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        pytest.param("protocol: HTTP3", "protocol", id="no such protocol"),
        pytest.param("protocol: HTTP2, scheme: HTTPS", "protocol", id="TLS"),
        pytest.param("protocol: HTTP2, host: example.org", "host", id="another host"),
    ],
)
def test_invalid_http_2_settings_are_refused(field: str, wrong: str) -> None:
    source = SourceFile("pod.yaml", HTTP_2.replace("protocol: HTTP2", field))

    found = load_manifests([source], rules=rules_of("1.37", H2C))

    errors = [
        problem for problem in found.problems if problem.severity is Severity.ERROR
    ]
    assert [error.path for error in errors] == [
        f"spec.containers[0].livenessProbe.httpGet.{wrong}"
    ]


STOP_SIGNAL = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  os: {name: linux}
  containers:
  - name: app
    image: busybox
    lifecycle: {stopSignal: SIGUSR1}
    livenessProbe: {exec: {command: [a]}}
"""


@pytest.mark.parametrize(
    ("version", "gates", "stop_signal"),
    [
        pytest.param("1.32", (), "", id="1.32"),
        pytest.param("1.36", (), "", id="1.36"),
        pytest.param("1.36", ("ContainerStopSignals=true",), "SIGUSR1", id="gate"),
        pytest.param("1.37", (), "SIGUSR1", id="1.37"),
    ],
)
def test_a_manifest_can_set_the_stop_signal_if_the_gate_is_on(
    version: str, gates: tuple[str, ...], stop_signal: str
) -> None:
    source = SourceFile("pod.yaml", STOP_SIGNAL)

    found = load_manifests([source], rules=rules_of(version, gates))

    (pod,) = found.pods
    assert pod.containers[0].stop_signal == stop_signal
    assert len(found.problems) == (not stop_signal)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("  os: {name: linux}\n", "", "may not be set", id="no os"),
        pytest.param("SIGUSR1", "USR1", "must be", id="no such signal"),
    ],
)
def test_a_stop_signal_is_one_of_the_operating_system(
    old: str, new: str, message: str
) -> None:
    source = SourceFile("pod.yaml", STOP_SIGNAL.replace(old, new))

    found = load_manifests([source], rules=rules_of("1.37"))

    (problem,) = found.problems
    assert problem.path == "spec.containers[0].lifecycle.stopSignal"
    assert message in problem.message


SLEEP = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  containers:
  - name: app
    image: busybox
    lifecycle: {preStop: {sleep: {seconds: 0}}}
    livenessProbe: {grpc: {port: 1, mode: TLS}}
"""


@pytest.mark.parametrize(
    ("version", "gates", "is_allowed"),
    [
        pytest.param("1.32", (), False, id="1.32"),
        pytest.param(
            "1.32", ("PodLifecycleSleepActionAllowZero=true",), True, id="1.32, gate"
        ),
        pytest.param("1.33", (), True, id="1.33"),
    ],
)
def test_a_hook_can_sleep_for_zero_seconds(
    version: str, gates: tuple[str, ...], *, is_allowed: bool
) -> None:
    source = SourceFile("pod.yaml", SLEEP)

    found = load_manifests([source], rules=rules_of(version, gates))

    assert bool(found.loaded) is is_allowed


def test_a_mode_of_grpc_is_never_ignored_silently() -> None:
    source = SourceFile("pod.yaml", SLEEP)

    (problem,) = load_manifests([source], rules=rules_of("1.36")).problems

    assert problem.path == "spec.containers[0].livenessProbe.grpc.mode"
    assert "plaintext" in problem.message


RESTART_ALL = """
kind: Pod
apiVersion: v1
metadata: {name: p}
spec:
  containers:
  - name: app
    image: busybox
    restartPolicy: Never
    restartPolicyRules:
    - {action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}
    livenessProbe: {exec: {command: [a]}}
"""
RESTARTS_ALL = ("RestartAllContainersOnContainerExits=true",)


@pytest.mark.parametrize(
    ("version", "gates", "is_allowed"),
    [
        pytest.param("1.35", (), False, id="1.35"),
        pytest.param("1.35", RESTARTS_ALL, True, id="1.35, gate"),
        pytest.param("1.36", (), True, id="1.36"),
    ],
)
def test_a_rule_can_restart_all_containers_if_the_gate_is_on(
    version: str, gates: tuple[str, ...], *, is_allowed: bool
) -> None:
    source = SourceFile("pod.yaml", RESTART_ALL)

    found = load_manifests([source], rules=rules_of(version, gates))

    assert bool(found.loaded) is is_allowed


@pytest.mark.parametrize(
    ("version", "of_container", "of_pod"),
    [("1.32", False, False), ("1.33", True, False), ("1.36", True, True)],
)
def test_a_status_at_an_api_server_has_the_resources_of_its_version(
    version: str, *, of_container: bool, of_pod: bool
) -> None:
    status = api_status(
        {"containers": [{"name": "app"}]},
        a_status(a_container_status(state=Running(START))),
        {},
        StatusContext(("192.0.2.1",), rules_of(version)),
        START,
        could_have_running_containers=True,
    )

    (container,) = status["containerStatuses"]
    assert ("resources" in container, "resources" in status) == (of_container, of_pod)


@pytest.mark.parametrize(("version", "has_room"), [("1.35", False), ("1.36", True)])
def test_normal_events_have_a_separate_allowance_in_new_versions(
    version: str, *, has_room: bool
) -> None:
    rules = rules_of(version)
    correlator = EventCorrelator(allows_by_type=rules.allows_events_by_type)
    warning = Event(EventType.WARNING, "Unhealthy", "no", "p", "", START)
    normal = Event(EventType.NORMAL, "Killing", "yes", "p", "", START)
    for _ in range(30):
        correlator.correlate(warning)

    assert (correlator.correlate(normal) is not None) is has_room
