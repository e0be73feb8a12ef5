"""The pods that a session runs, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probetui.k8s.pod import Pod

Learn = Callable[[Sequence[Pod]], None]


class Roster:
    """The pods of a session; whoever has to know them hears of new ones.

    Args:
        pods: those it begins with.
    """

    def __init__(self, pods: Sequence[Pod]) -> None:
        self.pods = tuple(pods)
        self._seen = {each.uid: each for each in pods}
        self._learners: list[Learn] = []

    @property
    def all_seen(self) -> tuple[Pod, ...]:
        """Every pod that this session has run, those of earlier manifests too."""
        return tuple(self._seen.values())

    def tell(self, learn: Learn) -> None:
        """Call back with the pods, now and whenever they change."""
        self._learners.append(learn)
        learn(self.pods)

    def change(self, pods: Sequence[Pod]) -> None:
        """Take over the pods of manifests that were read again."""
        self.pods = tuple(pods)
        self._seen.update((each.uid, each) for each in pods)
        for learn in self._learners:
            learn(self.pods)
