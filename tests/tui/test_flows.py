"""Complete user flows on simulated pods, from the first key to the last.

The tests use keys only, and check the text of the screen only.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from probetui.cli.lessons import load_lesson
from probetui.debugger.commands import PauseProbes
from probetui.drive.clocks import SystemClock
from probetui.drive.playback.session import PlaybackSession
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.scenario.script import Scenario
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import DEFAULT_VERSION
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.tui.app import ProbetuiApp
from probetui.tui.options import ScreenOptions
from tests.builders import START, a_container, a_pod, a_probe
from tests.drive.recorded_simulation import Recorded, simulation_factory
from tests.tui.app_harness import screen_lines, screen_text

pytestmark = pytest.mark.real_time

SIZE = (80, 24)
HEALTHY = a_pod(a_container(liveness_probe=a_probe(period_seconds=2)), name="shop")
OTHER = a_pod(a_container(readiness_probe=a_probe()), name="cache")


def lesson(name: str) -> tuple[Pod, Scenario]:
    """Return the pod of a lesson, and its scenario."""
    loaded = load_lesson(name)
    manifests = load_manifests([loaded.source])
    return manifests.pods[0], read_scenario(loaded.script, manifests.pods)


def simulated(*pods: Pod, scenario: Scenario | None = None) -> PlaybackSession:
    begin = simulation_factory(
        *pods,
        config=KubeletConfig(version=DEFAULT_VERSION),
        **({} if scenario is None else {"scenario": scenario}),
    )
    return PlaybackSession(SimulatedSource(begin), SystemClock(), runtime_name="sim")


class User:
    """A user who presses keys and waits for texts on the screen."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    @property
    def screen(self) -> str:
        return screen_text(self._pilot.app)

    @property
    def restarts(self) -> int:
        """The restarts of the selected container in the list."""
        lines = screen_lines(self._pilot.app)
        at = next(line for line in lines if " RST " in line).index("RST")
        chosen = next(line for line in lines if line[2:3] == "▌")
        return int(chosen[at : at + 3])

    @property
    def sentences(self) -> str:
        """The text of a pane, without its frame and line breaks."""
        lines = (re.sub("[┃│█]", "", line).strip() for line in self.screen.splitlines())
        return " ".join(" ".join(lines).split())

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def type(self, line: str) -> None:
        """Run a command by name."""
        await self.press("colon", *line, "enter")

    async def see(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.sentences for text in texts), *texts)

    async def see_no(self, text: str) -> None:
        await self.until(lambda: text not in self.sentences, f"no {text}")

    async def until(self, condition: Callable[[], bool], *what: str) -> None:
        try:
            async with asyncio.timeout(30):
                while not condition():  # the screen is painted when there is time
                    await self._pilot.pause(0.01)
        except TimeoutError:
            raise AssertionError(
                f"looked in vain for {what} on\n{self.screen}"
            ) from None

    async def turn(self, width: int, height: int) -> None:
        """Change the size of the terminal."""
        await self._pilot.resize_terminal(width, height)
        await self._pilot.pause()


@asynccontextmanager
async def open_screen(
    session: PlaybackSession, *, read_only: bool = False
) -> AsyncIterator[User]:
    """Open the screen on a session that is paused at its beginning."""
    session.send(PauseProbes())
    options = ScreenOptions(zone=UTC, lanes=False, motion=False, read_only=read_only)
    app = ProbetuiApp(session, options=options)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(session.run())
        try:
            async with app.run_test(size=SIZE) as pilot:
                yield User(pilot)
        finally:
            session.stop()
            await task


async def test_a_user_finds_out_why_a_container_was_killed() -> None:
    pod, scenario = lesson("liveness")
    async with open_screen(simulated(pod, scenario=scenario)) as user:
        await user.type("seek 13s")
        await user.until(lambda: user.restarts == 1, "a restart")

        await user.press("w")

        await user.see(
            "Its instance 1 was killed",
            "its liveness probe failed 3 of 3 times in a row (exit 137, SIGKILL)",
            "cat: can't open 'healthy': No such file or directory",
            "It did not end on its stop signal within the grace period",
            "Exit of liveness/app, instance 1",
        )
        await user.press("escape")
        await user.see_no("Exit of")


async def test_a_user_steps_a_liveness_probe_to_its_kill_and_past_it() -> None:
    pod, scenario = lesson("liveness")
    async with open_screen(simulated(pod, scenario=scenario)) as user:
        gauges: list[str] = []
        for _ in range(20):
            await user.press("greater_than_sign")
            gauges += re.findall(r"[█░]{3} (\d/3)", user.screen)[:1]
            if "KILLING" in user.sentences:
                break

        assert list(dict.fromkeys(gauges)) == ["1/3", "2/3"]
        await user.see("[PAUSED sim 00:07.0]", "Stopping 0 ✗ hold", "✗✗✗ K <now")
        assert user.restarts == 0
        for _ in range(4):
            await user.press("greater_than_sign")
        await user.see("RESTART 1", "K hold2 | ✓✓ <now")
        assert user.restarts == 1


