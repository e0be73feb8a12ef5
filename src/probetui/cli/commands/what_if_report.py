"""`probetui whatif`: a recorded session under other settings of its probes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.session_outcome import (
    ContainerTotals,
    OutcomeDifference,
    SessionOutcome,
    outcome_differences,
    total_of,
)
from probetui.cli.printing import PRINTERS, Notes
from probetui.cli.reports import emit
from probetui.cli.session.autosave import last_session_to_play
from probetui.cli.session.recorded import (
    RecordedSession,
    is_observed,
    read_session,
)
from probetui.cli.terminal import draws_unicode
from probetui.debugger.commands import EditProbe
from probetui.drive.what_if.measurements import Gap
from probetui.drive.what_if.rerun import Rerun, rerun
from probetui.drive.what_if.settings import (
    ProbeSetting,
    RecordedProbe,
    apply_settings,
    parse_probe_setting,
    recorded_value,
    replaced_values,
)
from probetui.errors import UsageError
from probetui.kubelet_rules import rules_of
from probetui.presentation.what_if import SweepReport, SweptValue, WhatIfReport

if TYPE_CHECKING:
    from probetui.cli.commands.what_if import WhatIfOptions

_DIFFERS = 1
_MOST_VALUES = 100
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
_GAPS = {
    Gap.BETWEEN: "between two that were measured",
    Gap.BEFORE: "before the first that was measured",
    Gap.AFTER: "after the last that was measured",
    Gap.OTHER_INSTANCE: "of an instance that the record does not have",
    Gap.CUT_OFF: "cut off by the shorter recorded time-out, taken as still too slow",
    Gap.NEVER: "of a probe that never ran, taken as success",
}


class _Trial(Struct, frozen=True):
    """The recorded session under other settings."""

    changed: frozenset[str]
    rerun: Rerun
    outcome: SessionOutcome
    differences: Sequence[OutcomeDifference]
    replaced: Sequence[str]
    """A line for each value that an API server replaces."""


def print_what_if(path: Path | None, options: WhatIfOptions) -> int:
    """Print what a session would have been and return the exit status.

    Raises:
        UsageError: a setting cannot be changed.
        ManifestError: an API server would refuse a value.
        RecordError: the record cannot be replayed.
    """
    notes = Notes(quiet=options.quiet)
    path = path or last_session_to_play()
    if is_observed(path):
        # Late: it is of a cluster.
        from probetui.cli.commands.observed_records import print_observed_what_if

        return print_observed_what_if(path, options)
    session = read_session(path, notes, options.record_limit)
    pods = session.replay.pod_versions()
    settings = [parse_probe_setting(text, pods) for text in options.changes]
    for step in session.replay.steps:
        if isinstance(step.item, EditProbe):
            key = step.item.key
            notes.warning(
                f"{session.name(key.pod_uid, key.container_name)}: its "
                f"{key.probe_type.lower()} probe was edited in this session, and is "
                "edited again"
            )
    if options.sweep:
        return _sweep(session, settings, options.sweep, options)
    trial = _try(session, settings, options.kubelet)
    gaps = Counter(trial.rerun.gaps.values())
    report = WhatIfReport(
        record=str(session.path),
        settings=[setting.option for setting in settings],
        kubelet=options.kubelet or session.replay.config.version,
        started_at=session.replay.started_at,
        simulated_from=trial.rerun.simulated_from,
        pods=session.pods,
        recorded=session.outcome(),
        rerun=trial.outcome,
        differences=trial.differences,
        changed=trial.changed,
        gaps={gap.value: count for gap, count in gaps.items()},
    )
    is_for_programs = options.output in PRINTERS
    if not is_for_programs:
        for line in trial.replaced:
            notes.note(line)
    emit(report, options.output)
    if not is_for_programs:
        _note_provenance(report, gaps, notes)
    return _DIFFERS if trial.differences else 0


def _note_provenance(report: WhatIfReport, gaps: Counter[Gap], notes: Notes) -> None:
    """Note how much of a rerun is simulated, and not recorded."""
    if report.simulated_from is None:
        notes.note("the containers are as recorded to the end")
        return
    after = (report.simulated_from - report.started_at).total_seconds()
    notes.note(f"as recorded until +{after:.1f}s, simulated from then on")
    probed = sum(totals.probed for totals in report.rerun.totals.values())
    if gaps:
        parts = ", ".join(f"{count} {_GAPS[gap]}" for gap, count in gaps.items())
        notes.note(f"{gaps.total()} of {probed} probes were never measured: {parts}")


def _try(
    session: RecordedSession, settings: Sequence[ProbeSetting], kubelet: str | None
) -> _Trial:
    config = session.replay.config
    if kubelet is not None:
        config = replace(config, version=kubelet)
    rules = rules_of(config.version, config.feature_gates)
    recorded = session.replay.pod_versions()
    pods = apply_settings(recorded, settings, rules)
    trial = rerun(session.replay, session.measurements, pods, config)
    changed = pods.uids if config == session.replay.config else frozenset(session.pods)
    outcome = session.outcome(trial)
    return _Trial(
        changed,
        trial,
        outcome,
        outcome_differences(
            [
                happening
                for happening in session.outcome().happenings
                if happening.pod_uid in changed
            ],
            [
                happening
                for happening in outcome.happenings
                if happening.pod_uid in changed
            ],
        ),
        tuple(replaced_values(settings, recorded, pods)),
    )


def _sweep(
    session: RecordedSession,
    settings: Sequence[ProbeSetting],
    sweep: str,
    options: WhatIfOptions,
) -> int:
    versions = session.replay.pod_versions()
    swept = parse_probe_setting(sweep, versions, "--sweep")
    known, probe = recorded_value(swept, versions), swept.probe
    values, differs = [], False
    for value in parse_values(swept.value, sweep):
        trial = _try(session, [*settings, swept.with_value(value)], options.kubelet)
        totals = _totals_of(trial.outcome, session, probe)
        values.append(SweptValue(value, value == known, totals))
        differs = differs or bool(trial.differences)
    report = SweepReport(
        record=str(session.path),
        settings=[setting.option for setting in settings],
        kubelet=options.kubelet or session.replay.config.version,
        namespace=probe.namespace,
        pod=probe.pod,
        container=probe.container,
        probe_type=probe.probe_type,
        field=swept.field,
        values=values,
        is_ascii=options.ascii or not draws_unicode(sys.stdout),
    )
    emit(report, options.output)
    return _DIFFERS if differs else 0


def _totals_of(
    outcome: SessionOutcome, session: RecordedSession, probe: RecordedProbe
) -> ContainerTotals:
    """Return the totals of a probe's container, over all versions of its pod."""
    own = [
        totals
        for (uid, name), totals in outcome.totals.items()
        if name == probe.container
        and uid in session.pods
        and probe.find(session.pods[uid]) is not None
    ]
    return total_of(own)


def parse_values(text: str, option: str) -> tuple[str, ...]:
    """Return the values of a sweep: `1..10`, `5,10,20`, `1..3,10`.

    Raises:
        UsageError: it has none, or too many.
    """
    values: list[str] = []
    for part in text.split(","):
        if span := _RANGE.fullmatch(part):
            first, last = int(span[1]), int(span[2])
            if last - first >= _MOST_VALUES:
                raise UsageError(f"--sweep {option}: more than {_MOST_VALUES} values")
            values += map(str, range(first, last + 1))
        elif part.strip().isdecimal():
            values.append(str(int(part)))
        else:
            raise UsageError(
                f'--sweep {option}: "{part}" is no value; write 1..10 or 5,10,20'
            )
    if not values:
        raise UsageError(f"--sweep {option}: the range is empty")
    if len(values) > _MOST_VALUES:
        raise UsageError(f"--sweep {option}: more than {_MOST_VALUES} values")
    return tuple(dict.fromkeys(values))
