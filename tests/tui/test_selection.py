"""What is selected stands still: only keys and clicks select a container or a probe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.events import Key, Resize
from textual.geometry import Size

from probetui.engine.inputs import Command
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, Snapshot
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType, TCPSocketAction
from probetui.k8s.status import Terminated, Waiting
from probetui.kubelet.journal import JournalEntry, UserEntry
from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.container_table import ContainerTable
from tests.ticks import NOW, changed_tick, history
from tests.tui.app_harness import an_app, line_with, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.snapshots import (
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
)

SIZE = (120, 40)
PROBE = Probe(TCPSocketAction(80), 0, 1, 5, 1, 3)
NAMES = {"red": ("api", "web"), "sea": ("db",), "sky": ("front", "mail")}
STATES = (
    None,
    Waiting("CrashLoopBackOff"),
    Terminated(1, reason="Error", finished_at=NOW),
)


def a_container(
    pod: Pod, name: str, liveness: str, readiness: str, state: int = 0
) -> ContainerSnapshot:
    """Return a container with two probes; letters are the results of their ticks."""
    probes = (
        a_probe_snapshot(ProbeKey(pod.uid, name, kind), PROBE, letters)
        for kind, letters in (
            (ProbeType.LIVENESS, liveness),
            (ProbeType.READINESS, readiness),
        )
    )
    spec = pod.container(name)
    assert spec is not None
    return a_container_snapshot(spec, *probes, state=STATES[state])


def a_spec(name: str, uid: str = "") -> Pod:
    containers = (
        Container(container, liveness_probe=PROBE, readiness_probe=PROBE)
        for container in NAMES[name]
    )
    return Pod(uid or f"uid-{name}", name, containers=tuple(containers))


def a_pod(
    name: str, liveness: str = "ss", readiness: str = "ss", *, uid: str = ""
) -> PodSnapshot:
    pod = a_spec(name, uid)
    containers = (
        a_container(pod, container, liveness, readiness) for container in NAMES[name]
    )
    return a_pod_snapshot(pod, *containers)


def named(app: ProbetuiApp) -> str:
    """Return what the screen says is selected: `red/web liveness`."""
    kind = "liveness|readiness|L|R"
    title = re.search(rf" (\S+/\S+)  .*?\[({kind})\]", screen_text(app))
    if title is None:
        footer = screen_lines(app)[-1].split()[:2]
        return " ".join(footer) if "/" in footer[0] else ""
    kinds = {"L": "liveness", "R": "readiness"}
    return f"{title[1]} {kinds.get(title[2], title[2])}"


async def test_the_first_container_in_trouble_is_selected_at_the_start() -> None:
    app = an_app(a_snapshot(a_pod("red"), a_pod("sea", readiness="sff")))
    async with app.run_test(size=SIZE):
        assert named(app) == "sea/db readiness"


def one_without_probes() -> Snapshot:
    """Return a pod of two containers, the first one without probes."""
    spec = a_spec("sea")
    spec = replace(spec, containers=(Container("plain"), *spec.containers))
    plain = a_container_snapshot(spec.containers[0])
    return a_snapshot(a_pod_snapshot(spec, plain, a_container(spec, "db", "ss", "ss")))


async def test_without_trouble_one_with_probes_is_selected_at_the_start() -> None:
    app = an_app(one_without_probes())
    async with app.run_test(size=SIZE):
        assert named(app) == "sea/db liveness"


async def test_no_row_moves_when_a_container_without_probes_is_selected() -> None:
    app = an_app(one_without_probes())
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        area = app.screen.query_one(ContainerTable).region
        rows = slice(area.y + 2, area.bottom - 1)
        before = [line[3:15].strip() for line in screen_lines(app)[rows]]
        await pilot.press("g")
        await pilot.pause()
        after = [line[3:15].strip() for line in screen_lines(app)[rows]]

        assert before == ["sea/plain", "sea/db", "liveness", "readiness"]
        assert after == before


async def test_it_is_selected_once_there_are_containers() -> None:
    session = FakeSession(a_snapshot())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        session.publish(a_snapshot(a_pod("red"), a_pod("sea", "sff")))
        await pilot.pause()

        assert named(app) == "sea/db liveness"


@pytest.mark.parametrize("keys", [(), ("r",), ("m",), ("tab",)], ids=str)
async def test_no_other_trouble_is_selected_later(keys: Sequence[str]) -> None:
    session = FakeSession(a_snapshot(a_pod("red"), a_pod("sea")))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        session.publish(a_snapshot(a_pod("red", readiness="sff"), a_pod("sea", "sff")))
        await pilot.pause()

        assert named(app) == "red/api liveness"


async def test_a_pod_that_is_created_again_is_selected_again() -> None:
    session = FakeSession(a_snapshot(a_pod("red"), a_pod("sea")))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("G", "right_square_bracket")
        session.publish(a_snapshot(a_pod("red")))
        await pilot.pause()
        session.publish(a_snapshot(a_pod("red"), a_pod("sea", uid="another")))
        await pilot.pause()

        assert named(app) == "sea/db readiness"


async def test_a_container_that_its_filter_loses_stays_selected() -> None:
    session = FakeSession(a_snapshot(a_pod("red"), a_pod("sea")))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"running", "enter", "G")
        pod = a_pod("sea")
        waiting = a_container(pod.pod, "db", "ss", "ss", state=1)
        session.publish(a_snapshot(a_pod("red"), replace(pod, containers=(waiting,))))
        await pilot.pause()

        assert named(app) == "sea/db liveness"
        assert "2 of 3" in line_with(app, "filter: running")


class TestFollowingTrouble:
    async def test_it_selects_what_is_most_urgent(self) -> None:
        session = FakeSession(a_snapshot(a_pod("red"), a_pod("sea")))
        app = an_app(session)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("F")
            session.publish(a_snapshot(a_pod("red"), a_pod("sea", readiness="sff")))
            await pilot.pause()
            first = named(app)
            session.publish(a_snapshot(a_pod("red", "sff"), a_pod("sea")))
            await pilot.pause()

            assert (first, named(app)) == ("sea/db readiness", "red/api liveness")
            assert "1 Containers  follow trouble" in screen_text(app)

    @pytest.mark.parametrize("key", ["F", "k", "right_square_bracket"])
    async def test_a_key_that_selects_ends_it(self, key: str) -> None:
        session = FakeSession(a_snapshot(a_pod("red"), a_pod("sea")))
        app = an_app(session)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("j", "F", key)
            before = named(app)
            session.publish(a_snapshot(a_pod("red"), a_pod("sea", "sff")))
            await pilot.pause()

            assert named(app) == before
            assert "follow trouble" not in screen_lines(app)[1]

    async def test_it_waits_behind_a_menu_about_the_selection(self) -> None:
        session = FakeSession(a_snapshot(a_pod("red"), a_pod("sea")))
        app = an_app(session)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("F", "i")
            session.publish(a_snapshot(a_pod("red"), a_pod("sea", "sff")))
            await pilot.pause()
            await pilot.press("3")
            await pilot.pause()

            assert [target(command) for command in session.sent] == ["red/api liveness"]


async def test_a_key_selects_the_next_container_in_trouble() -> None:
    app = an_app(a_snapshot(a_pod("red"), a_pod("sea", "sff"), a_pod("sky", "sf")))
    async with app.run_test(size=SIZE) as pilot:
        selected = []
        for _ in range(3):
            await pilot.press("exclamation_mark")
            selected.append(named(app).split()[0])

    assert selected == ["sky/front", "sky/mail", "sea/db"]


# -- no key acts on anything else than what the screen names

ACTS = ("m", "full_stop", "t", "T", "r", "R", "ctrl+k")
MOVES = ("j", "k", "G", "g", "left_square_bracket", "right_square_bracket", "left")
OTHERS = ("tab", "o", "O", "exclamation_mark", "escape", "z")


def target(command: Command) -> str:
    """Return the container, and the probe if it has one, that a command is about."""
    key: Any = getattr(command, "key", None) or getattr(command, "scope", command)
    pod = key.pod_uid.removeprefix("uid-").partition("+")[0]
    kind = getattr(key, "probe_type", None)
    return f"{pod}/{key.container_name} {kind.lower() if kind else ''}".rstrip()


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Draw pods that come, go and are created again, with any health."""
    pods = []
    for name in draw(st.permutations(list(NAMES))):
        uid = draw(st.sampled_from(["", f"uid-{name}", f"uid-{name}+2"]))
        if not uid:
            continue
        pod = a_spec(name, uid)
        containers = [
            a_container(
                pod,
                container,
                draw(st.sampled_from(["ss", "sf", "sff", ""])),
                draw(st.sampled_from(["ss", "sf", "sff", ""])),
                draw(st.integers(0, len(STATES) - 1)),
            )
            for container in NAMES[name]
        ]
        pods.append(a_pod_snapshot(pod, *containers))
    return a_snapshot(*pods, is_paused=draw(st.booleans()))


