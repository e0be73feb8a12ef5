"""`--set PATH=VALUE`: change a pod before it is decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from lightkube.models import core_v1
from msgspec import Struct
from msgspec.structs import replace

from probetui.manifest import schema
from probetui.manifest.problem import Position, quote, quote_short
from probetui.manifest.schema import FieldKind, FieldSchema
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapEntry,
    MapNode,
    ScalarNode,
    YamlNode,
    is_null,
    join_path,
)
from probetui.manifest.yaml.parser import parse_yaml_value
from probetui.suggestions import FIELD_CUTOFF, nearest

_STEP = re.compile(r"((?:\\.|[^.\[\]\\])+)|\[([0-9]+)\]|\.")
_CONTAINER_LISTS = ("containers", "initContainers")
_POD = ("metadata", "spec")


class SetOptionError(ValueError):
    """A `--set` that cannot be applied."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(message)
        self.text = text

    @property
    def position(self) -> Position:
        """The position in messages."""
        return option_position(self.text)


def option_position(text: str) -> Position:
    """Return the position that messages name for the value of a `--set`."""
    return Position(f"--set {text}")


class SetOption(Struct, frozen=True):
    """One change: a path of keys and indexes from the pod or from a container's name.

    `text` is the whole argument, for messages.
    """

    text: str
    path: tuple[str | int, ...]
    value: YamlNode

    @property
    def position(self) -> Position:
        """The position of the value in messages."""
        return self.value.position

    @property
    def container(self) -> str | None:
        """The container at the start of the path, None for a path from the pod."""
        first = self.path[0]
        return None if first in _POD or isinstance(first, int) else first


def parse_set_option(text: str) -> SetOption:
    r"""Parse `PATH=VALUE`; the value is YAML, `null` removes the field.

    The path is a container's name and a field (`web.livenessProbe.periodSeconds`) or
    begins with `spec` or `metadata`; a dot in a key is written `\.`. Raises
    `SetOptionError`.
    """
    path, equals, value = text.partition("=")
    steps = _split_setting(path)
    if not equals or len(steps) < 2 or isinstance(steps[0], int):  # noqa: PLR2004  # a container or spec, and a field
        message = (
            "must be PATH=VALUE, as in web.livenessProbe.periodSeconds=2"
            " or spec.restartPolicy=Never"
        )
        raise SetOptionError(text, message)
    try:
        node = parse_yaml_value(option_position(text).file, value)
    except ValueError as error:
        raise SetOptionError(text, f"the value is not YAML: {error}") from None
    return SetOption(text, steps, node)


def has_container(setting: SetOption, pod: YamlNode) -> bool:
    """Return whether a pod has the container of a setting; True if it names none."""
    name = setting.container
    return name is None or any(
        name == container for _, _, container in _containers(pod)
    )


def container_names(pod: YamlNode) -> tuple[str, ...]:
    """Return the names of a pod's containers, as written."""
    return tuple(name for _, _, name in _containers(pod))


def unknown_container_text(name: str, known: Iterable[str]) -> str:
    """Return the message about a container that does not exist."""
    listed = ", ".join(dict.fromkeys(known)) or "none"
    return f"there is no container {quote_short(name)} (has: {listed})"


def apply_set_option(setting: SetOption, pod: MapNode) -> MapNode:
    """Return the pod with a setting applied; missing parents are added.

    Raises:
        SetOptionError: a field or an item of the path does not exist.
    """
    steps = setting.path
    if setting.container is not None:
        where = _find_container(setting, pod, setting.container)
        steps = ("spec", *where, *steps[1:])
    _check_path(setting, steps)
    changed = _set_value(setting, pod, steps, "")
    return changed if isinstance(changed, MapNode) else pod


def _split_setting(path: str) -> tuple[str | int, ...]:
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


def _containers(pod: YamlNode) -> Iterator[tuple[str, int, str]]:
    spec = pod.get("spec") if isinstance(pod, MapNode) else None
    if not isinstance(spec, MapNode):
        return
    for group in _CONTAINER_LISTS:
        containers = spec.get(group)
        if not isinstance(containers, ListNode):
            continue
        for index, item in enumerate(containers.items):
            if isinstance(item, MapNode) and item.text("name"):
                yield group, index, item.text("name")


def _find_container(setting: SetOption, pod: YamlNode, name: str) -> tuple[str, int]:
    for group, index, container in _containers(pod):
        if container == name:
            return group, index
    raise _error(setting, unknown_container_text(name, container_names(pod)))


def _check_path(setting: SetOption, steps: tuple[str | int, ...]) -> None:
    """Check the path against the schema of a pod."""
    model: type[msgspec.Struct] | None = core_v1.Pod
    known: FieldSchema | None = None
    path = ""
    for step in steps:
        if isinstance(step, int):
            if known is None or not known.is_list:
                raise _error(setting, f"{path} is not a list")
        elif model is not None:
            fields = schema.fields_of(model)
            known = fields.get(step)
            if known is None:
                raise _error(setting, _unknown_field_text(step, path, tuple(fields)))
            model = known.model
        elif known is None or known.kind not in {
            FieldKind.STRING_MAP,
            FieldKind.QUANTITY_MAP,
            FieldKind.RAW,
        }:
            raise _error(setting, f"{path} has no fields")
        path = join_path(path, step)


def _unknown_field_text(step: str, path: str, fields: tuple[str, ...]) -> str:
    where = f"{path} has" if path else "a pod has"
    hint = nearest(step, fields, cutoff=FIELD_CUTOFF)
    meant = f", did you mean {quote(hint)}?" if hint else ""
    return f"{where} no field {quote_short(step)}{meant} (has: {', '.join(fields)})"


def _set_value(
    setting: SetOption, node: YamlNode | None, steps: tuple[str | int, ...], path: str
) -> YamlNode:
    if not steps:
        return setting.value
    step, rest = steps[0], steps[1:]
    here = join_path(path, step)
    if isinstance(step, int):
        if not isinstance(node, ListNode) or step >= len(node.items):
            raise _error(setting, f"there is no {here}, {_describe_items(node, path)}")
        items = list(node.items)
        items[step] = _set_value(setting, items[step], rest, here)
        return replace(node, items=tuple(items))
    if node is None or (isinstance(node, ScalarNode) and is_null(node)):
        node = MapNode((), setting.position)
    if not isinstance(node, MapNode):
        hint = ", an item is chosen by [0]" if isinstance(node, ListNode) else ""
        raise _error(setting, f"{path} has no fields{hint}")
    old = node.entry(step)
    value = _set_value(setting, old.value if old else None, rest, here)
    position = setting.position if old is None or not rest else old.position
    return node.with_entry(MapEntry(step, position, value))


def _describe_items(node: YamlNode | None, path: str) -> str:
    if isinstance(node, ListNode) and node.items:
        return f"the last one is {join_path(path, len(node.items) - 1)}"
    return f"{path} has no items"


def _error(setting: SetOption, message: str) -> SetOptionError:
    return SetOptionError(setting.text, message)