@pytest.mark.sweep
async def test_a_user_makes_a_healthy_container_fail_three_times() -> None:
    async with open_screen(simulated(HEALTHY)) as user:
        await user.type("seek 10s")
        await user.see("5 successes in a row")

        await user.press("i", "right", "right", "3")
        await user.see("INJECTED 3")
        await user.type("seek +8s")

        await user.see("✗*✗*✗* K | ✓")
        assert user.restarts == 1
        await user.see_no("INJECTED")
        await user.press("w")
        await user.see("a user injected the result")


async def test_a_user_mutes_and_unmutes_a_failing_probe() -> None:
    pod, scenario = lesson("liveness")
    async with open_screen(simulated(pod, scenario=scenario)) as user:
        await user.type("seek 2s")
        await user.press("m")
        await user.see("MUTED")
        await user.type("seek 30s")
        await user.see(
            "✗ 25/3 M", "3 failures in a row: no action (muted)", "✗ 3/3 +22"
        )
        assert user.restarts == 0

        await user.press("m")
        await user.see_no("MUTED")
        await user.type("seek +5s")

        await user.until(lambda: user.restarts == 1, "a restart")


@pytest.mark.sweep
async def test_a_user_seeks_in_a_replay(tmp_path: Path) -> None:
    pod, scenario = lesson("liveness")
    recorded = Recorded(tmp_path / "session.jsonl", pod, scenario=scenario)
    recorded.run_until(START + timedelta(seconds=60))
    session = PlaybackSession(recorded.end(), SystemClock(), runtime_name="process")
    async with open_screen(session, read_only=True) as user:
        await user.type("seek 45s")
        await user.see("replay 00:45.0", "Back-off")
        assert user.restarts == 3

        await user.type("seek -40s")
        await user.see("replay 00:05.0", "Running 5s 0 ✓ ok")
        assert user.restarts == 0
        await user.type("seek 13s")

        await user.see("replay 00:13.0", "K hold3 | ✓✓ <now")
        assert user.restarts == 1


@pytest.mark.sweep
async def test_a_user_searches_for_one_pod_among_several() -> None:
    async with open_screen(simulated(HEALTHY, OTHER)) as user:
        await user.type("seek 5s")
        await user.see("shop", "cache")

        await user.press("slash", *"sho")
        await user.until(lambda: "cache" not in listed(user), "only shop")
        await user.press("enter")
        await user.see("filter: sho (1 of 2)")

        await user.press("escape")
        await user.until(lambda: "cache" in listed(user), "all again")


def listed(user: User) -> str:
    """Return the pane of the containers, the first one."""
    lines = user.screen.splitlines()
    below = next(number for number, line in enumerate(lines) if line[:4] == "  2 ")
    return "\n".join(lines[1:below])


@pytest.mark.sweep
async def test_a_user_resizes_the_terminal() -> None:
    pod, scenario = lesson("liveness")
    async with open_screen(simulated(pod, scenario=scenario)) as user:
        await user.press("space")
        for width, height in ((50, 12), (39, 9), (200, 50), (80, 24)):
            await user.turn(width, height)
            lines = user.screen.splitlines()
            assert (len(lines), {len(line) for line in lines}) == (height, {width})
            assert user.screen.strip()

        await user.see("liveness/app", "Running")


async def test_the_pod_is_shown_before_its_image_is_pulled() -> None:
    """How soon is measured by `benchmarks/start.py`."""
    source = SourceFile("script", b"images: {'busybox:1.36': {takes: 60s}}")
    scenario = read_scenario(source, [HEALTHY])
    async with open_screen(simulated(HEALTHY, scenario=scenario)) as user:
        await user.type("seek 5s")

        await user.see("shop/app Pulling", "pulling busybox:1.36", "Pulling image")
        await user.type("seek 65s")
        await user.see("Running")


@pytest.mark.sweep
async def test_a_user_finds_a_container_among_many_that_are_probed_all_the_time() -> (
    None
):
    """How fast is measured by `benchmarks/screen.py`."""
    probe = a_probe(period_seconds=1)
    container = a_container(
        liveness_probe=probe, readiness_probe=probe, startup_probe=probe
    )
    pods = [a_pod(container, name=f"pod-{number:02}") for number in range(50)]
    async with open_screen(simulated(*pods)) as user:
        await user.press("space")
        await user.see("SIM 1x", "50 pods")

        await user.press("G")
        await user.see("▌ pod-49/app")
        await user.press("g", "j")
        await user.see("▌ pod-01/app")
