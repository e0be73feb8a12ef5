"""The reports of `whatif`: a session beside its rerun under other settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from probetui.analysis.session_outcome import (
    ContainerTotals,
    Happening,
    OutcomeDifference,
    SessionOutcome,
)
from probetui.durations import format_age, format_countdown
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.presentation.report import Part, Table

_BAR_CELLS = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NOTHING = "-"
_SECOND = timedelta(seconds=1)


def difference_words(before: ContainerTotals, after: ContainerTotals) -> str:
    """Return what other settings change of a container: `no kill, 8s longer not ready`.

    Args:
        before: its totals as they are.
        after: those under the other settings.
    """
    parts = []
    if after.kills != before.kills:
        parts.append(_instead("kill", before.kills, after.kills))
    if after.restarts - after.kills != before.restarts - before.kills:
        parts.append(_instead("restart", before.restarts, after.restarts))
    longer = after.not_ready - before.not_ready
    if abs(longer) >= _SECOND:
        word = "longer" if longer > timedelta() else "less long"
        parts.append(f"{format_age(abs(longer))} {word} not ready")
    return ", ".join(parts) or "no difference so far"


def _instead(word: str, before: int, after: int) -> str:
    """Return a number of kills or restarts, with another one that it is instead of."""
    counted = f"{after or 'no'} {word}{'s' if after > 1 else ''}"
    return counted if not after and before == 1 else f"{counted} instead of {before}"


class WhatIfReport(Struct, frozen=True):
    """A recorded session, and its rerun under other settings.

    Attributes:
        record: the path of the record.
        settings: the other settings, as the options have them.
        kubelet: the version of the rerun.
        started_at: when the session began.
        simulated_from: when the rerun left the record, None if it never did.
        pods: the pods of the session, by UID.
        recorded: the outcome of the session.
        rerun: the outcome of the rerun.
        differences: what happened in only one of them.
        changed: the UIDs of pods with other settings; tables omit the others.
        gaps: how many outcomes were assumed, not measured, by reason.
    """

    record: str
    settings: Sequence[str]
    kubelet: str
    started_at: datetime
    simulated_from: datetime | None
    pods: Mapping[str, Pod]
    recorded: SessionOutcome
    rerun: SessionOutcome
    differences: Sequence[OutcomeDifference]
    changed: frozenset[str]
    gaps: Mapping[str, int]

    def value(self) -> dict[str, Any]:
        """Return all differences, and the totals of all containers."""
        return {
            "record": self.record,
            "settings": self.settings,
            "kubelet": self.kubelet,
            "simulatedFrom": None
            if self.simulated_from is None
            else self._seconds(self.simulated_from),
            "differences": [
                {
                    "t": self._seconds(difference.happening.at),
                    **self._names(difference.happening.container),
                    "what": difference.happening.kind,
                    "recorded": None
                    if difference.before is None
                    else difference.before.text,
                    "whatIf": None
                    if difference.after is None
                    else difference.after.text,
                    "unmeasured": 0
                    if difference.after is None
                    else difference.after.unmeasured,
                }
                for difference in self.differences
            ],
            "containers": [
                {
                    **self._names(container),
                    "recorded": _totals_value(totals),
                    "whatIf": _totals_value(self.rerun.totals_of(container)),
                }
                for container, totals in self.recorded.totals.items()
            ],
            "unmeasured": self.gaps,
        }

    def parts(self, _form: str) -> Iterator[Part]:
        """Yield a table of differences, and one of the totals of changed containers."""
        if self.differences:
            yield Table(
                [
                    {
                        "AT": f"+{self._seconds(difference.happening.at):.1f}s",
                        "CONTAINER": self._name(difference.happening.container),
                        "RECORDED": _text(difference.before),
                        "WHAT IF": _text(difference.after),
                    }
                    for difference in self.differences
                ]
            )
            yield ""
        yield Table(
            [
                {
                    "CONTAINER": self._name(container),
                    "SESSION": session,
                    **_cells(outcome.totals_of(container)),
                }
                for container in self.recorded.totals
                if container[0] in self.changed or not self.changed
                for session, outcome in (
                    ("recorded", self.recorded),
                    ("what if", self.rerun),
                )
            ]
        )

    def _seconds(self, instant: datetime) -> float:
        return (instant - self.started_at).total_seconds()

    def _names(self, container: tuple[str, str]) -> dict[str, str]:
        pod_uid, name = container
        pod = self.pods.get(pod_uid)
        return {
            "namespace": "" if pod is None else pod.namespace,
            "pod": pod_uid if pod is None else pod.name,
            "container": name,
        }

    def _name(self, container: tuple[str, str]) -> str:
        names = self._names(container)
        return f"{names['pod']}/{names['container']}"


def _text(happening: Happening | None) -> str:
    if happening is None:
        return _NOTHING
    if not happening.unmeasured:
        return happening.text
    return f"{happening.text} ({happening.unmeasured} not measured)"


def _cells(totals: ContainerTotals) -> dict[str, str]:
    return {
        "KILLS": str(totals.kills),
        "RESTARTS": str(totals.restarts),
        "NOT READY": format_countdown(totals.not_ready),
        "FIRST READY": _NOTHING
        if totals.first_ready is None
        else f"+{totals.first_ready.total_seconds():.1f}s",
        "MEASURED": f"{totals.probed - totals.unmeasured} of {totals.probed} probes",
    }


def _totals_value(totals: ContainerTotals) -> dict[str, Any]:
    first = totals.first_ready
    return {
        "kills": totals.kills,
        "restarts": totals.restarts,
        "notReadySeconds": totals.not_ready.total_seconds(),
        "firstReadySeconds": None if first is None else first.total_seconds(),
        "probes": totals.probed,
        "unmeasured": totals.unmeasured,
    }


class SweptValue(Struct, frozen=True):
    """One value of a sweep, and the totals of the container with it."""

    value: str
    is_recorded: bool
    totals: ContainerTotals


class SweepReport(Struct, frozen=True):
    """Reruns of a recorded session, one for each value of a setting.

    Attributes:
        record: the path of the record.
        settings: the settings that all reruns share.
        kubelet: the version of the reruns.
        namespace: the namespace of the probe's pod.
        pod: the name of the pod.
        container: the name of the container.
        probe_type: the type of the probe.
        field: the setting that varies.
        values: the values, in order.
        is_ascii: whether to draw bars in ASCII.
    """

    record: str
    settings: Sequence[str]
    kubelet: str
    namespace: str
    pod: str
    container: str
    probe_type: ProbeType
    field: str
    values: Sequence[SweptValue]
    is_ascii: bool

    def value(self) -> dict[str, Any]:
        """Return the totals of the probe's container for each value."""
        return {
            "record": self.record,
            "settings": self.settings,
            "kubelet": self.kubelet,
            "namespace": self.namespace,
            "pod": self.pod,
            "container": self.container,
            "probe": self.probe_type.lower(),
            "field": self.field,
            "values": [
                {
                    "value": swept.value,
                    "isRecorded": swept.is_recorded,
                    **_totals_value(swept.totals),
                }
                for swept in self.values
            ],
        }

    def parts(self, _form: str) -> Iterator[Part]:
        """Yield a table with bars for kills or, for readiness, the time not ready."""
        kind = self.probe_type.lower()
        yield f"{self.pod}/{self.container}: {self.field} of its {kind} probe"
        yield ""
        yield Table(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, str]]:
        is_readiness = self.probe_type is ProbeType.READINESS
        heading = "NOT READY" if is_readiness else "KILLS"
        amounts = [
            swept.totals.not_ready / _SECOND
            if is_readiness
            else float(swept.totals.kills)
            for swept in self.values
        ]
        for swept, amount in zip(self.values, amounts, strict=True):
            cells = _cells(swept.totals)
            yield {
                "VALUE": f"{swept.value} (recorded)"
                if swept.is_recorded
                else swept.value,
                heading: cells.pop(heading),
                "": bar(amount, max(amounts), is_ascii=self.is_ascii),
                **cells,
            }


def bar(amount: float, most: float, *, is_ascii: bool) -> str:
    """Draw a bar whose length is `amount` in proportion to `most`."""
    if most <= 0:
        return ""
    if is_ascii:
        return "#" * round(_BAR_CELLS * amount / most)
    whole, rest = divmod(round(_BAR_CELLS * 8 * amount / most), 8)
    return ("█" * whole + _EIGHTHS[rest]).rstrip()
