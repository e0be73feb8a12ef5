"""A pod's page as `kubectl describe pod` writes it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.environment import ResourceFieldRef
from probetui.k8s.event import EventType
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.status import (
    ConditionStatus,
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.kubectl.describe import describe_events, describe_pod
from probetui.presentation.kubectl.describe_container import describe_probe
from probetui.presentation.kubectl.text import align_columns
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from probetui.record.masking import MASKED, Mask
from tests.k8s.api.test_round_trip import EVERYTHING
from tests.manifest.yaml_pods import load
from tests.presentation.looking import TIMES, VIEW
from tests.ticks import NOW
from tests.tui.snapshots import DEMO, a_pod_snapshot, clock

_SECOND = timedelta(seconds=1)
UNHEALTHY = ClusterEvent(
    EventType.WARNING,
    "Unhealthy",
    "Liveness probe failed: cat: can't open '/tmp/healthy'\n",
    DEMO.uid,
    "spec.containers{liveness}",
    NOW - 191 * _SECOND,
    NOW - 31 * _SECOND,
    9,
)
KILLING = ClusterEvent(
    EventType.NORMAL,
    "Killing",
    "Container liveness failed liveness probe, will be restarted",
    DEMO.uid,
    "spec.containers{liveness}",
    NOW - 31 * _SECOND,
    NOW - 31 * _SECOND,
)


def page(pod: PodSnapshot, *events: ClusterEvent, view: View = VIEW) -> str:
    return "\n".join(text_of(line).rstrip() for line in describe_pod(pod, events, view))


def demo_with(*statuses: ContainerStatus, pod: Pod = DEMO) -> PodSnapshot:
    status = PodStatus(PodPhase.RUNNING, container_statuses=statuses)
    return a_pod_snapshot(pod, status=status)


def state_of(state: ContainerState | None) -> str:
    """Return the lines of a page about a container's state."""
    text = page(demo_with(ContainerStatus("liveness", state=state)))
    return text[text.index("    State:") : text.index("    Ready:")].rstrip()


def test_the_page_of_a_pod_that_was_restarted() -> None:
    liveness = ContainerStatus(
        "liveness",
        "docker://d71cb34f",
        Running(clock("08:20:25.2")),
        Terminated(
            137, "Error", "", clock("08:19:10.2"), clock("08:20:25.1"), "docker://0000"
        ),
        ready=True,
        started=True,
        restart_count=2,
        image="busybox:1.27.2",
        image_id="sha256:bbbb",
    )
    status = PodStatus(
        PodPhase.RUNNING,
        conditions=(PodCondition("Ready", ConditionStatus.TRUE),),
        pod_ip="10.0.0.2",
        pod_ips=("10.0.0.2",),
        qos_class="BestEffort",
        start_time=clock("08:18:00"),
        container_statuses=(liveness,),
    )

    text = page(a_pod_snapshot(DEMO, status=status), UNHEALTHY, KILLING)

    assert text == (
        "Name:             demo\n"
        "Namespace:        default\n"
        "Service Account:  default\n"
        "Node:             <none>\n"
        "Start Time:       Fri, 20 Nov 2026 08:18:00 +0000\n"
        "Labels:           <none>\n"
        "Annotations:      <none>\n"
        "Status:           Running\n"
        "IP:               10.0.0.2\n"
        "IPs:\n"
        "  IP:  10.0.0.2\n"
        "Containers:\n"
        "  liveness:\n"
        "    Container ID:   docker://d71cb34f\n"
        "    Image:          busybox:1.27.2\n"
        "    Image ID:       sha256:bbbb\n"
        "    Port:           <none>\n"
        "    Host Port:      <none>\n"
        "    State:          Running\n"
        "      Started:      Fri, 20 Nov 2026 08:20:25 +0000\n"
        "    Last State:     Terminated\n"
        "      Reason:       Error\n"
        "      Exit Code:    137\n"
        "      Started:      Fri, 20 Nov 2026 08:19:10 +0000\n"
        "      Finished:     Fri, 20 Nov 2026 08:20:25 +0000\n"
        "    Ready:          True\n"
        "    Restart Count:  2\n"
        "    Liveness:       exec [cat /tmp/healthy] delay=5s timeout=1s period=5s "
        "#success=1 #failure=3\n"
        "    Environment:    <none>\n"
        "    Mounts:         <none>\n"
        "Conditions:\n"
        "  Type           Status\n"
        "  Ready          True\n"
        "Volumes:         <none>\n"
        "QoS Class:       BestEffort\n"
        "Node-Selectors:  <none>\n"
        "Tolerations:     <none>\n"
        "Events:\n"
        "  Type     Reason     Age                  From     Message\n"
        "  ----     ------     ----                 ----     -------\n"
        "  Warning  Unhealthy  31s (x9 over 3m11s)  kubelet  Liveness probe failed: "
        "cat: can't open '/tmp/healthy'\n"
        "  Normal   Killing    31s                  kubelet  Container liveness failed "
        "liveness probe, will be restarted"
    )


