"""The chosen pod as `kubectl get pod -o yaml` would show it."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.kubelet.snapshot import PodSnapshot
from probetui.presentation.spans import Line
from probetui.presentation.yaml_view import yaml_lines
from probetui.tui.screens.pages import PodPage
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage


class YamlScreen(PodPage):
    """The definition with every default, and the status."""

    WORD = "yaml"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._seen: PodSnapshot | None = None
        self._lines: list[Line] = []

    def lines(self, pod: PodSnapshot, sight: Sight) -> Sequence[Line]:
        """Return the page, written anew if definition or status have changed."""
        seen = self._seen
        if seen is None or seen.pod != pod.pod or seen.status != pod.status:
            self._lines = yaml_lines(pod, sight.view)
        self._seen = pod
        return self._lines
