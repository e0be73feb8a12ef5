"""The pods that a session runs, and what they refer to, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from probetui.k8s.config import ConfigObject
from probetui.k8s.pod import Pod

Learn = Callable[[Sequence[Pod]], None]
LearnObjects = Callable[[Sequence[ConfigObject]], None]


class Wanted(NamedTuple):
    """What manifests ask for: pods, and the objects that they may refer to.

    `places` says where fields stand in the files, as `SetPods` has it.
    """

    pods: tuple[Pod, ...] = ()
    objects: tuple[ConfigObject, ...] = ()
    places: Mapping[str, str] = MappingProxyType({})


class Roster:
    """The pods of a session; whoever has to know them hears of new ones.

    Args:
        wanted: what it begins with.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.pods = wanted.pods
        self.objects = wanted.objects
        self.places = wanted.places
        self._seen = {each.uid: each for each in wanted.pods}
        self._admit: Callable[[Wanted], Wanted] = lambda wanted: wanted
        self._learners: list[Learn] = []
        self._object_learners: list[LearnObjects] = []

    @property
    def all_seen(self) -> tuple[Pod, ...]:
        """Every pod that this session has run, those of earlier manifests too."""
        return tuple(self._seen.values())

    def tell(self, learn: Learn) -> None:
        """Call back with the pods, now and whenever they change."""
        self._learners.append(learn)
        learn(self.pods)

    def tell_objects(self, learn: LearnObjects) -> None:
        """Call back with the objects, now and whenever they change.

        Of a change, objects are told of before the pods that need them.
        """
        self._object_learners.append(learn)
        learn(self.objects)

    def admit(self, admit: Callable[[Wanted], Wanted]) -> None:
        """Have what manifests ask for later looked at before it is taken over.

        Args:
            admit: returns as much of it as may be run.
        """
        self._admit = admit

    def leave_out(self, pod: Pod) -> None:
        """Do without a pod that turned out to be somebody else's."""
        pods = tuple(each for each in self.pods if each.uid != pod.uid)
        self._take(Wanted(pods, self.objects, self.places))

    def change(self, wanted: Wanted) -> None:
        """Take over what manifests that were read again ask for."""
        self._take(self._admit(wanted))

    def _take(self, wanted: Wanted) -> None:
        self.pods, self.objects, self.places = wanted
        self._seen.update((each.uid, each) for each in wanted.pods)
        for learn_objects in self._object_learners:
            learn_objects(self.objects)
        for learn in self._learners:
            learn(self.pods)
