"""The order of the list (UX-47)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.tui.app_harness import an_app, screen_lines
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing

NAMES = {
    "demo/liveness": "liveness",
    "shop/proxy": "proxy",
    "shop/web": "web",
    "shop/cache": "cache",
    "shop/worker": "worker",
}


def listed(lines: list[str]) -> list[str]:
    """Return the short names of containers, from the top."""
    rows = [each.split()[0] for line in lines[3:9] if (each := line[3:24].strip())]
    return [NAMES[row] for row in rows if row in NAMES]


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        pytest.param((), "liveness proxy web cache worker", id="manifest order"),
        pytest.param(("o",), "worker liveness web proxy cache", id="worst first"),
        pytest.param(("o", "o"), "liveness cache proxy web worker", id="name"),
        pytest.param(
            ("o", "o", "o"), "worker liveness proxy web cache", id="most restarts"
        ),
        pytest.param(
            ("o",) * 4, "cache proxy web liveness worker", id="next tick first"
        ),
        pytest.param(("o",) * 5, "liveness proxy web cache worker", id="around"),
        pytest.param(
            ("o", "o", "O"), "worker web proxy cache liveness", id="name, reversed"
        ),
        pytest.param(
            ("colon", *"sort", "space", *"restarts", "enter"),
            "worker liveness proxy web cache",
            id="by name",
        ),
    ],
)
async def test_the_list_is_sorted(keys: tuple[str, ...], names: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        await pilot.pause()

        assert " ".join(listed(screen_lines(app))) == names


async def test_containers_stay_under_their_pod_where_pods_have_lines() -> None:
    app = an_app(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        left = [screen_line[:40] for screen_line in screen_lines(app)]

    order = [
        name
        for line in left
        for name in ("demo ", "shop ", "worker", "web", "cache")
        if f" {name}" in line[:22]
    ]
    assert order[:3] == ["shop ", "worker", "web"]
    assert order[-1] == "demo "


async def test_the_choice_stays_on_its_container_and_the_title_says_the_order() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "j", "o", "O")
        await pilot.pause()
        lines = screen_lines(app)

    assert next(line for line in lines if line[1:2] == ">").split()[1] == "shop/web"
    assert "sort: worst first, reversed" in lines[1]


async def test_what_gets_worse_comes_to_the_top_and_the_choice_goes_with_it() -> None:
    snapshot = failing()
    session = FakeSession(snapshot)
    app = an_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("o", "o", "o")
        demo, shop = snapshot.pods
        worse = demo.containers[0]
        assert worse.status is not None
        status = replace(worse.status, restart_count=99)
        changed = replace(demo, containers=(replace(worse, status=status),))
        session.publish(replace(snapshot, pods=(changed, shop)))
        await pilot.pause()
        lines = screen_lines(app)

    assert listed(lines)[0] == "liveness"
    assert (
        next(line for line in lines if line[1:2] == ">").split()[1] == "demo/liveness"
    )
