"""Pages about a pod: described, and as YAML."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import NodeSnapshot, PodSnapshot, SourceSnapshot
from probetui.k8s.pod import Container, EnvVar
from tests.ticks import NOW
from tests.tui.app_harness import an_app, line_with, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import DEMO, a_pod_snapshot, a_snapshot, demo

SIZE = (80, 24)
TALL = (100, 60)


def with_token() -> PodSnapshot:
    container = Container("app", env=(EnvVar("API_TOKEN", "s3cr3t"),))
    return a_pod_snapshot(replace(DEMO, containers=(container,)), *demo().containers)


async def test_a_pod_is_described_with_its_probes_and_folded_events() -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("d")
        await pilot.pause()

        shown = screen_text(app)
        assert "describe   as kubectl describe shows it" in screen_lines(app)[0]
        assert screen_lines(app)[1].startswith("┏ demo ")
        assert "Liveness:     exec [cat /tmp/healthy] delay=5s timeout=1s" in shown
        assert "2s (x2 over 7s)" in shown
        assert "BackOff" not in shown, "that is of another pod"


async def test_a_pod_is_written_as_yaml_with_its_defaults() -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("y")
        await pilot.pause()

        assert "successThreshold: 1" in screen_text(app)
        assert "restartPolicy: Always" in screen_text(app)


async def test_the_node_is_described_and_kept_up_to_date() -> None:
    snapshot = a_snapshot(demo())
    app = an_app(session := FakeSession(snapshot))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("D")
        await pilot.pause()
        first = screen_text(app)
        source = SourceSnapshot("http", is_heard=False, pods=3)
        session.publish(replace(snapshot, node=NodeSnapshot("n1", (source,))))
        await pilot.pause()

        assert "Sources of pods:" in first
        assert screen_lines(app)[0].startswith(" node ")
        assert screen_lines(app)[1].startswith("┏ n1 ")
        assert "http  3     no: nothing is cleaned up until then" in screen_text(app)


@pytest.mark.parametrize("key", ["d", "y"])
async def test_the_pod_of_the_selected_container_is_shown(key: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("j", key)
        await pilot.pause()

        assert screen_lines(app)[1].startswith("┏ shop ")


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_a_page_is_left_for_the_panes(key: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y", key)
        await pilot.pause()

        assert "1 Containers" in screen_text(app)


async def test_a_search_goes_to_its_matches_and_hides_nothing() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y", "slash", *"name", "enter")
        await pilot.pause()
        first = line_with(app, "┃>")
        heading = line_with(app, "search: name")
        await pilot.press("n")
        await pilot.pause()
        second = line_with(app, "┃>")
        await pilot.press("N")
        await pilot.pause()

        assert ">  name: demo" in first
        assert "(1 of " in heading
        assert ">  namespace: default" in second
        assert line_with(app, "┃>") == first
        assert "apiVersion: v1" in screen_text(app)


async def test_the_bar_counts_matches_during_typing() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y", "slash", *"probe")
        await pilot.pause()
        hits = screen_lines(app)[-1]
        await pilot.press("left_parenthesis")
        await pilot.pause()

        assert "filter page /probe" in hits
        assert "1 of 1" in hits
        assert "not a regular expression" in screen_lines(app)[-1]


async def test_a_page_keeps_its_position_when_something_changes() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("d", "G")
        await pilot.pause()
        before = line_with(app, "┃>")
        later = replace(session.snapshot, taken_at=NOW.replace(second=8))
        session.publish(later)
        await pilot.pause()

        assert "2s (x2 over 7s)" in before
        assert "3s (x2 over 8s)" in line_with(app, "┃>")
        assert screen_lines(app).index(line_with(app, "┃>")) == 21


async def test_a_removed_pod_is_shown_in_its_last_state() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y")
        session.publish(a_snapshot())
        await pilot.pause()

        assert "removed: last known state" in screen_lines(app)[0]
        assert "name: demo" in screen_text(app)


@pytest.mark.parametrize("key", ["d", "y"])
async def test_secrets_are_masked_unless_shown_on_request(key: str) -> None:
    hidden = an_app(a_snapshot(with_token()))
    async with hidden.run_test(size=TALL) as pilot:
        await pilot.press(key)
        await pilot.pause()
        masked = screen_text(hidden)
    shown = an_app(a_snapshot(with_token()), show_secrets=True)
    async with shown.run_test(size=TALL) as pilot:
        await pilot.press(key)
        await pilot.pause()

        assert "s3cr3t" in screen_text(shown)
    assert "s3cr3t" not in masked
    assert "API_TOKEN" in masked


async def test_a_line_of_a_page_is_copied() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y", "j", "c")
        await pilot.pause()

        assert app.clipboard == "kind: Pod"


async def test_there_is_no_page_without_a_pod() -> None:
    app = an_app(a_snapshot())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y")
        await pilot.pause()

        assert "No pods." in screen_text(app)


async def test_probes_are_explained_in_words_and_numbers() -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("colon", *"explain", "enter")
        await pilot.pause()

        shown = screen_text(app)
        assert screen_lines(app)[0].startswith(" explain ")
        assert "10s to 16s after the app fails" in shown
        assert "what liveness means here" in shown
