"""ConfigMap and Secret documents to values, with what is wrong in them.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateConfigMap,
ValidateSecret. What certain types of Secrets must hold is not asked for.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from lightkube.models import core_v1, meta_v1

from probetui.k8s.config import ConfigMap, ConfigObject, Secret
from probetui.manifest import names, wording
from probetui.manifest.decode import decode
from probetui.manifest.field_error import FieldError, invalid, required, too_long
from probetui.manifest.nodes import MapNode, join, locate
from probetui.manifest.problem import Problem, Severity

KINDS: Mapping[str, type[core_v1.ConfigMap | core_v1.Secret]] = MappingProxyType(
    {"ConfigMap": core_v1.ConfigMap, "Secret": core_v1.Secret}
)
_MAX_BYTES = 1024 * 1024
_LINE_ENDS = str.maketrans("", "", "\r\n")
"""What Go's decoder of base64 does not look at."""


@dataclass(slots=True)
class ConfigReader:
    """Reads one document.

    Args:
        kind: ConfigMap or Secret.
        node: the document, or a member of a list in one.
        path: where it stands in its file.
        unknown: how bad a field is that the object does not have, None for not at all.

    What is wrong is added to `problems`.
    """

    kind: str
    node: MapNode
    path: str
    unknown: Severity | None
    problems: list[Problem] = field(default_factory=list)

    def read(self, namespace: str | None) -> ConfigObject | None:
        """Return the object, None if it cannot be used.

        Args:
            namespace: its namespace, whatever the document says.
        """
        decoded = decode(self.node, KINDS[self.kind], self.path)
        self.problems += decoded.problems
        if self.unknown is not None:
            self.problems += (
                Problem(
                    each.position,
                    each.path,
                    each.message,
                    self.unknown,
                    "unknown-field",
                )
                for each in decoded.unknown
            )
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
        is_bad = any(each.severity is Severity.ERROR for each in self.problems)
        return None if is_bad else value

    def _config_map(
        self, written: core_v1.ConfigMap, name: str, namespace: str
    ) -> ConfigMap:
        data: dict[str, str] = written.data or {}
        binary = self._decoded("binaryData", written.binaryData or {})
        self._add(*_key_errors("data", data), *_key_errors("binaryData", binary))
        for key in data.keys() & binary.keys():
            detail = "duplicate of key present in binaryData"
            self._add(invalid(join("data", key), key, detail))
        self._add(*_size_errors([*map(to_bytes, data.values()), *binary.values()]))
        return ConfigMap(name, namespace, data, binary)

    def _secret(self, written: core_v1.Secret, name: str, namespace: str) -> Secret:
        """Return a Secret; of a key that is in both, `stringData` counts."""
        data = self._decoded("data", written.data or {})
        for key, text in (written.stringData or {}).items():
            data[key] = to_bytes(text)
        self._add(*_key_errors("data", data), *_size_errors(data.values()))
        return Secret(name, namespace, data)

    def _decoded(self, field_name: str, written: Mapping[str, str]) -> dict[str, bytes]:
        found = {}
        for key, text in written.items():
            try:
                found[key] = base64.b64decode(text.translate(_LINE_ENDS), validate=True)
            except (binascii.Error, ValueError):
                plain = "data" if self.kind == "ConfigMap" else "stringData"
                message = f"must be base64 (`{plain}` takes plain text)"
                self._problem(join(field_name, key), message, "base64")
        return found

    def _add(self, *errors: FieldError) -> None:
        for each in errors:
            self._problem(each.field, wording.sentence(each), each.type.value)

    def _problem(self, field_path: str, message: str, rule: str) -> None:
        whole = f"{self.path}.{field_path}" if self.path else field_path
        self.problems.append(
            Problem(locate(self.node, field_path), whole, message, Severity.ERROR, rule)
        )


def _name_errors(name: str) -> Iterator[FieldError]:
    if name:
        yield from names.errors("metadata.name", name, names.subdomain(name))
    else:
        yield required("metadata.name", "name or generateName is required")


def _key_errors(field_name: str, data: Mapping[str, object]) -> Iterator[FieldError]:
    for key in data:
        yield from names.errors(join(field_name, key), key, names.config_key(key))


def _size_errors(contents: Iterable[bytes]) -> Iterator[FieldError]:
    if sum(map(len, contents)) > _MAX_BYTES:
        yield too_long("data", f"may not be more than {_MAX_BYTES} bytes")


def to_bytes(text: str) -> bytes:
    """Return a text as it is stored; a surrogate that is no byte is replaced."""
    return text.encode("utf-8", "replace")
