"""The built-in lessons: pods as YAML, each with what there is to watch.

A lesson is a file in this folder. It needs a shell and nothing else, so that it runs
on plain processes as well as in any busybox image.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import yaml

from probetui.cli.parameters import nearest
from probetui.errors import UsageError
from probetui.manifest.parse import Source

DEFAULT = "liveness"
_TEXT = "probetui/lesson"
"""The annotation that says what to watch."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson; `text` is two or three sentences, `source` its manifest."""

    name: str
    text: str
    source: Source


def lesson_names() -> list[str]:
    """Return the names of all lessons, the default first."""
    names = (
        each.name.removesuffix(".yaml")
        for each in files(__package__).iterdir()
        if each.name.endswith(".yaml")
    )
    return sorted(names, key=lambda name: (name != DEFAULT, name))


def load_lesson(name: str) -> Lesson:
    """Return a lesson by its name.

    Raises:
        UsageError: there is none; says which there are.
    """
    names = lesson_names()
    if name not in names:
        known = ", ".join(names)
        raise UsageError(f'"{name}" is not one of {known}{nearest(name, names)}')
    data = files(__package__).joinpath(f"{name}.yaml").read_bytes()
    annotations = yaml.safe_load(data)["metadata"]["annotations"]
    text = " ".join(annotations[_TEXT].split())
    return Lesson(name, text, Source(f"demo {name}", data))