# A failure names its key; a shrunk example would cost minutes and be no shorter.
PLAYED = settings(
    max_examples=4, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)


@PLAYED
@given(st.data())
async def test_no_key_acts_on_anything_that_the_screen_does_not_name(
    data: st.DataObject,
) -> None:
    session = FakeSession(data.draw(snapshots()))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(10):
            if data.draw(st.booleans()):
                session.publish(data.draw(snapshots()))
                await pilot.pause()
            if data.draw(st.integers(0, 5)) == 0:
                await pilot.resize_terminal(data.draw(st.integers(80, 200)), 40)
            before, count = named(app), len(session.sent)
            key = data.draw(st.sampled_from((*ACTS, *MOVES, *OTHERS)))
            await pilot.press(key)
            acted_on = [target(command) for command in session.sent[count:]]

            assert all(before.startswith(name) for name in acted_on), key
            assert acted_on == [] or key in ACTS


# -- keys that come faster than the screen is painted, among snapshots and sizes

SIZES = st.tuples(st.integers(40, 200), st.integers(10, 60))
SETTLED = (*MOVES, *OTHERS, "F", "L", "minus", "plus", "1", "2", "3")
TYPED = (("slash", *"red", "enter"), ("slash", *"!sea", "enter"), ("slash", "escape"))


