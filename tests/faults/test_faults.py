"""No fault of a runtime, a probe or a hook, nor our own end, breaks a rule."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from probetui.debugger.overrides import ProbeOverrides
from probetui.drive.executor import Executor, FactReporter
from probetui.drive.what_if.session_replay import replay_session
from probetui.kubelet.effects import Effect
from probetui.kubelet.prober.worker import Decision, ProbeNow, Worker
from probetui.record.reader import RecordingFile, read_recording
from tests.faults.coverage import never_given
from tests.faults.fates import Fate
from tests.faults.judging import broken_in, judged, judged_at_each_place
from tests.faults.node import run_node_world
from tests.faults.session import World, run_world
from tests.faults.shrink import _least, shrink, write_record
from tests.faults.watch import run_watch_world

FIRST, SEEDS = 50_000, 700
"""As many worlds take less than two minutes on two cores."""


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(0, id="0"),
        pytest.param(19, id="an instance that had ended before us"),
        pytest.param(310, id="two containers of which each waits for the other"),
        pytest.param(106, id="ready by its probes, and not by its status"),
        pytest.param(623, id="a wait that the end before told of"),
        pytest.param(2397, id="two restarts at the longest back-off"),
        pytest.param(367, id="two ends whose hooks did the same"),
        pytest.param(5018, id="a postStart and a preStop hook that do the same"),
        pytest.param(10, id="a disk that does not cut off what it half wrote"),
        pytest.param(63, id="a disk that tells only at the end"),
        pytest.param(11358, id="a wall clock that is set back before a start"),
        pytest.param(20466, id="a label that somebody copied before the answer"),
        pytest.param(300, id="a lease of which the daemon did not tell"),
        pytest.param(100, id="a compressed record whose end was not written"),
        pytest.param(9, id="a flood whose end was told twice"),
        pytest.param(30113, id="a log whose file was removed once it was read"),
        pytest.param(11_000_416, id="a worker on hold whose pod has no status"),
        pytest.param(20005, id="a hook that never answers, and one that raises"),
        pytest.param(20011, id="a probe that never answers, and two that raise"),
    ],
)
def test_a_world_of_faults_breaks_no_rule(seed: int) -> None:
    assert judged(seed).broken == []


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(0, id="pods that were deleted while no node was there"),
        pytest.param(100, id="a pod that had ended, and was not removed at once"),
        pytest.param(20661, id="one that took the name of a pod removed by force"),
        pytest.param(20301, id="a deletion whose grace period is still to be over"),
    ],
)
def test_the_world_of_a_node_breaks_no_rule(seed: int) -> None:
    assert broken_in(run_node_world(seed)) == []


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(7, id="a kill that is told of after the next start"),
        pytest.param(14, id="a clock that is an hour behind, from the first list on"),
        pytest.param(8, id="a deletion by a clock that is ahead"),
        pytest.param(16, id="an instance that is the newest one in a back-off"),
        pytest.param(18, id="a kill of an instance that no status shows yet"),
        pytest.param(21, id="a kill that is counted while no status can come"),
        pytest.param(34, id="an end that is told of late, with no event at all"),
        pytest.param(41, id="a threshold that is reached as the pod ends"),
        pytest.param(49, id="a worker that is counted no more"),
        pytest.param(64, id="a kill before the counters were read again"),
        pytest.param(65, id="an end by itself, once its probe had failed"),
        pytest.param(80, id="a failure that was counted before its pod was known"),
        pytest.param(100, id="failures that are apart by less than a period"),
        pytest.param(103, id="a kill whose counter comes after the next start"),
        pytest.param(120, id="kills of which a count alone tells"),
        pytest.param(124, id="two probes that kill, one after the other"),
        pytest.param(147, id="events that stopped coming, and nobody said so"),
        pytest.param(219, id="a kill by events, and counters that begin after it"),
        pytest.param(5612, id="a start in the second of the one before"),
        pytest.param(5101, id="an event that comes before the server is back"),
        pytest.param(5358, id="an end a second ahead of our clock"),
        pytest.param(6093, id="a kill whose events come later than its status"),
        pytest.param(6113, id="a stop of an instance that nothing has shown yet"),
        pytest.param(41078, id="a counted kill of an instance that nothing has shown"),
        pytest.param(41097, id="a stop of one by a clock that is not known"),
        pytest.param(52100, id="a kill by a clock of which more becomes known"),
        pytest.param(61039, id="a pod that was deleted in the second of a start"),
        pytest.param(61078, id="a stop by a clock that is ahead by more than thought"),
        pytest.param(6130, id="a kill of a kubelet that ended before it told"),
    ],
)
def test_the_world_of_a_watched_cluster_breaks_no_rule(
    seed: int, tmp_path: Path
) -> None:
    assert broken_in(run_watch_world(seed, tmp_path)) == []


def test_a_world_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = run_world(7, tmp_path / "one"), run_world(7, tmp_path / "other")

    assert one.counts == other.counts
    assert [life.journal[:] for life in one.lives] == [
        life.journal[:] for life in other.lives
    ]
    assert run_node_world(7).counts == run_node_world(7).counts
    (tmp_path / "seen").mkdir()
    watched = [run_watch_world(3, tmp_path / name) for name in ("one", "seen")]
    assert watched[0].counts == watched[1].counts


def test_of_a_schedule_is_left_what_a_break_needs() -> None:
    least = _least(range(200), lambda some: {3, 77, 150} <= set(some))

    assert least == [3, 77, 150]


@pytest.mark.sweep
def test_a_world_of_few_faults_has_a_record_that_replays(tmp_path: Path) -> None:
    def broken_by(world: World) -> list[str]:
        return ["we were killed"] * (len(world.lives) - 1)

    shrunk = shrink(7, broken_by)
    life = shrunk.world.lives[-1]
    path = tmp_path / "faults.jsonl"
    write_record(life, shrunk.world, path)

    assert shrunk.faults[-1].endswith("we are killed")
    assert shrunk.broken == ["we were killed"]
    assert list(read_recording(path).entries) == list(life.journal)
    assert list(replay_session(RecordingFile(path)).journal) == list(life.journal)


def test_an_effect_without_an_answer_breaks_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def execute(self: Executor, effect: Effect, report: FactReporter) -> None:
        with suppress(LookupError):
            await self._execute(effect, report)

    monkeypatch.setattr(Executor, "execute", execute)

    assert any("is answered by []" in broken for broken in judged(20_011).broken)


def test_a_pause_that_holds_nothing_breaks_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ProbeOverrides, "pause", lambda _overrides: None)

    assert any("during a pause" in broken for broken in judged(20_011).broken)


def test_a_probe_of_an_instance_that_has_ended_breaks_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pass_gates(
        worker: Worker, *_args: object, **_fields: object
    ) -> tuple[Decision, None]:
        return ProbeNow(worker.container_id), None

    monkeypatch.setattr(Worker, "_pass_gates", pass_gates)

    assert any("after its end" in broken for broken in judged(20_011).broken)


def test_a_report_says_which_causes_were_given() -> None:
    counts = judged(7, reports=True).counts

    assert counts["container: created -> started"]
    assert counts["cause: exited"]
    assert "exited" not in never_given(counts) != []


def _around(*calls: str) -> set[str]:
    return {f"we end {when} {call}" for call in calls for when in ("before", "after")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "of_node", "places"),
    [
        pytest.param(
            20,
            False,
            _around(
                "run_pod_sandbox",
                "pull_image",
                "create_container",
                "start_container",
                "stop_container",
                "remove_container",
                "stop_pod_sandbox",
                "remove_pod_sandbox",
            )
            | {"we end during pull_image", "we end during stop_container"}
            | {"we end amid a write", "we end after a write"},
            id="a session",
        ),
        pytest.param(
            0,
            True,
            _around("POST nodes", "PUT leases", "PATCH pods/status", "create_container")
            | {"we end during PATCH pods/status"},
            id="a node",
        ),
    ],
)
def test_wherever_we_are_killed_no_rule_is_broken(
    *, seed: int, of_node: bool, places: set[str]
) -> None:
    outcome = judged_at_each_place(seed, of_node=of_node)

    assert outcome.broken == [], "--seed N --ends-at PLACE tells the story of one"
    assert places < {*outcome.counts}


@pytest.mark.slow
def test_no_rule_is_broken_in_many_worlds_and_every_call_meets_every_fate() -> None:
    counts: Counter[str] = Counter()
    broken = {}
    with ProcessPoolExecutor() as pool:
        for outcome in pool.map(judged, range(FIRST, FIRST + SEEDS), chunksize=20):
            counts += outcome.counts
            if outcome.broken:
                broken[outcome.seed] = outcome.broken

    assert broken == {}, "python -m tests.faults --seed N tells the story of one"
    met = {fate for fate in Fate if counts[f"create_container: {fate}"]}
    assert met == set(Fate)
    assert counts["we are killed"] > 0 < counts["daemon restarts"]
    assert counts["probe never answers"] > 0 < counts["hook never answers"]
    assert counts["probe raises"] > 0 < counts["hook raises"]