def test_a_pod_with_everything_has_everything_on_its_page() -> None:
    (pod,) = load(EVERYTHING).pods

    text = page(a_pod_snapshot(pod))

    for words in (
        "Readiness Gates:\n  Type               Status\n  example.com/ready  <none>",
        "  beside:\n    Image:        busybox",
        "    Ports:       8080/TCP, 53/UDP\n    Host Ports:  8081/TCP, 0/UDP",
        "    Limits:\n      cpu:     1500m\n      memory:  64Mi",
        "      cm  ConfigMap with prefix 'CM_'  Optional: true",
        "      IP:      (v1:status.podIP)",
        "      CPU:    2 (limits.cpu)",
        "      A:      <set to the key 'a' of config map 'cm'>  Optional: true",
        '      /scratch from scratch (ro,path="a/b")',
        "    SizeLimit:  64Mi",
        "    Type:          HostPath (bare host directory volume)",
        "    SecretName:  s",
        "      limits.cpu -> cpu",
        "    ConfigMapName:  cm",
        "SeccompProfile:   RuntimeDefault",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        pytest.param(
            HTTPGetAction(8080, "/healthz"), "http-get http://:8080/healthz", id="http"
        ),
        pytest.param(
            HTTPGetAction("web", "/a b?c=d", "::1", "HTTPS"),
            "http-get https://[::1]:web/a%20b%3Fc=d",
            id="https and what is escaped",
        ),
        pytest.param(
            HTTPGetAction(80, "live!"), "http-get http://:80/live%21", id="no slash"
        ),
        pytest.param(
            HTTPGetAction(80, "/\udcff"), "http-get http://:80/%FF", id="lone byte"
        ),
        pytest.param(ExecAction(("a", "b c")), "exec [a b c]", id="exec"),
        pytest.param(TCPSocketAction("web", "db"), "tcp-socket db:web", id="tcp"),
        pytest.param(GRPCAction(9000), "grpc <pod>:9000 ", id="grpc"),
        pytest.param(None, "unknown", id="none"),
    ],
)
def test_a_probe_is_on_one_line(handler: ProbeHandler | None, words: str) -> None:
    probe = Probe(handler, 5, 1, 5, 1, 3)

    assert describe_probe(probe) == (
        f"{words} delay=5s timeout=1s period=5s #success=1 #failure=3"
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        pytest.param(None, "    State:          Waiting", id="unknown"),
        pytest.param(Running(), "    State:          Running", id="no time"),
        pytest.param(Waiting(), "    State:          Waiting", id="no reason"),
        pytest.param(
            Waiting("CrashLoopBackOff", "back-off 10s"),
            "    State:          Waiting\n      Reason:       CrashLoopBackOff",
            id="waiting",
        ),
        pytest.param(
            Waiting("ErrImagePull", "lookup registry.invalid: no such host"),
            "    State:          Waiting\n"
            "      Reason:       ErrImagePull\n"
            "      Message:      lookup registry.invalid: no such host",
            id="a broken image",
        ),
        pytest.param(
            Terminated(1, message="one\ntwo\n"),
            "    State:          Terminated\n"
            "      Message:      one\n"
            "                    two\n"
            "      Exit Code:    1",
            id="terminated",
        ),
    ],
)
def test_a_state_has_its_details(state: ContainerState | None, words: str) -> None:
    assert state_of(state) == words


def test_a_terminating_pod_has_the_duration_of_its_deletion() -> None:
    pod = replace(
        DEMO,
        deletion_requested_at=NOW - 7 * _SECOND,
        deletion_grace_period_seconds=30,
    )

    text = page(demo_with(pod=pod))

    assert "Status:                    Terminating (lasts 7s)" in text
    assert "Termination Grace Period:  30s" in text


