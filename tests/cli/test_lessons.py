"""The built-in lessons."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.cli.commands.sessions import DemoOptions
from probetui.cli.lessons import DEFAULT, OpenLesson, lesson_names, load_lesson
from probetui.cli.main import run
from probetui.cli.session.autosave import last_session, sessions_folder
from probetui.cli.session.start import unused_name
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    PodGoneEntry,
    Skip,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import ProbeResult, Result
from probetui.kubelet_rules import rules_of
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation
from probetui.record.reader import read_recording
from probetui.tui import host_services
from tests.tui.app_harness import an_app, screen_lines
from tests.tui.scenes import running


def test_the_default_lesson_comes_first() -> None:
    assert lesson_names()[0] == DEFAULT
    assert set(lesson_names()) == {
        "back-off",
        "completed",
        "errored",
        "grace",
        "init-container",
        "liveness",
        "on-failure",
        "on-hold",
        "post-start",
        "prestop",
        "readiness",
        "redirects",
        "sidecar",
        "startup-window",
        "startup",
        "thresholds",
        "timeout",
        "tls",
        "variable",
        "versions",
        "past",
    }


def test_a_lesson_about_versions_shows_them_side_by_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo", "versions"]) == 0

    _, _, table = capsys.readouterr().out.partition("\n\n")
    head, *rows = table.splitlines()
    width = head.index("KUBELET 1.36")
    halves = {"1.20": slice(width), "1.36": slice(width, None)}
    killed = {
        version: [row[half].split()[0] for row in rows if "Killing" in row[half]]
        for version, half in halves.items()
    }
    assert killed["1.36"][0] == "+15.0s"
    assert len(killed["1.36"]) > len(killed["1.20"]) == 1


def test_each_version_has_times_of_its_own_in_a_lesson_about_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo", "versions"]) == 0

    rows = capsys.readouterr().out.splitlines()
    failures = [row for row in rows if row.count("Unhealthy") == 2]
    assert failures[0].startswith("+4.2s ")
    assert " +5.0s " in failures[0]


def test_a_lesson_about_versions_has_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert run(["demo", "versions", "--plain"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    "name", [name for name in lesson_names() if name != "versions"]
)
def test_a_lesson_can_be_simulated(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", name, "--runtime", "sim", "--plain", "--for", "40s"]) == 0

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("2026-01-01T00:00:")


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_explains_in_a_few_sentences_what_to_watch(name: str) -> None:
    lesson = load_lesson(name)

    assert 2 <= len(re.findall(r"[.:;](?: |$)", lesson.text)) <= 6
    assert lesson.exercise


@pytest.mark.parametrize("name", lesson_names())
async def test_all_of_a_lesson_can_be_read_at_80_by_24(name: str) -> None:
    lesson, place = load_lesson(name), lesson_names().index(name) + 1
    shown = host_services.CurrentLesson(
        name, lesson.text, place, len(lesson_names()), print, lesson.exercise
    )
    app = an_app(running(), host=host_services.HostServices(lesson=shown))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()

        bar = app.screen.query_one("#lesson")
        lines = screen_lines(app)[bar.region.y : bar.region.bottom]

    words = " ".join(" ".join(lines).split())
    assert f"{lesson.text} Try {lesson.exercise}" in words


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_is_a_valid_manifest_of_one_pod_with_its_name(name: str) -> None:
    manifests = load_manifests(
        [load_lesson(name).source], validation=FieldValidation.STRICT
    )

    assert [pod.name for pod in manifests.pods] == [name]
    assert manifests.errors == ()
    assert manifests.unsupported == ()


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_needs_a_shell_and_a_small_image_only(name: str) -> None:
    pod = load_manifests([load_lesson(name).source]).pods[0]

    assert {container.image for container in pod.all_containers()} == {"busybox:1.36"}
    assert {container.command[0] for container in pod.all_containers()} == {"sh"}
    assert (pod.termination_grace_period_seconds or 0) <= 8


def test_an_unknown_lesson_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"is not one of liveness.*nearest: liveness"):
        load_lesson("livenes")


@pytest.mark.usefixtures("home")
def test_a_lesson_does_not_become_the_last_session() -> None:
    lesson = ["demo", "--runtime", "sim", "--plain", "-q", "--for", "9s", "--autosave"]

    assert run(lesson) == 0

    assert len(list(sessions_folder().glob("*.jsonl.gz"))) == 1
    assert last_session() is None


@pytest.mark.parametrize("name", lesson_names())
def test_a_lesson_beside_others_differs_in_its_name_alone(name: str) -> None:
    lesson = load_lesson(name)
    first, second = (
        load_manifests([lesson.numbered(number)]).pods[0] for number in (1, 2)
    )

    assert first.name == name
    assert second.name == f"{name}-2"
    assert replace(second, name=name, uid=first.uid) == first


@pytest.mark.usefixtures("home")
def test_the_names_of_lessons_that_run_are_not_given_twice() -> None:
    lesson, options = load_lesson("grace"), DemoOptions()
    with (
        unused_name(lesson, options) as first,
        unused_name(lesson, options) as second,
    ):
        names = [manifests.pods[0].name for manifests in (first, second)]
    with unused_name(lesson, options) as third:
        names.append(third.pods[0].name)

    assert names == ["grace", "grace-2", "grace"]


def test_pages_cycle() -> None:
    first, last = (
        OpenLesson(load_lesson(lesson_names()[0])),
        OpenLesson(load_lesson("past")),
    )
    first.turned, last.turned = -1, 1

    assert (first.number, first.following) == (1, "past")
    assert (last.number, last.following) == (last.count, DEFAULT)


def test_a_night_is_found_in_samples_without_a_store(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo", "past"]) == 0

    told = capsys.readouterr().out
    table, _, exercise = told.partition("\n\n")[2].partition("\nTry ")
    rows = [line.split() for line in table.splitlines()]
    assert [row[1:4] for row in rows[1:]] == [
        ["web-5d9c7b6f4-8xk2p", "app", "1"],
        ["web-5d9c7b6f4-tq7zr", "app", "0"],
        ["cart-0", "app", "0"],
    ]
    assert "OOMKilled" in table

    (why,) = re.findall(r"probetui (why .+)\.", " ".join(exercise.split()))
    assert run(why.split()) == 0
    said = capsys.readouterr().out
    assert "was killed between 03:11:4" in said
    assert "its liveness probe failed 3 of 3 times in a row" in said


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_a_night_is_the_same_by_every_clock(
    zone: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        pod = "shop/web-5d9c7b6f4-8xk2p"
        assert run(["why", pod, "--at", "03:12", "--prometheus", "demo"]) == 0
    finally:
        monkeypatch.undo()
        time.tzset()

    assert "was killed between 03:11:4" in capsys.readouterr().out


_KILL = "killed between 03:11:48.2 and 03:12:05.2"


@pytest.mark.parametrize(
    ("clock", "line"),
    [
        pytest.param("03:11:40", "is up and ready", id="before"),
        pytest.param(
            "03:12:04",
            "was either still running or already being stopped at 03:12:04.0: it was "
            f"{_KILL}, because its liveness probe failed 3 of 3 times in a row",
            id="in the bounds of the kill",
        ),
        pytest.param(
            "03:12:06",
            "is being stopped, and has not ended for 0s to 17s, because its liveness "
            "probe failed 3 of 3 times in a row between 03:11:48.2 and 03:12:05.2",
            id="being stopped",
        ),
        pytest.param("03:12:10", f"is not running, because it was {_KILL}", id="ended"),
        pytest.param(
            "03:12:20",
            "was either still down or already running again at 03:12:20.0: it was "
            "restarted between 03:12:10.0 and 03:12:22.0, because it was killed",
            id="in the bounds of the start",
        ),
        pytest.param(
            "03:12:23",
            "was up, and either ready already at 03:12:23.0 or not yet: it became "
            "ready between 03:12:22.0 and 03:12:24.9",
            id="in the bounds of its readiness",
        ),
        pytest.param(
            "03:12:40",
            "is up and ready; it was started between 03:12:10.0 and 03:12:22.0",
            id="after",
        ),
    ],
)
def test_why_begins_with_the_state_at_the_time_and_names_what_samples_leave_open(
    clock: str,
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        pod, record = "shop/web-5d9c7b6f4-8xk2p", str(tmp_path / "past.jsonl")
        asked = ["why", pod, "--at", f"2026-08-31 {clock}", "--prometheus", "demo"]
        assert run([*asked, "--record", record]) == 0
        told = capsys.readouterr().out
        assert run([*asked, "-o", "json"]) == 0
        (as_json,) = json.loads(capsys.readouterr().out)
        assert run(["why", record, "--at", f"2026-08-31T{clock}Z"]) == 0
        of_record = capsys.readouterr().out
    finally:
        monkeypatch.undo()
        time.tzset()

    first = told.splitlines()[0]
    assert first.startswith(f"web-5d9c7b6f4-8xk2p/app {line}")
    assert of_record.splitlines()[0] == first
    assert line.startswith(as_json["causes"][0]["sentence"][:30])


def test_a_lesson_that_is_printed_is_no_page_of_a_browser(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo", "past", "--web"]) == 2

    assert "--web: past is printed" in capsys.readouterr().err


# -- simulations of the lessons


Journal = tuple[JournalEntry, ...]


@pytest.fixture
def run_lesson(tmp_path: Path) -> Callable[[str], Journal]:
    """Return a function that runs a lesson on virtual time and returns its journal."""

    def run_lesson(name: str) -> Journal:
        path = tmp_path / "lesson.jsonl"
        line = ["demo", name, "--runtime", "sim", "--plain", "-q"]
        assert run([*line, "--for", "90s", "--record", str(path)]) == 0
        return read_recording(path).entries

    return run_lesson


def ticks(journal: Journal, kind: ProbeType, container: str = "app") -> list[TickEntry]:
    return [
        entry
        for entry in journal
        if isinstance(entry, TickEntry) and entry.key[1:] == (container, kind)
    ]


def container_entries(
    journal: Journal, what: LifecycleStep, container: str = "app"
) -> list[ContainerEntry]:
    return [
        entry
        for entry in journal
        if isinstance(entry, ContainerEntry)
        and entry.what is what
        and entry.container_name == container
    ]


RunLesson = Callable[[str], Journal]


def test_liveness_shows_that_the_third_failure_kills(run_lesson: RunLesson) -> None:
    journal = run_lesson("liveness")

    runs = [tick for tick in ticks(journal, ProbeType.LIVENESS) if tick.attempts]
    kills = [entry for entry in runs if entry.action is TickAction.KILL]
    assert {(kill.run.count, kill.run.threshold) for kill in kills} == {(3, 3)}
    assert container_entries(journal, LifecycleStep.EXITED)[0].exit_code == 137
    assert len(container_entries(journal, LifecycleStep.STARTED)) > 2
    assert any(isinstance(entry, BackoffEntry) and entry.waits for entry in journal)


def test_readiness_shows_that_nothing_is_restarted(run_lesson: RunLesson) -> None:
    journal = run_lesson("readiness")

    actions = {tick.action for tick in ticks(journal, ProbeType.READINESS)}
    assert {TickAction.READY, TickAction.NOT_READY} <= actions
    assert len(container_entries(journal, LifecycleStep.STARTED)) == 1


def test_startup_shows_the_gate_and_the_budget(run_lesson: RunLesson) -> None:
    journal = run_lesson("startup")

    for gated in (ProbeType.LIVENESS, ProbeType.READINESS):
        slow = ticks(journal, gated, "slow")
        assert Skip.NOT_STARTED in {entry.skip for entry in slow}
        assert any(entry.attempts for entry in slow)
    assert len(container_entries(journal, LifecycleStep.STARTED, "slow")) == 1
    assert {
        exited.by
        for exited in container_entries(journal, LifecycleStep.EXITED, "stuck")
    } == {ExitCause.STARTUP}


def test_thresholds_shows_runs_that_are_long_enough_and_runs_that_are_not(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("thresholds")

    runs = [tick for tick in ticks(journal, ProbeType.READINESS) if tick.attempts]
    failures = [entry.run.count for entry in runs if entry.result is Result.FAILURE]
    turns = {entry.action: (entry.run.count, entry.run.threshold) for entry in runs}
    assert failures[:6] == [1, 2, 1, 2, 3, 4]
    assert turns[TickAction.NOT_READY] == (3, 3)
    assert turns[TickAction.READY] == (2, 2)


def test_sidecar_shows_an_app_that_waits_for_its_proxy(run_lesson: RunLesson) -> None:
    journal = run_lesson("sidecar")

    proxy = container_entries(journal, LifecycleStep.STARTED, "proxy")[0]
    app = container_entries(journal, LifecycleStep.STARTED)[0]
    assert 6 <= (app.at - proxy.at).total_seconds() <= 8
    assert TickAction.READY in {
        tick.action for tick in ticks(journal, ProbeType.READINESS)
    }


def test_on_hold_shows_ticks_that_probe_nothing(run_lesson: RunLesson) -> None:
    journal = run_lesson("on-hold")

    skips = [tick.skip for tick in ticks(journal, ProbeType.LIVENESS)]
    assert skips.count(Skip.ON_HOLD) > 6
    assert (
        next(
            exited.exit_code
            for exited in container_entries(journal, LifecycleStep.EXITED)
        )
        == 137
    )


def test_back_off_shows_waits_that_double(run_lesson: RunLesson) -> None:
    journal = run_lesson("back-off")

    windows = [
        entry.window.total_seconds()
        for entry in journal
        if isinstance(entry, BackoffEntry) and entry.waits
    ]
    assert list(dict.fromkeys(windows)) == [10, 20, 40]
    assert {entry.by for entry in container_entries(journal, LifecycleStep.EXITED)} == {
        ExitCause.ITSELF
    }


def test_errored_shows_three_attempts_that_count_for_nothing(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("errored")

    runs = [tick for tick in ticks(journal, ProbeType.LIVENESS) if tick.attempts]
    assert {(len(entry.attempts), entry.action) for entry in runs} == {
        (3, TickAction.DISCARDED)
    }
    assert len(container_entries(journal, LifecycleStep.STARTED)) == 1


def test_redirects_shows_a_warning_that_counts_as_success(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("redirects")

    reasons = {entry.event.reason for entry in journal if isinstance(entry, EventEntry)}
    assert "ProbeWarning" in reasons
    assert TickAction.READY in {
        tick.action for tick in ticks(journal, ProbeType.READINESS)
    }


def test_grace_shows_the_grace_period_of_the_probe(run_lesson: RunLesson) -> None:
    first = container_entries(run_lesson("grace"), LifecycleStep.EXITED)[0]

    assert (first.exit_code, first.grace_period_seconds) == (137, 4)
    assert "probe" in first.grace_source


def test_prestop_shows_that_the_hook_is_part_of_the_grace_period(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("prestop")

    stopping = container_entries(journal, LifecycleStep.STOPPING)[0]
    started = container_entries(journal, LifecycleStep.STARTED)[1]
    assert (started.at - stopping.at).total_seconds() == 6
    assert container_entries(journal, LifecycleStep.EXITED)[0].exit_code == 137


def test_timeout_shows_that_a_timeout_is_a_failure(run_lesson: RunLesson) -> None:
    journal = run_lesson("timeout")

    runs = [tick for tick in ticks(journal, ProbeType.LIVENESS) if tick.attempts]
    assert {entry.attempts[0].result for entry in runs} == {ProbeResult.FAILURE}
    assert {entry.timing.duration.total_seconds() for entry in runs} == {1}
    assert container_entries(journal, LifecycleStep.EXITED)[0].by is ExitCause.LIVENESS


def test_init_container_shows_an_app_that_waits_for_the_third_run(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("init-container")

    schema = container_entries(journal, LifecycleStep.EXITED, "schema")
    app = container_entries(journal, LifecycleStep.STARTED)[0]
    assert [exited.exit_code for exited in schema] == [1, 1, 0]
    assert schema[-1].at <= app.at
    assert any(isinstance(entry, BackoffEntry) and entry.waits for entry in journal)


def test_post_start_shows_a_container_that_waits_for_the_hook_before(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("post-start")

    first = container_entries(journal, LifecycleStep.STARTED, "first")[0]
    second = container_entries(journal, LifecycleStep.STARTED, "second")[0]
    probed = [t for t in ticks(journal, ProbeType.READINESS, "first") if t.attempts]
    assert (second.at - first.at).total_seconds() == 8
    assert probed[0].at >= second.at


def test_completed_shows_that_exit_code_0_backs_off(run_lesson: RunLesson) -> None:
    journal = run_lesson("completed")

    exits = container_entries(journal, LifecycleStep.EXITED)
    assert {exited.exit_code for exited in exits} == {0}
    assert any(isinstance(entry, BackoffEntry) and entry.waits for entry in journal)


def test_on_failure_shows_a_pod_that_its_liveness_probe_ends(
    run_lesson: RunLesson,
) -> None:
    journal = run_lesson("on-failure")

    exits = container_entries(journal, LifecycleStep.EXITED)
    assert [exited.by for exited in exits] == [ExitCause.LIVENESS] * 3
    assert {exited.exit_code for exited in exits} == {0}
    assert len(container_entries(journal, LifecycleStep.STARTED)) == 3
    assert any(isinstance(entry, PodGoneEntry) for entry in journal)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("tls", CauseKind.PORT_SPEAKS_TLS),
        ("variable", CauseKind.VARIABLE_NOT_EXPANDED),
        ("post-start", CauseKind.WAITS_FOR_POST_START_HOOK),
        ("init-container", CauseKind.WAITS_FOR_INIT_CONTAINER),
        ("completed", CauseKind.COMPLETED),
        ("on-failure", CauseKind.RESTART_POLICY_ON_FAILURE),
    ],
)
def test_a_lesson_about_a_cause_has_that_cause(
    name: str, cause: CauseKind, run_lesson: RunLesson
) -> None:
    journal = run_lesson(name)
    pod = load_manifests([load_lesson(name).source]).pods[0]

    causes = set()
    for second in (5, 30):
        now = journal[0].at + timedelta(seconds=second)
        entries = [entry for entry in journal if entry.at <= now]
        past = SessionHistory(entries)
        past.add_entries(entries, 0)
        for container in pod.all_containers():
            answer = explain(
                pod, container, past, now, rules_of("1.36"), {pod.uid: pod}
            )
            causes |= {step.kind for told in answer.causes for step in told.chain}

    assert cause in causes


def test_a_lesson_without_a_screen_ends(
    capfd: pytest.CaptureFixture[str],
) -> None:
    status = run(["demo", "readiness", "--runtime", "sim", "--plain"])

    shown = capfd.readouterr()
    assert status == 0
    assert "note: readiness: The app is ready for 8s" in shown.err
    assert "ready true->false" in shown.out
