"""What pods may do to this machine, told before they start."""

from __future__ import annotations

import os
from collections.abc import Sequence

from probetui.cli.notes import Notes
from probetui.cli.runtimes import PROCESS
from probetui.k8s.pod import Pod
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.problem import Problem
from probetui.presentation.findings import Finding
from probetui.presentation.host_access import host_access

_MOST_LINES = 12


class HostNotice:
    """Tells once what pods may do to the machine that they run on.

    Args:
        notes: tells people.
        is_wanted: whether findings are to be told.
        trusts: the pods are not those of a person's manifests, but of a lesson.

    Attributes:
        told: each text that was told, for a screen that covers it afterwards.
    """

    def __init__(self, notes: Notes, *, is_wanted: bool, trusts: bool) -> None:
        self._notes = notes
        self._is_wanted = is_wanted
        self._trusts = trusts
        self._kind = ""
        self._known: set[tuple[str, Finding]] = set()
        self.told: list[str] = []

    def tell(self, loaded: Sequence[LoadedPod], kind: str) -> None:
        """Tell what is not told yet of pods that are about to start.

        Args:
            loaded: the pods.
            kind: of the runtime.
        """
        self._kind = kind
        if self._trusts or not loaded:
            return
        if kind == PROCESS:
            self._say(_NO_SANDBOX_FOR_ROOT if os.geteuid() == 0 else _NO_SANDBOX)
            return
        if not self._is_wanted:
            return
        for pod in loaded:
            self._tell_of(pod)

    def tell_again(self, loaded: Sequence[LoadedPod]) -> None:
        """Tell what is new about manifests that were read again."""
        if self._kind not in {"", PROCESS}:
            self.tell(loaded, self._kind)

    def _tell_of(self, loaded: LoadedPod) -> None:
        name = _name(loaded.pod)
        found = [
            finding
            for finding in dict.fromkeys(host_access(loaded.pod))
            if (name, finding) not in self._known
        ]
        if not found:
            return
        self._known.update((name, finding) for finding in found)
        lines = [
            f"  {_problem(loaded, finding)} [{finding.rule}]"
            for finding in found[:_MOST_LINES]
        ]
        if len(found) > _MOST_LINES:
            lines.append(f"  and {len(found) - _MOST_LINES} more: see probetui check")
        self._say("\n".join([f"what {name} may do to this machine:", *lines]))

    def _say(self, text: str) -> None:
        self._notes.warning(text)
        if not self._notes.is_quiet:
            self.told.append(text)


_NO_SANDBOX = (
    "plain processes are no sandbox: what the manifests run may do everything on this "
    "machine that you may"
)
_NO_SANDBOX_FOR_ROOT = f"{_NO_SANDBOX}, and you are root"


def _problem(loaded: LoadedPod, finding: Finding) -> Problem:
    return loaded.object.problem(
        finding.path, finding.message, finding.severity, finding.rule
    )


def _name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
