"""What people come for, from the first key to the last, on pods that are simulated.

No call steers the session here, only keys; what is looked at is what the screen says.
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
    """Return the pod of a lesson, and how it goes."""
    loaded = load_lesson(name)
    manifests = load_manifests([loaded.source])
    return manifests.pods[0], read_scenario(loaded.script, manifests.pods)


def simulated(*pods: Pod, scenario: Scenario | None = None) -> PlaybackSession:
    begin = simulation_factory(
        *pods, **({} if scenario is None else {"scenario": scenario})
    )
    return PlaybackSession(SimulatedSource(begin), SystemClock(), runtime_name="sim")


class Person:
    """Presses keys and looks at the screen until it says something."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    @property
    def screen(self) -> str:
        return screen_text(self._pilot.app)

    @property
    def restarts(self) -> int:
        """What the list says of the chosen container."""
        lines = screen_lines(self._pilot.app)
        at = next(line for line in lines if " RST " in line).index("RST")
        chosen = next(line for line in lines if line[2:3] == "▌")
        return int(chosen[at : at + 3])

    @property
    def sentences(self) -> str:
        """What a pane says, without its frame and the breaks of its lines."""
        lines = (re.sub("[┃│█]", "", line).strip() for line in self.screen.splitlines())
        return " ".join(" ".join(lines).split())

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def type(self, line: str) -> None:
        """Give a command by name."""
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
async def somebody_at(
    session: PlaybackSession, *, read_only: bool = False
) -> AsyncIterator[Person]:
    """Open the screen on a session that stands still at its beginning."""
    session.send(PauseProbes())
    options = ScreenOptions(zone=UTC, motion=False, read_only=read_only)
    app = ProbetuiApp(session, options=options)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(session.run())
        try:
            async with app.run_test(size=SIZE) as pilot:
                yield Person(pilot)
        finally:
            session.stop()
            await task


async def test_somebody_finds_out_why_a_container_was_killed() -> None:
    pod, scenario = lesson("liveness")
    async with somebody_at(simulated(pod, scenario=scenario)) as person:
        await person.type("seek 13s")
        await person.until(lambda: person.restarts == 1, "a restart")

        await person.press("w")

        await person.see(
            "Exit of liveness/app",
            "The liveness probe killed it: failure 3 of 3 in a row",
            "cat: can't open 'healthy': No such file or directory",
            "grace period 2s (the pod's terminationGracePeriodSeconds)",
            "exit code 137, SIGKILL",
        )
        await person.press("escape")
        await person.see_no("Exit of")


async def test_somebody_steps_a_liveness_probe_to_its_kill_and_past_it() -> None:
    pod, scenario = lesson("liveness")
    async with somebody_at(simulated(pod, scenario=scenario)) as person:
        gauges: list[str] = []
        for _ in range(20):
            await person.press("full_stop")
            gauges += re.findall(r"[█░]{3} (\d/3)", person.screen)[:1]
            if "KILLING" in person.sentences:
                break

        assert list(dict.fromkeys(gauges)) == ["1/3", "2/3"]
        await person.see("[PAUSED sim 00:07.0]", "Stopping 0 ✗ hold", "✗✗✗ K <now")
        assert person.restarts == 0
        for _ in range(4):
            await person.press("full_stop")
        await person.see("RESTART 1", "K hold2 | ✓✓ <now")
        assert person.restarts == 1


async def test_somebody_makes_a_healthy_container_fail_three_times() -> None:
    async with somebody_at(simulated(HEALTHY)) as person:
        await person.type("seek 10s")
        await person.see("5 successes in a row")

        await person.press("i", "right", "right", "3")
        await person.see("INJECTED 3")
        await person.type("seek +8s")

        await person.see("✗*✗*✗* K | ✓")
        assert person.restarts == 1
        await person.see_no("INJECTED")
        await person.press("w")
        await person.see("results was injected by a user")


