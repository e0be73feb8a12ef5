"""What the screen asks of the program around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from probetui.debugger.timing import Timing
from probetui.drive.session import SupportsLogs
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Fault
from probetui.presentation.pod import PodChange

Timings = Mapping[ProbeKey, Timing]
"""What the timing of some probes is to be."""


class ManifestReload(Struct, frozen=True):
    """Manifests that were read again: what they change, and how to go by them.

    `changes_objects` says whether ConfigMaps or Secrets are not as they were,
    `warnings` what is likely a mistake in them.
    """

    changes: Sequence[PodChange]
    apply: Callable[[], None]
    changes_objects: bool = False
    warnings: Sequence[str] = ()


class ManifestCopy(Struct, frozen=True):
    """A copy of a manifest that was written, and how many fields differ in it."""

    path: Path
    fields: int


class CurrentLesson(Struct, frozen=True):
    """A lesson that is being given.

    `text` says what to watch and `exercise` what to try. `number` counts from 1 to
    `count`; `turn_page` ends it and begins the one so many places after it.
    """

    name: str
    text: str
    number: int
    count: int
    turn_page: Callable[[int], None]
    exercise: str = ""


class HostServices(Struct, frozen=True):
    """Things that neither a snapshot nor a command of the engine can do.

    Whoever starts the screen says which of them there are; None switches the keys for
    it off.

    Attributes:
        remaining_pods: names the pods that stay when the screen is left.
        reread: reads the manifests again; raises `ProbetuiError` for what is wrong.
        logs: reads what containers print.
        lesson: what is being taught.
        copy_edited: writes a copy of the manifest that a pod (by its UID) is from, with
            these timings; raises `ProbetuiError` where that cannot be.
        save: writes the session's record to a file of its own, and returns its name.
        shell: gives the command for a shell in a container, empty if there is none.
        fault_refusal: says why a fault cannot be injected into the containers of a
            pod, and nothing where it may be tried; None where every fault can.
    """

    remaining_pods: Callable[[], Sequence[str]] | None = None
    reread: Callable[[], ManifestReload] | None = None
    logs: SupportsLogs | None = None
    lesson: CurrentLesson | None = None
    save: Callable[[], str] | None = None
    shell: Callable[[ContainerID], Sequence[str]] | None = None
    fault_refusal: Callable[[Pod, Fault], str] | None = None
    copy_edited: Callable[[str, Timings], ManifestCopy] | None = None
