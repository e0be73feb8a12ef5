"""The container that was chosen when a screen was opened, whatever becomes of it."""

from __future__ import annotations

from probetui.kubelet.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.containers import object_name
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage


class Chosen:
    """Finds pod and container again in what is seen now."""

    def __init__(self, stage: Stage) -> None:
        subject = stage.subject
        self._pod = None if subject is None else subject.pod
        self._name = "" if subject is None else subject.container.container.name

    @property
    def pod_uid(self) -> str:
        """The pod's UID, empty if nothing was chosen."""
        return "" if self._pod is None else self._pod.pod.uid

    def name(self, sight: Sight) -> str:
        """Return `pod/container`."""
        return object_name(sight.names, self.pod_uid, self._name)

    def pod(self, sight: Sight) -> PodSnapshot | None:
        """Return the pod as it stands, or as it was when it was there last."""
        for each in sight.snapshot.pods:
            if each.pod.uid == self.pod_uid:
                self._pod = each
        return self._pod

    def is_there(self, sight: Sight) -> bool:
        """Tell whether there is such a pod now."""
        return any(each.pod.uid == self.pod_uid for each in sight.snapshot.pods)

    def container(self, sight: Sight) -> ContainerSnapshot | None:
        """Return the container as it stands, None if it is gone."""
        pod = self.pod(sight) if self.is_there(sight) else None
        for each in pod.containers if pod is not None else ():
            if each.container.name == self._name:
                return each
        return None
