"""The built-in lessons of `demo`: pods as YAML, each with an introduction.

A lesson is a file in this folder. It needs a shell and hardly anything else, so that
it runs on plain processes as well as in any busybox image. The script beside it
(`NAME.sim.yaml`) says how it goes where nothing is run.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from probetui.cli.printing import print_line, print_text
from probetui.cli.session.terminal_hold import TerminalHold
from probetui.errors import UsageError
from probetui.manifest.yaml.parser import YAML_LOADER, SourceFile
from probetui.suggestions import nearest_hint

if TYPE_CHECKING:
    from probetui.analysis.quiz import Quiz

DEFAULT = "liveness"

_ORDER = (
    DEFAULT,
    "readiness",
    "startup",
    "thresholds",
    "on-hold",
    "back-off",
    "completed",
    "on-failure",
    "errored",
    "redirects",
    "tls",
    "variable",
    "grace",
    "prestop",
    "timeout",
    "init-container",
    "post-start",
    "sidecar",
    "startup-window",
    "versions",
    "past",
)
"""What comes first is what the others build on."""

_WIDTH = 78
_PAST = "probetui/past"
"""The annotation of a lesson about samples, which is printed, too."""


_TEXT = "probetui/lesson"
"""The annotation that says what to watch."""

_EXERCISE = "probetui/try"
"""The annotation that says what to do oneself."""

_VERSIONS = "probetui/versions"
"""The annotation with the kubelets that are shown side by side, if there are any."""


class Lesson(Struct, frozen=True):
    """One lesson; `source` is its manifest, `script` how it goes in a simulation.

    `text` says in a few sentences what to watch, `exercise` what to do on the screen.
    `versions` are the kubelets that a lesson shows side by side; none is a session.
    `is_past` is whether it is about the samples of the package.
    """

    name: str
    text: str
    exercise: str
    source: SourceFile
    script: SourceFile
    versions: tuple[str, ...] = ()
    is_past: bool = False

    def numbered(self, number: int) -> SourceFile:
        """Return the manifest for the lesson that is run beside others.

        Args:
            number: counted from 1; the pod of the first has the lesson's name.
        """
        if number == 1:
            return self.source
        name = f"\n  name: {self.name}"
        data = str(self.source.data).replace(name, f"{name}-{number}", 1)
        return replace(self.source, data=data)


class OpenLesson(Struct):
    """A lesson that is open; `turned` is by how many lessons the user moves on."""

    lesson: Lesson
    terminal: TerminalHold = field(default_factory=TerminalHold)
    turned: int = 0
    quiz: Quiz | None = None

    @property
    def number(self) -> int:
        """Its place, counted from 1."""
        return _ORDER.index(self.lesson.name) + 1

    @property
    def count(self) -> int:
        """How many lessons there are."""
        return len(_ORDER)

    @property
    def following(self) -> str:
        """The name of the lesson that was turned to; after the last comes the first."""
        return _ORDER[(self.number - 1 + self.turned) % self.count]


def lesson_names() -> list[str]:
    """Return the names of all lessons, in the order to take them in."""
    return list(_ORDER)


def print_lessons() -> int:
    """Print the name and the text of each lesson; the exit status is 0."""
    for name in _ORDER:
        text = textwrap.fill(load_lesson(name).text, _WIDTH - 2)
        print_line(name)
        print_text(f"{textwrap.indent(text, '  ')}\n")
    return 0


def load_lesson(name: str) -> Lesson:
    """Return a lesson by its name.

    Raises:
        UsageError: there is none; says which there are.
    """
    if name not in _ORDER:
        known = ", ".join(_ORDER)
        raise UsageError(f'"{name}" is not one of {known}{nearest_hint(name, _ORDER)}')
    folder = Path(__file__).parent
    data = (folder / f"{name}.yaml").read_bytes().decode()
    script = (folder / f"{name}.sim.yaml").read_bytes()
    annotations = yaml.load(data, YAML_LOADER)["metadata"]["annotations"]  # noqa: S506  # a safe one, in C
    text, exercise = (" ".join(annotations[key].split()) for key in (_TEXT, _EXERCISE))
    manifest = SourceFile(f"demo {name}", data)
    return Lesson(
        name,
        text,
        exercise,
        manifest,
        SourceFile(f"script of {name}", script),
        tuple(annotations.get(_VERSIONS, "").split()),
        _PAST in annotations,
    )
