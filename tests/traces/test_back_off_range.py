"""Each restart after a back-off comes within the range that its version's rules give.

All recordings of kubelets are held against it; `PROBETUI_TRACES_DIR` names others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from probetui.kubelet.kuberuntime.restart import (
    InstantRange,
    pull_range,
    restart_range,
)
from tests.builders import at
from tests.traces.instances import Instance, split_instances
from tests.traces.restarts import decisions, is_pull
from tests.traces.trace import DATA, Trace, all_traces, only_own

ALL = all_traces(DATA)

BUSY = timedelta(seconds=1)
"""How long after its sync a busy machine may record the first event of a start."""


def _restarts(trace: Trace) -> Iterator[tuple[datetime, list[InstantRange]]]:
    """Yield when containers were started after a back-off, and what is foretold."""
    for name, period in trace.periods.items():
        events = [one for one in trace.observation.events if one.container == name]
        instances = split_instances(events, period)
        judge = _pulls if is_pull(instances) else _starts
        yield from judge(trace, instances)


def _starts(
    trace: Trace, instances: list[Instance]
) -> Iterator[tuple[datetime, list[InstantRange]]]:
    """Yield starts; an end lies between the last sign of life and its notice.

    No event names the window. Where a probe killed, which end the kubelet knew when it
    decided is chance, and so is whether the window has been doubled once more.
    """
    for instance, decision in zip(instances, decisions(instances), strict=False):
        if not instance.waits or instance.next_at is None:
            continue
        alive = instance.killed_at or instance.started_at or instance.begins_at
        is_killed = any(before.is_killed_by_probe for before in instances)
        dues = []
        for seconds in [decision.window, decision.window / 2][: 1 + is_killed]:
            window = timedelta(seconds=seconds)
            first, last = (
                restart_range(
                    at(end) + window,
                    window,
                    trace.config.rules,
                    is_alone=len(trace.periods) == 1,
                )
                for end in (alive, decision.at)
            )
            dues.append(InstantRange(first.earliest, last.latest))
        yield at(instance.next_at), dues


def _pulls(
    _trace: Trace, instances: list[Instance]
) -> Iterator[tuple[datetime, list[InstantRange]]]:
    window = 10.0
    for instance in instances:
        if instance.steps and instance.next_at is not None:
            due = pull_range(at(instance.steps[-1].times[-1] + window))
            yield at(instance.next_at), [due]
            window = min(2 * window, 300)


@pytest.mark.parametrize("name", ALL)
def test_a_recorded_restart_is_in_the_range_that_is_foretold(name: str) -> None:
    outside = [
        (str(began), dues)
        for began, dues in _restarts(ALL[name])
        if not any(due.earliest <= began <= due.latest + BUSY for due in dues)
    ]

    assert outside == []


@only_own
@pytest.mark.parametrize("version", ["1.20", "1.32", "1.36"])
def test_recordings_have_starts_all_over_the_range(version: str) -> None:
    late = [
        began - dues[0].earliest
        for trace in ALL.values()
        if trace.version == version
        for began, dues in _restarts(trace)
    ]

    assert len(late) >= 20
    # An instant would not do: some come soon, and some much later.
    assert min(late) < timedelta(seconds=4)
    assert max(late) > timedelta(seconds=10)
