"""Reruns: a recorded session under other settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.analysis.session_outcome import Happening, outcome_differences
from probetui.drive.what_if.measurements import Gap, Measurements
from probetui.drive.what_if.rerun import Rerun, rerun
from probetui.drive.what_if.session_replay import SessionReplay
from probetui.drive.what_if.settings import (
    SETTABLE,
    ChangedPods,
    ProbeSetting,
    apply_settings,
    probes_of,
    recorded_value,
)
from probetui.kubelet.journal import (
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StateEntry,
)
from probetui.record.codec import encode_entry
from probetui.record.format import RecordContext
from probetui.record.reader import RecordingFile
from tests.drive.what_if.recorded import POD, outcome_of, replay_of, simulate, what_if
from tests.golden.test_records import LATER_PART, PACKED, id_of, name_of, record

__all__ = ["record"]

OBSERVED = "observed"
PLAYABLE = [path for path in PACKED if name_of(path) not in {LATER_PART, OBSERVED}]

ONE_OUTAGE = """
containers:
  web/app:
    liveness:
      - {result: success, until: 31s}
      - {result: failure, until: 51s}
      - success
"""
SLOW_ANSWERS = """
containers:
  web/app:
    liveness:
      - {result: success, takes: 20ms, until: 21s}
      - {result: success, takes: 700ms, until: 51s}
      - {result: success, takes: 20ms}
"""
TIME_OUTS = """
containers:
  web/app:
    liveness:
      - {result: success, until: 21s}
      - timeout
