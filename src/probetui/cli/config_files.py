"""What users write for probetui itself: settings, themes, keys; one value a file."""

from __future__ import annotations

from pathlib import Path

from probetui.cli.files import read_file
from probetui.errors import UsageError
from probetui.manifest.nodes import ListNode, MapNode, Node, ScalarNode
from probetui.manifest.parse import parse


def read_config_file(path: Path, label: str = "") -> object:
    """Return what a YAML file says, None if it says nothing.

    It is read as manifests are, with the same limits.

    Args:
        path: the file.
        label: what names it in an error of the system, such as `--config FILE`.

    Raises:
        UsageError: it cannot be read, is no YAML, goes beyond a limit, or has more
            than one document.
    """
    try:
        source = read_file(path)
    except OSError as error:
        raise UsageError(f"{label or path}: {error.strerror or error}") from error
    parsed = parse(source)
    if parsed.problems:
        problem = parsed.problems[0]
        raise UsageError(f"{problem.position}: {problem.message}")
    roots = [document.root for document in parsed.documents]
    if len(roots) > 1:
        raise UsageError(f"{roots[1].position}: a second document; one is read")
    return _value_of(roots[0]) if roots else None


def _value_of(node: Node) -> object:
    match node:
        case ScalarNode(value=bool(), text="y" | "Y" | "n" | "N" as key):
            # Kubernetes takes them for true and false; here they are keys to press.
            return key
        case ScalarNode(value=value):
            return value
        case ListNode(items=items):
            return [_value_of(item) for item in items]
        case MapNode(entries=entries):
            return {entry.key: _value_of(entry.value) for entry in entries}
