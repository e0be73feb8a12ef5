"""Which manifest a stored pod comes from, by its owner and its name.

Source: controller_utils.go, v1.36.2, ComputeHash; names/generate.go, v0.36.2 (the
suffixes of pods and of replica sets).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from probetui.cluster.observe.sampled_container import ContainerSettings
from probetui.cluster.prometheus.fleet import StoredContainer
from probetui.cluster.prometheus.selectors import literal
from probetui.errors import UsageError
from probetui.k8s.pod import Pod
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.manifests import LoadedPod

_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_OF_DEPLOYMENTS = re.compile(rf"(.+)-{_RANDOM}{{1,10}}")
_OF_CRON_JOBS = re.compile(r"(.+)-[0-9]{8,10}")
_MADE = {
    "Pod": "",
    "Deployment": rf"-{_RANDOM}{{1,10}}-{_RANDOM}{{5}}",
    "ReplicaSet": rf"-{_RANDOM}{{5}}",
    "ReplicationController": rf"-{_RANDOM}{{5}}",
    "DaemonSet": rf"-{_RANDOM}{{5}}",
    "StatefulSet": "-[0-9]+",
    "Job": rf"(-[0-9]+)?-{_RANDOM}{{5}}",
    "CronJob": rf"-[0-9]{{8,10}}(-[0-9]+)?-{_RANDOM}{{5}}",
}
"""What comes after the name of an object in those of its pods."""

STORED_KINDS = frozenset(_MADE)
"""The kinds of objects whose pods a store can be asked for."""


_NEAREST_FIRST = (
    *("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"),
    *("Deployment", "CronJob"),
)
_SAMPLES = {
    "Pod": "",
    "Deployment": "-6b8c5f7d9b-2x4z7",
    "StatefulSet": "-0",
    "CronJob": "-29384760-2x4z7",
}
"""What comes after the name in one of them; any other has a random suffix."""


_SHORT = {
    "po": "Pod",
    "deploy": "Deployment",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "ds": "DaemonSet",
    "sts": "StatefulSet",
    "cj": "CronJob",
}
_KINDS = {
    **_SHORT,
    **{kind.lower(): kind for kind in _MADE},
    **{f"{kind.lower()}s": kind for kind in _MADE},
}
"""The kinds by what kubectl calls them."""

_MOST_PARTS = 3


class WorkloadName(NamedTuple):
    """An object that makes pods, or a pod; the namespace is empty for any."""

    namespace: str
    kind: str
    name: str

    @classmethod
    def parse(cls, text: str) -> WorkloadName:
        """Read `deploy/web`, `shop/deploy/web`, `shop/web-7d9f-x2x4z` or a pod's name.

        Raises:
            UsageError: it is none of these.
        """
        parts = text.split("/")
        if all(parts) and len(parts) <= _MOST_PARTS:
            kind = _KINDS.get(parts[-2].lower()) if len(parts) > 1 else None
            if kind is not None:
                return cls("/".join(parts[:-2]), kind, parts[-1])
            if len(parts) < _MOST_PARTS:
                return cls("/".join(parts[:-1]), "Pod", parts[-1])
        raise UsageError(
            f'"{text}" is no workload: write deploy/NAME, NAMESPACE/deploy/NAME (or '
            "sts, ds, rs, job, cronjob), or NAMESPACE/POD"
        )

    @property
    def pods(self) -> str:
        """The regular expression of the names of its pods."""
        return literal(self.name) + _MADE[self.kind]

    @property
    def described(self) -> str:
        """What its pods are called in messages."""
        where = f"namespace {self.namespace}" if self.namespace else "any namespace"
        what = "pod" if self.kind == "Pod" else f"pod of {self.kind}"
        return f"{what} {self.name} in {where}"

    def has(self, pod: str, owner: tuple[str, str]) -> bool:
        """Return whether a pod is of it, by its owner if that is known."""
        if self.kind in {"Pod", "ReplicaSet", "Job"}:
            return owner == self[1:] or not owner[0] or self.kind == "Pod"
        return not owner[0] or owning_workload(pod, owner) == "/".join(self[1:])


def pod_name_pattern(loaded: LoadedPod) -> str:
    """Return the regular expression of the names of a manifest's pods."""
    kind, name = loaded.object.workload.kind, loaded.object.name
    if loaded.source.is_static:
        return literal(name) + "-.+"
    if not name:
        return literal(_generated_base(loaded)) + f"{_RANDOM}{{5}}"
    return literal(name) + _MADE.get(kind, "-.+")


