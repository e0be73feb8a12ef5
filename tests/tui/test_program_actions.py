"""Actions of the program itself."""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from probetui.engine.inputs import DeletePod
from probetui.engine.snapshot import Snapshot
from probetui.errors import ManifestError, UsageError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import PodPhase, PodStatus, Running
from probetui.presentation.pod import pod_changes
from probetui.tui.actions.dispatch import available_actions
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices, ManifestReload
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.screens.dialogs import ChoiceScreen, QuestionScreen
from probetui.tui.services import shell
from tests.ticks import NOW
from tests.tui.app_harness import (
    an_app,
    an_app_of_cards,
    screen_lines,
    screen_text,
)
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import (
    DEMO,
    SHOP,
    a_container_snapshot,
    a_pod_snapshot,
    a_snapshot,
    demo,
)

SIZE = (80, 24)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def words_on_screen(app: ProbetuiApp) -> str:
    """Return the words on the screen, without line breaks and frames."""
    return " ".join(re.sub(r"[┃╭╮╰╯│─━┏┓┗┛]", " ", screen_text(app)).split())


def messages(app: ProbetuiApp) -> list[str]:
    return [shown.message.replace("\n", " ") for shown in app._notifications]


# copying


@pytest.fixture
def clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a desktop for this process; return the file with its clipboard."""
    copied = tmp_path / "copied"
    program = tmp_path / "wl-copy"
    program.write_text(
        f'#!/bin/sh\ncat > "{copied}.new" && mv "{copied}.new" "{copied}"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-1")
    for name in ("SSH_CONNECTION", "DISPLAY", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    return copied


async def wait_for_message(app: ProbetuiApp, pilot: Pilot[None], words: str) -> None:
    """Wait until a notification contains `words`."""
    for _ in range(200):
        if any(words in message for message in messages(app)):
            return
        await pilot.pause(0.02)
    pytest.fail(f"no notification contains {words!r}: {messages(app)}")


async def test_selected_text_is_copied_without_frames(clipboard: Path) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        app.screen.query_one(ContainerTable).text_select_all()
        await pilot.press("ctrl+c")
        await wait_for_message(app, pilot, "Copied (wl-copy clipboard).")

        text = read(clipboard)
        assert re.search(r"demo/liveness +Running 41s +2 ", text)
        assert "┃" not in text
        assert not app._exit


@pytest.mark.parametrize(
    ("keys", "copied"),
    [
        pytest.param(
            ("j", "j", "j", "c"),
            r"shop/web  Running 12s  0  wait  wait  ✗ 4/30",
            id="a line",
        ),
        pytest.param(
            ("2", "c"),
            r"(?s)FAILING +██ ██ ░░  2 of 3\n.*\n✓6 .*\nlast ✗ exit 1 in 34ms  cat: .*",
            id="a pane",
        ),
    ],
)
async def test_a_key_copies_the_selected_object(
    keys: tuple[str, ...], copied: str
) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert re.fullmatch(copied, app.clipboard)


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        pytest.param("name", r"demo/liveness", id="name"),
        pytest.param("last output", r"cat: can't open .*directory", id="output"),
        pytest.param(
            "repeats", r"docker exec d71cb34f\w* cat /tmp/healthy", id="command"
        ),
        pytest.param(
            "kubectl",
            r"(?s)Name: +demo\n.*Liveness: +exec.*Events:\n.*Unhealthy.*\n",
            id="describe",
        ),
        pytest.param("YAML", r"(?s)apiVersion: v1\n.*livenessProbe:.*\n", id="YAML"),
        pytest.param("JSON", r'(?s)\{.*"phase": "Running".*\}\n', id="JSON"),
    ],
)
async def test_a_menu_lists_what_can_be_copied(
    clipboard: Path, name: str, copied: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("C")
        await pilot.pause()
        assert isinstance(app.screen, ChoiceScreen)
        names = [choice for choice, _ in app.screen._pane._choices]
        index = next(i for i, choice in enumerate(names) if name in choice)
        await pilot.press(*["down"] * index, "enter")
        await wait_for_message(app, pilot, "Copied (")

    assert re.fullmatch(copied, read(clipboard))


async def test_the_menu_shows_the_number_of_lines_of_a_text() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("C")
        await pilot.pause()
        shown = screen_text(app)

    assert re.search(r" 1  name +demo/liveness", shown)
    assert re.search(r" 4  kubectl describe of the pod +\d+ lines", shown)
    assert re.search(r" 6  status of the pod as JSON +\d+ lines", shown)


@pytest.mark.parametrize(
    ("width", "end"),
    [
        pytest.param(80, "exec d71cb34f0e11 cat …┃", id="cut where the terminal ends"),
        pytest.param(120, "cat /tmp/healthy  ", id="whole in a wide terminal"),
    ],
)
async def test_the_menu_is_as_wide_as_what_can_be_copied(width: int, end: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=(width, 40)) as pilot:
        await pilot.press("C")
        await pilot.pause()
        (row,) = [row for row in screen_lines(app) if "command that repeats" in row]

    assert end in row


async def test_a_number_selects_a_row_of_the_menu(clipboard: Path) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("C")
        await pilot.pause()
        rows = [line for line in screen_text(app).splitlines() if " 1  name" in line]
        assert len(rows) == 1
        await pilot.press("1")
        await wait_for_message(app, pilot, "Copied (")

    assert read(clipboard) == "demo/liveness"


async def test_nothing_is_reported_as_copied_without_a_clipboard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("WAYLAND_DISPLAY", "DISPLAY", "TMUX", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        app.copy_to_clipboard("text")
        await wait_for_message(app, pilot, "Not copied: no clipboard")

        assert [notification.severity for notification in app._notifications] == [
            "error"
        ]


async def test_the_menu_is_closed_without_copying() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("C", "escape")
        await pilot.pause()

        assert not isinstance(app.screen, ChoiceScreen)
        assert messages(app) == []


# pictures, mouse


async def test_mouse_capture_can_be_toggled_on_a_terminal() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon", *"mouse", "enter")
        await wait_for_message(
            app, pilot, "This terminal has no mouse support to switch."
        )

        assert app.has_mouse


async def test_the_screen_is_saved_as_text(tmp_path: Path) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(2):
            await pilot.press("colon", *"screenshot", "space", *"txt", "enter")
            await wait_for_message(app, pilot, "saved")

    saved = sorted(path.name for path in tmp_path.iterdir())  # noqa: ASYNC240  # the app is over
    assert saved == ["probetui-1.txt", "probetui-2.txt"]
    text = (tmp_path / "probetui-1.txt").read_text()
    assert "┃ ▌ demo/liveness" in text
    assert "\x1b" not in text


# leaving


@pytest.mark.parametrize(
    ("keys", "has_left"),
    [
        pytest.param(("q",), False, id="q asks"),
        pytest.param(("q", "n"), False, id="no"),
        pytest.param(("q", "escape"), False, id="escape is no"),
        pytest.param(("q", "enter"), False, id="enter is not yes"),
        pytest.param(("q", "y"), True, id="yes"),
        pytest.param(("ctrl+q",), True, id="^q does not ask"),
    ],
)
async def test_quitting_asks_for_confirmation_if_pods_would_stay(
    keys: tuple[str, ...],
    has_left: bool,  # noqa: FBT001  # a column
) -> None:
    app = an_app(failing(), host=HostServices(remaining_pods=lambda: ["demo", "shop"]))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert app._exit is has_left
        if keys == ("q",):
            assert "These pods keep running: demo, shop" in screen_text(app)


def started(ago: timedelta, phase: PodPhase = PodPhase.RUNNING) -> Snapshot:
    """Return a pod that a session has had for so long; its container ran for 41s."""
    snapshot = a_snapshot(demo())
    (pod,) = snapshot.pods
    status = replace(pod.status, phase=phase, start_time=snapshot.taken_at - ago)
    return replace(snapshot, pods=(replace(pod, status=status),))


def kept() -> Snapshot:
    """Return a pod that an earlier session has kept, in a session of 10 seconds."""
    state = Running(NOW - timedelta(seconds=61))
    container = a_container_snapshot(DEMO.containers[0], state=state)
    status = PodStatus(PodPhase.RUNNING, start_time=NOW - timedelta(seconds=10))
    return a_snapshot(a_pod_snapshot(DEMO, container, status=status))


MINUTE = timedelta(minutes=1)
LONG = started(MINUTE + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("snapshot", "asks"),
    [
        pytest.param(LONG, True, id="runs for more than a minute"),
        pytest.param(kept(), True, id="runs since an earlier session"),
        pytest.param(started(MINUTE), False, id="runs for a minute"),
        pytest.param(started(2 * MINUTE, PodPhase.PENDING), False, id="waits"),
        pytest.param(started(2 * MINUTE, PodPhase.SUCCEEDED), False, id="has ended"),
    ],
)
async def test_quitting_asks_once_where_pods_have_run_for_long(
    snapshot: Snapshot,
    asks: bool,  # noqa: FBT001  # a column
) -> None:
    app = an_app(snapshot, host=HostServices(keep_pods=lambda: None))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("q")
        await pilot.pause()

        assert app._exit is not asks
        assert ("y stop    k keep running    n esc q back" in screen_text(app)) is asks
        assert ("Quit? This stops demo." in screen_text(app)) is asks


async def test_quitting_does_not_ask_where_no_pod_can_be_kept() -> None:
    app = an_app(LONG)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("q")
        await pilot.pause()

        assert app._exit


@pytest.mark.parametrize(
    ("key", "leaves", "keeps"),
    [
        pytest.param("y", True, False, id="stop"),
        pytest.param("k", True, True, id="keep running"),
        pytest.param("escape", False, False, id="back"),
        pytest.param("q", False, False, id="q again"),
        pytest.param("enter", False, False, id="enter is no answer"),
        pytest.param("ctrl+c", True, False, id="^c"),
        pytest.param("ctrl+q", True, False, id="^q"),
    ],
)
async def test_the_answer_says_what_becomes_of_pods(
    key: str,
    leaves: bool,  # noqa: FBT001  # a column
    keeps: bool,  # noqa: FBT001  # a column
) -> None:
    kept: list[bool] = []
    host = HostServices(keep_pods=lambda: kept.append(True))
    app = an_app(LONG, host=host)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("q")
        await pilot.press(key)
        await pilot.pause()

        assert app._exit is leaves
        assert bool(kept) is keeps


async def test_deleting_a_pod_asks_for_confirmation() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+d")
        await pilot.pause()
        asked = screen_text(app)
        before = list(session.sent)
        await pilot.press("y")
        await pilot.pause()

    assert "Delete pod demo?" in asked
    assert before == []
    assert session.sent == [DeletePod(DEMO.uid)]


# manifests


def changed(pod: Pod, uid: str) -> Pod:
    """Return the pod with another period, as if it came from another file."""
    container = pod.containers[0]
    assert container.liveness_probe is not None
    probe = replace(container.liveness_probe, period_seconds=2)
    return replace(
        pod,
        uid=uid,
        containers=(
            replace(container, liveness_probe=probe),
            *pod.containers[1:],
        ),
    )


def rereading(*after: Pod) -> tuple[HostServices, list[bool]]:
    """Return a host whose manifests have other pods, and a list of applied reloads."""
    applied: list[bool] = []
    read = ManifestReload(
        pod_changes([DEMO, SHOP], after), lambda: applied.append(True)
    )
    return HostServices(reread=lambda: read), applied


async def test_a_reload_shows_the_changed_fields_before_it_is_applied() -> None:
    host, applied = rereading(changed(DEMO, "another"))
    app = an_app_of_cards(failing(), host=host)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()
        asked = words_on_screen(app)
        before = list(applied)
        await pilot.press("y")
        await pilot.pause()
        notified = messages(app)

    assert "containers[liveness].livenessProbe.periodSeconds 5 -> 2" in asked
    assert "probe workers restart: liveness liveness" in asked
    assert "- shop gone: will be deleted" in asked
    assert before == []
    assert applied == [True]
    assert notified == ["2 pods changed"]


async def test_a_reload_shows_the_warnings_about_the_manifests() -> None:
    unknown = "pod.yaml:6:7: spec.containers[0].livenesProbe: unknown field"
    read = ManifestReload(
        pod_changes([DEMO, SHOP], [SHOP]), lambda: None, warnings=[unknown]
    )
    app = an_app(failing(), host=HostServices(reread=lambda: read))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()

        assert "livenesProbe: unknown field" in words_on_screen(app)


async def test_a_pod_with_the_same_uid_changes_in_place() -> None:
    host, _ = rereading(changed(DEMO, DEMO.uid), SHOP)
    app = an_app(failing(), host=host)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()

        assert "probe workers continue" in words_on_screen(app)


async def test_unchanged_manifests_change_nothing() -> None:
    host, applied = rereading(replace(DEMO), replace(SHOP))
    app = an_app(failing(), host=host)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()

        assert not isinstance(app.screen, QuestionScreen)
        assert messages(app) == ["The manifests have not changed."]
        assert applied == []


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            ManifestError(["pod.yaml:1:1: one", "pod.yaml:2:1: two"]), id="many"
        ),
        pytest.param(UsageError("pod.yaml:1:1: one"), id="one"),
    ],
)
async def test_invalid_manifests_change_nothing_and_their_problem_is_shown(
    error: Exception,
) -> None:
    def reread() -> ManifestReload:
        raise error

    app = an_app(failing(), host=HostServices(reread=reread))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()

        assert messages(app)[0] == "pod.yaml:1:1: one"
        assert {notification.severity for notification in app._notifications} == {
            "error"
        }


async def test_a_session_without_files_has_nothing_to_reload() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await pilot.pause()

        assert messages(app) == []


# a shell


def a_shell(_container: ContainerID) -> tuple[str, ...]:
    return ("sh", "-c", "exit 0")


async def test_the_shell_key_does_nothing_without_a_shell() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("s")
        await pilot.pause()

        assert not messages(app)
        assert "container.shell" not in {
            action.id for action in available_actions(app.screen)
        }


async def test_a_container_that_does_not_run_has_no_shell() -> None:
    app = an_app(failing(), host=HostServices(shell=a_shell))
    async with app.run_test(size=SIZE) as pilot:
        available = {action.id for action in available_actions(app.screen)}
        await pilot.press("j")
        await pilot.pause()
        of_the_crashed = {action.id for action in available_actions(app.screen)}

    assert "container.shell" in available
    assert "container.shell" not in of_the_crashed


async def test_a_read_only_screen_has_no_shell() -> None:
    app = an_app(failing(), host=HostServices(shell=a_shell), read_only=True)
    async with app.run_test(size=SIZE):
        assert "container.shell" not in {
            action.id for action in available_actions(app.screen)
        }


async def test_a_terminal_that_cannot_be_suspended_is_reported() -> None:
    app = an_app(failing(), host=HostServices(shell=a_shell))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("s")
        await pilot.pause()

        assert messages(app) == ["no shell: this terminal cannot be suspended"]


async def test_a_missing_program_is_named() -> None:
    host = HostServices(shell=lambda _container: ("no-such-program",))
    app = an_app(failing(), host=host)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("s")
        await pilot.pause()

        assert messages(app) == ["no shell: no-such-program is not on the PATH"]


class Driverless:
    """An app whose terminal can be suspended."""

    def batch_update(self) -> AbstractContextManager[None]:
        return nullcontext()

    def suspend(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.mark.parametrize(
    ("container_id", "words"),
    [
        pytest.param(
            "docker://0123456789abcdef", "shell in demo/app (0123456789ab)", id="docker"
        ),
        pytest.param(
            "process://1",
            "beside demo/app: no container, this is your machine, as",
            id="process",
        ),
    ],
)
async def test_a_shell_first_prints_its_container_and_how_to_leave_it(
    container_id: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    terminal = tmp_path / "terminal"
    terminal.touch()
    monkeypatch.setattr(shell, "_TERMINAL", str(terminal))
    app = cast("ProbetuiApp", Driverless())
    notice = shell.shell_notice("demo/app", container_id)

    assert await shell.open_shell(app, ("sh", "-c", "exit 0"), notice) == ""

    text = terminal.read_text(encoding="utf-8")
    assert words in text
    assert "exit comes back" in text
    assert max(map(len, text.splitlines())) < 80


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(0, "", id="well"),
        pytest.param(1, "", id="as its last command"),
        pytest.param(
            127,
            "sh ended with exit code 127: is there a shell in the image?",
            id="no shell",
        ),
    ],
)
async def test_a_shell_that_could_not_be_started_is_reported(
    code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "_TERMINAL", os.devnull)
    app = cast("ProbetuiApp", Driverless())

    assert await shell.open_shell(app, ("sh", "-c", f"exit {code}")) == words
