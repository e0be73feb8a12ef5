"""Rules for Prometheus in manifests: PrometheusRule and its like, and rule files."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from probetui.manifest.problem import Position
from probetui.manifest.yaml.nodes import ListNode, MapNode, YamlNode, join_path


class StoredRule(Struct, frozen=True):
    """A rule that a store evaluates.

    Attributes:
        name: of the alert, or of the series that it records.
        path: of the expression.
    """

    name: str
    records: bool
    expression: str
    path: str
    position: Position


def find_rules(node: YamlNode, path: str = "") -> tuple[StoredRule, ...]:
    """Return the rules of a document or an object.

    A rule file has its groups at the top, an object has them in its spec.
    """
    if not isinstance(node, MapNode):
        return ()
    if node.get("kind") is None:
        return tuple(_rules_of(node.get("groups"), join_path(path, "groups")))
    spec = node.get("spec")
    if not isinstance(spec, MapNode):
        return ()
    where = join_path(join_path(path, "spec"), "groups")
    return tuple(_rules_of(spec.get("groups"), where))


def _rules_of(groups: YamlNode | None, path: str) -> Iterator[StoredRule]:
    for at, group in _items(groups, path):
        for where, rule in _items(group.get("rules"), join_path(at, "rules")):
            records = bool(rule.text("record"))
            entry = rule.entry("expr")
            if entry is None:
                continue
            yield StoredRule(
                rule.text("record" if records else "alert"),
                records,
                rule.text("expr"),
                join_path(where, "expr"),
                entry.position,
            )


def _items(node: YamlNode | None, path: str) -> Iterator[tuple[str, MapNode]]:
    for index, item in enumerate(node.items if isinstance(node, ListNode) else ()):
        if isinstance(item, MapNode):
            yield join_path(path, index), item
