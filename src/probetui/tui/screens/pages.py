"""Pages about the chosen pod: as kubectl describes it, and as YAML."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from probetui.kubelet.snapshot import PodSnapshot
from probetui.presentation.spans import Line, Role, Span, line, strong
from probetui.tui.chosen import Chosen
from probetui.tui.screens.reading import ReadingScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.text_page import TextPage


class PodPage(ReadingScreen):
    """A page of text about one pod; the pod is the one that is chosen when it opens."""

    WORD = ""
    """What the page is called."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._chosen = Chosen(stage)
        self._page = TextPage(stage.sight.view, is_ascii=stage.options.ascii)

    @abstractmethod
    def lines(self, pod: PodSnapshot, sight: Sight) -> Sequence[Line]:
        """Return the page; the same object as before if nothing has changed."""

    @property
    def panes(self) -> tuple[TextPage, ...]:
        return (self._page,)

    @property
    def pane(self) -> TextPage:
        return self._page

    def filterable(self) -> TextPage:
        return self._page

    def show_content(self, sight: Sight) -> None:
        pod = self._chosen.pod(sight)
        lines = self.lines(pod, sight) if pod is not None else [line("no pod")]
        self._page.show(line(strong(self._title(sight))), lines, sight.view)

    def heading(self, sight: Sight) -> Line:
        is_gone = not self._chosen.is_there(sight)
        gone = Span("   gone: as it was last", Role.WARNING) if is_gone else Span("")
        return line(strong(f" {self._title(sight)}"), gone)

    def _title(self, sight: Sight) -> str:
        pod = self._chosen.pod(sight)
        name = "" if pod is None else sight.view.safe(pod.pod.name)
        return f"{self.WORD} {name}"
