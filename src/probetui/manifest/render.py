"""A pod, or what it refers to, back to YAML that reads as the same."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import yaml
from lightkube.models import core_v1

from probetui.k8s.config import ConfigMap, ConfigObject, Secret
from probetui.manifest import scalars

_FIRST = (
    "apiVersion", "kind", "metadata", "spec", "name", "namespace", "uid", "image",
    "imagePullPolicy", "command", "args", "workingDir", "env", "ports", "exec",
    "httpGet", "tcpSocket", "grpc", "initialDelaySeconds", "periodSeconds",
    "timeoutSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip
_LAST = ("initContainers", "containers")


class _Dumper(yaml.SafeDumper):
    """Quotes text that Go would read as something else, and folds no lines."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # PyYAML's signature
        """Write everything out; readers of a manifest expect no anchors."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's signature
        """Indent lists below their key."""
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    if "\n" in text:
        style = "|"
    elif scalars.resolve(text, None, is_plain=True) == text and text != "<<":
        style = None
    else:
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def as_dict(pod: core_v1.Pod) -> dict[str, Any]:
    """Return a pod as plain data, without its status, in the order people write it."""
    plain = pod.to_dict()
    plain.pop("status", None)
    ordered: dict[str, Any] = _ordered(plain)
    return ordered


def plain_as_yaml(plain: dict[str, Any]) -> str:
    """Return plain data of the API as YAML, its fields in the order people write."""
    return _dump(_ordered(plain))


def as_yaml(pod: core_v1.Pod) -> str:
    """Return a pod as YAML; loaded again it is the same pod."""
    return _dump(as_dict(pod))


def object_as_yaml(value: ConfigObject, mask: str | None = None) -> str:
    """Return a ConfigMap or Secret as YAML; loaded again it is the same object.

    Args:
        value: the object.
        mask: what stands for each value of a Secret; None for the value itself.
    """
    fields: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": type(value).__name__,
        "metadata": {"name": value.name, "namespace": value.namespace},
    }
    match value:
        case ConfigMap(data=data, binary_data=binary_data):
            fields["data"] = dict(data)
            fields["binaryData"] = _encoded(binary_data)
        case Secret(data=data) if mask is not None:
            fields["stringData"] = dict.fromkeys(data, mask)
        case Secret(data=data):
            fields["data"] = _encoded(data)
    return _dump({key: field for key, field in fields.items() if field})


def _encoded(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(each).decode() for key, each in data.items()}


def _dump(plain: dict[str, Any]) -> str:
    text: str = yaml.dump(
        plain,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=10_000,
    )
    return text


def _ordered(value: Any) -> Any:
    match value:
        case dict():
            return {key: _ordered(value[key]) for key in sorted(value, key=_rank)}
        case list():
            return [_ordered(each) for each in value]
        case _:
            return value


def _rank(key: str) -> tuple[int, str]:
    if key in _FIRST:
        return _FIRST.index(key), ""
    if key in _LAST:
        return len(_FIRST) + 1 + _LAST.index(key), ""
    return len(_FIRST), key
