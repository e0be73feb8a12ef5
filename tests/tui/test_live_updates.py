"""A screen on a running session."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from textual.geometry import Region
from textual.pilot import Pilot

from probetui.engine.snapshot import PlaybackKind, PlaybackSnapshot, Snapshot
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.status import Terminated
from probetui.kubelet.journal import NoteEntry
from probetui.record.masking import Mask
from probetui.tui.app import ProbetuiApp
from probetui.tui.messages import SnapshotPublished
from probetui.tui.panes.line_widget import LineWidget
from probetui.tui.panes.subject_panes import SubjectPane
from probetui.tui.screens.sizes import TOO_SMALL
from probetui.tui.view_model import is_counting
from tests.ticks import NOW, changed_tick
from tests.tui.app_harness import an_app_of_cards, line_with, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import empty, failing, running, runtime_lost
from tests.tui.snapshots import (
    a_container_snapshot,
    a_pod_snapshot,
    a_snapshot,
    demo,
    shop,
)

SIZE = (80, 24)


def later(snapshot: Snapshot, seconds: float) -> Snapshot:
    return replace(snapshot, taken_at=NOW + timedelta(seconds=seconds))


async def test_a_published_snapshot_is_shown() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        session.publish(failing())
        await pilot.pause()

        assert "shop/worker" in screen_text(app)


async def test_a_snapshot_after_the_panes_have_gone_is_no_fault() -> None:
    """A screen that is being closed loses its panes before it loses its messages."""
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await app.screen.query_one("#panes").remove()
        session.publish(empty())
        await pilot.pause()

    assert app.return_code in {None, 0}


async def test_the_subscription_ends_with_the_app() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE):
        during = session.subscribers

    assert (during, session.subscribers) == (1, 0)


async def test_only_the_newest_of_many_publications_is_read() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session, motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        reads = session.reads
        for tenths in range(100):
            session.publish(later(running(), tenths / 10))
        await pilot.pause()

        assert session.reads - reads <= 3
        assert "08:21:16" in screen_lines(app)[0]


def test_a_newer_snapshot_replaces_an_older_one() -> None:
    assert SnapshotPublished().can_replace(SnapshotPublished())


async def test_times_advance_between_snapshots() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        session._snapshot = later(running(), 1.5)
        app._count_down()
        await pilot.pause()

        assert line_with(app, "▌ demo/liveness").split()[-2] == "1.6s"
        assert "08:21:08" in screen_lines(app)[0]


async def test_times_that_are_shown_already_are_not_shown_again() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        shown = app.ui_state.view_model
        session._snapshot = later(running(), 0.1)
        app._count_down()
        await pilot.pause()

        assert app.ui_state.view_model is shown


def a_playback(*, is_paused: bool = False, has_ended: bool = False) -> PlaybackSnapshot:
    kind = PlaybackKind.SIM
    return PlaybackSnapshot(kind, is_paused=is_paused, pace=1, has_ended=has_ended)


async def test_the_clock_advances_when_everything_has_ended() -> None:
    ended = a_container_snapshot(
        Container("job"), state=Terminated(0, "Completed"), ready=False
    )
    snapshot = a_snapshot(a_pod_snapshot(Pod("1", "job"), ended))
    session = FakeSession(snapshot)
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        session._snapshot = later(snapshot, 1.5)
        app._count_down()
        await pilot.pause()

        assert "08:21:08" in screen_lines(app)[0]


async def test_no_snapshot_is_read_while_time_stands_still() -> None:
    session = FakeSession(replace(running(), playback=a_playback(is_paused=True)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        reads = session.reads
        app._count_down()
        await pilot.pause()

        assert session.reads == reads


@pytest.mark.parametrize(
    ("playback", "counts"),
    [
        pytest.param(None, True, id="the wall's clock"),
        pytest.param(a_playback(), True, id="a clock of its own"),
        pytest.param(a_playback(is_paused=True), False, id="stopped"),
        pytest.param(a_playback(has_ended=True), False, id="ended"),
    ],
)
def test_a_screen_counts_while(playback: PlaybackSnapshot, counts: bool) -> None:  # noqa: FBT001  # a column
    assert is_counting(replace(running(), playback=playback)) is counts


@pytest.mark.parametrize(
    ("motion", "shown"),
    [
        pytest.param(True, ["3.1s", "2.8s", "2.6s", "2.3s"], id="four times a second"),
        pytest.param(False, ["3.1s"] * 4, id="once a second without motion"),
    ],
)
async def test_times_change_no_more_often_than_that(
    motion: bool,  # noqa: FBT001  # a column of the table
    shown: list[str],
) -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session, motion=motion)
    times_shown = []
    async with app.run_test(size=SIZE) as pilot:
        for twentieths in range(20):
            session.publish(later(running(), twentieths / 20))
            await pilot.pause()
            times_shown.append(line_with(app, "▌ demo/liveness").split()[-2])

    assert list(dict.fromkeys(times_shown)) == list(dict.fromkeys(shown))


async def test_only_lines_that_changed_are_painted() -> None:
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    painted: list[tuple[str, int]] = []
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for pane in app.screen.query(LineWidget):
            _watch(pane, painted)
        snapshot = failing()
        changed = demo("|ssssssfffKhhhhhh|sssssssff")
        session.publish(replace(snapshot, pods=(changed, *snapshot.pods[1:])))
        await pilot.pause()

        assert painted == [("detail", 3)], "the strip of marks, and nothing else"


def _watch(pane: LineWidget, painted: list[tuple[str, int]]) -> None:
    """Record which lines a pane paints; a refresh of everything is line -1."""
    refresh = pane.refresh

    def noting(*regions: Region, **options: bool) -> LineWidget:
        lines = [region.y for region in regions] or [-1]
        painted.extend((pane.id or "", line) for line in lines)
        return refresh(*regions, **options)

    pane.refresh = noting  # type: ignore[method-assign]  # to look at it


async def until_shown(app: ProbetuiApp, pilot: Pilot[None], words: str) -> None:
    """Wait until the screen shows `words`, which a new layout delays."""
    for _ in range(200):
        if words in screen_text(app):
            return
        await pilot.pause(0.02)
    pytest.fail(f"nothing shows {words!r}: {screen_text(app)}")


@pytest.mark.parametrize(
    ("size", "words"),
    [
        pytest.param((50, 12), "kill in 2.1s if the next probe fails", id="tiny"),
        pytest.param((80, 24), "3 Events  follow", id="narrow"),
        pytest.param((120, 40), "one mark per tick", id="normal"),
        pytest.param((200, 50), "kubelet v1.36 rules", id="wide"),
        pytest.param((39, 24), "Terminal too small", id="too narrow"),
        pytest.param((80, 9), "Terminal too small", id="too low"),
    ],
)
async def test_the_size_can_change_while_it_runs(
    size: tuple[int, int], words: str
) -> None:
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j")
        await pilot.resize_terminal(*size)
        session.publish(later(failing(), 1))
        await pilot.press("k")
        await until_shown(app, pilot, words)
        lines = screen_lines(app)

        assert {len(line) for line in lines} == {size[0]}
        await pilot.resize_terminal(80, 24)
        await until_shown(app, pilot, "▌ demo/liveness")


@pytest.mark.parametrize("key", ["enter", "w", "v", "d", "y", "l", "Q"])
async def test_every_screen_reports_a_terminal_that_is_too_small(key: str) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        await pilot.resize_terminal(39, 9)
        await until_shown(app, pilot, "Terminal too small")
        lines = [line.strip() for line in screen_lines(app)]
        await pilot.resize_terminal(80, 24)
        await until_shown(app, pilot, "? help")

        assert " ".join(filter(None, lines)) == (TOO_SMALL)
        assert TOO_SMALL not in screen_text(app)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param("i", "Inject results", id="inject"),
        pytest.param("x", "Faults and break-points", id="break"),
        pytest.param("e", "What if", id="timing"),
        pytest.param("C", "Copy", id="copy"),
        pytest.param("ctrl+d", "Confirm", id="question"),
        pytest.param("question_mark", "Keys for", id="help"),
    ],
)
async def test_a_dialog_over_a_screen_reports_a_terminal_that_is_too_small_too(
    key: str, name: str
) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        await until_shown(app, pilot, f"┏ {name}")
        await pilot.resize_terminal(39, 9)
        await until_shown(app, pilot, "Terminal too small")
        lines = [line.strip() for line in screen_lines(app)]
        await pilot.resize_terminal(80, 24)
        await until_shown(app, pilot, f"┏ {name}")

        assert " ".join(filter(None, lines)) == (TOO_SMALL)
        assert TOO_SMALL not in screen_text(app)


async def test_the_selection_is_visible_in_every_size() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("G")
        for size in ((80, 24), (60, 16), (50, 12), (40, 10), (120, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()

            chosen = [line for line in screen_lines(app) if "▌" in line[:3]]
            assert len(chosen) == 1
            assert "cache" in chosen[0]


async def test_a_lost_runtime_is_reported_until_it_is_back() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        session.publish(runtime_lost(), NoteEntry(9, NOW, "gone", is_fault=True))
        await pilot.pause()
        lost = screen_lines(app)
        session.publish(running())
        await pilot.pause()

        assert "docker has not answered for 8s; probes error" in lost[1]
        assert "does not answer" not in screen_text(app)


HOSTILE = [
    pytest.param("[red]boo[/red]", "[red]boo[/red]", id="markup"),
    pytest.param("[@click=app.quit]x[/]", "[@click=app.quit]x[/]", id="a link"),
    pytest.param("[", "[", id="half a bracket"),
    pytest.param("\x1b[31mred", "\\x1b[31mred", id="colour"),
    pytest.param("\x1b]0;title\x07", "\\x1b]0;title\\x07", id="window title"),
    pytest.param("\x1b]52;c;Zm9v\x07", "\\x1b]52;c;Zm9v\\x07", id="clipboard"),
    pytest.param("\r\x08\x7f", "\\x0d\\x08\\x7f", id="control characters"),
    pytest.param("日本語", "日本語", id="wide"),
    pytest.param("🙂👍🏽", "🙂👍🏽", id="emoji"),
    pytest.param("e\u0301\u0301", "e\u0301\u0301", id="combining"),
    pytest.param("\u202eabc", "\\u202eabc", id="writing direction"),
    pytest.param("\udcff", "\\xff", id="not UTF-8"),
]


def hostile(text: str) -> Snapshot:
    """Return a snapshot with the text in every field that others can set."""
    container = Container(f"c{text}", f"image:{text}")
    waiting = a_container_snapshot(container, ready=False)
    pod = a_pod_snapshot(Pod("1", f"p{text}"), waiting, operation=f"pulling {text}")
    demo_pod = demo()
    probe = demo_pod.containers[0].probes[0]
    assert probe.last_run is not None
    attempt = replace(probe.last_run.attempts[0], output=text, detail=text)
    last = changed_tick(probe.last_run, attempts=(attempt,))
    shown = replace(demo_pod.containers[0], probes=(replace(probe, last_run=last),))
    return replace(
        a_snapshot(
            replace(demo_pod, containers=(shown,)),
            pod,
            shop(),
            entries=[NoteEntry(1, NOW, text)],
        ),
        runtime_lost_since=NOW,
        runtime_error=text,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("text", "shown"), HOSTILE)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_foreign_text_is_shown_and_not_obeyed(
    size: tuple[int, int], text: str, shown: str
) -> None:
    app = an_app_of_cards(hostile(text))
    async with app.run_test(size=size) as pilot:
        app.export_screenshot()
        lines = screen_lines(app)
        widths = {strip.cell_length for strip in app.screen._compositor.render_strips()}
        await pilot.press("j", "v")
        await pilot.pause()

        assert widths == {size[0]}
        assert any(f"p{shown}"[:6] in line for line in lines), "in a name"
        assert any(shown in line for line in lines), "in a message"
        assert "".join(lines).isprintable()
        assert "\n".join(screen_lines(app)).encode()


async def test_columns_stay_aligned_beside_wide_names() -> None:
    app = an_app_of_cards(hostile("日本語"))
    async with app.run_test(size=SIZE):
        wide = line_with(app, "p日本語")
        plain = line_with(app, "shop/proxy")

    # Each wide character takes the place of two.
    assert wide.index(" Running ") + 6 == plain.index(" Running ")


async def test_ten_kibibytes_on_one_line_are_cut_in_short_and_whole_in_full() -> None:
    app = an_app_of_cards(hostile("x" * 10_240))
    async with app.run_test(size=SIZE) as pilot:
        short = line_with(app, "last ")
        await pilot.press("2", "z", "pagedown")
        await pilot.pause()
        full = screen_lines(app)

        assert short.rstrip(" │").endswith("x…")
        assert sum("x" * 60 in line for line in full) > 10
        card = app.screen.query_one("#detail", SubjectPane)
        assert sum(text.count("x") for row in card.rows() for text, _ in row) >= 10_240


async def test_a_filter_can_be_hostile_too() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"[red]", "enter")
        await pilot.pause()

        assert "filter: [red] (5 of 5)" in screen_text(app)


async def test_secrets_are_masked_unless_shown_on_request() -> None:
    secret = "s3cr3t-t0ken"
    pod = Pod(
        "1", "p", containers=(Container("c", env=(EnvVar("API_TOKEN", secret),)),)
    )
    snapshot = a_snapshot(
        a_pod_snapshot(pod, a_container_snapshot(pod.containers[0])),
        entries=[NoteEntry(1, NOW, f"token {secret} is wrong")],
    )

    masked = await _text_of(an_app_of_cards(snapshot))
    wanted = await _text_of(an_app_of_cards(snapshot, show_secrets=True))

    assert "token *** is wrong" in masked
    assert f"token {secret} is wrong" in wanted


async def test_further_secrets_are_masked_as_soon_as_they_are_known() -> None:
    mask = Mask()
    pod = Pod("1", "p", containers=(Container("c"),))
    snapshot = a_snapshot(
        a_pod_snapshot(pod, a_container_snapshot(pod.containers[0])),
        entries=[NoteEntry(1, NOW, "hunter22 is wrong")],
    )
    app = an_app_of_cards(snapshot, mask)
    mask.learn(["hunter22"])

    text = await _text_of(app)

    assert "*** is wrong" in text
    assert "hunter22" not in text


async def _text_of(app: ProbetuiApp) -> str:
    async with app.run_test(size=SIZE):
        return screen_text(app)


async def test_a_thousand_containers_scroll_from_end_to_end() -> None:
    pods = [
        a_pod_snapshot(
            Pod(str(number), f"pod-{number}"), a_container_snapshot(Container("c"))
        )
        for number in range(1000)
    ]
    app = an_app_of_cards(a_snapshot(*pods))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("G")
        last = line_with(app, "▌")
        await pilot.press("pageup", "pageup")
        higher = line_with(app, "▌")
        await pilot.press("g")
        first = line_with(app, "▌")

    assert [line.split()[2] for line in (last, higher, first)] == [
        "pod-999/c",
        "pod-989/c",
        "pod-0/c",
    ]


async def test_what_is_published_when_the_app_has_no_screen_is_let_go() -> None:
    app = an_app_of_cards(FakeSession(running()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()

    assert not app.screen_stack
    app._show()
    assert not app._notifications
