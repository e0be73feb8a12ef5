"""Files of other tools: their format, and the command that renders them.

Compose files, Helm charts and templates, and Kustomizations are converted to manifests
by their own tools; the problem names the command.
"""

from __future__ import annotations

from probetui.manifest.problem import Position, Problem, Severity
from probetui.manifest.yaml.nodes import MapNode, YamlNode
from probetui.manifest.yaml.parser import SourceFile

_CHART_FIELDS = ("apiVersion", "name", "version")
_KUSTOMIZATIONS = {"kustomization", "kustomization.yaml", "kustomization.yml"}
_RULE = "kind"


def find_template(source: SourceFile, broken_at: int) -> Problem | None:
    """Return the problem of a file that is a template instead of YAML.

    Args:
        source: the file.
        broken_at: the line with the syntax error, or the one below it.
    """
    data = source.data
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    lines = text.splitlines()
    # The line above, too: a template block on its own line breaks the next line.
    for number in (broken_at, broken_at - 1):
        if 0 < number <= len(lines) and (column := lines[number - 1].find("{{")) >= 0:
            return _rendered_by(
                Position(source.name, number, column + 1),
                "is a template, as Helm has them",
                "helm template CHART",
            )
    return None


def find_other_format(node: YamlNode, source: SourceFile) -> Problem | None:
    """Return the problem of another tool's document, None for any other."""
    if not isinstance(node, MapNode):
        return None
    folder = _folder(source)
    if _is_kustomization(node, source):
        return _rendered_by(
            node.position,
            "is a Kustomization",
            f"kubectl kustomize {folder}",
            Severity.NOTE,
            "kind-skipped",
        )
    if node.get("kind") is not None:
        return None
    if isinstance(node.get("services"), MapNode):
        return _rendered_by(
            node.position,
            "is a Compose file",
            f"kompose convert --stdout -f {source.name}",
        )
    if all(node.text(field) for field in _CHART_FIELDS):
        return _rendered_by(node.position, "is a Helm chart", f"helm template {folder}")
    return None


def is_case_document(node: YamlNode) -> bool:
    """Return whether a document has cases of `probetui test`, which have no kind."""
    return (
        isinstance(node, MapNode)
        and node.entry("cases") is not None
        and node.entry("kind") is None
    )


def _rendered_by(
    position: Position,
    what: str,
    command: str,
    severity: Severity = Severity.ERROR,
    rule: str = _RULE,
) -> Problem:
    message = f"{what}; to run what it renders: {command} | probetui -f -"
    return Problem(position, "", message, severity, rule)


def _is_kustomization(node: MapNode, source: SourceFile) -> bool:
    """Return whether a document is a kustomization; a file so named needs no kind."""
    name = source.name.rpartition("/")[2].lower()
    is_named = name in _KUSTOMIZATIONS and node.get("kind") is None
    return is_named or node.text("kind") == "Kustomization"


def _folder(source: SourceFile) -> str:
    return source.name.rpartition("/")[0] or "."
