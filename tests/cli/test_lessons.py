"""The built-in lessons (UX-66)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.cli.lessons import DEFAULT, Page, lesson_names, load_lesson
from probetui.cli.main import run
from probetui.drive.record_reader import read_recording
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    Action,
    BackoffEntry,
    By,
    ContainerEntry,
    Entry,
    EventEntry,
    Lifecycle,
    Skip,
    TickEntry,
)
from probetui.kubelet.outcome import ProbeResult, Result
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Validation
from probetui.tui import outside
from tests.tui.scenes import running
from tests.tui.seeing import an_app, screen_lines


def test_the_default_lesson_comes_first() -> None:
    assert lesson_names()[0] == DEFAULT
    assert set(lesson_names()) == {
        "back-off",
        "errored",
        "grace",
        "liveness",
        "on-hold",
        "prestop",
        "readiness",
        "redirects",
        "sidecar",
        "startup",
        "thresholds",
        "timeout",
    }


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_says_in_a_few_sentences_what_to_watch(name: str) -> None:
    lesson = load_lesson(name)

    assert 2 <= len(re.findall(r"[.:;](?: |$)", lesson.text)) <= 6
    assert lesson.exercise


@pytest.mark.parametrize("name", lesson_names())
async def test_all_of_a_lesson_can_be_read_at_80_by_24(name: str) -> None:
    lesson, place = load_lesson(name), lesson_names().index(name) + 1
    shown = outside.Lesson(
        name, lesson.text, place, len(lesson_names()), print, lesson.exercise
    )
    app = an_app(running(), outside=outside.Outside(lesson=shown))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()

        bar = app.screen.query_one("#lesson")
        lines = screen_lines(app)[bar.region.y : bar.region.bottom]

    words = " ".join(" ".join(lines).split())
    assert f"{lesson.text} Try {lesson.exercise}" in words


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_is_a_faultless_manifest_of_one_pod_of_its_name(name: str) -> None:
    manifests = load_manifests([load_lesson(name).source], validation=Validation.STRICT)

    assert [each.name for each in manifests.pods] == [name]
    assert manifests.errors == ()
    assert manifests.unsupported == ()


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_needs_a_shell_and_a_small_image_only(name: str) -> None:
    pod = load_manifests([load_lesson(name).source]).pods[0]

    assert {each.image for each in pod.all_containers()} == {"busybox:1.36"}
    assert {each.command[0] for each in pod.all_containers()} == {"sh"}
    assert (pod.termination_grace_period_seconds or 0) <= 8


def test_a_lesson_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"is not one of liveness.*nearest: liveness"):
        load_lesson("livenes")


def test_pages_are_turned_in_a_circle() -> None:
    first, last = Page(load_lesson(lesson_names()[0])), Page(load_lesson("sidecar"))
    first.turned, last.turned = -1, 1

    assert (first.number, first.following) == (1, "sidecar")
    assert (last.number, last.following) == (last.count, DEFAULT)


# -- what they show, simulated


Seen = tuple[Entry, ...]


@pytest.fixture
def give(tmp_path: Path) -> Callable[[str], Seen]:
    """Return what gives a lesson on virtual time and returns all that happened."""

    def give(name: str) -> Seen:
        path = tmp_path / "lesson.jsonl"
        line = ["demo", name, "--runtime", "sim", "--plain", "-q"]
        assert run([*line, "--for", "90s", "--record", str(path)]) == 0
        return read_recording(path).entries

    return give


def ticks(seen: Seen, kind: ProbeType, container: str = "app") -> list[TickEntry]:
    return [
        each
        for each in seen
        if isinstance(each, TickEntry) and each.key[1:] == (container, kind)
    ]


def lives(seen: Seen, what: Lifecycle, container: str = "app") -> list[ContainerEntry]:
    return [
        each
        for each in seen
        if isinstance(each, ContainerEntry)
        and each.what is what
        and each.container_name == container
    ]


Give = Callable[[str], Seen]


def test_liveness_shows_that_the_third_failure_kills(give: Give) -> None:
    seen = give("liveness")

    runs = [each for each in ticks(seen, ProbeType.LIVENESS) if each.attempts]
    kills = [each for each in runs if each.action is Action.KILL]
    assert {(each.run, each.threshold) for each in kills} == {(3, 3)}
    assert lives(seen, Lifecycle.EXITED)[0].exit_code == 137
    assert len(lives(seen, Lifecycle.STARTED)) > 2
    assert any(isinstance(each, BackoffEntry) and each.waits for each in seen)


def test_readiness_shows_that_nothing_is_restarted(give: Give) -> None:
    seen = give("readiness")

    actions = {each.action for each in ticks(seen, ProbeType.READINESS)}
    assert {Action.READY, Action.NOT_READY} <= actions
    assert len(lives(seen, Lifecycle.STARTED)) == 1


def test_startup_shows_the_gate_and_the_budget(give: Give) -> None:
    seen = give("startup")

    for gated in (ProbeType.LIVENESS, ProbeType.READINESS):
        slow = ticks(seen, gated, "slow")
        assert Skip.NOT_STARTED in {each.skip for each in slow}
        assert any(each.attempts for each in slow)
    assert len(lives(seen, Lifecycle.STARTED, "slow")) == 1
    assert {each.by for each in lives(seen, Lifecycle.EXITED, "stuck")} == {By.STARTUP}


def test_thresholds_shows_runs_that_are_long_enough_and_runs_that_are_not(
    give: Give,
) -> None:
    seen = give("thresholds")

    runs = [each for each in ticks(seen, ProbeType.READINESS) if each.attempts]
    failures = [each.run for each in runs if each.result is Result.FAILURE]
    turns = {each.action: (each.run, each.threshold) for each in runs}
    assert failures[:6] == [1, 2, 1, 2, 3, 4]
    assert turns[Action.NOT_READY] == (3, 3)
    assert turns[Action.READY] == (2, 2)


def test_sidecar_shows_an_app_that_waits_for_its_proxy(give: Give) -> None:
    seen = give("sidecar")

    proxy = lives(seen, Lifecycle.STARTED, "proxy")[0]
    app = lives(seen, Lifecycle.STARTED)[0]
    assert 6 <= (app.at - proxy.at).total_seconds() <= 8
    assert Action.READY in {each.action for each in ticks(seen, ProbeType.READINESS)}


def test_on_hold_shows_ticks_that_probe_nothing(give: Give) -> None:
    seen = give("on-hold")

    skips = [each.skip for each in ticks(seen, ProbeType.LIVENESS)]
    assert skips.count(Skip.ON_HOLD) > 6
    assert next(each.exit_code for each in lives(seen, Lifecycle.EXITED)) == 137


def test_back_off_shows_waits_that_double(give: Give) -> None:
    seen = give("back-off")

    windows = [
        each.window.total_seconds()
        for each in seen
        if isinstance(each, BackoffEntry) and each.waits
    ]
    assert list(dict.fromkeys(windows)) == [10, 20, 40]
    assert {each.by for each in lives(seen, Lifecycle.EXITED)} == {By.ITSELF}


def test_errored_shows_three_attempts_that_count_for_nothing(give: Give) -> None:
    seen = give("errored")

    runs = [each for each in ticks(seen, ProbeType.LIVENESS) if each.attempts]
    assert {(len(each.attempts), each.action) for each in runs} == {
        (3, Action.DISCARDED)
    }
    assert len(lives(seen, Lifecycle.STARTED)) == 1


def test_redirects_shows_a_warning_that_counts_as_success(give: Give) -> None:
    seen = give("redirects")

    reasons = {each.event.reason for each in seen if isinstance(each, EventEntry)}
    assert "ProbeWarning" in reasons
    assert Action.READY in {each.action for each in ticks(seen, ProbeType.READINESS)}


def test_grace_shows_the_grace_period_of_the_probe(give: Give) -> None:
    first = lives(give("grace"), Lifecycle.EXITED)[0]

    assert (first.exit_code, first.grace_period_seconds) == (137, 4)
    assert "probe" in first.grace_source


def test_prestop_shows_that_the_hook_is_part_of_the_grace_period(give: Give) -> None:
    seen = give("prestop")

    stopping = lives(seen, Lifecycle.STOPPING)[0]
    started = lives(seen, Lifecycle.STARTED)[1]
    assert (started.at - stopping.at).total_seconds() == 6
    assert lives(seen, Lifecycle.EXITED)[0].exit_code == 137


def test_timeout_shows_that_running_out_of_time_is_failing(give: Give) -> None:
    seen = give("timeout")

    runs = [each for each in ticks(seen, ProbeType.LIVENESS) if each.attempts]
    assert {each.attempts[0].result for each in runs} == {ProbeResult.FAILURE}
    assert {each.duration.total_seconds() for each in runs} == {1}
    assert lives(seen, Lifecycle.EXITED)[0].by is By.LIVENESS


def test_a_lesson_that_nobody_watches_comes_to_an_end(
    capfd: pytest.CaptureFixture[str],
) -> None:
    status = run(["demo", "readiness", "--runtime", "sim", "--plain"])

    shown = capfd.readouterr()
    assert status == 0
    assert "note: readiness: The app is ready for 8s" in shown.err
    assert "ready true->false" in shown.out
