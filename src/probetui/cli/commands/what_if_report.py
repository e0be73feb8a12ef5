"""`probetui whatif`: a recorded session under other settings of its probes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.session_outcome import (
    ContainerTotals,
    Happening,
    OutcomeDifference,
    SessionOutcome,
    outcome_differences,
    session_outcome,
    total_of,
)
from probetui.cli.printing import PRINTERS, Notes, print_line, print_table
from probetui.cli.session.autosave import last_session_to_play
from probetui.cli.terminal import draws_unicode
from probetui.debugger.commands import EditProbe
from probetui.drive.playback.replay import ReplaySource
from probetui.drive.what_if.measurements import Gap, Measurements
from probetui.drive.what_if.rerun import Rerun, rerun
from probetui.drive.what_if.session_replay import SessionReplay, replay_session
from probetui.drive.what_if.settings import (
    ProbeSetting,
    RecordedProbe,
    apply_settings,
    parse_probe_setting,
    recorded_value,
    replaced_values,
)
from probetui.durations import format_countdown
from probetui.errors import UsageError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.kubelet_rules import rules_of
from probetui.record.reader import RecordingFile

_DIFFERS = 1
_MOST_VALUES = 100
_BAR_CELLS = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NOTHING = "-"
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
_GAPS = {
    Gap.BETWEEN: "between two that were measured",
    Gap.BEFORE: "before the first that was measured",
    Gap.AFTER: "after the last that was measured",
    Gap.OTHER_INSTANCE: "of an instance that the record does not have",
    Gap.CUT_OFF: "cut off by the shorter recorded time-out, taken as still too slow",
    Gap.NEVER: "of a probe that never ran, taken as success",
}


class RecordedSession(Struct, frozen=True):
    """A record, read: what happened, what it measured, its pods by UID."""

    path: Path
    replay: SessionReplay
    measurements: Measurements
    pods: Mapping[str, Pod]

    def outcome(self, found: Rerun | None = None) -> SessionOutcome:
        """Return what the recorded session came to, or a rerun of it."""
        return session_outcome(
            self.replay.journal if found is None else found.journal,
            self.replay.started_at,
            self.replay.ended_at,
            {} if found is None else found.gaps,
        )

    def name(self, pod_uid: str, container: str) -> str:
        """Return a container's name for people."""
        pod = self.pods.get(pod_uid)
        return f"{pod_uid if pod is None else pod.name}/{container}"


class _Trial(Struct, frozen=True):
    """The recorded session under other settings."""

    changed: frozenset[str]
    rerun: Rerun
    outcome: SessionOutcome
    differences: Sequence[OutcomeDifference]
    replaced: Sequence[str]
    """A line for each value that an API server replaces."""


def print_what_if(path: Path | None, params: Mapping[str, Any]) -> int:
    """Print what a session would have been and return the exit status.

    Raises:
        UsageError: a setting cannot be changed.
        ManifestError: an API server would refuse a value.
        RecordError: the record cannot be replayed.
    """
    notes = Notes(quiet=params["quiet"])
    session = read_session(
        path or last_session_to_play(), notes, params["record_limit"]
    )
    pods = session.replay.pod_versions()
    settings = [parse_probe_setting(text, pods) for text in params["changes"]]
    for step in session.replay.steps:
        if isinstance(step.item, EditProbe):
            key = step.item.key
            notes.warning(
                f"{session.name(key.pod_uid, key.container_name)}: its "
                f"{key.probe_type.lower()} probe was edited in this session, and is "
                "edited again"
            )
    if params["sweep"]:
        return _sweep(session, settings, params)
    trial = _try(session, settings, params["kubelet"])
    if print_value := PRINTERS.get(params["output"]):
        print_value(_json(session, trial, settings, params["kubelet"]))
    else:
        for line in trial.replaced:
            notes.note(line)
        _print(session, trial, notes)
    return _DIFFERS if trial.differences else 0


