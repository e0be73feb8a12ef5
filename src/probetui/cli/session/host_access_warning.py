"""The warning before pods start: what they may do to this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from probetui.analysis.findings import Finding
from probetui.cli.printing import Notes
from probetui.cli.runtimes import PROCESS
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.problem import Problem

_MOST_LINES = 12
_MOST_RULES = 3
"""Named on a screen, where the list of containers is to be seen."""


class HostAccessWarning:
    """Warns once of what pods may do to the machine that they run on.

    Args:
        notes: where warnings go.
        is_wanted: whether findings are reported.
        trusts: the pods are not those of a person's manifests, but of a lesson.

    Attributes:
        texts: every warning so far, for a screen that covers it afterwards.
    """

    def __init__(self, notes: Notes, *, is_wanted: bool, trusts: bool) -> None:
        self._notes = notes
        self._is_wanted = is_wanted
        self._trusts = trusts
        self._kind = ""
        self._known: set[tuple[str, Finding]] = set()
        self.texts: list[str] = []

    @property
    def is_isolated(self) -> bool:
        """Whether what the manifests of a person say runs apart from this machine."""
        return self._trusts or self._kind != PROCESS

    def warn(self, loaded: Sequence[LoadedPod], kind: str) -> None:
        """Warn of what is not reported yet of pods that are about to start.

        Args:
            loaded: the pods.
            kind: of the runtime.
        """
        self._kind = kind
        if self._trusts or not loaded:
            return
        if kind == PROCESS:
            # Late: the words are those of the screen.
            from probetui.presentation.header import NO_BOUNDS, NOT_ISOLATED

            root = ", and you are root" if os.geteuid() == 0 else ""
            self._warn(f"{NOT_ISOLATED}: {NO_BOUNDS}{root}", f"{NOT_ISOLATED}{root}")
            return
        if not self._is_wanted:
            return
        for pod in loaded:
            self._warn_of_pod(pod)

    def warn_again(self, loaded: Sequence[LoadedPod]) -> None:
        """Warn of what is new in manifests that were read again."""
        if self._kind not in {"", PROCESS}:
            self.warn(loaded, self._kind)

    def _warn_of_pod(self, loaded: LoadedPod) -> None:
        # Late: lessons and plain processes are not looked at.
        from probetui.analysis.host_access import host_access_findings

        name = f"{loaded.pod.namespace}/{loaded.pod.name}"
        findings = [
            finding
            for finding in dict.fromkeys(host_access_findings(loaded.pod))
            if (name, finding) not in self._known
        ]
        if not findings:
            return
        self._known.update((name, finding) for finding in findings)
        lines = [
            f"  {_problem(loaded, finding)} [{finding.rule}]"
            for finding in findings[:_MOST_LINES]
        ]
        if (more := len(findings) - _MOST_LINES) > 0:
            lines.append(f"  and {more} more: see probetui check")
        rules = list(dict.fromkeys(finding.rule for finding in findings))
        in_short = ", ".join(rules[:_MOST_RULES])
        if len(rules) > _MOST_RULES:
            in_short += f" and {len(rules) - _MOST_RULES} more"
        self._warn(
            "\n".join([f"what {name} may do to this machine:", *lines]),
            f"{loaded.pod.name} may act on this machine: {in_short}",
        )

    def _warn(self, text: str, in_short: str = "") -> None:
        """Warn, in short on a screen."""
        self._notes.warning(text)
        if not self._notes.is_quiet:
            self.texts.append(in_short or text)


def _problem(loaded: LoadedPod, finding: Finding) -> Problem:
    return loaded.object.problem(
        finding.path, finding.message, finding.severity, finding.rule
    )
