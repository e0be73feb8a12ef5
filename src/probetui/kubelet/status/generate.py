"""Generate a pod's status from the runtime's.

Source: kubelet_pods.go, v1.32.10, generateAPIPodStatus, convertStatusToAPIStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from msgspec.structs import replace

from probetui.k8s.pod import NO_RESOURCES, Container, Pod
from probetui.k8s.runtime import RuntimePodStatus
from probetui.k8s.status import PodCondition, PodPhase, PodStatus
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache
from probetui.kubelet.kuberuntime.restart import could_restart_all, should_restart_all
from probetui.kubelet.status.conditions import (
    DISRUPTION_TARGET,
    OWNED_BY_KUBELET,
    SCHEDULED_TRUE,
    all_containers_restarting,
    containers_ready,
    initialized,
    observed_by,
    observed_generation,
    pod_ready,
    ready_to_start_containers,
    replace_condition,
)
from probetui.kubelet.status.container_statuses import container_statuses
from probetui.kubelet.status.phase import pod_phase
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

DEADLINE_EXCEEDED = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"

UpdatePodStatus = Callable[[Pod, PodStatus], PodStatus]
"""Fills in `started` and `ready`: the probe manager's `update_pod_status`."""


def past_active_deadline(pod: Pod, status: PodStatus, now: datetime) -> bool:
    """Return whether a pod has been active for longer than its spec allows.

    `status` is the last published one, with the pod's start time.

    Source: kubelet/active_deadline.go, v1.32.10, pastActiveDeadline.
    """
    if pod.active_deadline_seconds is None or status.start_time is None:
        return False
    return now - status.start_time >= timedelta(seconds=pod.active_deadline_seconds)


def generate_api_pod_status(
    pod: Pod,
    status: RuntimePodStatus,
    published: PodStatus | None,
    reasons: ReasonCache,
    update_pod_status: UpdatePodStatus,
    *,
    api_status: PodStatus,
    is_terminal: bool = False,
    is_past_deadline: bool = False,
    rules: KubeletRules = PORTED_RULES,
) -> PodStatus:
    """Return the new status of a pod, before publishing adds times.

    Args:
        pod: the spec.
        status: the pod's status at the runtime.
        published: the status manager's, None before the first.
        reasons: why the last starts failed.
        update_pod_status: fills in `started` and `ready`.
        api_status: the status that came with the pod, from its source.
        is_terminal: no container of the pod runs or will run again.
        is_past_deadline: `past_active_deadline`; the pod has failed.
        rules: those of the kubelet's version.
    """
    old = api_status if published is None else published
    restarts_all = should_restart_all(pod, status, old)
    regular, inits = (
        container_statuses(
            pod,
            status,
            before or (),
            reasons,
            of_init=of_init,
            restarts_all=restarts_all,
            rules=rules,
        )
        for of_init, before in (
            (False, old.container_statuses),
            (True, old.init_container_statuses),
        )
    )
    has_ended = is_terminal and rules.ends_deleted_pods
    phase = pod_phase(pod, (*regular, *inits), is_terminal=has_ended)
    phase = _keep_terminal_phase(phase, old.phase, api_status.phase)
    reason = message = ""
    if phase is old.phase:
        reason = old.reason or api_status.reason
        message = old.message or api_status.message
    if is_past_deadline:
        phase, reason, message = PodPhase.FAILED, DEADLINE_EXCEEDED, DEADLINE_MESSAGE
    if api_status.phase.is_terminal:
        phase = api_status.phase
    ips = _select_ips(status.ips)
    generated = PodStatus(
        phase=phase,
        reason=reason,
        message=message,
        pod_ip=ips[0] if ips else "",
        pod_ips=ips if rules.reports_pod_ips else (),
        qos_class=api_status.qos_class or qos_class(pod),
        init_container_statuses=inits,
        container_statuses=regular,
        observed_generation=observed_generation(pod, rules),
    )
    if is_past_deadline and rules.status_ends_at_deadline:
        started = False if rules.reports_started else None
        unprobed = tuple(replace(status, started=started) for status in regular)
        return replace(generated, container_statuses=unprobed)
    probed = update_pod_status(pod, generated)
    conditions = _conditions(pod, status, probed, old, api_status, rules)
    return replace(probed, conditions=conditions)


def _keep_terminal_phase(
    phase: PodPhase, old: PodPhase, api_phase: PodPhase
) -> PodPhase:
    if phase.is_terminal:
        return phase
    for before in (old, api_phase):
        if before.is_terminal:
            return before
    return phase


def _select_ips(ips: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first IPv4 and the first IPv6 address, as far as present."""
    fours = [ip for ip in ips if _is_ipv4(ip)]
    sixes = [ip for ip in ips if _is_ipv6(ip)]
    return (*fours[:1], *sixes[:1])


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _conditions(
    pod: Pod,
    status: RuntimePodStatus,
    probed: PodStatus,
    old: PodStatus,
    api_status: PodStatus,
    rules: KubeletRules,
) -> tuple[PodCondition, ...]:
    """Return foreign conditions in their order, then the kubelet's own."""
    foreign = [
        condition
        for condition in api_status.conditions
        if condition.type not in OWNED_BY_KUBELET
    ]
    disruption = old.condition(DISRUPTION_TARGET)
    if disruption is not None:
        replace_condition(foreign, disruption)
    statuses = (
        *(probed.init_container_statuses or ()),
        *(probed.container_statuses or ()),
    )
    own = []
    if rules.ready_to_start_condition:
        own.append(ready_to_start_containers(pod, status))
    own.append(initialized(pod, statuses, probed.phase))
    own.append(pod_ready(pod, (*foreign, *own), statuses, probed.phase, rules))
    own.append(containers_ready(pod, statuses, probed.phase, rules))
    own.append(SCHEDULED_TRUE)
    if could_restart_all(pod):
        own.append(all_containers_restarting(pod, status, old, probed.phase))
    generation = observed_generation(pod, rules)
    return (*foreign, *(observed_by(condition, generation) for condition in own))


GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
COMPUTE_RESOURCES = ("cpu", "memory")
NOTHING = Decimal()


def qos_class(pod: Pod) -> str:
    """Return the quality of service class of a pod.

    Source: pkg/apis/core/v1/helper/qos/qos.go, v1.32.10, ComputePodQOS.
    """
    containers = [
        container
        for container in pod.all_containers()
        if container.resources is not NO_RESOURCES
    ]
    requests = _totals(container.resources.requests for container in containers)
    limits = _totals(container.resources.limits for container in containers)
    if not (any(requests) or any(limits)):
        return BEST_EFFORT
    if requests == limits and all(map(_is_limited, pod.all_containers())):
        return GUARANTEED
    return BURSTABLE


def _totals(quantities: Iterable[Mapping[str, Decimal]]) -> list[Decimal]:
    """Return the total amount per compute resource."""
    totals = [NOTHING] * len(COMPUTE_RESOURCES)
    for quantity in quantities:
        for index, resource in enumerate(COMPUTE_RESOURCES):
            totals[index] += max(quantity.get(resource, NOTHING), NOTHING)
    return totals


def _is_limited(container: Container) -> bool:
    """Return whether a container limits both CPU and memory."""
    limits = container.resources.limits
    return all(
        limits.get(resource, NOTHING) > NOTHING for resource in COMPUTE_RESOURCES
    )
