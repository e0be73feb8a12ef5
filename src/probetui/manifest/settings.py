"""`--set PATH=VALUE`: changing a pod before it is decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec
from lightkube.models import core_v1

from probetui.manifest import schema
from probetui.manifest.decode import nearest
from probetui.manifest.nodes import (
    Entry,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    is_null,
    join,
)
from probetui.manifest.parse import parse_value
from probetui.manifest.problem import Position, clipped, quote
from probetui.manifest.schema import Field, Kind

_STEP = re.compile(r"((?:\\.|[^.\[\]\\])+)|\[([0-9]+)\]|\.")
_CONTAINER_LISTS = ("containers", "initContainers")
_POD = ("metadata", "spec")


class SettingError(ValueError):
    """A setting that cannot be used, with a sentence that says what there is."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(message)
        self.text = text

    @property
    def position(self) -> Position:
        """What stands in front of the sentence."""
        return position_of(self.text)


def position_of(text: str) -> Position:
    """Return what messages name as the place of a setting's value."""
    return Position(f"--set {text}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One change: keys and indexes from the pod, or from a container's name, down.

    `text` is the whole argument, as it appears in messages.
    """

    text: str
    path: tuple[str | int, ...]
    value: Node

    @property
    def position(self) -> Position:
        """Where messages say that the value comes from."""
        return self.value.position

    @property
    def container(self) -> str | None:
        """The container that the path begins with, None for a path from the pod."""
        first = self.path[0]
        return None if first in _POD or isinstance(first, int) else first


def parse_setting(text: str) -> Setting:
    r"""Read `PATH=VALUE`; the value is YAML, `null` removes the field.

    The path is a container's name and a field (`web.livenessProbe.periodSeconds`) or
    begins with `spec` or `metadata`; a dot in a key is written `\.`. Raises
    `SettingError`.
    """
    path, equals, value = text.partition("=")
    steps = _steps(path)
    if not equals or len(steps) < 2 or isinstance(steps[0], int):  # noqa: PLR2004  # a container or spec, and a field
        message = (
            "must be PATH=VALUE, as in web.livenessProbe.periodSeconds=2"
            " or spec.restartPolicy=Never"
        )
        raise SettingError(text, message)
    try:
        node = parse_value(position_of(text).file, value)
    except ValueError as error:
        raise SettingError(text, f"the value is not YAML: {error}") from None
    return Setting(text, steps, node)


def applies_to(setting: Setting, pod: Node) -> bool:
    """Tell whether a pod has the container that a setting is about."""
    name = setting.container
    return name is None or any(name == each for _, _, each in _containers(pod))


def container_names(pod: Node) -> tuple[str, ...]:
    """Return the names of a pod's containers, as written."""
    return tuple(name for _, _, name in _containers(pod))


def no_container(name: str, known: Iterable[str]) -> str:
    """Say that there is no container of that name, and which there are."""
    listed = ", ".join(dict.fromkeys(known)) or "none"
    return f"there is no container {clipped(name)} (has: {listed})"


def apply_setting(setting: Setting, pod: MapNode) -> MapNode:
    """Return the pod with the setting made; what is on the way is made, too.

    Raises `SettingError` with what exists when a field or an item does not.
    """
    steps = setting.path
    if setting.container is not None:
        where = _place(setting, pod, setting.container)
        steps = ("spec", *where, *steps[1:])
    _check(setting, steps)
    changed = _set(setting, pod, steps, "")
    return changed if isinstance(changed, MapNode) else pod


def _steps(path: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    position = 0
    for match in _STEP.finditer(path):
        if match.start() != position:
            return ()
        position = match.end()
        if match[1]:
            steps.append(re.sub(r"\\(.)", r"\1", match[1]))
        elif match[2]:
            steps.append(int(match[2]))
    return tuple(steps) if position == len(path) else ()


def _containers(pod: Node) -> Iterator[tuple[str, int, str]]:
    spec = pod.get("spec") if isinstance(pod, MapNode) else None
    if not isinstance(spec, MapNode):
        return
    for group in _CONTAINER_LISTS:
        found = spec.get(group)
        if not isinstance(found, ListNode):
            continue
        for index, item in enumerate(found.items):
            if isinstance(item, MapNode) and item.text("name"):
                yield group, index, item.text("name")


def _place(setting: Setting, pod: Node, name: str) -> tuple[str, int]:
    for group, index, each in _containers(pod):
        if each == name:
            return group, index
    raise _error(setting, no_container(name, container_names(pod)))


def _check(setting: Setting, steps: tuple[str | int, ...]) -> None:
    """Check the names of the fields on the way against what a pod can have."""
    model: type[msgspec.Struct] | None = core_v1.Pod
    known: Field | None = None
    path = ""
    for step in steps:
        if isinstance(step, int):
            if known is None or not known.is_list:
                raise _error(setting, f"{path} is not a list")
        elif model is not None:
            fields = schema.fields_of(model)
            known = fields.get(step)
            if known is None:
                raise _error(setting, _unknown(step, path, tuple(fields)))
            model = known.model
        elif known is None or known.kind not in {
            Kind.STRING_MAP,
            Kind.QUANTITY_MAP,
            Kind.RAW,
        }:
            raise _error(setting, f"{path} has no fields")
        path = join(path, step)


def _unknown(step: str, path: str, fields: tuple[str, ...]) -> str:
    where = f"{path} has" if path else "a pod has"
    hint = nearest(step, fields)
    meant = f", did you mean {quote(hint)}?" if hint else ""
    return f"{where} no field {clipped(step)}{meant} (has: {', '.join(fields)})"


def _set(
    setting: Setting, node: Node | None, steps: tuple[str | int, ...], path: str
) -> Node:
    if not steps:
        return setting.value
    step, rest = steps[0], steps[1:]
    here = join(path, step)
    if isinstance(step, int):
        if not isinstance(node, ListNode) or step >= len(node.items):
            raise _error(setting, f"there is no {here}, {_extent(node, path)}")
        items = list(node.items)
        items[step] = _set(setting, items[step], rest, here)
        return replace(node, items=tuple(items))
    if node is None or (isinstance(node, ScalarNode) and is_null(node)):
        node = MapNode((), setting.position)
    if not isinstance(node, MapNode):
        hint = ", an item is chosen by [0]" if isinstance(node, ListNode) else ""
        raise _error(setting, f"{path} has no fields{hint}")
    old = node.entry(step)
    value = _set(setting, old.value if old else None, rest, here)
    position = setting.position if old is None or not rest else old.position
    return node.with_entry(Entry(step, position, value))


def _extent(node: Node | None, path: str) -> str:
    if isinstance(node, ListNode) and node.items:
        return f"the last one is {join(path, len(node.items) - 1)}"
    return f"{path} has no items"


def _error(setting: Setting, message: str) -> SettingError:
    return SettingError(setting.text, message)
