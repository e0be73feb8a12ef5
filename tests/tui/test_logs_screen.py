"""The screen with the logs of containers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.drive.logs import LINES_KEPT, LogState
from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.k8s.runtime import ContainerID, LogLine
from probetui.k8s.status import ContainerStatus, Running, Terminated, Waiting
from probetui.record.masking import Mask
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from probetui.tui.screens.logs import LogPane
from tests.ticks import FIRST, NOW, SECOND
from tests.tui.app_harness import an_app, line_with, screen_lines, screen_text
from tests.tui.fake_logs import FakeLogs
from tests.tui.fake_session import FakeSession
from tests.tui.snapshots import DEMO, a_snapshot, demo

SIZE = (80, 24)
THIRD = ContainerID("docker://9999eeeeffff")


def with_status(status: ContainerStatus) -> Snapshot:
    pod: PodSnapshot = demo()
    container = replace(pod.containers[0], status=status)
    return a_snapshot(replace(pod, containers=(container,)))


RESTARTED = with_status(
    ContainerStatus(
        "liveness", SECOND, Running(NOW), Terminated(137, container_id=FIRST)
    )
)


def the_app(
    logs: FakeLogs | None, snapshot: Snapshot | FakeSession = RESTARTED
) -> ProbetuiApp:
    return an_app(snapshot, host=HostServices(logs=logs))


def printed(count: int, first: int = 0) -> list[LogLine]:
    return [
        LogLine(None, f"line {number:05}") for number in range(first, first + count)
    ]


async def test_the_newest_lines_of_the_current_instance_are_shown() -> None:
    logs = FakeLogs(c4455=printed(100))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()

        assert "line 00099" in screen_lines(app)[-3]
        assert "100 lines" in screen_text(app)
        assert "current" in screen_lines(app)[0]


async def test_new_lines_are_shown_while_it_follows() -> None:
    logs = FakeLogs(c4455=printed(100))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        logs.tail.add(LogLine(None, "line 00100"))
        logs.tail._notify_listener()
        await pilot.pause()

        assert "line 00100" in screen_lines(app)[-3]


async def test_following_stops_when_older_lines_are_selected() -> None:
    logs = FakeLogs(c4455=printed(100))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "k")
        await pilot.pause()
        before = [line[:-1] for line in screen_lines(app)[2:-2]]
        logs.tail.add(LogLine(None, "line 00100"))
        logs.tail._notify_listener()
        await pilot.pause()
        after = [line[:-1] for line in screen_lines(app)[2:-2]]
        pill = screen_lines(app)[-2]
        await pilot.press("a")
        await pilot.pause()

        assert after == before
        assert "1 new line, a follows" in pill
        assert "line 00100" in screen_lines(app)[-3]


async def test_the_previous_instance_is_a_key_away_and_back() -> None:
    logs = FakeLogs(c4455=printed(3), cdddd=[LogLine(None, "last words")])
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "p")
        await pilot.pause()
        previous = screen_text(app)
        await pilot.press("l")
        await pilot.pause()

        assert "last words" in previous
        assert "previous" in previous
        assert "line 00002" in screen_text(app)
        assert logs.closed == [SECOND, FIRST]


async def test_the_previous_instance_can_be_opened_at_once() -> None:
    logs = FakeLogs(cdddd=[LogLine(None, "last words")])
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("p")
        await pilot.pause()

        assert "last words" in screen_text(app)


async def test_the_tail_is_closed_when_the_screen_is_left() -> None:
    logs = FakeLogs()
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "escape")
        await pilot.pause()

        assert logs.closed == [SECOND]


async def test_the_log_continues_with_the_next_instance_after_a_restart() -> None:
    logs = FakeLogs(ceeff=[], cffff=[LogLine(None, "born again")])
    session = FakeSession(RESTARTED)
    app = the_app(logs, session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        session.publish(with_status(ContainerStatus("liveness", THIRD, Running(NOW))))
        await pilot.pause()

        assert "born again" in screen_text(app)
        assert logs.closed == [SECOND]


@pytest.mark.parametrize(
    ("status", "key", "words"),
    [
        pytest.param(
            ContainerStatus("liveness", "", Waiting("ImagePullBackOff")),
            "l",
            "is waiting to start: ImagePullBackOff",
            id="never started",
        ),
        pytest.param(
            ContainerStatus("liveness", SECOND, Running(NOW)),
            "p",
            "has no previous instance that ended",
            id="no previous one",
        ),
    ],
)
async def test_a_missing_log_is_explained(
    status: ContainerStatus, key: str, words: str
) -> None:
    app = the_app(FakeLogs(), with_status(status))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(key)
        await pilot.pause()

        assert words in screen_text(app)


async def test_a_session_without_logs_is_reported() -> None:
    app = the_app(None)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()

        assert "This session has no logs" in screen_text(app)


async def test_a_log_that_cannot_be_read_any_more_is_reported_with_the_reason() -> None:
    logs = FakeLogs(c4455=printed(1))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        logs.tail.finish(LogState.REFUSED, "no such container")
        logs.tail._notify_listener()
        await pilot.pause()

        assert "line 00000" in screen_text(app)
        assert "no such container" in screen_text(app)
        assert "refused" in line_with(app, "demo/liveness  refused")


async def test_a_removed_container_is_reported() -> None:
    session = FakeSession(RESTARTED)
    app = the_app(FakeLogs(), session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        session.publish(a_snapshot())
        await pilot.pause()

        assert "The container is gone." in screen_text(app)


async def test_a_filter_keeps_matching_lines_and_shows_their_count() -> None:
    logs = FakeLogs(c4455=printed(100))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "slash", *"0001", "enter")
        logs.tail.add(LogLine(None, "line 00010 again"))
        logs.tail.add(LogLine(None, "something else"))
        logs.tail._notify_listener()
        await pilot.pause()

        assert "(12 of 102)" in screen_text(app)
        assert "something else" not in screen_text(app)


async def test_a_selected_line_keeps_its_position_while_old_lines_are_dropped() -> None:
    logs = FakeLogs(c4455=printed(LINES_KEPT))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "pageup")
        await pilot.pause()
        before = line_with(app, "line ")
        for line in printed(2, first=LINES_KEPT):
            logs.tail.add(line)
        logs.tail._notify_listener()
        await pilot.pause()

        assert logs.tail.dropped == LINES_KEPT // 10
        assert line_with(app, "line ") == before
        assert f"of {LINES_KEPT + 2} lines" in screen_text(app)


async def test_selected_lines_can_be_dropped_at_the_top() -> None:
    logs = FakeLogs(c4455=printed(LINES_KEPT))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "g")
        logs.tail.add(LogLine(None, "one more"))
        logs.tail._notify_listener()
        await pilot.pause()

        assert f"line {LINES_KEPT // 10:05}" in screen_lines(app)[2]


async def test_skipped_lines_leave_a_mark() -> None:
    logs = FakeLogs(c4455=printed(2))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        logs.tail.skip()
        logs.tail.add(LogLine(None, "much later"))
        logs.tail._notify_listener()
        await pilot.pause()

        assert "(lines may be missing) much later" in screen_text(app)


async def test_times_and_standard_error_are_distinguishable() -> None:
    logs = FakeLogs(c4455=[LogLine(NOW, "oops", is_stderr=True)])
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()

        assert "08:21:07.0 ! oops" in screen_text(app)


async def test_a_long_line_is_wrapped_at_a_key() -> None:
    logs = FakeLogs(c4455=[LogLine(NOW, "x" * 100 + " the end")])
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        cut = screen_text(app)
        await pilot.press("W")
        await pilot.pause()

        assert "the end" not in cut
        assert line_with(app, "the end").startswith("┃" + " " * 11 + "x")


async def test_secrets_are_masked_on_the_screen_and_in_copies() -> None:
    logs = FakeLogs(c4455=[LogLine(None, "with s3cr3t-token in it")])
    app = an_app(RESTARTED, Mask(["s3cr3t-token"]), HostServices(logs=logs))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l", "c")
        await pilot.pause()

        assert "with *** in it" in screen_text(app)
        assert app.clipboard == "with *** in it"


async def test_a_dropped_flood_keeps_the_existing_lines() -> None:
    logs = FakeLogs(c4455=printed(10))
    app = the_app(logs)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        for line in printed(LINES_KEPT * 2, first=10):
            logs.tail.add(line)
        logs.tail._notify_listener()
        await pilot.pause()
        view = app.screen.query_one(LogPane)

        assert view.count() == len(logs.tail.lines)
        assert f"line {LINES_KEPT * 2 + 9:05}" in screen_lines(app)[-3]


def test_the_pod_of_these_tests_is_the_demo() -> None:
    assert RESTARTED.pods[0].pod is DEMO
