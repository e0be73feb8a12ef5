"""Dump pods and config objects as YAML; loading the text gives equal objects."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import yaml
from lightkube.models import core_v1

from probetui.k8s.volume import ConfigMap, ConfigObject, Secret
from probetui.manifest.yaml import scalars

_FIRST = (
    "apiVersion", "kind", "metadata", "spec", "name", "namespace", "uid", "image",
    "imagePullPolicy", "command", "args", "workingDir", "env", "ports", "exec",
    "httpGet", "tcpSocket", "grpc", "initialDelaySeconds", "periodSeconds",
    "timeoutSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip
_LAST = ("initContainers", "containers")


class _Dumper(yaml.SafeDumper):
    """A dumper that quotes text of another type in Go and does not fold lines."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # PyYAML's signature
        """Write no anchors."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's signature
        """Indent lists below their key."""
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    if "\n" in text:
        style = "|"
    elif scalars.resolve_scalar(text, None, is_plain=True) == text and text != "<<":
        style = None
    else:
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def pod_to_dict(pod: core_v1.Pod) -> dict[str, Any]:
    """Return a pod as plain data without its status, in the usual order of fields."""
    plain = pod.to_dict()
    plain.pop("status", None)
    ordered: dict[str, Any] = _sort_fields(plain)
    return ordered


def dump_yaml(plain: dict[str, Any]) -> str:
    """Return plain data as YAML, in the usual order of fields."""
    return dump_in_order(_sort_fields(plain))


def dump_pod(pod: core_v1.Pod) -> str:
    """Return a pod as YAML."""
    return dump_in_order(pod_to_dict(pod))


def dump_config_object(value: ConfigObject, mask: str | None = None) -> str:
    """Return a ConfigMap or Secret as YAML.

    Args:
        value: the object.
        mask: the replacement of a Secret's values; None keeps them.
    """
    fields: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": type(value).__name__,
        "metadata": {"name": value.name, "namespace": value.namespace},
    }
    match value:
        case ConfigMap(data=data, binary_data=binary_data):
            fields["data"] = dict(data)
            fields["binaryData"] = _encode_base64(binary_data)
        case Secret(data=data) if mask is not None:
            fields["stringData"] = dict.fromkeys(data, mask)
        case Secret(data=data, type=kind):
            fields["data"] = _encode_base64(data)
            fields["type"] = kind
    return dump_in_order({key: field for key, field in fields.items() if field})


def _encode_base64(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in data.items()}


def dump_in_order(plain: dict[str, Any]) -> str:
    """Return plain data as YAML, in its own order of fields."""
    text: str = yaml.dump(
        plain,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=10_000,
    )
    return text


def _sort_fields(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: _sort_fields(value[key]) for key in sorted(value, key=_field_rank)
            }
        case list():
            return [_sort_fields(item) for item in value]
        case _:
            return value


def _field_rank(key: str) -> tuple[int, str]:
    if key in _FIRST:
        return _FIRST.index(key), ""
    if key in _LAST:
        return len(_FIRST) + 1 + _LAST.index(key), ""
    return len(_FIRST), key
