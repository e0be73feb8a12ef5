"""A pod as `kubectl describe pod` writes it.

Source: k8s.io/kubectl describe/describe.go, v0.32.10, describePod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from probetui.k8s.event import EventType
from probetui.k8s.pod import Container, Pod
from probetui.k8s.status import ConditionStatus, ContainerStatus, PodStatus
from probetui.k8s.volume import (
    ConfigMapFiles,
    DownwardAPIFiles,
    EmptyDir,
    HostPath,
    OtherVolume,
    Projected,
    SecretFiles,
    Volume,
)
from probetui.kubelet.event_recorder import ClusterEvent
from probetui.kubelet.journal import FindingEntry
from probetui.kubelet.snapshot import PodSnapshot
from probetui.presentation.describe_container import describe_container
from probetui.presentation.describe_text import NONE, Row, lines_of, pairs, row
from probetui.presentation.kubectl_times import event_age, rfc1123, since
from probetui.presentation.quantities import quantity_text
from probetui.presentation.sightings import finding_rows
from probetui.presentation.spans import Line, Role
from probetui.presentation.text_cells import one_line
from probetui.presentation.view import View

_KUBELET = "kubelet"


def describe_pod(
    pod: PodSnapshot,
    events: Sequence[ClusterEvent],
    view: View,
    findings: Sequence[FindingEntry] = (),
) -> list[Line]:
    """Return a pod's page: definition, status, events as a cluster folds them.

    Behind them, and not kubectl's, comes what its probes showed to be unwise.
    """
    rows = [*_heading(pod.pod, pod.status, view), *_body(pod, view)]
    rows += event_rows(events, view)
    return described([*rows, *finding_rows(findings)], view)


def describe_events(events: Sequence[ClusterEvent], view: View) -> list[Line]:
    """Return events alone, as they stand at the end of a pod's page."""
    return described(event_rows(events, view), view)


def described(rows: Iterable[Row], view: View) -> list[Line]:
    """Return rows as lines, whose foreign text is harmless and without secrets."""

    def harmless(text: str) -> str:
        return one_line(view.mask.text(text), newline=view.marks.newline)

    return lines_of(
        replace(each, cells=tuple(map(harmless, each.cells))) for each in rows
    )


def event_rows(events: Sequence[ClusterEvent], view: View) -> Iterator[Row]:
    """Yield events, the one seen last at the end.

    Source: k8s.io/kubectl describe/describe.go, v0.32.10, DescribeEvents.
    """
    if not events:
        yield row(0, "Events:", NONE)
        return
    yield row(0, "Events:")
    yield row(1, "Type", "Reason", "Age", "From", "Message", role=Role.MUTED)
    yield row(1, "----", "------", "----", "----", "-------", role=Role.MUTED)
    for each in events:
        is_warning = each.type is EventType.WARNING
        yield row(
            1,
            each.type,
            each.reason,
            event_age(each, view.now),
            _KUBELET,
            each.message.strip(),
            role=Role.WARNING if is_warning else Role.PLAIN,
        )


def _heading(pod: Pod, status: PodStatus, view: View) -> Iterator[Row]:
    yield row(0, "Name:", pod.name)
    yield row(0, "Namespace:", pod.namespace)
    yield row(0, "Service Account:", pod.service_account_name)
    yield row(0, "Node:", NONE)
    if status.start_time is not None:
        yield row(0, "Start Time:", rfc1123(status.start_time))
    yield from pairs("Labels", pod.labels, "=")
    yield from pairs("Annotations", pod.annotations, ": ")
    yield from _state(pod, status, view)
    if status.reason:
        yield row(0, "Reason:", status.reason)
    if status.message:
        yield row(0, "Message:", status.message)
    if profile := pod.security_context.seccomp_profile:
        yield row(0, "SeccompProfile:", profile)
    yield row(0, "IP:", status.pod_ip)
    if not status.pod_ips:
        yield row(0, "IPs:", NONE)
        return
    yield row(0, "IPs:")
    for each in status.pod_ips:
        yield row(1, "IP:", each)


def _state(pod: Pod, status: PodStatus, view: View) -> Iterator[Row]:
    if pod.deletion_requested_at is None or status.phase.is_terminal:
        yield row(0, "Status:", status.phase)
        return
    lasts = since(pod.deletion_requested_at, view.now)
    yield row(0, "Status:", f"Terminating (lasts {lasts})", role=Role.WARNING)
    grace = pod.deletion_grace_period_seconds
    if grace is not None:
        yield row(0, "Termination Grace Period:", f"{grace}s")