def sample_pod_name(loaded: LoadedPod) -> str:
    """Return a name that a pod of a manifest may have."""
    kind, name = loaded.object.workload.kind, loaded.object.name
    if loaded.source.is_static:
        return f"{name}-node1"
    if not name:
        return _generated_base(loaded) + "2x4z7"
    return name + _SAMPLES.get(kind, "-2x4z7")


def _generated_base(loaded: LoadedPod) -> str:
    """Return the name of a pod without a suffix that is generated."""
    return loaded.pod.name[:-5]


def workload_of(container: StoredContainer) -> str:
    """Return `Kind/name` of what has made a pod, `Pod/name` if it is not known."""
    return owning_workload(container.name.pod, container.owner)


def owning_workload(pod: str, owner: tuple[str, str]) -> str:
    """Return `Kind/name` of what has made a pod, by its nearest owner.

    A replica set with the suffix of one is taken for a Deployment's, a job with a time
    for a CronJob's: kube-state-metrics names the nearest owner.
    """
    kind, name = owner
    if kind == "ReplicaSet" and (match := _OF_DEPLOYMENTS.fullmatch(name)):
        return f"Deployment/{match[1]}"
    if kind == "Job" and (match := _OF_CRON_JOBS.fullmatch(name)):
        return f"CronJob/{match[1]}"
    if kind in {"", "Node"}:
        return f"Pod/{pod}"
    return f"{kind}/{name}"


def made_by(pod: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of what may have made a pod of a name, the nearest first."""
    for kind in _NEAREST_FIRST:
        if match := re.fullmatch(f"(.+?){_MADE[kind]}", pod):
            yield kind, match[1]


_OF_LABELS = {
    "pod-template-hash": ("Deployment", rf"-{_RANDOM}{{1,10}}-{_RANDOM}{{5}}"),
    "statefulset.kubernetes.io/pod-name": ("StatefulSet", "-[0-9]+"),
    "controller-revision-hash": ("DaemonSet", f"-{_RANDOM}{{5}}"),
}
"""What controllers label their pods with, and what ends the names of these."""


def labelled_workload(pod: Pod) -> WorkloadName:
    """Return what has made a pod, by its labels; the pod itself if they do not say."""
    for label, (kind, ending) in _OF_LABELS.items():
        match = re.fullmatch(f"(.+?){ending}", pod.name)
        if label in pod.labels and match is not None:
            return WorkloadName(pod.namespace, kind, match[1])
    return WorkloadName(pod.namespace, "Pod", pod.name)


class Manifested:
    """The settings of containers, as manifests have them.

    Args:
        loaded: the pods of the manifests.
        rules: of the cluster's kubelets.
    """

    def __init__(self, loaded: Iterable[LoadedPod], rules: KubeletRules) -> None:
        self._rules = rules
        self._of_names: dict[str, list[tuple[re.Pattern[str], LoadedPod]]]
        self._of_names = defaultdict(list)
        for pod in loaded:
            made = _MADE.get(pod.object.workload.kind)
            if made is not None:
                pattern = re.compile(re.escape(pod.object.name) + made)
                self._of_names[pod.pod.namespace].append((pattern, pod))

    async def learn(self, stored: Sequence[StoredContainer]) -> None:
        """Do nothing: manifests are read already."""

    def settings(self, container: StoredContainer) -> ContainerSettings | None:
        """Return the settings of a container, None if no manifest is of its pod."""
        name = container.name
        found = self._find(name.namespace, container)
        if found is None:
            # A manifest without a namespace goes to any.
            found = self._find("default", container)
        own = None if found is None else found.pod.container(name.container)
        if found is None or own is None:
            return None
        return ContainerSettings(found.pod, own, self._rules)

    def _find(self, namespace: str, container: StoredContainer) -> LoadedPod | None:
        workload, name = workload_of(container), container.name
        candidates = self._of_names.get(namespace, ())
        for _, pod in candidates:
            if workload == f"{pod.object.workload.kind}/{pod.object.name}":
                return pod
        if container.owner[0]:
            return None
        # kube-state-metrics may be missing: then the name has to do.
        matching = [pod for pattern, pod in candidates if pattern.fullmatch(name.pod)]
        return max(matching, key=lambda pod: len(pod.object.name), default=None)
