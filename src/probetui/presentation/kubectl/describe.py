"""Format a pod as `kubectl describe pod` does.

Source: k8s.io/kubectl describe/describe.go, v0.32.10, describePod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from probetui.analysis.findings import finding_text, severity_of
from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.api.quantity import format_quantity
from probetui.k8s.event import EventType
from probetui.k8s.pod import Container, Pod
from probetui.k8s.pod_source import api_pod
from probetui.k8s.status import ConditionStatus, ContainerStatus, PodStatus
from probetui.k8s.volume import (
    ClusterFiles,
    ConfigMapFiles,
    DownwardAPIFiles,
    EmptyDir,
    FileSource,
    HostPath,
    OtherVolume,
    PodCertificateFiles,
    Projected,
    SecretFiles,
    ServiceAccountTokenFile,
    TrustBundleFile,
    Volume,
)
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.kubelet.journal import FindingEntry
from probetui.presentation.kubectl.describe_container import describe_container
from probetui.presentation.kubectl.text import (
    NONE,
    DescribeRow,
    describe_row,
    format_event_age,
    format_rfc1123,
    format_since,
    lines_of,
    pairs,
)
from probetui.presentation.probe.detail import finding_role
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Line, Role
from probetui.presentation.text.view import View

_KUBELET = "kubelet"


def describe_pod(
    pod: PodSnapshot,
    events: Sequence[ClusterEvent],
    view: View,
    findings: Sequence[FindingEntry] = (),
) -> list[Line]:
    """Return a pod's page: definition, status, events as a cluster combines them.

    The findings of the session follow; kubectl has none.
    """
    pod = replace(pod, pod=api_pod(pod.pod), status=pod.api_status or pod.status)
    rows = [*_heading(pod.pod, pod.status, view), *_body(pod, view)]
    rows += event_rows(events, view)
    return describe_lines([*rows, *_finding_rows(findings)], view)


def pod_facts(pod: PodSnapshot, view: View) -> Iterator[DescribeRow]:
    """Yield what describes a pod itself, without its containers and what it lacks.

    Annotations are left out: they are for programs, and long.
    """
    spec = replace(api_pod(pod.pod), annotations={})
    status = replace(pod.api_status or pod.status, pod_ips=())
    rows = (
        *_heading(spec, status, view),
        describe_row(0, "QoS Class:", status.qos_class),
        *_volumes(spec.volumes),
    )
    return (row for row in rows if row.cells[-1] not in {NONE, ""})


def pod_conditions(pod: PodSnapshot) -> Iterator[DescribeRow]:
    """Yield the conditions of a pod."""
    return _conditions(api_pod(pod.pod), pod.api_status or pod.status)


def describe_events(events: Sequence[ClusterEvent], view: View) -> list[Line]:
    """Return the events part of a pod's page."""
    return describe_lines(event_rows(events, view), view)


def describe_lines(rows: Iterable[DescribeRow], view: View) -> list[Line]:
    """Return rows as aligned lines, safe for the terminal and with secrets masked."""

    def safe(text: str) -> str:
        return one_line(view.mask.text(text), newline=view.marks.newline)

    return lines_of(replace(row, cells=tuple(map(safe, row.cells))) for row in rows)


def event_rows(events: Sequence[ClusterEvent], view: View) -> Iterator[DescribeRow]:
    """Yield the rows of events, most recently seen last.

    Source: k8s.io/kubectl describe/describe.go, v0.32.10, DescribeEvents.
    """
    if not events:
        yield describe_row(0, "Events:", NONE)
        return
    yield describe_row(0, "Events:")
    yield describe_row(1, "Type", "Reason", "Age", "From", "Message", role=Role.MUTED)
    yield describe_row(1, "----", "------", "----", "----", "-------", role=Role.MUTED)
    for event in events:
        is_warning = event.type is EventType.WARNING
        yield describe_row(
            1,
            event.type,
            event.reason,
            format_event_age(event, view.now),
            _KUBELET,
            event.message.strip(),
            role=Role.WARNING if is_warning else Role.PLAIN,
        )


