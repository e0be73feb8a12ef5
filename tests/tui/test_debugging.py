"""Stepping, fault injection and other debugging on the screen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from textual.events import Key

from probetui.debugger.commands import (
    BreakpointKind,
    ClearBackoff,
    DelayProbes,
    DryRunProbe,
    EditProbe,
    InjectContainerFault,
    Injected,
    InjectResults,
    MuteProbes,
    RunToChange,
    SetBreakpoints,
    StepProbe,
    UnmuteProbes,
)
from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.debugger.timing import Timing
from probetui.engine.inputs import Command
from probetui.engine.snapshot import (
    Snapshot,
)
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Fault
from probetui.tui.host_services import HostServices
from tests.ticks import DEMO_KEY, NOW
from tests.tui.app_harness import an_app, screen_text
from tests.tui.debugging_snapshots import stopped, with_container, with_probe
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import DEMO

SIZE = (100, 36)
FAILURE = Injected.FAILURE


async def press_on(
    snapshot: Snapshot, *keys: str, host: HostServices | None = None
) -> tuple[FakeSession, str]:
    """Press keys; return the session and the text of the screen with its toasts."""
    session = FakeSession(snapshot)
    app = an_app(session, host=host)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        toasts = (notification.message for notification in app._notifications)
        return session, "\n".join((screen_text(app), *toasts))


async def type_on(snapshot: Snapshot, text: str) -> tuple[FakeSession, str]:
    """Type a line after a colon."""
    keys = ["space" if character == " " else character for character in text]
    names = {"/": "slash", "=": "equals_sign", "-": "minus", ".": "full_stop"}
    return await press_on(
        snapshot, "colon", *(names.get(key, key) for key in keys), "enter"
    )


@pytest.mark.parametrize(
    ("key", "command"),
    [
        pytest.param("T", DryRunProbe(DEMO_KEY), id="try"),
        pytest.param("S", RunToChange(), id="run-to-change"),
        pytest.param("m", MuteProbes(Scope.of(DEMO_KEY)), id="mute"),
        pytest.param("R", ClearBackoff(DEMO.uid, "liveness"), id="clear-back-off"),
    ],
)
async def test_a_key_sends_a_command(key: str, command: Command) -> None:
    session, _ = await press_on(failing(), key)

    assert session.sent == [command]


async def test_the_mute_key_unmutes_a_muted_probe() -> None:
    muted = with_probe(failing(), DEMO_KEY, muted=True)

    session, _ = await press_on(muted, "m")

    assert session.sent == [UnmuteProbes(Scope.of(DEMO_KEY))]


class TestInjecting:
    async def test_a_number_selects_the_next_result(self) -> None:
        session, _ = await press_on(failing(), "i", "3")

        assert session.sent == [InjectResults(DEMO_KEY, (FAILURE,))]

    async def test_left_and_right_set_the_number_of_runs(self) -> None:
        session, _ = await press_on(failing(), "i", "right", "right", "3")

        assert session.sent == [InjectResults(DEMO_KEY, (FAILURE,) * 3)]

    async def test_simultaneous_keys_are_handled_in_order(self) -> None:
        session = FakeSession(failing())
        app = an_app(session)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("i")
            for key in ("right", "right", "3"):
                app.post_message(Key(key, None))
            await pilot.pause()
            await pilot.pause()

        assert session.sent == [InjectResults(DEMO_KEY, (FAILURE,) * 3)]

    async def test_an_injected_result_is_queued_after_pending_ones(self) -> None:
        pending = with_probe(failing(), DEMO_KEY, injections=(FAILURE,) * 2)

        session, screen = await press_on(pending, "i")
        assert "pending: failure x2" in screen
        session, _ = await press_on(pending, "i", "5")

        assert session.sent == [
            InjectResults(DEMO_KEY, (FAILURE, FAILURE, Injected.ERRORED))
        ]

    async def test_the_last_choice_can_be_repeated(self) -> None:
        session, screen = await press_on(failing(), "i", "2", "i", "right", "7")

        assert session.sent == [
            InjectResults(DEMO_KEY, (Injected.SUCCESS,)),
            InjectResults(DEMO_KEY, (Injected.SUCCESS,) * 2),
        ]
        assert "Inject results" not in screen

    async def test_the_real_probe_can_be_restored(self) -> None:
        pending = with_probe(failing(), DEMO_KEY, injections=(FAILURE,))

        session, _ = await press_on(pending, "i", "enter")

        assert session.sent == [InjectResults(DEMO_KEY, ())]

    async def test_escape_selects_nothing(self) -> None:
        session, screen = await press_on(failing(), "i", "escape")

        assert session.sent == []
        assert "Inject results" not in screen


class TestBreaking:
    async def test_a_container_is_frozen_and_unfrozen(self) -> None:
        session, _ = await press_on(failing(), "x", "1")
        frozen = with_container(failing(), "liveness", frozen_since=NOW)
        again, _ = await press_on(frozen, "x", "1")

        assert session.sent == [
            InjectContainerFault(DEMO.uid, "liveness", Fault.FREEZE)
        ]
        assert again.sent == [
            InjectContainerFault(DEMO.uid, "liveness", Fault.UNFREEZE)
        ]

    async def test_the_network_of_a_pod_is_cut_and_restored(self) -> None:
        session, _ = await press_on(failing(), "x", "4")
        cut = with_container(failing(), "liveness", cut_off_since=NOW)
        again, _ = await press_on(cut, "x", "4")

        assert session.sent == [
            InjectContainerFault(DEMO.uid, "liveness", Fault.CUT_NETWORK)
        ]
        assert again.sent == [
            InjectContainerFault(DEMO.uid, "liveness", Fault.RESTORE_NETWORK)
        ]

    async def test_an_unavailable_fault_is_disabled_with_the_reason(self) -> None:
        def fault_refusal(pod: Pod, disruption: Fault) -> str:
            is_cut = disruption is Fault.CUT_NETWORK
            return f"{pod.name} has no cable" if is_cut else ""

        session, screen = await press_on(
            failing(), "x", "4", host=HostServices(fault_refusal=fault_refusal)
        )

        assert session.sent == []
        assert "Not now: demo has no cable" in screen

    async def test_no_faults_are_injected_in_watch_only_mode(self) -> None:
        watched = replace(failing(), acts=False)

        session, screen = await press_on(watched, "x", "1", "2", "3", "4")

        assert session.sent == []
        assert "start with --act" in screen

    async def test_no_faults_are_injected_in_a_container_that_does_not_run(
        self,
    ) -> None:
        waiting = with_container(failing(), "liveness", status=None)

        session, screen = await press_on(waiting, "x", "1")

        assert session.sent == []
        assert "the container is not running" in screen

    async def test_a_break_point_is_added_to_the_existing_ones(self) -> None:
        some = with_container(
            failing(), "liveness", break_points=frozenset({BreakpointKind.READINESS})
        )

        session, screen = await press_on(some, "x", "6")

        scope = Scope(DEMO.uid, "liveness")
        points = frozenset({BreakpointKind.READINESS, BreakpointKind.BEFORE_KILL})
        assert session.sent == [SetBreakpoints(points, scope)]
        assert "[x] readiness changes" in screen


class TestDelaying:
    async def test_a_probe_is_made_slower_than_its_limit(self) -> None:
        session, _ = await press_on(failing(), "x", "5")

        assert session.sent == [DelayProbes(Scope.of(DEMO_KEY), timedelta(seconds=2))]

    @pytest.mark.parametrize(
        ("keys", "delay", "words"),
        [
            pytest.param(("left", "left"), 0.5, "liveness: by 500ms", id="less"),
            pytest.param(("right",), 3, "by 3.0s, timeout is 1s", id="more"),
            pytest.param(("right",) * 9, 60, "by 60s, timeout is 1s", id="most"),
            pytest.param(("left",) * 9, 0, "liveness: no delay", id="none"),
        ],
    )
    async def test_left_and_right_set_the_delay(
        self, keys: tuple[str, ...], delay: float, words: str
    ) -> None:
        _, screen = await press_on(failing(), "x", *keys)
        session, _ = await press_on(failing(), "x", *keys, "5")

        assert words in screen
        assert session.sent == [
            DelayProbes(Scope.of(DEMO_KEY), timedelta(seconds=delay))
        ]

    async def test_a_delay_is_removed_by_the_same_keys(self) -> None:
        slow = with_probe(failing(), DEMO_KEY, delay=timedelta(seconds=2))

        session, screen = await press_on(slow, "x", "5")

        assert session.sent == [DelayProbes(Scope.of(DEMO_KEY), timedelta())]
        assert "DELAYED 2.0s" in screen
        assert "delayed 1" in screen


class TestEditing:
    async def test_a_number_is_changed_and_the_diff_is_shown(self) -> None:
        session, screen = await press_on(failing(), "e", "right", "right")
        assert "- periodSeconds: 5" in screen
        assert "+ periodSeconds: 7" in screen

        session, _ = await press_on(
            failing(), "e", "right", "right", "G", "up", "enter"
        )

        assert session.sent == [EditProbe(DEMO_KEY, Timing(5, 1, 7, 1, 3))]

    async def test_a_number_can_be_typed(self) -> None:
        session, _ = await press_on(failing(), "e", "4", "2", "G", "k", "enter")

        assert session.sent == [EditProbe(DEMO_KEY, Timing(5, 1, 42, 1, 3))]

    async def test_an_invalid_edit_is_not_sent(self) -> None:
        session, screen = await press_on(failing(), "e", "0", "G", "k", "enter")

        assert session.sent == []
        assert "periodSeconds: is 0, must be 1 or more" in screen

    async def test_the_timing_of_the_manifest_can_be_restored(self) -> None:
        session, _ = await press_on(failing(), "e", "G", "enter")

        assert session.sent == [EditProbe(DEMO_KEY, None)]


class TestTyping:
    @pytest.mark.parametrize(
        ("text", "command"),
        [
            pytest.param(
                "inject failure 3", InjectResults(DEMO_KEY, (FAILURE,) * 3), id="inject"
            ),
            pytest.param("inject real", InjectResults(DEMO_KEY, ()), id="real"),
            pytest.param("mute all", MuteProbes(ALL_PROBES), id="mute-all"),
            pytest.param("unmute pod", UnmuteProbes(Scope(DEMO.uid)), id="unmute-pod"),
            pytest.param(
                "edit period=7 failures=2",
                EditProbe(DEMO_KEY, Timing(5, 1, 7, 1, 2)),
                id="edit",
            ),
            pytest.param(
                "delay 1.5s",
                DelayProbes(Scope.of(DEMO_KEY), timedelta(seconds=1.5)),
                id="delay",
            ),
            pytest.param(
                "delay off all", DelayProbes(ALL_PROBES, timedelta()), id="delay-off"
            ),
            pytest.param(
                "fault stop",
                InjectContainerFault(DEMO.uid, "liveness", Fault.STOP),
                id="fault",
            ),
            pytest.param(
                "break at before-kill all",
                SetBreakpoints(frozenset({BreakpointKind.BEFORE_KILL}), ALL_PROBES),
                id="break-at",
            ),
        ],
    )
    async def test_arguments_after_the_name_are_complete(
        self, text: str, command: Command
    ) -> None:
        muted = with_probe(failing(), DEMO_KEY, muted=text.startswith("unmute"))

        session, _ = await type_on(muted, text)

        assert session.sent == [command]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            pytest.param("inject failure x", "is not a whole number", id="times"),
            pytest.param("inject failure 100", "must be 1 to 99", id="too-many"),
            pytest.param("delay soon", "is not a delay", id="delay"),
            pytest.param("edit colour=1", "is not one of period", id="field"),
            pytest.param("edit successes=2", "must be 1 for a liveness", id="rule"),
        ],
    )
    async def test_invalid_arguments_are_refused(self, text: str, words: str) -> None:
        session, screen = await type_on(failing(), text)

        assert session.sent == []
        assert words in screen


class TestChoosingInSteps:
    async def test_a_number_selects_the_next_result_of_the_selected_probe(self) -> None:
        session, screen = await press_on(stopped(), "Q", "3")

        assert session.sent == [InjectResults(DEMO_KEY, (FAILURE,))]
        assert "7 repeat last choice  failure, for the next 3 runs" in screen

    async def test_the_last_choice_is_repeated_for_the_selected_number_of_runs(
        self,
    ) -> None:
        session, _ = await press_on(stopped(), "Q", "6", "right", "7", "right", "7")

        timeout = Injected.TIMED_OUT
        assert session.sent == [
            InjectResults(DEMO_KEY, (timeout,) * times) for times in (1, 2, 3)
        ]

    async def test_there_is_nothing_to_repeat_before_the_first_choice(self) -> None:
        session, screen = await press_on(stopped(), "Q", "7")

        assert session.sent == []
        assert "no choice yet" in screen

    async def test_nothing_is_offered_on_a_read_only_screen(self) -> None:
        session = FakeSession(stopped())
        app = an_app(session, read_only=True)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("Q", "3")
            await pilot.pause()

            assert session.sent == []
            assert "Inject results" not in screen_text(app)

    async def test_a_small_screen_has_the_menu_only(self) -> None:
        app = an_app(stopped())
        async with app.run_test(size=(80, 20)) as pilot:
            await pilot.press("Q")
            await pilot.pause()
            without = screen_text(app)
            await pilot.press("i")
            await pilot.pause()

            assert "Inject results" not in without
            assert "Inject results" in screen_text(app)


@pytest.mark.parametrize("key", ["i", "x", "e"])
async def test_a_menu_is_as_high_as_its_rows(key: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await pilot.pause()

        shown = [line[24:96] for line in screen_text(app).splitlines()]
        (top,) = [n for n, line in enumerate(shown) if "esc closes" in line]
        bottom = top + app.screen.query_one("#menu").size.height - 1
        empty = [line for line in shown[top:bottom] if not line.strip("┃│ ")]
        assert len(empty) <= 2


class TestQueue:
    async def test_the_queue_takes_only_the_rows_that_it_needs(self) -> None:
        app = an_app(stopped())
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("Q")
            await pilot.pause()

            queue = app.screen.query_one("#queue")
            shown = screen_text(app).splitlines()[1 : queue.size.height + 1]
            assert not any(not line.strip("┃│ ") for line in shown)

    async def test_it_shows_what_comes_next_and_why_it_stopped(self) -> None:
        _, screen = await press_on(stopped(), "Q")

        assert "paused" in screen
        assert "paused  would kill" in screen
        assert "resync" in screen
        assert "stopped before a kill: the liveness probe of demo" in screen

    async def test_it_shows_what_the_last_step_did(self) -> None:
        _, screen = await press_on(stopped(), "Q")

        (line,) = [line for line in screen.splitlines() if "result run" in line]
        assert "failure 1 of 3" in line
        assert "failure 2 of 3" in line

    async def test_steps_work_there_too(self) -> None:
        session, _ = await press_on(stopped(), "Q", "greater_than_sign", "S")

        assert session.sent == [StepProbe(), RunToChange()]

    async def test_escape_goes_back(self) -> None:
        _, screen = await press_on(stopped(), "Q", "escape")

        assert "Last step" not in screen