"""


def lines(replay: SessionReplay, entries: tuple[JournalEntry, ...]) -> list[bytes]:
    context = RecordContext(replay.started_at, {})
    return [json.dumps(encode_entry(one, context)).encode() for one in entries]


@pytest.mark.parametrize("packed", PLAYABLE, ids=id_of)
def test_the_recorded_settings_give_the_recorded_decisions(record: Path) -> None:
    recording = RecordingFile(record)
    replay = replay_of(record)
    pods = replay.pod_versions()
    probes = list(probes_of(pods))
    same = [
        ProbeSetting(f"{probe.path}.{field}", probe, field, value)
        for probe in probes
        for field in SETTABLE
        for one in [ProbeSetting("", probe, field, "")]
        if (value := recorded_value(one, pods))
    ]

    changed = apply_settings(pods, same, replay.config.rules)
    found = rerun(replay, Measurements(replay), changed, replay.config)

    assert bool(same) is bool(probes)
    assert changed == ChangedPods()
    assert found.simulated_from is None
    assert found.gaps == {}
    assert lines(replay, found.journal) == lines(replay, replay.journal)
    assert len(found.journal) >= recording.entries > 0


@pytest.mark.sweep
@pytest.mark.parametrize("packed", PLAYABLE, ids=id_of)
def test_every_record_can_be_rerun_with_other_settings(record: Path) -> None:
    replay = replay_of(record)
    pods = replay.pod_versions()

    for probe in probes_of(pods):
        for field, value in (("failureThreshold", "9"), ("periodSeconds", "4")):
            setting = ProbeSetting(f"{probe.path}.{field}", probe, field, value)
            changed = apply_settings(pods, [setting], replay.config.rules)
            found = rerun(replay, Measurements(replay), changed, replay.config)

            at = [entry.at for entry in found.journal]
            assert at == sorted(at)
            assert at[-1] <= replay.ended_at


def kills(happenings: tuple[Happening, ...]) -> list[str]:
    return [one.text for one in happenings if one.kind == "kill"]


@pytest.mark.parametrize(
    ("setting", "unmeasured"),
    [
        # The last instance begins 10 s earlier and runs longer than it was measured.
        pytest.param("app.livenessProbe.failureThreshold=2", 7, id="kills-earlier"),
        pytest.param("app.livenessProbe.timeoutSeconds=3", 0, id="waits-longer"),
        pytest.param("app.readinessProbe.failureThreshold=1", 0, id="ready-threshold"),
        pytest.param(
            "app.livenessProbe.terminationGracePeriodSeconds=1", 0, id="grace"
        ),
    ],
)
def test_a_rerun_equals_a_simulation_with_these_settings(
    setting: str, unmeasured: int, tmp_path: Path
) -> None:
    recorded = replay_of(simulate(tmp_path, ONE_OUTAGE))
    truth = replay_of(simulate(tmp_path, ONE_OUTAGE, setting))

    found = what_if(recorded, setting)

    is_, was = outcome_of(recorded, found).happenings, outcome_of(truth).happenings
    assert kills(was)
    assert outcome_differences(was, is_) == []
    assert len(found.gaps) == unmeasured


def test_a_longer_period_detects_the_failure_later(tmp_path: Path) -> None:
    setting = "app.livenessProbe.periodSeconds=10"
    for_ever = ONE_OUTAGE.partition("{result: failure")[0] + "failure\n"
    recorded = replay_of(simulate(tmp_path, for_ever))
    truth = replay_of(simulate(tmp_path, for_ever, setting))

    found = what_if(recorded, setting)

    is_, was = outcome_of(recorded, found).happenings, outcome_of(truth).happenings
    assert outcome_differences(was, is_) == []
    # The recorded instance was killed at 45 s: of 40, 50 and 60 s, 40 s was measured.
    assert [one.unmeasured for one in is_ if one.kind == "kill"][:1] == [2]


def test_an_instant_without_a_measured_probe_uses_the_nearest_outcome_and_is_counted(
    tmp_path: Path,
) -> None:
    recorded = replay_of(simulate(tmp_path, ONE_OUTAGE))

    found = what_if(recorded, "app.livenessProbe.failureThreshold=6")

    outcome = outcome_of(recorded, found)
    kill = next(one for one in outcome.happenings if one.kind == "kill")
    # Three failures were recorded; then the instance was killed, during the outage.
    assert kill.text == "killed: liveness 6/6"
    assert kill.unmeasured == 3
    assert set(found.gaps.values()) >= {Gap.AFTER}
    totals = next(iter(outcome.totals.values()))
    assert totals.unmeasured == len(found.gaps) > 0


def test_a_rerun_reports_where_a_probe_lies_among_the_measured_ones(
    tmp_path: Path,
) -> None:
    healthy = "containers: {web/app: {liveness: [success]}}"
    recorded = replay_of(simulate(tmp_path, healthy))

    found = what_if(recorded, "app.livenessProbe.periodSeconds=2")

    assert set(found.gaps.values()) == {Gap.BEFORE, Gap.BETWEEN, Gap.AFTER}


def test_a_shorter_time_out_fails_probes_that_took_longer(tmp_path: Path) -> None:
    recorded = replay_of(
        simulate(tmp_path, SLOW_ANSWERS, "app.livenessProbe.timeoutSeconds=2")
    )
    slower = SLOW_ANSWERS.replace("700ms", "1500ms")
    too_slow = replay_of(
        simulate(tmp_path, slower, "app.livenessProbe.timeoutSeconds=2")
    )

    assert what_if(recorded, "app.livenessProbe.timeoutSeconds=1").gaps == {}
    fits = what_if(recorded, "app.livenessProbe.timeoutSeconds=1")
    fails = what_if(too_slow, "app.livenessProbe.timeoutSeconds=1")

    assert kills(outcome_of(recorded, fits).happenings) == []
    assert "killed: liveness 3/3" in kills(outcome_of(too_slow, fails).happenings)


def test_a_longer_time_out_does_not_guess_the_outcome_of_a_timed_out_probe(
    tmp_path: Path,
) -> None:
    recorded = replay_of(simulate(tmp_path, TIME_OUTS))

    found = what_if(recorded, "app.livenessProbe.timeoutSeconds=4")

    assert Gap.CUT_OFF in found.gaps.values()
    assert kills(outcome_of(recorded, found).happenings)


def test_up_to_the_first_other_decision_it_is_the_recorded_session(
    tmp_path: Path,
) -> None:
    recorded = replay_of(simulate(tmp_path, ONE_OUTAGE))

    found = what_if(recorded, "app.livenessProbe.failureThreshold=2")

    simulated_from = found.simulated_from
    assert simulated_from is not None

    def before(entries: tuple[JournalEntry, ...]) -> list[bytes]:
        steps = (one for one in entries if isinstance(one, ContainerEntry | StateEntry))
        return lines(recorded, tuple(one for one in steps if one.at < simulated_from))

    assert before(found.journal) == before(recorded.journal) != []


def test_another_kubelet_version_uses_its_own_rules(
    tmp_path: Path,
) -> None:
    script = "containers: {web/app: {liveness: [timeout]}}"
    record = simulate(tmp_path, script)
    replay = replay_of(record)

    def under(version: str) -> Rerun:
        config = replace(replay.config, version=version)
        return rerun(replay, Measurements(replay), ChangedPods(), config)

    # Before 1.20 the time-out of a command was no failure.
    assert kills(outcome_of(replay, under("1.36")).happenings)
    assert kills(outcome_of(replay, under("1.19")).happenings) == []


def test_a_crash_loop_continues(tmp_path: Path) -> None:
    script = "containers: {web/app: {lasts: 4s, exitCode: 1}}"
    recorded = replay_of(simulate(tmp_path, script))

    found = what_if(recorded, "app.livenessProbe.periodSeconds=2")

    before, after = outcome_of(recorded), outcome_of(recorded, found)
    key = next(iter(before.totals))
    assert after.totals[key].restarts == before.totals[key].restarts > 1


def test_a_simulated_instance_is_never_taken_for_a_recorded_one(tmp_path: Path) -> None:
    loop = "    - {name: loop, image: loop}\n"
    script = "containers: {web/app: {liveness: [failure]}, web/loop: {lasts: 2s}}"
    recorded = replay_of(simulate(tmp_path, script, pod=f"{POD}{loop}", length="4m"))

    found = what_if(recorded, "app.livenessProbe.terminationGracePeriodSeconds=1")

    def started(entries: tuple[JournalEntry, ...]) -> list[tuple[str, int, str]]:
        return [
            (one.container_name, one.restart_count, one.container_id)
            for one in entries
            if isinstance(one, ContainerEntry) and one.what is LifecycleStep.STARTED
        ]

    of_record, here = started(recorded.journal), started(found.journal)
    common = [one for one, other in zip(here, of_record, strict=False) if one == other]
    own = here[len(common) :]
    assert own
    assert not {one[2] for one in own} & {one[2] for one in of_record}
    for name in ("app", "loop"):
        restarts = [number for is_of, number, _ in here if is_of == name]
        assert restarts == list(range(len(restarts)))
