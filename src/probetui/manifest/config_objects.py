"""Decode and validate ConfigMaps and Secrets.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateConfigMap,
ValidateSecret. Types of Secrets are not validated.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from lightkube.models import core_v1, meta_v1
from msgspec import Struct, field

from probetui.k8s.volume import ConfigMap, ConfigObject, Secret
from probetui.manifest.decode import decode
from probetui.manifest.field_versions import MODELS_VERSION
from probetui.manifest.problem import Problem, Severity
from probetui.manifest.validation import messages, names
from probetui.manifest.validation.field_error import (
    FieldError,
    invalid,
    required,
    too_long,
)
from probetui.manifest.yaml.nodes import MapNode, join_path, locate_field

KINDS: Mapping[str, type[core_v1.ConfigMap | core_v1.Secret]] = MappingProxyType(
    {"ConfigMap": core_v1.ConfigMap, "Secret": core_v1.Secret}
)
_DEFAULT_TYPE = "Opaque"
_MAX_BYTES = 1024 * 1024
_LINE_ENDS = str.maketrans("", "", "\r\n")
"""The characters that Go's base64 decoder skips."""


class ConfigObjectReader(Struct):
    """Decodes and validates one document.

    Args:
        kind: ConfigMap or Secret.
        node: the document, or an item of a list.
        path: its path in the document.
        unknown: the severity of unknown fields, None to ignore them.
        version: that of Kubernetes.

    Errors are added to `problems`.
    """

    kind: str
    node: MapNode
    path: str
    unknown: Severity | None
    version: str = MODELS_VERSION
    problems: list[Problem] = field(default_factory=list)

    def read(self, namespace: str | None) -> ConfigObject | None:
        """Return the object, None if it is invalid.

        Args:
            namespace: its namespace, instead of the document's; None keeps that.
        """
        decoded = decode(self.node, KINDS[self.kind], self.path, self.version)
        self.problems += decoded.problems
        self.problems += decoded.unknown_problems(self.unknown)
        if decoded.problems:
            return None
        written = decoded.value
        metadata = written.metadata or meta_v1.ObjectMeta()
        self._add(*_name_errors(metadata.name or ""))
        name = metadata.name or ""
        home = namespace or metadata.namespace or "default"
        value: ConfigObject
        if isinstance(written, core_v1.ConfigMap):
            value = self._config_map(written, name, home)
        else:
            value = self._secret(written, name, home)
        is_bad = any(problem.severity is Severity.ERROR for problem in self.problems)
        return None if is_bad else value

    def _config_map(
        self, written: core_v1.ConfigMap, name: str, namespace: str
    ) -> ConfigMap:
        data: dict[str, str] = written.data or {}
        binary = self._decoded("binaryData", written.binaryData or {})
        self._add(*_key_errors("data", data), *_key_errors("binaryData", binary))
        for key in data.keys() & binary.keys():
            detail = "duplicate of key present in binaryData"
            self._add(invalid(join_path("data", key), key, detail))
        self._add(*_size_errors([*map(encode_text, data.values()), *binary.values()]))
        return ConfigMap(name, namespace, data, binary)

    def _secret(self, written: core_v1.Secret, name: str, namespace: str) -> Secret:
        """Return a Secret; `stringData` overrides `data`."""
        data = self._decoded("data", written.data or {})
        for key, text in (written.stringData or {}).items():
            data[key] = encode_text(text)
        self._add(*_key_errors("data", data), *_size_errors(data.values()))
        kind = written.type if written.type not in {None, _DEFAULT_TYPE} else ""
        return Secret(name, namespace, data, kind or "")

    def _decoded(self, field_name: str, written: Mapping[str, str]) -> dict[str, bytes]:
        values = {}
        for key, text in written.items():
            try:
                values[key] = base64.b64decode(
                    text.translate(_LINE_ENDS), validate=True
                )
            except (binascii.Error, ValueError):
                plain = "data" if self.kind == "ConfigMap" else "stringData"
                message = f"must be base64 (`{plain}` takes plain text)"
                self._problem(join_path(field_name, key), message, "base64")
        return values

    def _add(self, *errors: FieldError) -> None:
        for error in errors:
            self._problem(
                error.field, messages.format_field_error(error), error.type.value
            )

    def _problem(self, field_path: str, message: str, rule: str) -> None:
        whole = f"{self.path}.{field_path}" if self.path else field_path
        self.problems.append(
            Problem(
                locate_field(self.node, field_path),
                whole,
                message,
                Severity.ERROR,
                rule,
            )
        )


def _name_errors(name: str) -> Iterator[FieldError]:
    if name:
        yield from names.invalid_names(
            "metadata.name", name, names.check_subdomain(name)
        )
    else:
        yield required("metadata.name", "name or generateName is required")


def _key_errors(field_name: str, data: Mapping[str, object]) -> Iterator[FieldError]:
    for key in data:
        yield from names.invalid_names(
            join_path(field_name, key), key, names.check_config_key(key)
        )


def _size_errors(contents: Iterable[bytes]) -> Iterator[FieldError]:
    if sum(map(len, contents)) > _MAX_BYTES:
        yield too_long("data", _MAX_BYTES)


def encode_text(text: str) -> bytes:
    """Encode a text as UTF-8; lone surrogates are replaced."""
    return text.encode("utf-8", "replace")