def read_session(path: Path, notes: Notes, most_bytes: int) -> RecordedSession:
    """Read a record, and warn of what is damaged or not decided as it was recorded.

    Raises:
        RecordError: it cannot be replayed.
    """
    recording = RecordingFile(path, most_bytes)
    checked = ReplaySource(recording)
    while checked.look_ahead():
        pass
    if checked.note:
        notes.warning(f"{path}: {checked.note}")
    replay = replay_session(recording)
    return RecordedSession(path, replay, Measurements(replay), replay.pods())


def _try(
    session: RecordedSession, settings: Sequence[ProbeSetting], kubelet: str | None
) -> _Trial:
    config = session.replay.config
    if kubelet is not None:
        config = replace(config, version=kubelet)
    rules = rules_of(config.version, config.feature_gates)
    recorded = session.replay.pod_versions()
    pods = apply_settings(recorded, settings, rules)
    found = rerun(session.replay, session.measurements, pods, config)
    changed = pods.uids if config == session.replay.config else frozenset(session.pods)
    outcome = session.outcome(found)
    return _Trial(
        changed,
        found,
        outcome,
        outcome_differences(
            [one for one in session.outcome().happenings if one.pod_uid in changed],
            [one for one in outcome.happenings if one.pod_uid in changed],
        ),
        tuple(replaced_values(settings, recorded, pods)),
    )


# -- one rerun


def _print(session: RecordedSession, trial: _Trial, notes: Notes) -> None:
    print_table(
        [
            {
                "AT": _at(session, one.happening),
                "CONTAINER": session.name(
                    one.happening.pod_uid, one.happening.container_name
                ),
                "RECORDED": _text(one.before),
                "WHAT IF": _text(one.after),
            }
            for one in trial.differences
        ],
        headers=True,
    )
    if trial.differences:
        print_line()
    recorded = session.outcome()
    print_table(
        [
            {
                "CONTAINER": session.name(*key),
                "SESSION": name,
                **_cells(outcome.totals.get(key, ContainerTotals())),
            }
            for key in recorded.totals
            if key[0] in trial.changed or not trial.changed
            for name, outcome in (("recorded", recorded), ("what if", trial.outcome))
        ],
        headers=True,
    )
    simulated_from = trial.rerun.simulated_from
    if simulated_from is None:
        notes.note("the containers are as recorded to the end")
        return
    after = (simulated_from - session.replay.started_at).total_seconds()
    notes.note(f"as recorded until +{after:.1f}s, simulated from then on")
    counts = Counter(trial.rerun.gaps.values())
    probed = sum(totals.probed for totals in trial.outcome.totals.values())
    if counts:
        parts = ", ".join(f"{count} {_GAPS[gap]}" for gap, count in counts.items())
        notes.note(f"{counts.total()} of {probed} probes were never measured: {parts}")


def _at(session: RecordedSession, happening: Happening) -> str:
    return f"+{(happening.at - session.replay.started_at).total_seconds():.1f}s"


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


def _json(
    session: RecordedSession,
    trial: _Trial,
    settings: Sequence[ProbeSetting],
    kubelet: str | None,
) -> dict[str, Any]:
    simulated_from, recorded = trial.rerun.simulated_from, session.outcome()
    started_at = session.replay.started_at
    return {
        "record": str(session.path),
        "settings": [setting.option for setting in settings],
        "kubelet": kubelet or session.replay.config.version,
        "simulatedFrom": None
        if simulated_from is None
        else (simulated_from - started_at).total_seconds(),
        "differences": [
            {
                "t": (one.happening.at - started_at).total_seconds(),
                **_names(session, one.happening.pod_uid, one.happening.container_name),
                "what": one.happening.kind.value,
                "recorded": None if one.before is None else one.before.text,
                "whatIf": None if one.after is None else one.after.text,
                "unmeasured": 0 if one.after is None else one.after.unmeasured,
            }
            for one in trial.differences
        ],
        "containers": [
            {
                **_names(session, *key),
                "recorded": _totals_json(recorded.totals[key]),
                "whatIf": _totals_json(
                    trial.outcome.totals.get(key, ContainerTotals())
                ),
            }
            for key in recorded.totals
        ],
        "unmeasured": dict(Counter(gap.value for gap in trial.rerun.gaps.values())),
    }


