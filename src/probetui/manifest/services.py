"""Read Services: which pods they select.

They are not validated, as they are not run.
"""

from __future__ import annotations

from probetui.k8s.service import Service
from probetui.manifest.draft import suffixed_namespace
from probetui.manifest.validation.names import check_label
from probetui.manifest.workloads import OtherObject
from probetui.manifest.yaml.nodes import to_plain

_OUTSIDE = "ExternalName"
"""The type of a Service that is an alias of an external host."""


def read_service(
    document: OtherObject, namespace: str | None, namespace_suffix: str
) -> Service | None:
    """Return a Service that selects pods; None for any other object.

    Args:
        document: the object.
        namespace: the namespace of every object, instead of the manifest's.
        namespace_suffix: appended to the namespace, as to that of its pods.

    Source: pkg/controller/endpointslice/endpointslice_controller.go, v1.32.10,
    syncService: a Service without a selector gets no endpoints.
    """
    if (document.api_version, document.kind) != ("v1", "Service"):
        return None
    metadata, spec = (
        _fields(to_plain(document.node), key) for key in ("metadata", "spec")
    )
    selector = _fields(spec, "selector")
    if not selector or spec.get("type") == _OUTSIDE or any(check_label(document.name)):
        return None
    written = metadata.get("namespace")
    home = namespace or (written if isinstance(written, str) and written else "default")
    if namespace_suffix:
        home = suffixed_namespace(home, namespace_suffix)
    return Service(
        document.name,
        home,
        tuple(sorted((str(key), str(value)) for key, value in selector.items())),
        spec.get("publishNotReadyAddresses") is True,
        spec.get("clusterIP") == "None",
    )


def _fields(plain: object, key: str) -> dict[str, object]:
    """Return the mapping in a field, empty if there is none."""
    below = plain.get(key) if isinstance(plain, dict) else None
    return below if isinstance(below, dict) else {}
