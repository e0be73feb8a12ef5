"""SyncPod, compared with the runtime manager's own: calls and events in order."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.images.image_manager import ImageManager
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.killing import Killer
from probetui.kubelet.kuberuntime.sync_pod import PodSyncer, PodSyncResult
from probetui.kubelet.outcome import Result
from probetui.kubelet.runtime.backoff import Backoff
from tests.parity import api_json
from tests.parity.fake_cri import START, FakeCRI, known_parts

UNORDERED = {"StopContainer", "StopPodSandbox", "RemoveContainer"}
"""Calls that the kubelet makes concurrently or in random order: compared as a
multiset."""

STATES = {
    RuntimeState.CREATED: "CONTAINER_CREATED",
    RuntimeState.RUNNING: "CONTAINER_RUNNING",
    RuntimeState.EXITED: "CONTAINER_EXITED",
    RuntimeState.UNKNOWN: "CONTAINER_UNKNOWN",
}


def judge(case: dict[str, Any]) -> None:
    bench = Bench(api_json.pod(case["pod"]))
    for number, step in enumerate(case["steps"]):
        if step["op"] != "sync":
            bench.act(step)
            continue
        expected = step["expect"]
        result = bench.sync(step["at"])
        where = f"step {number}"
        assert comparable(bench.take_log()) == comparable(expected["ops"]), where
        assert comparable_results(_results(result)) == comparable_results(
            expected["results"]
        ), where
        assert without_hook_output(result.error or "") == without_hook_output(
            expected["error"] or ""
        ), where
        assert bench.containers() == _sort(expected["containersAfter"]), where


class Bench:
    """A pod, a fake CRI and a syncer, on which the steps of a case act."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.cri = FakeCRI(pod.uid)
        self.liveness: dict[ContainerID, Result] = {}
        self.startup: dict[ContainerID, Result] = {}
        config = KubeletConfig()
        windows = (config.backoff_initial, config.backoff_max, config.backoff_expiry)
        turn_builder = self.cri.turn_builder
        lifetimes = ContainerLifecycle(turn_builder)
        self.syncer = PodSyncer(
            turn_builder,
            Killer(turn_builder, lifetimes),
            ImageManager(turn_builder, Backoff(*windows)),
            Backoff(*windows),
            lifetimes,
            self.liveness,
            self.startup,
        )

    def sync(self, at: float) -> PodSyncResult:
        self.cri.now = START + timedelta(seconds=at)
        status = self.cri.status(self.pod)
        result = self.cri.run(self.syncer.sync_pod(self.pod, status, self.cri.now))
        assert isinstance(result, PodSyncResult)
        return result

    def take_log(self) -> list[dict[str, Any]]:
        log = [{k: v for k, v in call.items() if k != "t"} for call in self.cri.log]
        self.cri.log.clear()
        return log

    def containers(self) -> list[dict[str, Any]]:
        return _sort(
            {
                "attempt": container.restart_count,
                "id": container.container_id.rpartition("://")[2],
                "name": container.name,
                "state": STATES[container.state],
            }
            for container in self.cri.containers
        )

    def act(  # noqa: C901, PLR0912  # one arm per kind of step
        self, step: dict[str, Any]
    ) -> None:
        cri = self.cri
        match step["op"]:
            case "advance":
                cri.now += timedelta(seconds=step["seconds"])
            case "exit":
                cri.exit(
                    self._newest(step["container"], RuntimeState.RUNNING),
                    step.get("exitCode", 0),
                    step.get("reason", ""),
                )
            case "image":
                if step["present"]:
                    cri.images[step["image"]] = 1234
                else:
                    cri.images.pop(step["image"], None)
            case "injectError":
                cri.errors[step["call"]] = step["error"]
            case "execError":
                cri.exec_errors[step["command"]] = step["error"]
            case "liveness" | "startup" as which:
                stored_results = self.liveness if which == "liveness" else self.startup
                newest = self._newest(step["container"])
                stored_results[newest] = Result[step["result"].upper()]
            case "setImage":
                self.pod = replace(
                    self.pod,
                    containers=self._with_image(self.pod.containers, step),
                    init_containers=self._with_image(self.pod.init_containers, step),
                )
            case "sandboxDies":
                cri.sandboxes = [
                    replace(sandbox, is_ready=False) for sandbox in cri.sandboxes
                ]
                for container in cri.containers:
                    if container.state is RuntimeState.RUNNING:
                        cri.exit(container.container_id, 137, "Error")
            case "removeContainer":
                newest = self._newest(step["container"])
                cri.containers = [
                    container
                    for container in cri.containers
                    if container.container_id != newest
                ]
            case "setDeletionTimestamp":
                self.pod = replace(self.pod, deletion_requested_at=cri.now)
            case other:
                raise AssertionError(other)

    def _newest(self, name: str, state: RuntimeState | None = None) -> ContainerID:
        return next(
            container.container_id
            for container in self.cri.containers
            if container.name == name and state in {None, container.state}
        )

    def _with_image(self, containers: Any, step: dict[str, Any]) -> Any:
        return tuple(
            replace(container, image=step["image"])
            if container.name == step["container"]
            else container
            for container in containers
        )


def _results(result: PodSyncResult) -> list[dict[str, str]]:
    return [
        {
            "action": action,
            "target": target,
            **({"error": reason} if reason else {}),
            **({"message": message} if message else {}),
        }
        for action, target, reason, message, _ in result.results
    ]


def _is_unordered(call: dict[str, Any]) -> bool:
    return call["op"] in UNORDERED or call.get("reason") == "Killing"


def comparable(calls: Iterable[dict[str, Any]]) -> list[Any]:
    groups = itertools.groupby(map(_without_duration, calls), key=_is_unordered)
    listed: list[Any] = []
    for unordered, group in groups:
        found = list(group)
        listed += _sort(found) if unordered else found
    return listed


def comparable_results(results: Iterable[dict[str, Any]]) -> list[Any]:
    groups = itertools.groupby(results, key=lambda result: result["action"])
    return [_sort(map(_without_output, group)) for _, group in groups]


def _without_output(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without what a hook printed, which no case tells."""
    if result.get("error") != "PostStartHookError":
        return result
    return {**result, "message": without_hook_output(result["message"])}


def without_hook_output(text: str) -> str:
    """Return a message, or an error that quotes it, without what a hook printed."""
    quoted = re.sub(r', message: \\".*?\\""', ', message: ""', text)
    return re.sub(r', message: ".*"$', ', message: ""', quoted)


def _without_duration(call: dict[str, Any]) -> dict[str, Any]:
    if call.get("reason") != "Pulled":
        return known_parts(call)
    message = re.sub(
        r" in \S+ \(\S+ including", " in <D> (<D> including", call["message"]
    )
    return {**call, "message": message}


def _sort(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
