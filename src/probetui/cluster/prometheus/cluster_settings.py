"""The settings of stored containers, as a cluster has them now.

A pod's probes never change, so the pod of a stored UID is the best source. Where it is
gone, what made it has a template: that of a Deployment's ReplicaSet is of one revision,
as its name says, and is kept for some revisions; that of anything else is today's, and
may have been another at that time.

Source: pkg/apis/core/validation/validation.go, v1.36.2, ValidatePodUpdate; deployment
controller, sync.go, v1.36.2, getNewReplicaSet.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from probetui.cluster.client import PODS, ApiClient, Object, Resource
from probetui.cluster.errors import ApiError, ClusterError
from probetui.cluster.observe.sampled_container import ContainerSettings
from probetui.cluster.prometheus.fleet import ContainerName, StoredContainer
from probetui.cluster.prometheus.workloads import made_by, workload_of
from probetui.k8s.api.codec import ApiFormatError
from probetui.k8s.api.pod import POD
from probetui.k8s.pod import Pod
from probetui.kubelet_rules import KubeletRules

_AT_ONCE = 8
_NOT_FOUND = 404
_STATIC_UID = "kubernetes.io/config.hash"
"""An annotation of the mirror of a static pod: the UID that its kubelet knows."""

_HASH = "pod-template-hash"
_RESOURCES = {
    "ReplicaSet": Resource("replicasets", "apps"),
    "Deployment": Resource("deployments", "apps"),
    "StatefulSet": Resource("statefulsets", "apps"),
    "DaemonSet": Resource("daemonsets", "apps"),
    "ReplicationController": Resource("replicationcontrollers"),
    "Job": Resource("jobs", "batch"),
    "CronJob": Resource("cronjobs", "batch"),
}
_TEMPLATES = {"CronJob": ("spec", "jobTemplate", "spec", "template")}
_TEMPLATE = ("spec", "template")


class Origin(NamedTuple):
    """Where settings come from, for people; `may_differ`: they may have been others."""

    text: str
    may_differ: bool


class _Known(NamedTuple):
    """The pod whose settings a stored one has."""

    pod: Pod
    origin: Origin


_PodName = tuple[str, str, str]
"""Namespace, name and UID."""


class ClusterSettings:
    """The settings of stored containers, read from an API server.

    Args:
        client: the cluster, open.
        rules: of its kubelets.

    Attributes:
        problems: why the cluster could not be asked for some, each once.
        origins: of how many pods the settings come from where.
    """

    def __init__(self, client: ApiClient, rules: KubeletRules) -> None:
        self._client = client
        self._rules = rules
        self._pods: dict[_PodName, _Known | None] = {}
        self._objects: dict[tuple[str, str, str], asyncio.Future[Object | None]] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._is_lost = False
        self.problems: dict[str, None] = {}
        self.origins: Counter[Origin] = Counter()

    async def learn(self, stored: Sequence[StoredContainer]) -> None:
        """Read what the settings of containers are, unless that is known."""
        pods = {each.name[:3]: each for each in stored}
        new = [each for name, each in pods.items() if name not in self._pods]
        for each, known in zip(
            new, await asyncio.gather(*map(self._read, new)), strict=True
        ):
            self._pods[each.name[:3]] = known
            if known is not None:
                self.origins[known.origin] += 1

    def settings(self, container: StoredContainer) -> ContainerSettings | None:
        """Return the settings of a container, None if they are not known."""
        known = self._pods.get(container.name[:3])
        own = None if known is None else known.pod.container(container.name.container)
        if known is None or own is None:
            return None
        return ContainerSettings(
            known.pod, own, self._rules, is_of_today=known.origin.may_differ
        )

    def origin(self, container: StoredContainer) -> Origin | None:
        """Return where the settings of a container's pod come from."""
        known = self._pods.get(container.name[:3])
        return None if known is None else known.origin

    async def _read(self, stored: StoredContainer) -> _Known | None:
        name = stored.name
        json = await self._get("Pod", name.namespace, name.pod)
        pod = None if json is None else self._decode(json)
        if pod is not None and _is_same(pod, name):
            return _Known(pod, Origin("the pods themselves", may_differ=False))
        for kind, owner in _owners(stored):
            json = await self._get(kind, name.namespace, owner)
            if json is None:
                continue
            if (found := self._of_template(kind, json, name)) is not None:
                is_revision = kind == "ReplicaSet" and _HASH in _labels(json)
                text = f"the template of {kind}/{owner}"
                if not is_revision:
                    text = f"{text} as it is today"
                return _Known(found, Origin(text, may_differ=not is_revision))
        return None

    def _of_template(self, kind: str, json: Object, name: ContainerName) -> Pod | None:
        template: object = json
        for key in _TEMPLATES.get(kind, _TEMPLATE):
            template = template.get(key) if isinstance(template, dict) else None
        if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
            return None
        written = template.get("metadata")
        metadata = {
            **(written if isinstance(written, dict) else {}),
            "namespace": name.namespace,
            "name": name.pod,
            "uid": name.uid,
        }
        return self._decode({"metadata": metadata, "spec": template["spec"]})

    def _decode(self, json: Object) -> Pod | None:
        try:
            # What is deleted now was not then.
            return replace(POD.read(json), deletion_requested_at=None)
        except ApiFormatError as error:
            self.problems[str(error)] = None
            return None

    async def _get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, None if there is none or it cannot be read."""
        key = kind, namespace, name
        if (future := self._objects.get(key)) is None:
            future = self._objects[key] = asyncio.ensure_future(self._ask(*key))
        return await future

    async def _ask(self, kind: str, namespace: str, name: str) -> Object | None:
        resource = PODS if kind == "Pod" else _RESOURCES[kind]
        async with self._turns:
            if self._is_lost:
                return None
            try:
                return await self._client.get(resource, namespace, name)
            except ApiError as error:
                if error.code != _NOT_FOUND:
                    self.problems[str(error)] = None
            except ClusterError as error:
                self._is_lost = True
                self.problems[str(error)] = None
        return None


def _is_same(pod: Pod, name: ContainerName) -> bool:
    return name.uid in {pod.uid, pod.annotations.get(_STATIC_UID)}


def _labels(json: Object) -> Object:
    metadata = json.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else {}


def _owners(stored: StoredContainer) -> Iterator[tuple[str, str]]:
    """Yield kind and name of what may have made a pod, the nearest first.

    Without kube-state-metrics the pod's name has to do.
    """
    if stored.owner[0] in _RESOURCES:
        yield stored.owner
        kind, _, name = workload_of(stored).partition("/")
        if (kind, name) != stored.owner and kind in _RESOURCES:
            yield kind, name
    elif not stored.owner[0]:
        yield from made_by(stored.name.pod)
