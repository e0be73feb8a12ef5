"""The list of containers."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.status import Waiting
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.styled_text import StyledLine
from tests.ticks import DEMO_KEY, LIVENESS, changed_tick
from tests.tui.app_harness import (
    an_app_of_cards,
    line_with,
    screen_lines,
    screen_text,
    turn_the_wheel,
)
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
    demo,
    shop,
)

SIZE = (80, 24)


def pods(*numbers: int) -> list[PodSnapshot]:
    """Return pods with two containers each."""
    return [
        a_pod_snapshot(
            Pod(f"uid-{number}", f"pod-{number:03}"),
            a_container_snapshot(Container("app")),
            a_container_snapshot(Container("side")),
        )
        for number in numbers
    ]


def many(numbers: Iterable[int] = range(50)) -> Snapshot:
    return a_snapshot(*pods(*numbers))


def chosen(lines: list[str]) -> str:
    return next(line for line in lines if line[2:3] == "▌")[4:24].strip()


def row_of_selection(lines: list[str]) -> int:
    return next(index for index, line in enumerate(lines) if line[2:3] == "▌")


async def test_selection_and_position_are_kept_when_everything_is_published_again() -> (
    None
):
    session = FakeSession(many())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*["j"] * 20)
        before = screen_lines(app)
        session.publish(many())
        await pilot.pause()

        after = screen_lines(app)
        assert chosen(after) == chosen(before) == "pod-010/app"
        assert row_of_selection(after) == row_of_selection(before)


async def test_selection_and_position_are_kept_when_an_earlier_pod_is_removed() -> None:
    session = FakeSession(many())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*["j"] * 20)
        before = screen_lines(app)
        session.publish(many(range(3, 50)))
        await pilot.pause()

        after = screen_lines(app)
        assert chosen(after) == "pod-010/app"
        assert row_of_selection(after) == row_of_selection(before)


async def test_a_new_pod_does_not_change_the_selection() -> None:
    session = FakeSession(many(range(5)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("j", "j")
        session.publish(many([9, *range(5)]))
        await pilot.pause()

        assert chosen(screen_lines(app)) == "pod-001/app"


async def test_none_is_selected_when_the_selected_pod_is_removed() -> None:
    session = FakeSession(many(range(5)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("j", "j")
        session.publish(many([0, 2, 3]))
        await pilot.pause()

        assert " ▌ " not in screen_text(app)
        assert "No container selected." in screen_text(app)

        await pilot.press("j")

        assert chosen(screen_lines(app)) == "pod-002/app"


async def test_nothing_is_selected_when_every_pod_is_removed() -> None:
    session = FakeSession(many(range(5)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        session.publish(a_snapshot())
        await pilot.pause()

        assert "No pods." in screen_text(app)
        assert "No container selected." in screen_text(app)


async def test_a_publication_does_not_undo_scrolling_with_the_mouse_wheel() -> None:
    session = FakeSession(many())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        table = app.screen.query_one(ContainerTable)
        turn_the_wheel(table, 5)
        await pilot.pause()
        top = table.viewport.top
        session.publish(many())
        await pilot.pause()

        assert top == table.viewport.top == 15
        assert table.chosen_key is not None
        assert table.chosen_key.pod_uid == "uid-0"


async def test_only_visible_lines_are_formatted() -> None:
    formatted: set[int] = set()

    class Counting(ContainerTable):
        def row(self, index: int) -> StyledLine:
            formatted.add(index)
            return super().row(index)

    session = FakeSession(many(range(500)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        table = app.screen.query_one(ContainerTable)
        table.__class__ = Counting
        await pilot.press("G")
        session.publish(many(range(500)))
        await pilot.pause()

        assert chosen(screen_lines(app)) == "pod-499/side"
        assert len(formatted) < 20


@pytest.mark.parametrize(
    ("typed", "hits"),
    [
        pytest.param("shop", "4 of 5", id="plain"),
        pytest.param("SHOP/W", "2 of 5", id="case does not matter"),
        pytest.param("!shop", "1 of 5", id="inverse"),
        pytest.param("web|cache", "2 of 5", id="regular expression"),
        pytest.param("back-off", "1 of 5", id="by state"),
        pytest.param("zzz", "0 of 5", id="no hit"),
        pytest.param("!", "5 of 5", id="nothing yet"),
    ],
)
async def test_a_filter_shows_its_matches_while_it_is_typed(
    typed: str, hits: str
) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *typed)
        await pilot.pause()

        assert hits in screen_lines(app)[-1]


async def test_an_invalid_filter_is_reported_and_hides_nothing() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"web(")
        await pilot.pause()

        assert "not a regular expression: missing )" in screen_lines(app)[-1]
        assert "demo/liveness" in screen_text(app)


async def test_typed_letters_are_text_even_if_they_are_keys() -> None:
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"qtr?u.", "space", "f8")
        await pilot.pause()

        assert "qtr?u. " in screen_lines(app)[-1]
        assert session.sent == []
        assert not app._notifications
        assert app.is_running


async def test_escape_clears_the_filter_and_restores_the_selection() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"cache")
        await pilot.pause()
        while_filtered = chosen(screen_lines(app))
        await pilot.press("escape")
        await pilot.pause()

        assert while_filtered == "shop/cache"
        assert chosen(screen_lines(app)) == "demo/liveness"
        assert "5, worst first" in screen_text(app)
        assert isinstance(app.focused, ContainerTable)


async def test_a_filter_survives_publications_and_is_cleared_with_escape() -> None:
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"shop", "enter", "j")
        session.publish(failing())
        await pilot.pause()
        kept = screen_text(app)
        await pilot.press("escape")
        await pilot.pause()

        assert "filter: shop (4 of 5)" in kept
        assert "▌ demo" not in kept
        assert chosen(screen_lines(app)) == "shop/proxy sidecar"
        assert "5, worst first" in screen_text(app)


async def test_where_a_filter_hides_all_nothing_is_acted_on_after_an_update() -> None:
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"zzz", "enter")
        session.publish(failing())
        await pilot.pause()
        await pilot.press("s", "enter")
        await pilot.pause()
        table = app.screen_stack[0].query_one(ContainerTable)
        chosen_in_vain = table.chosen_container
        await pilot.press("escape")
        await pilot.press("escape")
        await pilot.pause()

        assert chosen_in_vain is None
        assert session.sent == []
        assert chosen(screen_lines(app)) == "demo/liveness"


async def test_a_container_that_starts_to_match_becomes_visible() -> None:
    session = FakeSession(many(range(3)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"back", "enter")
        crashed = a_container_snapshot(
            Container("app"), state=Waiting("CrashLoopBackOff")
        )
        snapshot = many(range(3))
        last = replace(snapshot.pods[2], containers=(crashed,))
        session.publish(replace(snapshot, pods=(*snapshot.pods[:2], last)))
        await pilot.pause()

        assert "1 of 5" in line_with(app, "filter: back")
        assert " ▌ " not in screen_text(app)

        await pilot.press("j")

        assert chosen(screen_lines(app)) == "pod-002/app"


async def test_the_exit_of_the_previous_instance_is_shown_if_there_is_room() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("z")
        await pilot.pause()

        assert (
            "RST  LAST EXIT              LIVE     READY    START     NEXT"
            in screen_text(app)
        )
        assert "2  killed by probe (137)  ██░ 2/3" in line_with(app, "▌ ")
        assert "6  exited by itself (1)   -" in line_with(app, "shop/worker ")


PROBES = ("LIVE", "READY", "START")
HEADS = ("NAME", "STATE", "RST", "LIVE", "READY", "START", "NEXT")


@pytest.mark.parametrize(
    "size", [(80, 24), (100, 30), (120, 40), (160, 45), (200, 60)], ids=str
)
async def test_every_container_has_one_row_below_heads_at_every_width(
    size: tuple[int, int],
) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        lines = screen_lines(app)

    width = 66 if size[0] >= 100 else 80
    assert tuple(lines[2][1 : width - 1].split()) == HEADS
    rows = [line[1 : width - 1] for line in lines[3:8]]
    assert [row[3:].split()[0] for row in rows] == [
        "demo/liveness",
        "shop/worker",
        "shop/proxy",
        "shop/web",
        "shop/cache",
    ]
    starts = [lines[2][1:].index(head) for head in HEADS if head not in {"RST", "NEXT"}]
    assert all(row[start - 1] == " " != row[start] for row in rows for start in starts)


@pytest.mark.parametrize(
    ("state", "at_80", "at_120"),
    [
        pytest.param("ContainerCreating", "Creating ", "Creating ", id="new"),
        pytest.param("ImagePullBackOff", "Pull back-off ", "Pull back-off ", id="pull"),
        pytest.param(
            "CreateContainerConfigError", "Config error ", "Config error ", id="config"
        ),
    ],
)
async def test_a_state_is_in_full_or_a_short_word_and_never_cut(
    state: str, at_80: str, at_120: str
) -> None:
    pod = a_pod_snapshot(
        DEMO, a_container_snapshot(DEMO.containers[0], state=Waiting(state))
    )
    for width, words in ((80, at_80), (120, at_120)):
        app = an_app_of_cards(a_snapshot(pod))
        async with app.run_test(size=(width, 40)) as pilot:
            await pilot.pause()

            assert f" {words}" in line_with(app, "▌ demo/liveness")


async def test_conditions_that_are_not_true_are_below_a_list_with_room() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.pause()

        assert "Ready            False" in line_with(app, "Ready   ")
        assert "conditions of demo" not in screen_text(app)


@pytest.mark.parametrize("width", [120, 200])
async def test_conditions_side_by_side_are_whole_or_without_their_reason(
    width: int,
) -> None:
    pods = (demo(pod={"status": shop().status}), shop())
    app = an_app_of_cards(a_snapshot(*pods))
    async with app.run_test(size=(width, 50)):
        shown = screen_text(app)

    assert "ContainersReady  False" in shown
    assert "Con…" not in shown


async def test_conditions_of_pods_that_a_filter_hides_are_hidden_too() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.press("slash", *"shop", "enter")
        await pilot.pause()

        assert "conditions of shop" in screen_text(app)
        assert "conditions of demo" not in screen_text(app)


async def test_a_long_list_has_the_conditions_of_the_selected_pod_or_none() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("z", "j")
        await pilot.pause()

        assert "conditions of shop" in screen_text(app)

        await pilot.press("z")
        await pilot.pause()

        assert "conditions of" not in screen_text(app)


async def test_names_and_lengths_of_delays_are_whole_at_80_columns() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()

        assert "shop/proxy sidecar " in screen_text(app)
        assert " delay 3s " in line_with(app, "shop/proxy")


@pytest.mark.parametrize(
    ("width", "words"),
    [
        pytest.param(80, " ▌ shop/proxy sidecar     Running 9s ", id="narrow"),
        pytest.param(120, " ▌ shop/proxy    Running 9s ", id="beside the card"),
        pytest.param(50, "▌ shop/proxy ", id="tiny"),
    ],
)
async def test_the_selection_has_a_mark_at_every_width(width: int, words: str) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.press("j", "j")
        await pilot.pause()

        assert words in screen_text(app)


@pytest.mark.parametrize(
    ("letters", "presses", "tint"),
    [
        pytest.param("|sssff", ["g"], "cursor-error", id="the next failure kills"),
        pytest.param("|sssff", ["j"], "cursor-error", id="back-off"),
        pytest.param("|ssssf", ["j"], "cursor-warning", id="counts up"),
        pytest.param("|sssff", ["G"], "cursor", id="calm"),
    ],
)
async def test_the_selected_row_has_the_tint_of_its_state(
    letters: str, presses: list[str], tint: str
) -> None:
    app = an_app_of_cards(a_snapshot(demo(letters), shop()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*presses)
        await pilot.pause()
        table = app.screen.query_one(ContainerTable)
        roles = {role.split()[-1] for _, role in table.row(table.viewport.cursor)}

    assert roles == {tint}


async def test_n_goes_to_the_next_match_after_the_filter_is_cleared() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"shop/(web|worker)", "enter", "escape", "g", "j")
        places = []
        for key in ("n", "n", "n", "N"):
            await pilot.press(key)
            await pilot.pause()
            places.append(chosen(screen_lines(app)))

    assert places == ["shop/web", "shop/worker", "shop/web", "shop/worker"]


async def test_n_does_nothing_without_a_search() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("n", "N")
        await pilot.pause()

        assert chosen(screen_lines(app)) == "demo/liveness"


async def test_labels_of_pods_filter_containers() -> None:
    front, back = pods(1, 2)
    front = replace(front, pod=replace(front.pod, labels={"app": "web"}))
    app = an_app_of_cards(a_snapshot(front, back))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"-l app=web", "enter")
        await pilot.pause()

        assert "pod-001/app" in screen_text(app)
        assert "pod-002" not in screen_text(app)
        assert "filter: -l app=web (2 of 4)" in screen_text(app)


async def test_invalid_labels_are_reported_while_they_are_typed() -> None:
    app = an_app_of_cards(many(range(2)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("slash", *"-l =web")
        await pilot.pause()

        assert '-l: "=web" is not a label requirement' in screen_text(app)


LONG = "checkout-service-backend"


def with_long_names() -> Snapshot:
    pod = replace(DEMO, name=f"{LONG}-7d9c5b6f4d-x2x9q")
    containers = (
        replace(DEMO.containers[0], name=f"{LONG}-server"),
        Container(f"{LONG}-cache"),
    )
    pod = replace(pod, containers=containers)
    key = DEMO_KEY._replace(container_name=f"{LONG}-server")
    output = "what it says is longer than there is room for on one line of the pane"
    probe = a_probe_snapshot(key, LIVENESS, "sf")
    assert probe.last_run is not None
    attempt = replace(probe.last_run.attempts[0], output=output)
    probe = replace(probe, last_run=changed_tick(probe.last_run, attempts=(attempt,)))
    return a_snapshot(
        a_pod_snapshot(
            pod,
            a_container_snapshot(containers[0], probe),
            a_container_snapshot(containers[1]),
        )
    )


@pytest.mark.parametrize(
    ("size", "names_end"),
    [
        pytest.param((50, 12), 30, id="tiny"),
        pytest.param((80, 24), 45, id="narrow"),
        pytest.param((120, 40), 45, id="beside the card"),
        pytest.param((200, 50), 75, id="wide"),
    ],
)
async def test_long_names_can_be_distinguished_by_their_ends(
    size: tuple[int, int], names_end: int
) -> None:
    app = an_app_of_cards(with_long_names())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()

        starts = [line[:names_end] for line in screen_lines(app)]
        assert sum("server " in start for start in starts) == 1
        assert sum("cache " in start for start in starts) == 1


async def test_a_long_name_leaves_room_for_the_kinds_of_probes() -> None:
    app = an_app_of_cards(with_long_names())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()

        title = next(line for line in screen_lines(app) if line.startswith("  2 "))
        assert "…" in title
        assert "-server  [L] " in title


async def test_long_output_is_wrapped_below_its_beginning() -> None:
    app = an_app_of_cards(with_long_names())
    async with app.run_test(size=(80, 50)) as pilot:
        await pilot.press("enter")
        await pilot.pause()

        lines = [line.strip("┃ ") for line in screen_lines(app)]
        first = next(i for i, line in enumerate(lines) if "  what it says" in line)
        whole = f"{lines[first]} {lines[first + 1]}"
        assert "longer than there is room for on one line of the pane" in whole
        rows = screen_lines(app)[first : first + 2]
        assert rows[1].index("on one line") >= rows[0].index("✗"), "not below the label"


@pytest.mark.parametrize(
    ("pod_name", "kinds", "name", "heads"),
    [
        pytest.param(
            "exec-liveness",
            [ProbeType.LIVENESS],
            "exec-liveness/app",
            ["LIVE", "READY"],
            id="one column goes",
        ),
        pytest.param(
            "web",
            [ProbeType.LIVENESS],
            "web/app",
            ["LIVE", "READY", "START"],
            id="none has to go",
        ),
        pytest.param(
            "exec-startup-of-shop",
            [ProbeType.STARTUP],
            "exec-startup-of-shop/app",
            ["START"],
            id="two go",
        ),
        pytest.param(
            "exec-liveness",
            list(ProbeType),
            "exec-l…ss/app",
            ["LIVE", "READY", "START"],
            id="all are in use",
        ),
    ],
)
async def test_a_name_has_the_room_of_columns_that_no_container_needs(
    pod_name: str, kinds: list[ProbeType], name: str, heads: list[str]
) -> None:
    pod = replace(DEMO, name=pod_name)
    probes = [
        a_probe_snapshot(ProbeKey(DEMO.uid, "app", kind), LIVENESS) for kind in kinds
    ]
    shown = a_pod_snapshot(pod, a_container_snapshot(Container("app"), *probes))
    app = an_app_of_cards(FakeSession(a_snapshot(shown)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = screen_lines(app)

    assert f" {name} " in lines[3]
    assert [head for head in lines[2][:66].split() if head in PROBES] == heads