def _heading(pod: Pod, status: PodStatus, view: View) -> Iterator[DescribeRow]:
    yield describe_row(0, "Name:", pod.name)
    yield describe_row(0, "Namespace:", pod.namespace)
    yield describe_row(0, "Service Account:", pod.service_account_name)
    yield describe_row(0, "Node:", NONE)
    if status.start_time is not None:
        yield describe_row(0, "Start Time:", format_rfc1123(status.start_time))
    yield from pairs("Labels", pod.labels, "=")
    yield from pairs("Annotations", pod.annotations, ": ")
    yield from _state(pod, status, view)
    if status.reason:
        yield describe_row(0, "Reason:", status.reason)
    if status.message:
        yield describe_row(0, "Message:", status.message)
    if profile := pod.security_context.seccomp_profile:
        yield describe_row(0, "SeccompProfile:", profile)
    yield describe_row(0, "IP:", status.pod_ip)
    if not status.pod_ips:
        yield describe_row(0, "IPs:", NONE)
        return
    yield describe_row(0, "IPs:")
    for address in status.pod_ips:
        yield describe_row(1, "IP:", address)


def _state(pod: Pod, status: PodStatus, view: View) -> Iterator[DescribeRow]:
    if pod.deletion_requested_at is None or status.phase.is_terminal:
        yield describe_row(0, "Status:", status.phase)
        return
    lasts = format_since(pod.deletion_requested_at, view.now)
    yield describe_row(0, "Status:", f"Terminating (lasts {lasts})", role=Role.WARNING)
    grace = pod.deletion_grace_period_seconds
    if grace is not None:
        yield describe_row(0, "Termination Grace Period:", f"{grace}s")


def _body(pod: PodSnapshot, view: View) -> Iterator[DescribeRow]:
    spec, status = pod.pod, pod.status
    if spec.init_containers:
        statuses = status.init_container_statuses or ()
        yield describe_row(0, "Init Containers:")
        yield from _containers(spec, spec.init_containers, statuses, view)
    yield describe_row(0, "Containers:")
    yield from _containers(spec, spec.containers, status.container_statuses or (), view)
    yield from _conditions(spec, status)
    yield from _volumes(spec.volumes)
    yield describe_row(0, "QoS Class:", status.qos_class)
    yield describe_row(0, "Node-Selectors:", NONE)
    yield describe_row(0, "Tolerations:", NONE)


def _containers(
    pod: Pod,
    containers: Sequence[Container],
    statuses: Sequence[ContainerStatus],
    view: View,
) -> Iterator[DescribeRow]:
    by_name = {status.name: status for status in statuses}
    for container in containers:
        yield from describe_container(pod, container, by_name.get(container.name), view)


def _conditions(pod: Pod, status: PodStatus) -> Iterator[DescribeRow]:
    yield from _gates(pod, status)
    if status.conditions:
        yield describe_row(0, "Conditions:")
        yield describe_row(1, "Type", "Status", role=Role.MUTED)
    for condition in status.conditions:
        is_true = condition.status is ConditionStatus.TRUE
        role = Role.SUCCESS if is_true else Role.WARNING
        yield describe_row(1, f"{condition.type} ", condition.status, role=role)


def _gates(pod: Pod, status: PodStatus) -> Iterator[DescribeRow]:
    if pod.readiness_gates:
        yield describe_row(0, "Readiness Gates:")
        yield describe_row(1, "Type", "Status", role=Role.MUTED)
    for gate in pod.readiness_gates:
        condition = status.condition(gate)
        yield describe_row(1, gate, condition.status if condition else NONE)


