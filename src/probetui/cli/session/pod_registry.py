"""The pods that a session runs, and the objects they refer to, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from probetui.k8s.pod import Pod
from probetui.k8s.volume import ConfigObject
from probetui.record.masking import Mask, find_object_secrets, find_pod_secrets

PodsListener = Callable[[Sequence[Pod]], None]
ObjectsListener = Callable[[Sequence[ConfigObject]], None]


class DesiredState(NamedTuple):
    """What manifests ask for: pods, and the objects that they may refer to.

    `places` says where fields stand in the files, as `SetPods` has it.
    """

    pods: tuple[Pod, ...] = ()
    objects: tuple[ConfigObject, ...] = ()
    places: Mapping[str, str] = MappingProxyType({})


class PodRegistry:
    """The pods of a session, with listeners for changes.

    Args:
        desired: the pods and objects at the beginning.
    """

    def __init__(self, desired: DesiredState) -> None:
        self.pods, self.objects, self.places = desired
        self._known = {pod.uid: pod for pod in desired.pods}
        self._admit: Callable[[DesiredState], DesiredState] = lambda desired: desired
        self._pods_listeners: list[PodsListener] = []
        self._objects_listeners: list[ObjectsListener] = []

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

    def drop_pod(self, pod: Pod) -> None:
        """Stop running a pod that turned out to be somebody else's."""
        pods = tuple(kept for kept in self.pods if kept.uid != pod.uid)
        self._replace(DesiredState(pods, self.objects, self.places))

    def apply(self, desired: DesiredState) -> None:
        """Run what changed manifests ask for, as far as it is admitted."""
        self._replace(self._admit(desired))

    def _replace(self, desired: DesiredState) -> None:
        self.pods, self.objects, self.places = desired
        self._known.update((pod.uid, pod) for pod in desired.pods)
        for objects_listener in self._objects_listeners:
            objects_listener(self.objects)
        for pods_listener in self._pods_listeners:
            pods_listener(self.pods)
