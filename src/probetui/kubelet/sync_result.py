"""What came of syncing a pod: each thing that was done, and what went wrong.

Source: container/sync_result.go, v1.32.10.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from probetui.kubelet.go_text import go_quote


class SyncResult(NamedTuple):
    """What came of one action of a sync; `reason` is empty if it went well."""

    action: str
    target: str
    reason: str = ""
    message: str = ""


@dataclass(slots=True)
class PodSyncResult:
    """What came of a sync, action by action; owned by the sync until it ends.

    `sync_error` is one that belongs to no single action.
    """

    results: list[SyncResult] = field(default_factory=list)
    sync_error: str | None = None

    def add(
        self, action: str, target: str, reason: str = "", message: str = ""
    ) -> None:
        """Add what came of an action."""
        self.results.append(SyncResult(action, target, reason, message))

    @property
    def errors(self) -> list[str]:
        """Each error in the kubelet's words, in order."""
        texts = [] if self.sync_error is None else [self.sync_error]
        texts += [
            f"failed to {go_quote(each.action)} for {go_quote(each.target)} "
            f"with {each.reason}: {go_quote(each.message)}"
            for each in self.results
            if each.reason
        ]
        return texts

    @property
    def error(self) -> str | None:
        """All errors in one text as Go prints a list of them, None without any."""
        unique = list(dict.fromkeys(self.errors))
        if not unique:
            return None
        return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
