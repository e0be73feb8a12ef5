"""Stepping and breaking on purpose: results, mutes, tries, timing, containers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from probetui.errors import UsageError
from probetui.k8s.status import Running
from probetui.kubelet.effects import Disruption
from probetui.kubelet.inputs import (
    BreakPoint,
    ClearBackoff,
    Command,
    DelayProbes,
    DisruptContainer,
    EditProbe,
    Injected,
    InjectResults,
    MuteProbes,
    RunToChange,
    SetBreakPoints,
    TryProbe,
    UnmuteProbes,
)
from probetui.kubelet.scope import EVERYTHING, Scope
from probetui.kubelet.timing import Timing
from probetui.presentation.moments import length_of
from probetui.tui.action import (
    Action,
    Argument,
    Circumstances,
    Offer,
    On,
    Where,
    Words,
    acted_on,
)

_HERE = (Where.MAIN,)
_HERE_AND_IN_STEPS = (Where.MAIN, Where.STEPS)
_MOST_TIMES = 99
_REAL = "real"
_NOTHING = "nothing"
_FIELDS = {
    "period": "period_seconds",
    "timeout": "timeout_seconds",
    "delay": "initial_delay_seconds",
    "failures": "failure_threshold",
    "successes": "success_threshold",
}
_NO_DELAY = "off"
_SCOPES = ("probe", "container", "pod", "all")


def _is_running(now: Circumstances) -> bool:
    status = now.container.status
    return status is not None and isinstance(status.state, Running)


def _container(now: Circumstances) -> tuple[str, str]:
    return now.pod.pod.uid, now.container.container.name


def _scope(now: Circumstances, word: str) -> Scope:
    match word:
        case "all":
            return EVERYTHING
        case "pod":
            return Scope(now.pod.pod.uid)
        case "container":
            return Scope(*_container(now))
        case _:
            return Scope.of(now.probe.key)


def _mute(now: Circumstances, words: Words) -> Command:
    return MuteProbes(_scope(now, words[0] if words else "probe"))


def _unmute(now: Circumstances, words: Words) -> Command:
    return UnmuteProbes(_scope(now, words[0] if words else "probe"))


def _inject(now: Circumstances, words: Words) -> Command:
    word, *rest = words
    if word == _REAL:
        return InjectResults(now.probe.key, ())
    times = _number("times", rest[0]) if rest else 1
    if not 1 <= times <= _MOST_TIMES:
        raise UsageError(f"times: is {times}, must be 1 to {_MOST_TIMES}")
    return InjectResults(now.probe.key, (Injected(word),) * times)


def _injections(now: Circumstances) -> Iterator[Offer]:
    probe = now.probe
    where = acted_on(On.PROBE, now)
    times = min(probe.probe.failure_threshold, _MOST_TIMES)
    yield Offer(f"Inject failure x{times}: {where}", (Injected.FAILURE, str(times)))
    yield Offer(f"Inject success: {where}", (Injected.SUCCESS,))
    yield Offer(f"Inject: {where}")


def _edit(now: Circumstances, words: Words) -> Command:
    """Read `period=5 failures=2`; `manifest` brings the manifest's timing back."""
    probe = now.probe
    if words[0].strip() == "manifest":
        return EditProbe(probe.key, None)
    fields = {}
    for each in words[0].split():
        name, is_given, value = each.partition("=")
        if name not in _FIELDS or not is_given:
            raise UsageError(
                f'"{each}" is none of {", ".join(_FIELDS)} with = and more'
            )
        fields[_FIELDS[name]] = _number(name, value)
    timing = replace(Timing.of(probe.probe), **fields)
    if problems := timing.problems(probe.key.probe_type):
        raise UsageError("; ".join(problems))
    return EditProbe(probe.key, timing)


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f'{name}: "{text}" is not a whole number')
    return int(text)


def _disrupt(now: Circumstances, words: Words) -> Command:
    return DisruptContainer(*_container(now), Disruption(words[0]))


def _delay(now: Circumstances, words: Words) -> Command:
    text, *where = words
    delay = timedelta() if text == _NO_DELAY else length_of(text)
    if delay is None:
        raise UsageError(f'"{text}" is not a delay; write 500ms, 2s or {_NO_DELAY}')
    return DelayProbes(_scope(now, where[0] if where else "probe"), delay)


def _break_at(now: Circumstances, words: Words) -> Command:
    """Set one point or none; the screen for it sets several."""
    point, *where = words
    points = frozenset() if point == _NOTHING else frozenset({BreakPoint(point)})
    return SetBreakPoints(points, _scope(now, where[0] if where else "container"))


def _can_write_manifest(now: Circumstances) -> bool:
    return now.outside.copy_edited is not None