def test_labels_and_annotations_are_on_the_page() -> None:
    status = PodStatus(PodPhase.FAILED, reason="Evicted", message="no room")

    text = page(a_pod_snapshot(DEMO, status=status))

    assert "Reason:           Evicted\nMessage:          no room" in text


def test_a_value_that_is_secret_by_its_name_is_masked() -> None:
    container = Container("app", env=(EnvVar("API_KEY", "abc"), EnvVar("MODE", "a\nb")))
    pod = Pod("uid", "demo", containers=(container,))

    text = page(a_pod_snapshot(pod), view=View(TIMES, mask=Mask()))

    assert f"      API_KEY:   {MASKED}\n      MODE:      a\n" in text
    assert "      MODE:      a\n                 b\n" in text


def test_a_secret_of_several_lines_is_masked_in_a_command() -> None:
    container = Container("app", command=("echo", "first line\nsecond line"))
    view = View(TIMES, mask=Mask(["first line\nsecond line"]))

    text = page(a_pod_snapshot(Pod("uid", "demo", containers=(container,))), view=view)

    assert f"      echo\n      {MASKED}\n" in text


def test_escape_sequences_are_shown_and_not_obeyed() -> None:
    container = Container("app", image="\x1b[31mred", args=("\x07\udcff",))

    text = page(a_pod_snapshot(Pod("uid", "demo", containers=(container,))))

    assert "Image:      \\x1b[31mred" in text
    assert "      \\x07\\xff" in text


def test_events_alone_are_formatted_as_on_a_page() -> None:
    lines = [text_of(event) for event in describe_events([UNHEALTHY], VIEW)]

    assert lines[0] == "Events:"
    assert "31s (x9 over 3m11s)  kubelet  Liveness probe failed" in lines[-1]


def test_no_events_are_shown_as_none() -> None:
    assert [text_of(event) for event in describe_events([], VIEW)] == [
        "Events:  <none>"
    ]


@pytest.mark.parametrize(
    ("rows", "filled"),
    [
        pytest.param([("a", "b"), ("ccc", "d")], ["a    b", "ccc  d"], id="together"),
        pytest.param(
            [("a", "b"), ("ccc",), ("dd", "e")], ["a  b", "ccc", "dd  e"], id="apart"
        ),
        pytest.param(
            [("日本", "b"), ("a", "c")], ["日本  b", "a     c"], id="wide characters"
        ),
        pytest.param([("e\u0301", "b"), ("aa", "c")], ["e\u0301   b", "aa  c"], id="é"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_columns_are_aligned_across_adjacent_lines(
    rows: list[tuple[str, ...]], filled: list[str]
) -> None:
    assert ["".join(row) for row in align_columns(rows)] == filled


_RARE = """
apiVersion: v1
kind: Pod
metadata: {name: rare}
spec:
  volumes:
    - {name: shared, nfs: {server: 10.0.0.9, path: /}}
    - name: mixed
      projected:
        sources:
          - {configMap: {name: cm}}
          - downwardAPI:
              items: [{path: name, fieldRef: {fieldPath: metadata.name}}]
  containers:
    - name: app
      image: busybox
      securityContext: {seccompProfile: {type: Unconfined}}
      env:
        - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
"""


def test_rare_fields_are_on_the_page_too() -> None:
    (pod,) = load(_RARE).pods

    text = " ".join(page(a_pod_snapshot(pod)).split())

    for words in (
        "SeccompProfile: Unconfined",
        "NAME: rare (v1:metadata.name)",
        "CPU: node allocatable (limits.cpu)",
        "Type: nfs (not supported: an empty directory)",
        "DownwardAPI: true",
    ):
        assert words in text


def test_a_resource_of_a_missing_container_is_empty() -> None:
    ref = ResourceFieldRef("limits.cpu", "another")
    variable = EnvVar("CPU", has_value_from=True, value_from=ref)
    pod = Pod("uid", "demo", containers=(Container("app", env=(variable,)),))

    assert "CPU: (limits.cpu)" in " ".join(page(a_pod_snapshot(pod)).split())


def test_a_deletion_without_a_grace_period_shows_none() -> None:
    pod = replace(DEMO, deletion_requested_at=NOW)

    assert "Termination Grace Period" not in page(demo_with(pod=pod))
