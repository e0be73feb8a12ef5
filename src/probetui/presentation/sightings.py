"""What a probe showed beside its result: lines of the detail and a description."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import FindingEntry, TickEntry
from probetui.manifest.problem import Severity
from probetui.presentation.container_detail import labelled
from probetui.presentation.describe_text import Row, row
from probetui.presentation.findings import seen_words, severity_of
from probetui.presentation.lives import ContainerPast
from probetui.presentation.refusals import refusal_words
from probetui.presentation.spans import Line, Role, Span, muted
from probetui.presentation.view import View


def sighting_lines(
    key: ProbeKey, tick: TickEntry | None, past: ContainerPast, view: View
) -> Iterator[Line]:
    """Yield why the last connection was refused, and what is unwise about a probe."""
    looked = None if tick is None else past.listeners(tick)
    if looked is not None:
        yield labelled("refused", Span(view.safe(refusal_words(looked)), Role.WARNING))
    for each in past.findings:
        if each.key == key:
            words = Span(view.safe(seen_words(each)), _role(each))
            yield labelled("finding", words, muted(f"  {each.rule}"))


def finding_rows(findings: Sequence[FindingEntry]) -> Iterator[Row]:
    """Yield what probes of a pod showed, nothing if it was nothing."""
    if not findings:
        return
    yield row(0, "Findings:")
    yield row(1, "Severity", "Name", "Container", "Message", role=Role.MUTED)
    yield row(1, "--------", "----", "---------", "-------", role=Role.MUTED)
    for each in findings:
        yield row(
            1,
            severity_of(each.rule).capitalize(),
            each.rule,
            each.key.container_name,
            seen_words(each),
            role=_role(each),
        )


def _role(finding: FindingEntry) -> Role:
    is_note = severity_of(finding.rule) is Severity.NOTE
    return Role.PLAIN if is_note else Role.WARNING
