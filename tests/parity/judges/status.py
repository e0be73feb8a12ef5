"""The complete status of a pod, and the conversion of a CRI status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.api.codec import format_time
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.kuberuntime.labels import parse_container_annotations
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache, StartFailure
from probetui.kubelet.kuberuntime.termination_message import (
    end_of_file,
    end_of_log,
    termination_message,
    wants_log,
)
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.status.generate import (
    DEADLINE_EXCEEDED,
    DEADLINE_MESSAGE,
    generate_api_pod_status,
    past_active_deadline,
)
from tests.parity import api_json

NOW = datetime(2024, 1, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def judge(case: dict[str, Any]) -> None:
    match case["kind"]:
        case "podStatus":
            _judge_pod_status(case)
        case "cri":
            _judge_cri(case)
        case kind:
            raise AssertionError(kind)


def _judge_pod_status(case: dict[str, Any]) -> None:
    pod = api_json.pod(case["pod"])
    api_status = api_json.pod_status(case["pod"].get("status"))
    cached = case["cachedStatus"]
    published = None if cached is None else api_json.pod_status(cached)
    reasons = ReasonCache()
    for failure_case in case["reasonCache"]:
        failure = StartFailure(failure_case["reason"], failure_case["message"])
        reasons.set(pod.uid, failure_case["container"], failure)
    is_past_deadline = past_active_deadline(pod, published or api_status, NOW)

    status = generate_api_pod_status(
        pod,
        api_json.runtime_pod_status(case["podStatus"]),
        published,
        reasons,
        _probe_manager(case, pod).update_pod_status,
        api_status=api_status,
        is_terminal=case["podIsTerminal"],
        is_past_deadline=is_past_deadline,
    )

    assert POD_STATUS.write(status) == case["expect"]
    assert _deadline_events(is_past_deadline) == case.get("expectEvents", [])


def _probe_manager(case: dict[str, Any], pod: Pod) -> ProbeManager:
    manager = ProbeManager(KubeletConfig(), NOW)
    if case["probeWorkers"]:
        manager.add_pod(pod, NOW)
    for probe_type in (ProbeType.READINESS, ProbeType.STARTUP):
        for container_id, result in api_json.stored_results(
            case[probe_type.lower()]
        ).items():
            manager.results[probe_type].set(container_id, result, pod.uid)
    return manager


def _deadline_events(is_past_deadline: bool) -> list[dict[str, str]]:  # noqa: FBT001  # the answer, as it is
    if not is_past_deadline:
        return []
    return [
        {"type": "Normal", "reason": DEADLINE_EXCEEDED, "message": DEADLINE_MESSAGE}
    ]


def _judge_cri(case: dict[str, Any]) -> None:
    assert _printed(_converted(case["criStatus"])) == {
        "reason": "",
        "message": "",
        **case["expect"],
    }


def _converted(cri: dict[str, Any]) -> RuntimeContainerStatus:
    """Convert as a CRI adapter does, by the kubelet's rules if there are any."""
    annotations = parse_container_annotations(cri["annotations"] or {})
    state = RuntimeState(cri["state"].removeprefix("CONTAINER_").lower())
    has_exited = state is RuntimeState.EXITED
    return RuntimeContainerStatus(
        container_id=ContainerID(f"containerd://{cri['id']}"),
        name=cri["labels"]["io.kubernetes.container.name"],
        state=state,
        created_at=_instant(cri["createdAt"]),
        started_at=None
        if state is RuntimeState.CREATED
        else _instant(cri["startedAt"]),
        finished_at=_instant(cri["finishedAt"]) if has_exited else None,
        exit_code=cri["exitCode"] if has_exited else 0,
        reason=cri["reason"] if has_exited else "",
        message=_message(cri, annotations.termination_message_policy)
        if has_exited
        else "",
        image=cri["image"],
        image_ref=cri["imageRef"],
        image_id=cri["imageId"] or cri["imageRef"],
        restart_count=annotations.restart_count,
        hash=annotations.hash,
    )


def _message(cri: dict[str, Any], policy: str) -> str:
    file = _bytes(cri["terminationLogFile"])
    own = end_of_file(file or b"")
    if wants_log(policy, cri["exitCode"], cri["reason"], file):
        own = _end_of_cri_log(_bytes(cri["criLogFile"]) or b"")
    return termination_message(cri["message"], own)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _end_of_cri_log(log: bytes) -> bytes:
    lines = []
    for line in log.splitlines(keepends=True):
        _time, _stream, tag, text = line.split(b" ", 3)
        lines.append(text.rstrip(b"\n") if tag.startswith(b"P") else text)
    return end_of_log(lines)


def _instant(nanoseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _printed(status: RuntimeContainerStatus) -> dict[str, Any]:
    printed: dict[str, Any] = {
        "id": status.container_id,
        "name": status.name,
        "state": status.state,
        "createdAt": format_time(status.created_at),
        "restartCount": status.restart_count,
        "hash": str(status.hash),
        "image": status.image,
        "imageRef": status.image_ref,
        "imageID": status.image_id,
        "reason": status.reason,
        "message": status.message,
    }
    if status.started_at is not None:
        printed["startedAt"] = format_time(status.started_at)
    if status.state is RuntimeState.EXITED:
        printed["finishedAt"] = format_time(status.finished_at)
        printed["exitCode"] = status.exit_code
    return printed