EXPERIMENTING = (
    Action(
        "time.run-to-change",
        "S",
        "to change",
        "run to change",
        "Go on until something changes, and pause",
        _HERE_AND_IN_STEPS,
        gives=lambda _now, _words: RunToChange(),
        on=On.ALL_PODS,
        changes=True,
        footer=95,
    ),
    Action(
        "time.queue",
        "Q",
        "queue",
        "queue",
        "What comes next, and what the last step did",
        _HERE,
        "app.show_screen('step')",
        on=On.ALL_PODS,
        footer=99,
    ),
    Action(
        "probe.try",
        "T",
        "try",
        "try",
        "Run it and show, count nothing",
        _HERE_AND_IN_STEPS,
        gives=lambda now, _words: TryProbe(now.probe.key),
        on=On.PROBE,
        when=_is_running,
        changes=True,
        footer=94,
    ),
    Action(
        "probe.inject",
        "i",
        "inject",
        "inject",
        "Choose what the next runs come to",
        _HERE_AND_IN_STEPS,
        "app.show_screen('inject')",
        gives=_inject,
        on=On.PROBE,
        changes=True,
        arguments=(Argument("result", (*Injected, _REAL)), Argument("times")),
        offers=_injections,
        footer=54,
    ),
    Action(
        "probe.mute",
        "m",
        "mute",
        "mute",
        "Probe on, but without consequences",
        _HERE_AND_IN_STEPS,
        gives=_mute,
        on=On.PROBE,
        when=lambda now: not now.probe.muted,
        changes=True,
        arguments=(Argument("scope", _SCOPES),),
        footer=91,
    ),
    Action(
        "probe.unmute",
        "m",
        "unmute",
        "unmute",
        "Let results have consequences again",
        _HERE_AND_IN_STEPS,
        gives=_unmute,
        on=On.PROBE,
        when=lambda now: now.probe.muted,
        changes=True,
        arguments=(Argument("scope", _SCOPES),),
        shares_keys_of="probe.mute",
        footer=91,
    ),
    Action(
        "probe.edit",
        "e",
        "edit",
        "edit",
        "Change its timing in memory",
        _HERE,
        "app.show_screen('edit')",
        gives=_edit,
        on=On.PROBE,
        changes=True,
        arguments=(Argument("fields", takes_rest=True),),
        footer=97,
    ),
    Action(
        "files.write-edits",
        "",
        "write",
        "write manifest",
        "A copy of the manifest with edited timing",
        _HERE_AND_IN_STEPS,
        "app.write_manifest",
        on=On.POD,
        when=_can_write_manifest,
    ),
    Action(
        "files.write-shown",
        "ctrl+s",
        "write copy",
        "write shown timing",
        "A copy of the manifest with these numbers",
        (Where.TIMING,),
        "write",
        when=_can_write_manifest,
        has_line=False,
    ),
    Action(
        "container.break",
        "x",
        "break",
        "break",
        "Freeze, stop, kill, cut off, delay; break-points",
        _HERE_AND_IN_STEPS,
        "app.show_screen('break')",
        gives=_disrupt,
        on=On.CONTAINER,
        changes=True,
        arguments=(Argument("how", tuple(Disruption)),),
        footer=96,
    ),
    Action(
        "probe.delay",
        "",
        "delay",
        "delay",
        "Answer late: 500ms, 2s; off takes it back",
        _HERE_AND_IN_STEPS,
        gives=_delay,
        on=On.PROBE,
        changes=True,
        arguments=(Argument("time", is_required=True), Argument("scope", _SCOPES)),
    ),
    Action(
        "container.break-at",
        "",
        "break at",
        "break at",
        "Pause by itself when this happens",
        _HERE_AND_IN_STEPS,
        gives=_break_at,
        on=On.CONTAINER,
        changes=True,
        arguments=(
            Argument("point", (*BreakPoint, _NOTHING), is_required=True),
            Argument("scope", ("container", "pod", "all")),
        ),
    ),
    Action(
        "container.clear-backoff",
        "R",
        "clear back-off",
        "clear back-off",
        "Forget its back-off, and start it",
        _HERE_AND_IN_STEPS,
        gives=lambda now, _words: ClearBackoff(*_container(now)),
        on=On.CONTAINER,
        changes=True,
        footer=98,
    ),
    Action(
        "time.close-queue",
        "escape,Q",
        "back",
        "close queue",
        "Back to the panes",
        (Where.STEPS,),
        "close",
        has_line=False,
    ),
    Action(
        "app.close-queue",
        "q",
        "back",
        "back from queue",
        "Back to the panes",
        (Where.STEPS,),
        "close",
        footer=110,
        shares_keys_of="app.quit",
        has_line=False,
    ),
    Action(
        "app.pick",
        "enter",
        "pick",
        "pick",
        "Do what the line says",
        (Where.MENU,),
        "pick",
        has_line=False,
    ),
    Action(
        "app.less",
        "left",
        "less",
        "less",
        "One less",
        (Where.MENU_SCREEN, Where.STEPS),
        "change(-1)",
        has_line=False,
    ),
    Action(
        "app.more",
        "right",
        "more",
        "more",
        "One more",
        (Where.MENU_SCREEN, Where.STEPS),
        "change(1)",
        has_line=False,
    ),
    Action(
        "app.choose-nothing",
        "escape,q",
        "close",
        "choose nothing",
        "Choose nothing",
        (Where.MENU_SCREEN,),
        "close",
        has_line=False,
    ),
)
