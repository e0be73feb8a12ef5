"""Readers of probetui's own YAML files, with the position of each value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from probetui.durations import parse_duration
from probetui.errors import ManifestError
from probetui.manifest.problem import Problem, quote, quote_short
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapNode,
    ScalarNode,
    YamlDocument,
    YamlNode,
    is_null,
    join_path,
)
from probetui.suggestions import nearest, nearest_hint

T = TypeVar("T")


def duplicate_problems(document: YamlDocument) -> list[Problem]:
    """Return a problem for each duplicate key in a document."""
    return [
        Problem(
            duplicate.position,
            duplicate.path,
            f"duplicate key {quote(duplicate.key)}",
        )
        for duplicate in document.duplicates
    ]


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise `ManifestError` with the problems, if any, in the order of lines."""
    if problems:
        in_order = sorted(problems, key=lambda problem: (problem.line, problem.column))
        raise ManifestError([str(problem) for problem in in_order])


class FieldReader:
    """Converts YAML nodes to values; mistakes are recorded and replaced by defaults.

    Attributes:
        problems: the mistakes so far.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def fields(
        self, node: YamlNode, path: str, known: tuple[str, ...]
    ) -> Mapping[str, YamlNode]:
        """Return the fields of a mapping that are not null."""
        if not isinstance(node, MapNode):
            if not is_null(node):
                self.add_problem(node, path, f"must be a mapping of {', '.join(known)}")
            return {}
        for entry in node.entries:
            if entry.key not in known:
                near = nearest(entry.key, known)
                hint = f", did you mean {quote(near)}?" if near else ""
                where = join_path(path, entry.key)
                message = f"there is no such field{hint} (has: {', '.join(known)})"
                self.problems.append(Problem(entry.position, where, message))
        return {
            entry.key: entry.value for entry in node.entries if not is_null(entry.value)
        }

    def entries(self, node: YamlNode | None, path: str) -> list[tuple[str, YamlNode]]:
        """Return the names and values of a mapping, empty for None."""
        if node is None:
            return []
        if not isinstance(node, MapNode):
            self.add_problem(node, path, "must be a mapping by name")
            return []
        return [(entry.key, entry.value) for entry in node.entries]

    def items(
        self, fields: Mapping[str, YamlNode], name: str, path: str
    ) -> list[tuple[YamlNode, str]]:
        """Return the items of a list field, with their paths."""
        node = fields.get(name)
        here = join_path(path, name)
        if node is None:
            return []
        if not isinstance(node, ListNode):
            self.add_problem(node, here, "must be a list")
            return []
        return [(item, join_path(here, index)) for index, item in enumerate(node.items)]

    def one(
        self,
        fields: Mapping[str, YamlNode],
        name: str,
        path: str,
        read: Callable[[YamlNode, str], T],
        default: T,
    ) -> T:
        """Read a field, or return a default where it is absent or null."""
        node = fields.get(name)
        return default if node is None else read(node, join_path(path, name))

    def duration(self, node: YamlNode, path: str) -> timedelta:
        """Read a duration."""
        text = node.text if isinstance(node, ScalarNode) else ""
        length = parse_duration(text)
        if length is None:
            forms = "write 90s, 5m, 250ms or a number of seconds"
            self.add_problem(
                node, path, f"{quote_short(text)} is not a duration; {forms}"
            )
            return timedelta()
        return length

    def count(self, node: YamlNode, path: str) -> int:
        """Read a number from 1."""
        return self.whole(node, path, 1, 10**9)

    def whole(self, node: YamlNode, path: str, least: int, most: int) -> int:
        """Read a number in a range."""
        value: Any = node.value if isinstance(node, ScalarNode) else None
        if type(value) is not int or not least <= value <= most:
            self.add_problem(node, path, f"must be a number from {least} to {most}")
            return least
        return value

    def text(self, node: YamlNode, path: str) -> str:
        """Read a text; a number is read as written."""
        if not isinstance(node, ScalarNode):
            self.add_problem(node, path, "must be text")
            return ""
        return node.value if isinstance(node.value, str) else node.text

    def flag(self, node: YamlNode, path: str) -> bool:
        """Read true or false."""
        value = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(value, bool):
            self.add_problem(node, path, "must be true or false")
            return False
        return value

    def word(self, node: YamlNode, path: str, known: Mapping[str, T], default: T) -> T:
        """Read one of the allowed words."""
        text = node.text if isinstance(node, ScalarNode) else ""
        if text not in known:
            listed = ", ".join(known)
            hint = nearest_hint(text, known)
            message = f"{quote_short(text)} is not one of {listed}{hint}"
            self.add_problem(node, path, message)
            return default
        return known[text]

    def check_known(
        self, node: YamlNode, path: str, what: str, name: str, known: Sequence[str]
    ) -> None:
        """Report a name that is not among the known ones, if these are given."""
        if known and name not in known:
            listed = ", ".join(dict.fromkeys(known))
            message = f"there is no {what} {quote_short(name)} (has: {listed})"
            self.add_problem(node, path, message)

    def add_problem(self, node: YamlNode, path: str, message: str) -> None:
        """Report a problem of a node."""
        self.problems.append(Problem(node.position, path, message))