def _names(session: RecordedSession, pod_uid: str, container: str) -> dict[str, str]:
    pod = session.pods.get(pod_uid)
    return {
        "namespace": "" if pod is None else pod.namespace,
        "pod": pod_uid if pod is None else pod.name,
        "container": container,
    }


def _totals_json(totals: ContainerTotals) -> dict[str, Any]:
    first = totals.first_ready
    return {
        "kills": totals.kills,
        "restarts": totals.restarts,
        "notReadySeconds": totals.not_ready.total_seconds(),
        "firstReadySeconds": None if first is None else first.total_seconds(),
        "probes": totals.probed,
        "unmeasured": totals.unmeasured,
    }


# -- many reruns


class _Row(Struct, frozen=True):
    """One value of a sweep."""

    value: str
    is_recorded: bool
    totals: ContainerTotals
    differs: bool


def _sweep(
    session: RecordedSession,
    settings: Sequence[ProbeSetting],
    params: Mapping[str, Any],
) -> int:
    versions = session.replay.pod_versions()
    swept = parse_probe_setting(params["sweep"], versions, "--sweep")
    known, probe = recorded_value(swept, versions), swept.probe
    rows = []
    for value in parse_values(swept.value, params["sweep"]):
        trial = _try(session, [*settings, swept.with_value(value)], params["kubelet"])
        totals = _totals_of(trial.outcome, session, probe)
        rows.append(_Row(value, value == known, totals, bool(trial.differences)))
    kind = probe.probe_type
    if print_value := PRINTERS.get(params["output"]):
        print_value(
            {
                "record": str(session.path),
                "settings": [setting.option for setting in settings],
                "kubelet": params["kubelet"] or session.replay.config.version,
                "namespace": probe.namespace,
                "pod": probe.pod,
                "container": probe.container,
                "probe": kind.lower(),
                "field": swept.field,
                "values": [
                    {
                        "value": row.value,
                        "isRecorded": row.is_recorded,
                        **_totals_json(row.totals),
                    }
                    for row in rows
                ],
            }
        )
    else:
        is_ascii = params["ascii"] or not draws_unicode(sys.stdout)
        owner = f"{probe.pod}/{probe.container}"
        print_line(f"{owner}: {swept.field} of its {kind.lower()} probe")
        print_line()
        print_table(list(_sweep_rows(rows, kind, is_ascii=is_ascii)), headers=True)
    return _DIFFERS if any(row.differs for row in rows) else 0


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


def _sweep_rows(
    rows: Sequence[_Row], kind: ProbeType, *, is_ascii: bool
) -> Iterator[dict[str, str]]:
    """Yield the rows of a sweep; the bar is what the probe is there to decide."""
    is_readiness = kind is ProbeType.READINESS
    amounts = [
        row.totals.not_ready / timedelta(seconds=1)
        if is_readiness
        else float(row.totals.kills)
        for row in rows
    ]
    heading = "NOT READY" if is_readiness else "KILLS"
    for row, amount in zip(rows, amounts, strict=True):
        cells = _cells(row.totals)
        yield {
            "VALUE": f"{row.value} (recorded)" if row.is_recorded else row.value,
            heading: cells.pop(heading),
            "": bar(amount, max(amounts), is_ascii=is_ascii),
            **cells,
        }


def bar(amount: float, most: float, *, is_ascii: bool) -> str:
    """Return a bar whose length is an amount's part of the most there is."""
    if most <= 0:
        return ""
    if is_ascii:
        return "#" * round(_BAR_CELLS * amount / most)
    whole, rest = divmod(round(_BAR_CELLS * 8 * amount / most), 8)
    return ("█" * whole + _EIGHTHS[rest]).rstrip()


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
