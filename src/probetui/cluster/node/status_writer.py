"""Writes pod statuses to the API server, and confirms deletions there.

Source: status/status_manager.go, v1.32.10, syncBatch, syncPod, canBeDeleted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Mapping

from msgspec import Struct

from probetui.cluster.api_objects import UnreadableObjectError, check_pod
from probetui.cluster.client import PODS, ApiClient, Object
from probetui.cluster.errors import ApiError, ClusterError, ServerUnreachableError
from probetui.cluster.node.contact import ServerContact
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import is_static_pod
from probetui.k8s.status import PodStatus
from probetui.kubelet.status.status_patch import StatusContext, api_status, status_patch
from probetui.kubelet_rules import KubeletRules

log = logging.getLogger(__name__)

_NOT_FOUND, _INVALID = 404, 422


class _Published(Struct):
    """The newest status of a pod; `version` grows with each change of anything.

    `may_run`: its containers may still run. `has_ended`: nothing remains to be done.
    """

    pod: Pod
    status: PodStatus
    may_run: bool = True
    has_ended: bool = False
    version: int = 0
    written: int = -1


class StatusWriter:
    """Writes the statuses that the kubelet publishes to the API server.

    Only the newest status of each pod is written: the next one makes up for a lost one.

    Args:
        api: the API server.
        contact: waits after failures.
        node_ips: the addresses of the node.
        rules: those of the kubelet's version.
        find: returns the API server's newest object for a pod: the pod itself, or the
            mirror pod of a static one; None if there is none.
    """

    def __init__(
        self,
        api: ApiClient,
        contact: ServerContact,
        node_ips: tuple[str, ...],
        rules: KubeletRules,
        find: Callable[[Pod], Object | None],
    ) -> None:
        self._api = api
        self._contact = contact
        self._context = StatusContext(node_ips, rules)
        self._find = find
        self._published: dict[str, _Published] = {}
        self._wake = asyncio.Event()

    def publish(self, pod: Pod, status: PodStatus) -> None:
        """Queue a status."""
        published = self._published.get(pod.uid)
        version = 0 if published is None else published.version + 1
        self._published[pod.uid] = _Published(pod, status, version=version)
        self._wake.set()

    def on_terminated(self, pod_uid: str) -> None:
        """Record that all containers of a pod have terminated."""
        published = self._published.get(pod_uid)
        if published is not None and published.may_run:
            published.may_run = False
            published.version += 1
            self._wake.set()

    def on_ended(self, pod_uid: str) -> None:
        """Record that a pod has ended: its last status is final."""
        published = self._published.get(pod_uid)
        if published is not None:
            published.may_run = False
            published.has_ended = True
            published.version += 1
            self._wake.set()

    def forget(self, pod_uid: str) -> None:
        """Forget a pod that the API server no longer has."""
        self._published.pop(pod_uid, None)

    def forget_others(self, uids: Container[str]) -> None:
        """Forget all pods but these."""
        for uid in [uid for uid in self._published if uid not in uids]:
            self.forget(uid)

    def compare(self) -> None:
        """Queue the statuses that differ from the API server's.

        Changes by others are reverted, and a new generation of a pod is confirmed.
        """
        for published in self._published.values():
            seen = self._find(published.pod)
            if seen is None:
                continue
            if published.version != published.written:
                self._wake.set()
            elif self._patch(published, seen) or _is_to_be_confirmed(published, seen):
                published.version += 1
                self._wake.set()

    async def run(self) -> None:
        """Write statuses until cancelled."""
        attempt = 0
        while True:
            await self._wake.wait()
            self._wake.clear()
            failure: ClusterError | None = None
            for uid, published in tuple(self._published.items()):
                if published.version == published.written:
                    continue
                try:
                    await self._write(uid, published)
                except ServerUnreachableError as error:
                    failure = error
                    break
                except ClusterError as error:
                    failure = error
            if failure is None:
                attempt = 0
                continue
            attempt += 1
            self._wake.set()
            await self._contact.wait(failure, attempt)

    async def _write(self, uid: str, published: _Published) -> None:
        version, pod = published.version, published.pod
        seen = self._find(pod)
        if seen is None:
            if is_static_pod(pod):
                published.written = version  # its mirror pod queues it again
            else:
                self.forget(uid)
            return
        try:
            if not await self._bring_up(uid, published, seen):
                self.forget(uid)  # another pod has its name
                return
        except UnreadableObjectError as error:
            self._contact.on_failure(error)
            published.written = version  # a change of it queues it again
            return
        except ApiError as error:
            if error.code == _NOT_FOUND:
                self.forget(uid)
                return
            if error.code == _INVALID:
                # The answer to a wrong uid; whatever the reason, a retry is refused,
                # too.
                log.warning("the status of %s is refused: %s", pod.full_name, error)
                published.written = version
                return
            raise
        self._contact.on_answer()
        published.written = version
        if published.version != version:
            self._wake.set()

    async def _bring_up(self, uid: str, published: _Published, seen: Object) -> bool:
        """Write a status and confirm the pod's end; return whether the pod is the same.

        Raises:
            ClusterError: the API server refuses, or its pod cannot be read.
        """
        pod = published.pod
        held = check_pod(await self._api.get(PODS, pod.namespace, pod.name))
        if held["metadata"]["uid"] != seen["metadata"]["uid"]:
            return False
        if patch := self._patch(published, held):
            answer = await self._api.patch(
                PODS, pod.namespace, pod.name, patch, subresource="status"
            )
            held = check_pod(answer)
        if _is_to_be_confirmed(published, held):
            await self._api.delete(
                PODS, pod.namespace, pod.name, grace_period_seconds=0, uid=uid
            )
        return True

    def _patch(self, published: _Published, held: Object) -> Object:
        before: Mapping[str, object] = held.get("status") or {}
        new = api_status(
            held["spec"],
            published.status,
            before,
            self._context,
            self._contact.clock.now(),
            could_have_running_containers=published.may_run,
        )
        return status_patch(held["metadata"]["uid"], before, new)


def _is_to_be_confirmed(published: _Published, held: Object) -> bool:
    """Return whether the API server waits for the end of a pod that has ended."""
    is_deleted = held["metadata"].get("deletionTimestamp") is not None
    return is_deleted and published.has_ended and not is_static_pod(published.pod)
