"""What the probes of the chosen pod come to, before anything happens."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.k8s.pod import Pod
from probetui.kubelet.snapshot import PodSnapshot
from probetui.presentation.explanation import explanation
from probetui.presentation.meaning import meaning_lines
from probetui.presentation.spans import Line, line
from probetui.tui.screens.pages import PodPage
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage


class ExplainScreen(PodPage):
    """What each probe means for its container, and then all of it in numbers."""

    WORD = "explain"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._pod: Pod | None = None
        self._lines: Sequence[Line] = ()

    def lines(self, pod: PodSnapshot, sight: Sight) -> Sequence[Line]:
        """Return the page; it changes with the manifest only."""
        if self._pod is not pod.pod:
            self._pod = pod.pod
            numbers = [line(each) for each in explanation(pod.pod, sight.view)]
            self._lines = [*numbers, *meaning_lines(pod.pod)]
        return self._lines
