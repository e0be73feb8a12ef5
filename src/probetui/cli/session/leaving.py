"""What a session says on the terminal once its screen is closed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from probetui.analysis.session_summary import summarize_session
from probetui.cli.printing import print_line
from probetui.cli.session.autosave import last_session
from probetui.engine.snapshot import Snapshot
from probetui.k8s.pod import Pod
from probetui.kubelet.journal import JournalEntry
from probetui.presentation.cause.summary import summary_lines
from probetui.presentation.text.view import TimeFormatter, View
from probetui.record.masking import Mask


def print_summary(
    snapshot: Snapshot,
    journal: Sequence[JournalEntry],
    pods: Sequence[Pod],
    record: str,
    mask: Mask,
    past: tuple[datetime, int] | None = None,
) -> None:
    """Print how long a session lasted, what was worst, and what reads its record.

    Args:
        snapshot: the session as its user left it, before its pods were ended.
        journal: its entries until then.
        pods: all that it had.
        record: the file that it is recorded in, empty if in none.
        mask: what is not to be shown.
        past: when a past ended that it began with, and the number of its last entry.
    """
    now = snapshot.taken_at
    started_at, after = past or (snapshot.started_at, 0)
    rules = snapshot.rules
    summary = summarize_session(journal, pods, started_at, now, rules, after)
    view = View(
        TimeFormatter(now, started_at), mask=mask, acts=snapshot.acts, rules=rules
    )
    is_last = bool(record) and _is_last(Path(record))
    for line in summary_lines(summary, pods, view, record, is_last=is_last):
        # Standard output may be a pipe, and the screen was on standard error.
        print_line(line, err=True)


def _is_last(record: Path) -> bool:
    last = last_session()
    return last is not None and record.exists() and record.samefile(last)