def _volumes(volumes: Sequence[Volume]) -> Iterator[DescribeRow]:
    if not volumes:
        yield describe_row(0, "Volumes:", NONE)
        return
    yield describe_row(0, "Volumes:")
    for volume in volumes:
        yield describe_row(1, f"{volume.name}:")
        yield from _volume(volume)


def _volume(volume: Volume) -> Iterator[DescribeRow]:
    match volume.source:
        case HostPath(path, type_):
            yield describe_row(2, "Type:", "HostPath (bare host directory volume)")
            yield describe_row(2, "Path:", path)
            yield describe_row(2, "HostPathType:", type_)
        case EmptyDir(medium, size_limit):
            type_text = "EmptyDir (a temporary directory that shares a pod's lifetime)"
            yield describe_row(2, "Type:", type_text)
            yield describe_row(2, "Medium:", medium)
            limit = "<unset>" if not size_limit else format_quantity(size_limit)
            yield describe_row(2, "SizeLimit:", limit)
        case Projected(sources):
            yield from _files(sources)
        case OtherVolume(kind):
            yield describe_row(
                2, "Type:", f"{kind} (not supported: an empty directory)"
            )


def _files(sources: Sequence[FileSource]) -> Iterator[DescribeRow]:
    """Yield the sources of a volume's files; a single source has its own type."""
    if len(sources) == 1 and not isinstance(sources[0], ClusterFiles):
        yield from _only_source(sources[0])
        return
    type_text = "Projected (a volume that contains injected data from multiple sources)"
    yield describe_row(2, "Type:", type_text)
    for source in sources:
        match source:
            case SecretFiles(name=name, optional=optional):
                yield describe_row(2, "SecretName:", name)
                yield describe_row(2, "Optional:", str(optional).lower())
            case ConfigMapFiles(name=name, optional=optional):
                yield describe_row(2, "ConfigMapName:", name)
                yield describe_row(2, "Optional:", str(optional).lower())
            case DownwardAPIFiles():
                yield describe_row(2, "DownwardAPI:", "true")
            case ServiceAccountTokenFile(expiration_seconds=seconds):
                yield describe_row(2, "TokenExpirationSeconds:", str(seconds))
            case TrustBundleFile() | PodCertificateFiles():
                pass  # kubectl does not show them.


def _only_source(
    source: ConfigMapFiles | SecretFiles | DownwardAPIFiles,
) -> Iterator[DescribeRow]:
    match source:
        case SecretFiles(name=name, optional=optional):
            yield describe_row(2, "Type:", "Secret (a volume populated by a Secret)")
            yield describe_row(2, "SecretName:", name)
            yield describe_row(2, "Optional:", str(optional).lower())
        case ConfigMapFiles(name=name, optional=optional):
            yield describe_row(
                2, "Type:", "ConfigMap (a volume populated by a ConfigMap)"
            )
            yield describe_row(2, "Name:", name)
            yield describe_row(2, "Optional:", str(optional).lower())
        case DownwardAPIFiles(items):
            type_text = "DownwardAPI (a volume populated by information about the pod)"
            yield describe_row(2, "Type:", type_text)
            yield describe_row(2, "Items:")
            for item in items:
                yield describe_row(3, f"{_referenced_field(item.ref)} -> {item.path}")


def _referenced_field(ref: object) -> str:
    path = getattr(ref, "field_path", None) or getattr(ref, "resource", "")
    return str(path)


def _finding_rows(findings: Sequence[FindingEntry]) -> Iterator[DescribeRow]:
    """Yield the findings about a pod's probes, with their heading."""
    if not findings:
        return
    yield describe_row(0, "Findings:")
    yield describe_row(1, "Severity", "Name", "Container", "Message", role=Role.MUTED)
    yield describe_row(1, "--------", "----", "---------", "-------", role=Role.MUTED)
    for finding in findings:
        yield describe_row(
            1,
            severity_of(finding.rule).capitalize(),
            finding.rule,
            finding.key.container_name,
            finding_text(finding),
            role=finding_role(finding),
        )
