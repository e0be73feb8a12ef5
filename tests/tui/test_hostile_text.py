"""Hostile text on screens with text: escape sequences are shown, never obeyed.

Whatever a container prints or a manifest contains, a line on the screen is as wide as
the screen, has no control characters, and is not parsed as markup.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from probetui.engine.snapshot import Snapshot
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Container, EnvVar
from probetui.k8s.runtime import LogLine
from probetui.kubelet.journal import EventEntry
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from tests.ticks import DEMO_KEY, LIVENESS, NOW, a_tick
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_logs import FakeLogs
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
)

WIDTH, HEIGHT = 80, 24
SCREENS = [
    pytest.param(keys, id=name)
    for name, keys in {
        "events": ("v",),
        "events wrapped": ("v", "W"),
        "folded": ("v", "F"),
        "folded and wrapped": ("v", "F", "W"),
        "logs": ("l",),
        "logs wrapped": ("l", "W"),
        "describe": ("d",),
        "describe wrapped": ("d", "W", "G"),
        "yaml": ("y",),
        "yaml wrapped": ("y", "W", "G"),
    }.items()
]
OTHER_SCREENS = {
    "main": (),
    "detail zoomed": ("2", "z"),
    "events zoomed": ("3", "z", "W"),
    "container": ("enter",),
    "older tick": ("enter", "left"),
    "why": ("w",),
    "output": ("4",),
    "steps": ("Q",),
    "next result": ("i",),
    "break": ("x",),
    "timing": ("e",),
    "copy": ("C",),
    "palette": ("ctrl+p",),
    "command line": ("colon", *"probe now "),
    "help": ("question_mark",),
}
PAGES = 6
NASTY = {
    "escape sequences": "\x1b[2J\x1b[31mred\x1b]0;title\x07\x9b5A",
    "markup": "[red]text[/red] [@click=app.quit]x[/] [bold",
    "wide": "日本語テキスト" * 30,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈👍🏽" * 20,
    "combining": "Z\u0351\u036b\u0343\u036a" * 60,
    "zero width": "a\u200bb\u200dc\ufeffd\u2060e" * 40,
    "direction": "\u202eabc\u202c\u2066def\u2069",
    "not utf-8": "\udcff\udc80" * 60,
    "line breaks": "a\r\nb\rc\u2028d\u2029e\x0bf\x0cg\x85h",
    "ten kibibytes": "x" * 10_240,
    "ten kibibytes of words": "word " * 2_048,
    "nothing": "",
    "null": "\x00" * 50,
}


def pod_with_texts(*texts: str) -> Snapshot:
    """Return a snapshot of a pod with the texts in every possible field."""
    first = texts[0]
    container = Container(
        "liveness",
        image=first,
        command=texts,
        args=texts,
        env=tuple(EnvVar("SAYS", text) for text in texts),
        working_dir=first,
        liveness_probe=LIVENESS,
    )
    texts_by_key = {str(number): text for number, text in enumerate(texts)}
    pod = replace(
        DEMO,
        annotations=texts_by_key,
        labels=texts_by_key,
        hostname=first,
        containers=(container,),
    )
    ticks = [
        a_tick(DEMO_KEY, NOW, attempts=(Attempt(ProbeResult.FAILURE, text),))
        for text in texts
    ]
    probe = replace(
        a_probe_snapshot(DEMO_KEY, LIVENESS), last_run=ticks[0], history=tuple(ticks)
    )
    shown = a_pod_snapshot(pod, a_container_snapshot(container, probe))
    events = [
        EventEntry(
            number,
            NOW + timedelta(seconds=number),
            Event(EventType.WARNING, "Unhealthy", text, DEMO.uid, "", NOW, "liveness"),
            tick,
        )
        for number, (text, tick) in enumerate(zip(texts, ticks, strict=True))
    ]
    return a_snapshot(shown, entries=events)


def the_app(*texts: str) -> ProbetuiApp:
    printed = [LogLine(NOW, text) for text in texts]
    printed += [LogLine(None, text, is_stderr=True) for text in texts]
    return an_app(
        pod_with_texts(*texts), host=HostServices(logs=FakeLogs(c4455=printed))
    )


def malformed(lines: list[str]) -> list[str]:
    """Return lines that are not as wide as the screen or have control characters."""
    return [line for line in lines if cell_len(line) != WIDTH or not line.isprintable()]


@pytest.mark.parametrize("keys", SCREENS)
async def test_lines_keep_their_width_and_nothing_is_obeyed(
    keys: tuple[str, ...],
) -> None:
    app = the_app(*NASTY.values())
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.press(*keys, "g")
        pages = [screen_lines(app)]
        for _ in range(PAGES):
            await pilot.press("pagedown")
            await pilot.pause()
            pages.append(screen_lines(app))

    assert [malformed(page) for page in pages] == [[]] * (PAGES + 1)
    assert {line[-1] for page in pages for line in page[2:-2]} <= set("┃█")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [pytest.param(text, id=id_) for id_, text in NASTY.items()]
)
async def test_nothing_is_obeyed_in_any_name_or_text(text: str) -> None:
    app = an_app(with_name(pod_with_texts(text), text))
    malformed_lines = {}
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        for name, keys in OTHER_SCREENS.items():
            await pilot.press(*keys)
            await pilot.pause()
            malformed_lines[name] = malformed(screen_lines(app))
            await pilot.press("escape", "escape", "1")

    assert {name: lines for name, lines in malformed_lines.items() if lines} == {}
    assert len(malformed_lines) == len(OTHER_SCREENS)


def with_name(snapshot: Snapshot, name: str) -> Snapshot:
    """Return a snapshot with an invalid name of pod and container."""
    (shown,) = snapshot.pods
    (container,) = shown.containers
    renamed = replace(container.container, name=name)
    probes = tuple(
        replace(probe, key=probe.key._replace(container_name=name))
        for probe in container.probes
    )
    pod = replace(shown.pod, name=name, namespace=name, containers=(renamed,))
    named = replace(container, container=renamed, probes=probes)
    return replace(snapshot, pods=(replace(shown, pod=pod, containers=(named,)),))


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.just("\udcfe"), max_size=200
)


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(TEXTS, min_size=1, max_size=20))
async def test_any_text_keeps_the_width_of_the_log(texts: list[str]) -> None:
    app = the_app(*texts)
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.press("l", "W", "g")
        await pilot.pause()

        assert malformed(screen_lines(app)) == []


@pytest.mark.parametrize("keys", [("v",), ("l",)])
async def test_markup_is_shown_as_text(keys: tuple[str, ...]) -> None:
    app = the_app("[red]x[/red]")
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert "[red]x[/red]" in screen_text(app)


@pytest.mark.parametrize("keys", [("v", "c"), ("l", "k", "c"), ("y", "c"), ("v", "C")])
async def test_copied_text_is_escaped_too(keys: tuple[str, ...]) -> None:
    app = the_app("\x1b[2Jx\x07\udcff")
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        copied = app.clipboard
        assert copied
        assert all(character.isprintable() or character == "\n" for character in copied)


async def test_any_text_can_be_scrolled() -> None:
    app = the_app(*NASTY.values())
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.press("v", "slash", "x", "enter", "n", "N", "escape", "n")
        await pilot.pause()

        assert malformed(screen_lines(app)) == []
