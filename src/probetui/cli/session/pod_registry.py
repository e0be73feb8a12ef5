"""The pods that a session runs, and the objects they refer to, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from probetui.cli.files import SourceReader
from probetui.engine.inputs import SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import API_SOURCE
from probetui.k8s.status import PodCondition
from probetui.k8s.volume import ConfigObject
from probetui.manifest.manifests import LoadedPod, format_probe_positions
from probetui.manifest.problem import Problem
from probetui.record.masking import Mask, find_object_secrets, find_pod_secrets

PodsListener = Callable[[Sequence[Pod]], None]
ObjectsListener = Callable[[Sequence[ConfigObject]], None]


class DesiredState(NamedTuple):
    """What manifests ask for: pods, and the objects that they may refer to.

    `places` says where fields stand in the files, and `conditions` what others than the
    kubelet have set, both as `SetPods` has them. `static` has the source of each static
    pod by its uid. `sources` are the kubelet's sources that there are, `unread` those
    of which something has not been read yet. `warnings` are about what is likely a
    mistake in the manifests, `warned` has the UIDs of the pods that they are about.
    """

    pods: tuple[Pod, ...] = ()
    objects: tuple[ConfigObject, ...] = ()
    places: Mapping[str, str] = MappingProxyType({})
    conditions: Mapping[str, tuple[PodCondition, ...]] = MappingProxyType({})
    static: Mapping[str, str] = MappingProxyType({})
    sources: tuple[str, ...] = (API_SOURCE,)
    unread: frozenset[str] = frozenset()
    warnings: tuple[Problem, ...] = ()
    warned: Mapping[Problem, str] = MappingProxyType({})

    @classmethod
    def of(
        cls,
        loaded: Sequence[LoadedPod],
        pods: Sequence[Pod],
        objects: Sequence[ConfigObject],
        reader: SourceReader | None = None,
    ) -> DesiredState:
        """Return what loaded manifests ask for; `pods` are theirs, as they are run."""
        return cls(
            tuple(pods),
            tuple(objects),
            format_probe_positions(loaded),
            {pod.pod.uid: pod.conditions for pod in loaded if pod.conditions},
            {
                pod.pod.uid: pod.source.kubelet_source
                for pod in loaded
                if pod.source.is_static
            },
            (API_SOURCE,) if reader is None else reader.kubelet_sources,
            frozenset() if reader is None else reader.unread_sources,
        )

    def beside_api(self) -> DesiredState:
        """Return the same for a kubelet that has an API server as a source, too."""
        others = [source for source in self.sources if source != API_SOURCE]
        return self._replace(
            sources=(API_SOURCE, *others), unread=self.unread | {API_SOURCE}
        )

    def with_api_pods(
        self, read: Sequence[LoadedPod], objects: Sequence[ConfigObject]
    ) -> DesiredState:
        """Return the same with all pods that an API server has."""
        pods = [loaded.pod for loaded in read]
        theirs = DesiredState.of(read, pods, objects)
        return self._replace(
            pods=(*self.pods, *theirs.pods),
            objects=(*self.objects, *theirs.objects),
            places={**self.places, **theirs.places},
            conditions={**self.conditions, **theirs.conditions},
            unread=self.unread - {API_SOURCE},
        )

    def updates(self) -> Iterator[SetPods]:
        """Yield the pods of each source for the kubelet."""
        for source in self.sources:
            pods = tuple(
                pod
                for pod in self.pods
                if self.static.get(pod.uid, API_SOURCE) == source
            )
            uids = {pod.uid for pod in pods}
            yield SetPods(
                pods,
                {
                    field: place
                    for field, place in self.places.items()
                    if field.partition(" ")[0] in uids
                },
                source,
                {uid: given for uid, given in self.conditions.items() if uid in uids},
                source not in self.unread,
            )


class PodRegistry:
    """The pods of a session, with listeners for changes.

    Args:
        desired: the pods and objects at the beginning.

    Attributes:
        on_manifests: runs what changed manifests ask for; a node has other pods, too.
        keeps_pods: whether the pods stay when the session ends.
    """

    def __init__(self, desired: DesiredState, *, keeps_pods: bool = False) -> None:
        self.desired = desired
        self.keeps_pods = keeps_pods
        self._known = {pod.uid: pod for pod in desired.pods}
        self._admit: Callable[[DesiredState], DesiredState] = lambda desired: desired
        self._pods_listeners: list[PodsListener] = []
        self._objects_listeners: list[ObjectsListener] = []
        self.on_manifests: Callable[[DesiredState], None] = self.apply

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods that are to run."""
        return self.desired.pods

    @property
    def objects(self) -> tuple[ConfigObject, ...]:
        """The ConfigMaps and Secrets that they may refer to."""
        return self.desired.objects

    @property
    def all_known(self) -> tuple[Pod, ...]:
        """Every pod that this session has run, those of earlier manifests too."""
        return tuple(self._known.values())

    def subscribe(self, listener: PodsListener) -> None:
        """Call back with the pods, now and whenever they change."""
        self._pods_listeners.append(listener)
        listener(self.pods)

    def subscribe_objects(self, listener: ObjectsListener) -> None:
        """Call back with the objects, now and whenever they change.

        When manifests change, this comes before the pods that need the objects.
        """
        self._objects_listeners.append(listener)
        listener(self.objects)

    def make_mask(self, *, hides: bool) -> Mask:
        """Return a mask; if it hides, it learns the secrets of pods and objects."""
        mask = Mask(hides=hides)
        if hides:
            self.subscribe(lambda pods: mask.learn(find_pod_secrets(pods)))
            self.subscribe_objects(
                lambda objects: mask.learn(find_object_secrets(objects))
            )
        return mask

    def set_admission(self, admit: Callable[[DesiredState], DesiredState]) -> None:
        """Set what decides which pods of changed manifests may be run.

        Args:
            admit: returns the part of a desired state that may be run.
        """
        self._admit = admit

    def keep_pods(self) -> None:
        """Have the pods stay when the session ends."""
        self.keeps_pods = True

    def drop_pod(self, pod: Pod) -> None:
        """Stop running a pod that turned out to be somebody else's."""
        pods = tuple(kept for kept in self.pods if kept.uid != pod.uid)
        self._replace(self.desired._replace(pods=pods))

    def apply(self, desired: DesiredState) -> None:
        """Run what changed manifests ask for, as far as it is admitted."""
        self._replace(self._admit(desired))

    def _replace(self, desired: DesiredState) -> None:
        self.desired = desired
        self._known.update((pod.uid, pod) for pod in desired.pods)
        for objects_listener in self._objects_listeners:
            objects_listener(self.objects)
        for pods_listener in self._pods_listeners:
            pods_listener(self.pods)
