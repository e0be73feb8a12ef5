"""Where the probes of pods stand in their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.k8s.probe import ProbeType
from probetui.manifest.manifests import LoadedPod

_HANDLERS = ("exec.command", "httpGet")


def places_of_probes(loaded: Iterable[LoadedPod]) -> dict[str, str]:
    """Return the places of what probes do, by UID, a blank and the field's path.

    They are `file:line:column`.
    """
    return {
        f"{each.pod.uid} {path}": str(each.object.position(path))
        for each in loaded
        for path in _paths(each)
    }


def _paths(loaded: LoadedPod) -> Iterator[str]:
    for path, container in loaded.pod.containers_with_paths():
        for probe_type in ProbeType:
            if container.probe(probe_type) is not None:
                for handler in _HANDLERS:
                    yield f"{path}.{probe_type.lower()}Probe.{handler}"
