"""The header line and the banner below it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.breakpoints import StopReason
from probetui.debugger.commands import BreakpointKind, Injected
from probetui.engine.snapshot import (
    LatenessCause,
    LatenessOwner,
    PlaybackKind,
    PlaybackSnapshot,
    Snapshot,
)
from probetui.k8s.status import Terminated, Waiting
from probetui.kubelet.journal import ExitCause, StoppingSnapshot
from probetui.kubelet_rules import rules_of
from probetui.presentation.header import (
    LEVELS,
    SessionInfo,
    breakpoint_banner,
    header,
    lateness_banner,
    lateness_mark,
    overload_banner,
    playback_banner,
    runtime_lost_banner,
)
from probetui.presentation.text.spans import text_of
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW, changed_tick
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
    demo,
    shop,
)

NAME = "docker 27.3 (default)"
STATES = "1 ready  1 failing  1 back-off  2 starting"
MACHINE = LatenessCause(LatenessOwner.MACHINE, 0.61)


ABOUT = SessionInfo(("shop.yaml", "demo.yaml"), "session.jsonl")


def header_texts(
    level: int, snapshot: Snapshot | None = None, about: SessionInfo = ABOUT
) -> tuple[str, str]:
    current = snapshot or a_snapshot(demo(), shop())
    left, right = header(current, NAME, VIEW, level, about)
    return text_of(left), text_of(right)


@pytest.mark.parametrize(
    ("level", "left", "right"),
    [
        pytest.param(
            0,
            " probetui  docker 27.3 (default)  kubelet v1.36 rules  shop.yaml  "
            "demo.yaml  2 pods   [LIVE 1x]",
            f"  {STATES}  restarts 8   rec session.jsonl  08:21:07 ",
            id="everything",
        ),
        pytest.param(
            2,
            " probetui  docker 27.3 (default)  2 pods   [LIVE 1x]",
            f"  {STATES}  restarts 8  08:21:07 ",
            id="less",
        ),
        pytest.param(
            4,
            " probetui  docker  2 pods   [LIVE 1x]",
            f"  {STATES}  08:21:07 ",
            id="short",
        ),
        pytest.param(
            5,
            " probetui  docker   [LIVE 1x]",
            f"  {STATES}  08:21:07 ",
            id="without pods",
        ),
        pytest.param(
            6,
            " probetui  docker   [LIVE 1x]",
            "  1 ready  1 failing  1 down  2 starting  08:21:07 ",
            id="fewer words",
        ),
        pytest.param(
            7,
            " probetui  docker   [LIVE 1x]",
            "  1 ok  1 fail  1 down  2 wait  08:21:07 ",
            id="shorter words",
        ),
        pytest.param(
            8,
            " probetui   [LIVE 1x]",
            "  1 ok  1 fail  1 down  2 wait  08:21:07 ",
            id="tiny",
        ),
        pytest.param(
            9,
            " [LIVE 1x]",
            "  1 ok  1 fail  1 down  2 wait  08:21:07 ",
            id="without a name",
        ),
        pytest.param(
            10, " [LIVE 1x]", "  1 ok  1 fail  1 down  2 wait ", id="without the clock"
        ),
    ],
)
def test_the_header_has_versions(level: int, left: str, right: str) -> None:
    assert header_texts(level) == (left, right)


@pytest.mark.parametrize(
    ("level", "left"),
    [
        pytest.param(
            3,
            " probetui  docker 27.3 (default)  kubelet v1.28  2 pods   [LIVE 1x]",
            id="less",
        ),
        pytest.param(4, " probetui  docker  v1.28  2 pods   [LIVE 1x]", id="short"),
        pytest.param(7, " probetui  docker  v1.28   [LIVE 1x]", id="narrow"),
        pytest.param(8, " probetui   [LIVE 1x]", id="tiny"),
    ],
)
def test_the_header_says_which_kubelet_decides_where_it_is_not_the_default(
    level: int, left: str
) -> None:
    snapshot = replace(a_snapshot(demo(), shop()), rules=rules_of("1.28"))

    assert header_texts(level, snapshot)[0] == left


def test_each_version_is_shorter_than_the_one_before() -> None:
    lengths = [len("".join(header_texts(level))) for level in range(LEVELS)]

    assert lengths == sorted(set(lengths), reverse=True)


def test_states_and_the_clock_are_there_at_80_columns() -> None:
    first = next(
        words
        for level in range(LEVELS)
        if len(words := "".join(header_texts(level))) <= 80
    )

    assert all(word in first for word in ("1 ready", "1 failing", "1 down", "08:21:07"))


def test_a_pause_at_80_columns_takes_letters_of_the_states_and_moves_nothing() -> None:
    running = a_snapshot(demo(), shop())
    (live, states), (paused, short) = (
        next(
            sides
            for level in range(LEVELS)
            if len("".join(sides := header_texts(level, snapshot))) <= 80
        )
        for snapshot in (running, replace(running, is_paused=True))
    )

    assert live.index("[LIVE 1x]") == paused.index("[PROBES PAUSED]")
    assert states == "  1 ready  1 failing  1 down  2 starting  08:21:07 "
    assert short == "  1 ok  1 fail  1 down  2 wait  08:21:07 "


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        pytest.param({"probe": {"ticks": "|sss"}}, "1 ready", id="all is well"),
        pytest.param({"probe": {"ticks": "|sff"}}, "1 failing", id="one to a kill"),
        pytest.param(
            {"stopping": StoppingSnapshot(NOW, 30, "pod", ExitCause.LIVENESS)},
            "1 stopping",
            id="being stopped",
        ),
        pytest.param(
            {"state": Waiting("ImagePullBackOff")}, "1 pull failed", id="no image"
        ),
        pytest.param(
            {"state": Waiting("CreateContainerConfigError")}, "1 failed", id="no config"
        ),
        pytest.param(
            {"state": Waiting("ContainerCreating"), "ready": False},
            "1 waiting",
            id="not created yet",
        ),
        pytest.param({"state": Terminated(0), "ready": False}, "1 done", id="done"),
        pytest.param({"state": Terminated(1), "ready": False}, "1 failed", id="failed"),
    ],
)
def test_each_container_is_counted_in_its_state(
    fields: dict[str, Any], state: str
) -> None:
    ticks = fields.pop("probe", {}).get("ticks", "|sss")

    _, right = header_texts(5, a_snapshot(demo(ticks, container=fields)))

    assert right == f"  {state}  08:21:07 "


def test_the_instant_that_is_looked_at_stands_where_the_clock_stood() -> None:
    snapshot = a_snapshot(demo())
    at = snapshot.taken_at - timedelta(seconds=28)

    _, right = header(snapshot, NAME, VIEW, 5, at=at)

    assert text_of(right).endswith("  AT 08:20:39 (28s ago)  ")


def test_many_manifests_are_counted() -> None:
    left, _ = header_texts(0, about=SessionInfo(("a", "b", "c", "d", "e")))

    assert "  a  b  c  +2 more  2 pods" in left


def test_the_names_of_hostile_files_are_harmless() -> None:
    left, right = header_texts(0, about=SessionInfo(("\x1b[2J.yaml",), "\x1b[2J.jsonl"))

    assert "\\x1b[2J.yaml" in left
    assert "\\x1b[2J.jsonl" in right


def test_a_read_only_screen_has_its_badge_in_every_version() -> None:
    versions = [
        header_texts(level, about=SessionInfo(is_read_only=True))[0]
        for level in range(LEVELS)
    ]

    assert all("[LIVE 1x] [READ-ONLY]" in version for version in versions[:4])
    assert all("[LIVE 1x] [RO]" in version for version in versions[4:])


def test_processes_that_are_not_isolated_have_a_mark_behind_the_runtime() -> None:
    about = SessionInfo(is_isolated=False)
    lefts = [header_texts(level, about=about)[0] for level in range(LEVELS)]

    assert all("docker 27.3 (default) (not isolated)  " in left for left in lefts[:4])
    assert all("docker!" in left for left in lefts[4:8])
    assert not any("!" in header_texts(level)[0] for level in range(LEVELS))


def test_the_short_mark_takes_no_room() -> None:
    without, beside = SessionInfo(), SessionInfo(is_isolated=False)

    for level in range(4, LEVELS):
        left, right = header_texts(level, about=without)
        marked = header_texts(level, about=beside)
        assert (len(marked[0]), marked[1]) == (len(left), right)


def test_a_pause_does_not_hide_watch_only_mode() -> None:
    watched = replace(a_snapshot(demo()), acts=False)
    paused = replace(watched, is_paused=True)

    assert header_texts(0, watched)[0].endswith("[WATCH ONLY]")
    assert header_texts(0, paused)[0].endswith("[PROBES PAUSED] [WATCH ONLY]")


def test_a_pause_is_shown() -> None:
    left, _ = header_texts(4, replace(a_snapshot(demo()), is_paused=True))

    assert left == " probetui  docker  1 pod   [PROBES PAUSED]"


@pytest.mark.parametrize(
    ("pace", "words"),
    [
        pytest.param(2.0, "speed 2x", id="a number"),
        pytest.param(None, "speed max", id="as fast as it goes"),
    ],
)
def test_a_pause_of_another_clock_shows_its_speed(
    pace: float | None, words: str
) -> None:
    paused = PlaybackSnapshot(PlaybackKind.SIM, is_paused=True, pace=pace)
    running = replace(paused, is_paused=False)

    _, right = header_texts(4, replace(a_snapshot(demo()), playback=paused))
    _, without = header_texts(4, replace(a_snapshot(demo()), playback=running))

    assert f"  {words}  " in right
    assert "speed" not in without


def test_a_pause_with_frozen_containers_shows_both() -> None:
    pod = demo()
    (container,) = pod.containers
    frozen = replace(pod, containers=(replace(container, frozen_since=NOW),))

    left, _ = header_texts(4, replace(a_snapshot(frozen), is_paused=True))

    assert left.endswith("[PROBES PAUSED, frozen]")


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        pytest.param(900, "", id="no tick can be lost"),
        pytest.param(1300, "late 1.3s", id="some can"),
    ],
)
def test_late_ticks_are_shown_where_they_matter(milliseconds: int, words: str) -> None:
    late = timedelta(milliseconds=milliseconds)
    snapshot = replace(a_snapshot(demo()), lateness=late)

    assert text_of(lateness_mark(snapshot)) == words
    assert header_texts(3, snapshot) == header_texts(3, a_snapshot(demo()))


def test_a_runtime_that_does_not_answer_is_shown_with_its_error() -> None:
    snapshot = replace(
        a_snapshot(demo()),
        runtime_lost_since=NOW - timedelta(seconds=8),
        runtime_error="connection\x1b refused",
    )

    assert text_of(runtime_lost_banner(snapshot, NAME, VIEW)) == (
        " docker has not answered for 8s; probes error, retrying: "
        "connection\\x1b refused"
    )


def test_there_is_no_banner_while_the_runtime_answers() -> None:
    assert runtime_lost_banner(a_snapshot(demo()), NAME, VIEW) == ()


def test_a_lost_api_server_makes_no_probe_error_in_watch_only_mode() -> None:
    lost = replace(a_snapshot(demo()), runtime_lost_since=NOW, is_observed=True)

    assert "; nothing newer is known, retrying" in text_of(
        runtime_lost_banner(lost, NAME, VIEW)
    )


def slow_pods(*letters: str) -> Snapshot:
    """Return pods of one container; `t` times out in its last run, `s` does not."""
    pods = []
    for number, letter in enumerate(letters):
        spec = replace(DEMO, name=f"pod-{number}", uid=f"uid-{number}")
        key = DEMO_KEY._replace(pod_uid=spec.uid)
        probe = a_probe_snapshot(key, LIVENESS, "sf" if letter == "t" else "ss")
        if letter == "t" and probe.last_run is not None:
            attempt = replace(probe.last_run.attempts[0], duration=timedelta(seconds=1))
            run = changed_tick(probe.last_run, attempts=(attempt,))
            probe = replace(probe, last_run=run)
        (container,) = spec.containers
        pods.append(a_pod_snapshot(spec, a_container_snapshot(container, probe)))
    return a_snapshot(*pods)


@pytest.mark.parametrize(
    ("letters", "words"),
    [
        pytest.param("ttts", "3 of 4 probes time out at once", id="most"),
        pytest.param("tttss", "3 of 5 probes time out at once", id="more than half"),
        pytest.param("tttsss", "", id="half"),
        pytest.param("tt", "", id="too few to blame the machine"),
        pytest.param("ssss", "", id="none"),
    ],
)
def test_the_machine_may_be_busy_if_most_probes_time_out_at_once(
    letters: str, words: str
) -> None:
    banner = text_of(overload_banner(slow_pods(*letters)))

    assert banner == (f" {words}: this machine may be busy" if words else "")


def test_a_machine_that_was_suspended_was_not_busy() -> None:
    snapshot = replace(
        slow_pods(*"tttt"),
        lateness=timedelta(minutes=5),
        lateness_cause=LatenessCause(LatenessOwner.STOP, 0.99),
    )

    assert text_of(overload_banner(snapshot)).startswith(
        " 4 of 4 probes time out at once: probetui was stopped, or this machine was "
        "suspended"
    )


def test_the_banner_shows_how_late_ticks_are_on_a_busy_machine() -> None:
    snapshot = replace(slow_pods(*"tttt"), lateness=timedelta(milliseconds=200))

    assert text_of(overload_banner(snapshot)).endswith(", its ticks are 0.2s late")


@pytest.mark.parametrize(
    ("milliseconds", "cause", "words"),
    [
        pytest.param(900, MACHINE, "", id="no tick can be lost"),
        pytest.param(
            1200,
            MACHINE,
            " ticks come 1.2s late; this machine is busy: probetui waited 61% of that "
            "time for a processor",
            id="the machine",
        ),
        pytest.param(
            1200,
            LatenessCause(LatenessOwner.PROBETUI, 0.93),
            " ticks come 1.2s late; probetui has too much to do: it ran 93% of that "
            "time",
            id="ours",
        ),
        pytest.param(
            5000,
            LatenessCause(LatenessOwner.STOP, 0.99),
            " ticks come 5.0s late; probetui was stopped, or this machine was "
            "suspended",
            id="a stop",
        ),
        pytest.param(
            1200,
            None,
            " ticks come 1.2s late; the cause is not known",
            id="not known",
        ),
    ],
)
def test_ticks_that_may_be_lost_are_shown_with_who_caused_them(
    milliseconds: int, cause: LatenessCause | None, words: str
) -> None:
    snapshot = replace(
        a_snapshot(demo()),
        lateness=timedelta(milliseconds=milliseconds),
        lateness_cause=cause,
    )

    assert text_of(lateness_banner(snapshot)) == words


def test_old_timeouts_are_no_overload() -> None:
    snapshot = slow_pods(*"tttt")

    later = replace(snapshot, taken_at=snapshot.taken_at + timedelta(minutes=1))

    assert overload_banner(later) == ()


@pytest.mark.parametrize(
    ("probe", "count"),
    [
        pytest.param("eee", "  1 erroring  ", id="errors only"),
        pytest.param("sse", "  1 erroring  ", id="errors by now"),
        pytest.param("ses", "", id="counts again"),
    ],
)
def test_probes_that_only_error_are_counted(probe: str, count: str) -> None:
    right = header_texts(0, a_snapshot(demo(probe)))[1]

    assert right.startswith(count or "  1 ready")


@pytest.mark.parametrize(
    ("playback", "badge"),
    [
        pytest.param(
            PlaybackSnapshot(PlaybackKind.SIM, is_paused=False, pace=4),
            "[SIM 4x  00:41.0]",
            id="sim",
        ),
        pytest.param(
            PlaybackSnapshot(PlaybackKind.SIM, is_paused=True, pace=1),
            "[PAUSED  sim clock 00:41.0]",
            id="paused",
        ),
        pytest.param(
            PlaybackSnapshot(PlaybackKind.SIM, is_paused=False, pace=None),
            "[SIM max  00:41.0]",
            id="as fast as it goes",
        ),
        pytest.param(
            PlaybackSnapshot(
                PlaybackKind.REPLAY,
                is_paused=False,
                pace=0.25,
                length=timedelta(hours=1, seconds=2),
            ),
            "[REPLAY 0.25x  00:41.0 of 1:00:02.0]",
            id="replay",
        ),
        pytest.param(
            PlaybackSnapshot(
                PlaybackKind.REPLAY,
                is_paused=False,
                pace=1,
                length=timedelta(seconds=41),
                has_ended=True,
            ),
            "[END  replay 00:41.0 of 00:41.0]",
            id="ended",
        ),
        pytest.param(
            PlaybackSnapshot(
                PlaybackKind.REPLAY,
                is_paused=True,
                pace=1,
                length=timedelta(minutes=5),
                seeking=0.43,
            ),
            "[SEEKING 43%  replay 00:41.0 of 05:00.0]",
            id="on its way",
        ),
    ],
)
def test_another_clock_than_the_wall_s_is_named(
    playback: PlaybackSnapshot, badge: str
) -> None:
    started_at = NOW - timedelta(seconds=41)
    snapshot = replace(a_snapshot(demo()), started_at=started_at, playback=playback)

    assert header_texts(0, snapshot)[0].endswith(badge)
    assert "00:41.0]" in header_texts(4, snapshot)[0]


def test_a_problem_with_the_recording_is_shown() -> None:
    playback = PlaybackSnapshot(
        PlaybackKind.REPLAY, is_paused=False, pace=1, note="line 7: 3 bytes are cut off"
    )
    snapshot = replace(a_snapshot(demo()), playback=playback)

    assert text_of(playback_banner(snapshot, VIEW)) == " line 7: 3 bytes are cut off"
    assert not playback_banner(a_snapshot(demo()), VIEW)


def with_choices(**fields: Any) -> Snapshot:
    """Return a snapshot with a user's choices for the demo's probe."""
    pod = demo()
    (container,) = pod.containers
    probes = tuple(replace(probe, **fields) for probe in container.probes)
    changed = replace(pod, containers=(replace(container, probes=probes),))
    return a_snapshot(changed, shop())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"muted": True}, "muted 1  ", id="muted"),
        pytest.param({"injections": (Injected.FAILURE,) * 3}, "injected 1  ", id="one"),
        pytest.param({"delay": timedelta(seconds=2)}, "delayed 1  ", id="delayed"),
    ],
)
@pytest.mark.parametrize("level", range(LEVELS))
def test_choices_of_users_are_counted_at_every_size(
    level: int, fields: dict[str, Any], words: str
) -> None:
    """A muted probe is never forgotten."""
    _, right = header_texts(level, with_choices(**fields))

    assert words in right


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"frozen_since": NOW}, "frozen 1  ", id="frozen"),
        pytest.param({"cut_off_since": NOW}, "cut off 1  ", id="cut off"),
    ],
)
@pytest.mark.parametrize("level", range(LEVELS))
def test_injected_faults_are_counted_at_every_size(
    level: int, fields: dict[str, Any], words: str
) -> None:
    """A frozen container is never mistaken for one that hangs on its own."""
    pod = demo()
    (container,) = pod.containers
    changed = replace(pod, containers=(replace(container, **fields),))

    _, right = header_texts(level, a_snapshot(changed, shop()))

    assert words in right


def test_a_run_to_the_next_change_is_shown() -> None:
    left, _ = header_texts(3, replace(a_snapshot(demo()), is_running_to_change=True))

    assert left.endswith("[TO A CHANGE]")


def test_why_it_stopped_is_shown_until_it_continues() -> None:
    reason = StopReason(NOW, BreakpointKind.BEFORE_KILL, None, "before a kill: demo")
    snapshot = replace(a_snapshot(demo()), is_paused=True, stopped_by=reason)

    assert text_of(breakpoint_banner(snapshot, VIEW)).startswith(
        " stopped before a kill: demo"
    )
    assert breakpoint_banner(a_snapshot(demo()), VIEW) == ()
