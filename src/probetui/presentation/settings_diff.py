"""The report of `diff`: what a change of manifests does to containers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import repeat
from typing import Any, NamedTuple

from msgspec import Struct

from probetui.analysis.findings import Finding
from probetui.analysis.settings_diff import (
    Change,
    ContainerDiff,
    Direction,
    ProbeChange,
    WorkloadPod,
)
from probetui.analysis.timing import TimeRange
from probetui.durations import format_age
from probetui.k8s.probe import Probe
from probetui.presentation.probe.state import format_handler, format_timing
from probetui.presentation.report import Document, Part, Table
from probetui.presentation.text.markdown import markdown_line
from probetui.presentation.text.view import View

MARKDOWN = "md"
"""The form of a report that is pasted into a pull request."""


class Row(NamedTuple):
    """What differs, which way, and how it was and is; empty where it is not there."""

    way: str
    what: str
    old: str
    new: str

    def text_cells(self) -> dict[str, str]:
        """Return the cells of a table without headings."""
        both = " -> ".join(filter(None, (self.old, self.new)))
        return {"way": f"  {self.way}", "what": self.what, "both": both}


class KillHistory(Struct, frozen=True):
    """What the new settings of a container would have made of a time that was.

    Attributes:
        rows: the numbers that were, and those that would have been.
        remarks: what there is to say of them.
        value: all of it for programs; None if nothing is known.
    """

    rows: Sequence[Row] = ()
    remarks: Sequence[str] = ()
    value: Mapping[str, Any] | None = None


class DiffHistory(Struct, frozen=True):
    """The time that was asked about, and where its samples are from.

    Attributes:
        source: the store.
        begin: the time, in UTC.
        end: its end.
        holes: what could not be answered.
        containers: what it says of each container of a report, in its order.
    """

    source: str
    begin: str
    end: str
    holes: Sequence[str]
    containers: Sequence[KillHistory]

    @property
    def sentence(self) -> str:
        """Where the numbers are from."""
        return f"history: {self.begin} to {self.end} UTC, by samples of {self.source}"


class DiffReport(Struct, frozen=True):
    """Containers before and after a change.

    Attributes:
        old: what was compared, as the user named it.
        new: what it was compared with.
        containers: all of them, those that are the same too.
        view: how to write, with the mask of both sides.
        history: of a store, None if none was asked.
    """

    old: str
    new: str
    containers: Sequence[ContainerDiff]
    view: View
    history: DiffHistory | None = None

    def value(self) -> dict[str, Any]:
        """Return what differs, for JSON; times are in seconds."""
        different = self._different()
        value = {
            "old": self.old,
            "new": self.new,
            "containers": [self._container_value(*each) for each in different],
            "same": len(self.containers) - len(different),
        }
        if (history := self.history) is not None:
            value["history"] = {
                "source": history.source,
                "from": history.begin,
                "to": history.end,
                "holes": [*history.holes],
            }
        return value

    def parts(self, form: str) -> Iterator[Part]:
        """Yield a paragraph for each container that differs, then how many do."""
        if form == MARKDOWN:
            yield Document("\n".join([*self._markdown(), ""]))
            return
        for diff, history in self._different():
            yield self._title(diff)
            rows = [*self._rows(diff), *history.rows]
            if cells := [row.text_cells() for row in rows]:
                yield Table(cells, has_headings=False)
            yield from (f"  {line}" for line in self._remarks(diff, history))
            yield ""
        yield self.summary()
        if self.history is not None:
            yield self.history.sentence

    def summary(self) -> str:
        """Return how many containers differ, and which way."""
        changes = Counter(diff.change for diff in self.containers)
        same = changes.pop(Change.SAME, 0)
        if not changes:
            return f"no difference in {_containers(same)}"
        parts = [f"{changes[change]} {change}" for change in Change if changes[change]]
        ways = [
            f"{count} {direction}"
            for direction in (Direction.STRICTER, Direction.LOOSER)
            if (count := sum(diff.has(direction) for diff in self.containers))
        ]
        ways_text = f" ({', '.join(ways)})" if ways else ""
        return f"{', '.join(parts)}{ways_text}, {same} the same"

    def _different(self) -> list[tuple[ContainerDiff, KillHistory]]:
        histories: Iterable[KillHistory] = repeat(KillHistory())
        if self.history is not None:
            histories = self.history.containers
        pairs = zip(self.containers, histories, strict=False)
        return [pair for pair in pairs if pair[0].change is not Change.SAME]

    def _title(self, diff: ContainerDiff) -> str:
        workload = diff.workload
        kind, pod = workload.kind, workload.pod
        name = f"{kind} {pod.namespace}/{workload.name}, container {diff.container}"
        if diff.change is not Change.CHANGED:
            return self.view.safe(f"{name}: {diff.change}")
        assert diff.old is not None  # noqa: S101  # for the type: it is changed
        if diff.old.name != workload.name:
            name += f" (was in {diff.old.name})"
        return self.view.safe(name)

    def _rows(self, diff: ContainerDiff) -> Iterator[Row]:
        for effect in diff.effects:
            old, new = (
                _range_text(times, effect.effect.missing)
                for times in (effect.old, effect.new)
            )
            yield Row(effect.direction, effect.effect.label, old, new)
        for probe in diff.probes:
            yield from self._probe_rows(probe)

    def _probe_rows(self, change: ProbeChange) -> Iterator[Row]:
        kind = f"{change.probe_type.lower()} probe"
        old, new = change.old, change.new
        if old is None or new is None:
            before, after = (
                "" if probe is None else f"{self._handler(probe)}  {_timing(probe)}"
                for probe in (old, new)
            )
            yield Row(change.change, kind, before, after)
            return
        for label, field in _FIELDS.items():
            before, after = (_field_text(probe, field) for probe in (old, new))
            if before != after:
                yield Row("setting", f"{label} of its {kind}", before, after)
        if self._handler(old) != self._handler(new):
            yield Row("setting", kind, self._handler(old), self._handler(new))
        elif old.handler != new.handler:
            yield Row(
                "setting", kind, "", "asks otherwise, in headers or what is masked"
            )

    def _remarks(self, diff: ContainerDiff, history: KillHistory) -> Iterator[str]:
        yield from (f"history: {text}" for text in history.remarks)
        yield from self._findings(diff)

    def _findings(self, diff: ContainerDiff) -> Iterator[str]:
        for word, findings in (("found", diff.found), ("mended", diff.mended)):
            for finding in findings:
                yield f"{word}: {finding.rule}: {self.view.safe(finding.message)}"

    def _handler(self, probe: Probe) -> str:
        return format_handler(probe, self.view)

    def _markdown(self) -> Iterator[str]:
        old, new = markdown_line(self.old), markdown_line(self.new)
        yield f"### Probes: {old} → {new}"
        yield ""
        yield markdown_line(self.summary())
        for diff, history in self._different():
            yield ""
            yield f"**{markdown_line(self._title(diff))}**"
            if rows := [*self._rows(diff), *history.rows]:
                yield from ("", "| | | before | now |", "|---|---|---|---|")
                yield from (f"| {' | '.join(map(_table_cell, row))} |" for row in rows)
            if remarks := [*self._remarks(diff, history)]:
                yield ""
                yield from (f"- {markdown_line(line)}" for line in remarks)
        if self.history is not None:
            yield ""
            yield markdown_line(self.history.sentence)
            yield from (f"- {markdown_line(hole)}" for hole in self.history.holes)

    def _container_value(
        self, diff: ContainerDiff, history: KillHistory
    ) -> dict[str, Any]:
        workload = diff.workload
        of_store = {} if self.history is None else {"history": history.value}
        return {
            "namespace": workload.pod.namespace,
            "workload": {"kind": workload.kind, "name": workload.name},
            "container": diff.container,
            "change": diff.change,
            "renamedFrom": _renamed_from(diff.old, diff.new),
            "effects": [
                {
                    "effect": effect.effect.name,
                    "direction": effect.direction,
                    "old": _range_value(effect.old),
                    "new": _range_value(effect.new),
                }
                for effect in diff.effects
            ],
            "probes": [
                {
                    "type": probe.probe_type.lower(),
                    "change": probe.change,
                    "old": self._probe_value(probe.old),
                    "new": self._probe_value(probe.new),
                }
                for probe in diff.probes
            ],
            "found": [_finding_value(finding) for finding in diff.found],
            "mended": [_finding_value(finding) for finding in diff.mended],
            **of_store,
        }

    def _probe_value(self, probe: Probe | None) -> dict[str, Any] | None:
        if probe is None:
            return None
        return {
            "handler": self._handler(probe),
            "initialDelaySeconds": probe.initial_delay_seconds,
            "periodSeconds": probe.period_seconds,
            "timeoutSeconds": probe.timeout_seconds,
            "successThreshold": probe.success_threshold,
            "failureThreshold": probe.failure_threshold,
            "terminationGracePeriodSeconds": probe.termination_grace_period_seconds,
        }


_FIELDS: Mapping[str, str] = {
    "delay": "initial_delay_seconds",
    "period": "period_seconds",
    "time-out": "timeout_seconds",
    "successes": "success_threshold",
    "failures": "failure_threshold",
    "grace period": "termination_grace_period_seconds",
}


def _field_text(probe: Probe, field: str) -> str:
    value = getattr(probe, field)
    if value is None:
        return "the pod's"
    return str(value) if field.endswith("threshold") else f"{value}s"


def _table_cell(text: str) -> str:
    # A bar ends a cell, in code as well.
    return markdown_line(text).replace("|", "\\|")


def _range_text(times: TimeRange | None, missing: str) -> str:
    if times is None:
        return missing
    least, most = format_age(times.least), format_age(times.most)
    return least if least == most else f"{least} to {most}"


def _range_value(times: TimeRange | None) -> dict[str, float] | None:
    if times is None:
        return None
    return {"least": _seconds(times.least), "most": _seconds(times.most)}


def _seconds(time: timedelta) -> float:
    return time.total_seconds()


def _timing(probe: Probe) -> str:
    text = format_timing(probe)
    grace = probe.termination_grace_period_seconds
    return text if grace is None else f"{text}  grace {grace}s"


def _renamed_from(old: WorkloadPod | None, new: WorkloadPod | None) -> str | None:
    if old is None or new is None or old.name == new.name:
        return None
    return old.name


def _finding_value(finding: Finding) -> dict[str, str]:
    return {"rule": finding.rule, "path": finding.path, "message": finding.message}


def _containers(count: int) -> str:
    return "1 container" if count == 1 else f"{count} containers"