def _body(pod: PodSnapshot, view: View) -> Iterator[Row]:
    spec, status = pod.pod, pod.status
    if spec.init_containers:
        statuses = status.init_container_statuses or ()
        yield row(0, "Init Containers:")
        yield from _containers(spec, spec.init_containers, statuses, view)
    yield row(0, "Containers:")
    yield from _containers(spec, spec.containers, status.container_statuses or (), view)
    yield from _gates(spec, status)
    if status.conditions:
        yield row(0, "Conditions:")
        yield row(1, "Type", "Status", role=Role.MUTED)
    for each in status.conditions:
        is_true = each.status is ConditionStatus.TRUE
        role = Role.SUCCESS if is_true else Role.WARNING
        yield row(1, f"{each.type} ", each.status, role=role)
    yield from _volumes(spec.volumes)
    yield row(0, "QoS Class:", status.qos_class)
    yield row(0, "Node-Selectors:", NONE)
    yield row(0, "Tolerations:", NONE)


def _containers(
    pod: Pod,
    containers: Sequence[Container],
    statuses: Sequence[ContainerStatus],
    view: View,
) -> Iterator[Row]:
    by_name = {each.name: each for each in statuses}
    for each in containers:
        yield from describe_container(pod, each, by_name.get(each.name), view)


def _gates(pod: Pod, status: PodStatus) -> Iterator[Row]:
    if pod.readiness_gates:
        yield row(0, "Readiness Gates:")
        yield row(1, "Type", "Status", role=Role.MUTED)
    for gate in pod.readiness_gates:
        condition = status.condition(gate)
        yield row(1, gate, condition.status if condition else NONE)


def _volumes(volumes: Sequence[Volume]) -> Iterator[Row]:
    if not volumes:
        yield row(0, "Volumes:", NONE)
        return
    yield row(0, "Volumes:")
    for each in volumes:
        yield row(1, f"{each.name}:")
        yield from _volume(each)


def _volume(volume: Volume) -> Iterator[Row]:
    match volume.source:
        case HostPath(path, type_):
            yield row(2, "Type:", "HostPath (bare host directory volume)")
            yield row(2, "Path:", path)
            yield row(2, "HostPathType:", type_)
        case EmptyDir(medium, size_limit):
            words = "EmptyDir (a temporary directory that shares a pod's lifetime)"
            yield row(2, "Type:", words)
            yield row(2, "Medium:", medium)
            limit = "<unset>" if not size_limit else quantity_text(size_limit)
            yield row(2, "SizeLimit:", limit)
        case Projected(sources):
            yield from _files(sources)
        case OtherVolume(kind):
            yield row(2, "Type:", f"{kind} (not carried out: an empty directory)")


def _files(
    sources: Sequence[ConfigMapFiles | SecretFiles | DownwardAPIFiles],
) -> Iterator[Row]:
    """Yield where the files of a volume come from: one source by its own kind."""
    if len(sources) == 1:
        yield from _only_source(sources[0])
        return
    words = "Projected (a volume that contains injected data from multiple sources)"
    yield row(2, "Type:", words)
    for each in sources:
        match each:
            case SecretFiles(name=name, optional=optional):
                yield row(2, "SecretName:", name)
                yield row(2, "Optional:", str(optional).lower())
            case ConfigMapFiles(name=name, optional=optional):
                yield row(2, "ConfigMapName:", name)
                yield row(2, "Optional:", str(optional).lower())
            case DownwardAPIFiles():
                yield row(2, "DownwardAPI:", "true")


def _only_source(
    source: ConfigMapFiles | SecretFiles | DownwardAPIFiles,
) -> Iterator[Row]:
    match source:
        case SecretFiles(name=name, optional=optional):
            yield row(2, "Type:", "Secret (a volume populated by a Secret)")
            yield row(2, "SecretName:", name)
            yield row(2, "Optional:", str(optional).lower())
        case ConfigMapFiles(name=name, optional=optional):
            yield row(2, "Type:", "ConfigMap (a volume populated by a ConfigMap)")
            yield row(2, "Name:", name)
            yield row(2, "Optional:", str(optional).lower())
        case DownwardAPIFiles(items):
            words = "DownwardAPI (a volume populated by information about the pod)"
            yield row(2, "Type:", words)
            yield row(2, "Items:")
            for each in items:
                yield row(3, f"{_ref_words(each.ref)} -> {each.path}")


def _ref_words(ref: object) -> str:
    path = getattr(ref, "field_path", None) or getattr(ref, "resource", "")
    return str(path)