def rows_on_screen(app: ProbetuiApp) -> list[int]:
    """Return the lines that containers of the list are on."""
    table = app.screen.query_one(ContainerTable)
    if not table.display or not table.region:
        return []
    lines = screen_lines(app)[table.region.y : table.region.bottom]
    names = [f"{pod}/{name}" for pod, names in NAMES.items() for name in names]
    return [
        table.region.y + y
        for y, text in enumerate(lines)
        for name in names
        if re.search(rf"\b{name}\b", text[:30])
    ]


@pytest.mark.parametrize("follows", [False, True], ids=["first pods", "trouble"])
async def test_a_key_does_not_act_on_what_was_selected_after_it_was_pressed(
    follows: bool,  # noqa: FBT001  # a column
) -> None:
    session = FakeSession(a_snapshot(a_pod("red")) if follows else a_snapshot())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*("F" if follows else ""))
        session.publish(a_snapshot(a_pod("red"), a_pod("sea", "sff")))
        app.post_message(Key("m", "m"))
        await pilot.pause()
        at_once = list(session.sent)
        toasts = [" ".join(toast.message.split()) for toast in app._notifications]
        await pilot.press("m")

        assert at_once == []
        assert toasts == ["Something else was selected just then: press the key again."]
        assert [target(command) for command in session.sent] == ["sea/db liveness"]


