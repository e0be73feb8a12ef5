"""The chosen pod as `kubectl describe pod` would show it."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.kubelet.snapshot import PodSnapshot
from probetui.presentation.describe import describe_pod
from probetui.presentation.spans import Line
from probetui.tui.screens.pages import PodPage
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage


class DescribeScreen(PodPage):
    """Spec, status, and the events as a cluster folds them; kept up to date."""

    WORD = "describe"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._lines: list[Line] = []

    def lines(self, pod: PodSnapshot, sight: Sight) -> Sequence[Line]:
        """Return the page; ages make it a new one every second."""
        uid = pod.pod.uid
        events, findings = sight.cluster.events(uid), sight.past.findings(uid)
        lines = describe_pod(pod, events, sight.view, findings)
        if lines != self._lines:
            self._lines = lines
        return self._lines