async def test_somebody_mutes_a_failing_probe_and_lets_it_speak_again() -> None:
    pod, scenario = lesson("liveness")
    async with somebody_at(simulated(pod, scenario=scenario)) as person:
        await person.type("seek 2s")
        await person.press("m")
        await person.see("MUTED")
        await person.type("seek 30s")
        await person.see(
            "✗ 25/3 M", "3 failures in a row: no action (muted)", "✗ 3/3 +22"
        )
        assert person.restarts == 0

        await person.press("m")
        await person.see_no("MUTED")
        await person.type("seek +5s")

        await person.until(lambda: person.restarts == 1, "a restart")


async def test_somebody_seeks_in_a_replay(tmp_path: Path) -> None:
    pod, scenario = lesson("liveness")
    recorded = Recorded(tmp_path / "session.jsonl", pod, scenario=scenario)
    recorded.run_until(START + timedelta(seconds=60))
    session = PlaybackSession(recorded.end(), SystemClock(), runtime_name="process")
    async with somebody_at(session, read_only=True) as person:
        await person.type("seek 45s")
        await person.see("replay 00:45.0", "CrashLoopBackOff")
        assert person.restarts == 3

        await person.type("seek -40s")
        await person.see("replay 00:05.0", "Running 5s 0 ✓ ok")
        assert person.restarts == 0
        await person.type("seek 13s")

        await person.see("replay 00:13.0", "K hold3 | ✓✓ <now")
        assert person.restarts == 1


async def test_somebody_looks_for_one_pod_among_several() -> None:
    async with somebody_at(simulated(HEALTHY, OTHER)) as person:
        await person.type("seek 5s")
        await person.see("shop", "cache")

        await person.press("slash", *"sho")
        await person.until(lambda: "cache" not in listed(person), "only shop")
        await person.press("enter")
        await person.see("filter: sho (1 of 2)")

        await person.press("escape")
        await person.until(lambda: "cache" in listed(person), "all again")


def listed(person: Person) -> str:
    """Return the pane of the containers, the first one."""
    lines = person.screen.splitlines()
    below = next(number for number, line in enumerate(lines) if line[:4] == "  2 ")
    return "\n".join(lines[1:below])


async def test_somebody_changes_the_size_while_it_runs() -> None:
    pod, scenario = lesson("liveness")
    async with somebody_at(simulated(pod, scenario=scenario)) as person:
        await person.press("space")
        for width, height in ((50, 12), (39, 9), (200, 50), (80, 24)):
            await person.turn(width, height)
            lines = person.screen.splitlines()
            assert (len(lines), {len(line) for line in lines}) == (height, {width})
            assert person.screen.strip()

        await person.see("liveness/app", "Running")


async def test_somebody_sees_the_pod_before_its_image_is_there() -> None:
    """UX-36; how soon is measured by `benchmarks/start.py`."""
    source = SourceFile("script", b"images: {'busybox:1.36': {takes: 60s}}")
    scenario = read_scenario(source, [HEALTHY])
    async with somebody_at(simulated(HEALTHY, scenario=scenario)) as person:
        await person.type("seek 5s")

        await person.see("shop/app pulling", "pulling busybox:1.36", "Pulling image")
        await person.type("seek 65s")
        await person.see("Running")


async def test_somebody_finds_a_container_among_many_that_are_probed_all_the_time() -> (
    None
):
    """UX-37; how fast is measured by `benchmarks/screen.py`."""
    probe = a_probe(period_seconds=1)
    container = a_container(
        liveness_probe=probe, readiness_probe=probe, startup_probe=probe
    )
    pods = [a_pod(container, name=f"pod-{number:02}") for number in range(50)]
    async with somebody_at(simulated(*pods)) as person:
        await person.press("space")
        await person.see("SIM 1x", "50 pods")

        await person.press("G")
        await person.see("▌ pod-49/app")
        await person.press("g", "j")
        await person.see("▌ pod-01/app")
