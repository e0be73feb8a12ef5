"""The ConfigMaps and Secrets that pods may refer to.

Source: kubelet/configmap/configmap_manager.go, kubelet/secret/secret_manager.go,
v1.32.10; apimachinery api/errors/errors.go, v0.32.10, NewNotFound.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from probetui.k8s.volume import ConfigMap, ConfigObject, Secret

_NOT_SYNCED = "failed to sync {} cache: timed out waiting for the condition"
"""The kubelet's message about an object that it is not allowed to read.

Source: kubelet/util/manager/watch_based_manager.go, v1.32.10, Get.
"""


class ConfigRefusal(Struct, frozen=True):
    """Why a reference of a pod cannot be resolved, in the kubelet's words.

    `is_missing` means that an object or entry does not exist, so that an optional
    reference is skipped.
    """

    message: str
    is_missing: bool = False


class ObjectStore:
    """The current objects; owned by the engine."""

    def __init__(self) -> None:
        self._config_maps: dict[tuple[str, str], ConfigMap] = {}
        self._secrets: dict[tuple[str, str], Secret] = {}

    def replace(self, objects: Iterable[ConfigObject]) -> None:
        """Replace all objects; of two with one name, the last is used."""
        self._config_maps.clear()
        self._secrets.clear()
        for config_object in objects:
            key = (config_object.namespace, config_object.name)
            match config_object:
                case ConfigMap():
                    self._config_maps[key] = config_object
                case Secret():
                    self._secrets[key] = config_object

    def config_map(self, namespace: str, name: str) -> ConfigMap | ConfigRefusal:
        """Return a ConfigMap."""
        config_map = self._config_maps.get((namespace, name))
        if config_map is not None and config_map.is_refused:
            return ConfigRefusal(_NOT_SYNCED.format("configmap"))
        return config_map or ConfigRefusal(
            f'configmap "{name}" not found', is_missing=True
        )

    def secret(self, namespace: str, name: str) -> Secret | ConfigRefusal:
        """Return a Secret."""
        secret = self._secrets.get((namespace, name))
        if secret is not None and secret.is_refused:
            return ConfigRefusal(_NOT_SYNCED.format("secret"))
        return secret or ConfigRefusal(f'secret "{name}" not found', is_missing=True)
