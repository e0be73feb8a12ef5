"""The order of the list."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.kubelet.journal import ExitCause, StoppingSnapshot
from tests.ticks import NOW
from tests.tui.app_harness import an_app_of_cards, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import a_snapshot, demo, shop

NAMES = {
    "demo/liveness": "liveness",
    "shop/proxy": "proxy",
    "shop/web": "web",
    "shop/cache": "cache",
    "shop/worker": "worker",
}


def listed(lines: list[str]) -> list[str]:
    """Return the short names of containers, from the top."""
    rows = [name.split()[0] for line in lines[3:9] if (name := line[4:24].strip())]
    return [NAMES[row] for row in rows if row in NAMES]


def chosen(lines: list[str]) -> str:
    return next(line for line in lines if line[2:3] == "▌").split()[2]


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        pytest.param((), "liveness worker proxy web cache", id="worst first"),
        pytest.param(("o",), "liveness cache proxy web worker", id="name"),
        pytest.param(("o", "o"), "worker liveness proxy web cache", id="restarts"),
        pytest.param(("o",) * 3, "cache proxy web liveness worker", id="next tick"),
        pytest.param(("o",) * 4, "liveness proxy web cache worker", id="manifests"),
        pytest.param(("o",) * 5, "liveness worker proxy web cache", id="around"),
        pytest.param(("o", "O"), "worker web proxy cache liveness", id="reversed"),
        pytest.param(
            ("colon", *"sort", "space", *"manifest", "enter"),
            "liveness proxy web cache worker",
            id="typed",
        ),
    ],
)
async def test_the_list_is_sorted(keys: tuple[str, ...], names: str) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        await pilot.pause()

        assert " ".join(listed(screen_lines(app))) == names


@pytest.mark.parametrize(
    ("heads", "names", "title"),
    [
        pytest.param(["NAME"], "liveness cache proxy web worker", "name", id="name"),
        pytest.param(
            ["RST"], "worker liveness proxy web cache", "most restarts", id="restarts"
        ),
        pytest.param(
            ["NEXT", "NEXT"],
            "worker liveness web proxy cache",
            "next tick, reversed",
            id="twice",
        ),
        pytest.param(
            ["NAME", "LIVE"],
            "liveness worker proxy web cache",
            "worst first",
            id="live",
        ),
    ],
)
async def test_a_click_on_a_column_head_sorts_and_a_second_one_reverses(
    heads: list[str], names: str, title: str
) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        for head in heads:
            x = screen_lines(app)[2].index(head) + 1
            await pilot.click("#containers", offset=(x, 1))
            await pilot.pause()
        lines = screen_lines(app)

    assert " ".join(listed(lines)) == names
    assert f" 5, {title} " in lines[1]
    assert chosen(lines) == "demo/liveness"


async def test_the_selection_stays_on_its_container_and_the_title_shows_the_order() -> (
    None
):
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "j", "O")
        await pilot.pause()
        lines = screen_lines(app)

    assert chosen(lines) == "shop/proxy"
    assert "5, worst first, reversed" in lines[1]


async def test_the_cursor_stays_while_the_mouse_is_in_another_pane() -> None:
    session = FakeSession(a_snapshot(shop_of_one(), demo("|ssss")))
    app = an_app_of_cards(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#detail", offset=(5, 2))
        session.publish(a_snapshot(shop_of_one(), demo("|ssff")))
        await pilot.pause()

        assert "2 shop/cache" in screen_text(app)


def shop_of_one(*, is_stopped: bool = False) -> PodSnapshot:
    """Return a pod with one container that runs, or is being stopped."""
    pod = shop()
    stopping = StoppingSnapshot(NOW, 30, "pod", ExitCause.LIVENESS)
    cache = replace(pod.containers[2], stopping=stopping if is_stopped else None)
    return replace(pod, containers=(cache,))


def with_restarts(count: int) -> Snapshot:
    """Return a snapshot with that number of restarts of the demo's container."""
    snapshot = failing()
    demo, shop = snapshot.pods
    status = demo.containers[0].status
    assert status is not None
    status = replace(status, restart_count=count)
    changed = replace(demo.containers[0], status=status)
    return replace(snapshot, pods=(replace(demo, containers=(changed,)), shop))


async def test_a_container_that_gets_worse_moves_up_together_with_the_selection() -> (
    None
):
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("o", "o")
        session.publish(with_restarts(99))
        await pilot.pause()
        lines = screen_lines(app)

    assert listed(lines)[0] == "liveness"
    assert chosen(lines) == "demo/liveness"


async def test_the_order_is_kept_during_navigation_until_a_key_sorts_again() -> None:
    session = FakeSession(failing())
    app = an_app_of_cards(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("o", "o", "j")
        before = listed(screen_lines(app))
        session.publish(with_restarts(99))
        await pilot.pause()
        meanwhile = listed(screen_lines(app))
        await pilot.press("O", "O")
        await pilot.pause()
        lines = screen_lines(app)

    assert meanwhile == before
    assert listed(lines)[0] == "liveness"
    assert chosen(lines) == "shop/proxy"