@PLAYED
@given(st.data())
async def test_no_burst_acts_on_anything_that_the_screen_did_not_name(
    data: st.DataObject,
) -> None:
    session = FakeSession(data.draw(snapshots()))
    app = an_app(session, lanes=data.draw(st.booleans()))
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(6):
            keys = data.draw(st.one_of(st.sampled_from(TYPED), st.just(())))
            await pilot.press(*keys, *data.draw(st.lists(st.sampled_from(SETTLED))))
            rows = rows_on_screen(app)
            clicked = data.draw(st.integers(0, 2 * len(rows)))
            if clicked < len(rows):
                await pilot.click(offset=(5, rows[clicked]))
            await pilot.pause()
            named_before, count = named(app), len(session.sent)
            deeds = data.draw(
                st.lists(
                    st.one_of(st.sampled_from(ACTS), snapshots(), SIZES),
                    min_size=1,
                    max_size=6,
                )
            )
            for deed in deeds:
                match deed:
                    case str():
                        app.post_message(Key(deed, None))
                    case Snapshot():
                        session.publish(deed)
                    case (width, height):
                        size = Size(width, height)
                        app.post_message(Resize(size, size))
            await pilot.pause()
            acted_on = [target(command) for command in session.sent[count:]]

            assert all(named_before.startswith(name) for name in acted_on), deeds
            await pilot.press("escape", "escape")
            await pilot.resize_terminal(*SIZE)


@PLAYED
@given(st.data())
async def test_no_snapshot_selects_another_container_or_probe(
    data: st.DataObject,
) -> None:
    session = FakeSession(data.draw(snapshots()))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*data.draw(st.lists(st.sampled_from(MOVES), max_size=4)))
        selected = named(app)
        for _ in range(10):
            session.publish(data.draw(snapshots()))
            await pilot.pause()

            assert not selected or named(app) in {selected, ""}
            selected = selected or named(app)


@pytest.mark.parametrize("keys", [("z",), ("3", "z")], ids=["list", "events"])
async def test_the_footer_names_the_selection_where_the_card_is_hidden(
    keys: Sequence[str],
) -> None:
    app = an_app(a_snapshot(a_pod("red"), a_pod("sea", readiness="sff")))
    async with app.run_test(size=(80, 24)) as pilot:
        before = screen_lines(app)[-1]
        await pilot.press(*keys)
        await pilot.pause()

        assert "sea/db" not in before
        assert screen_lines(app)[-1].startswith(" sea/db readiness  ? help")


class TestActsNameTheirTarget:
    async def acted(self, *entries: JournalEntry) -> list[str]:
        """Return the notifications of entries that come after the first snapshot."""
        session = FakeSession(a_snapshot(a_pod("red")))
        app = an_app(session)
        async with app.run_test(size=SIZE) as pilot:
            session.publish(a_snapshot(a_pod("red")), *entries)
            await pilot.pause()
            return [toast.message for toast in app._notifications]

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            pytest.param("mute", "muted red/web liveness", id="mute"),
            pytest.param("probe now", "probe now red/web liveness", id="now"),
            pytest.param("restart", "restarting red/web liveness", id="restart"),
        ],
    )
    async def test_a_notification_names_it(self, command: str, message: str) -> None:
        entry = UserEntry(1, NOW, command, "red/web liveness")

        assert await self.acted(entry) == [message]

    async def test_a_step_has_the_outcome_of_its_tick(self) -> None:
        key = ProbeKey("uid-red", "web", ProbeType.READINESS)
        other = ProbeKey("uid-red", "api", ProbeType.READINESS)
        stepped, before = (
            history(key, PROBE, "sff", NOW)[-1],
            history(other, PROBE, "s", NOW)[-1],
        )
        entries = (
            UserEntry(1, NOW, "step", "red/web readiness"),
            changed_tick(before, sequence=2),
            changed_tick(stepped, sequence=3),
        )

        assert await self.acted(*entries) == ["step red/web readiness #3: failure 2/3"]

    async def test_a_pause_is_left_to_the_header(self) -> None:
        assert await self.acted(UserEntry(1, NOW, "pause", "all probes")) == []
