"""Actions of the debugger: results, mutes, dry runs, timing, faults, break-points."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from msgspec.structs import replace

from probetui.debugger.commands import (
    BreakpointKind,
    ClearBackoff,
    DelayProbes,
    DryRunProbe,
    EditProbe,
    InjectContainerFault,
    Injected,
    InjectResults,
    MuteProbes,
    RunToChange,
    SetBreakpoints,
    UnmuteProbes,
)
from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.debugger.timing import Timing
from probetui.durations import parse_clock_duration
from probetui.engine.inputs import Command
from probetui.errors import UsageError
from probetui.kubelet.effects import Fault
from probetui.tui.actions.action import (
    Action,
    ActionContext,
    Argument,
    KeyContext,
    PaletteEntry,
    Target,
    Words,
    target_text,
)

_MENU = (KeyContext.MENU,)
_MENU_SCREEN = (KeyContext.MENU_SCREEN,)
_STEPS = (KeyContext.STEPS,)
_TIMING = (KeyContext.TIMING,)

_HERE = (KeyContext.MAIN,)
_HERE_AND_IN_STEPS = (KeyContext.MAIN, KeyContext.STEPS)
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


def _container(now: ActionContext) -> tuple[str, str]:
    return now.pod.pod.uid, now.container.container.name


def _scope(now: ActionContext, word: str) -> Scope:
    match word:
        case "all":
            return ALL_PROBES
        case "pod":
            return Scope(now.pod.pod.uid)
        case "container":
            return Scope(*_container(now))
        case _:
            return Scope.of(now.probe.key)


def _mute(now: ActionContext, words: Words) -> Command:
    return MuteProbes(_scope(now, words[0] if words else "probe"))


def _unmute(now: ActionContext, words: Words) -> Command:
    return UnmuteProbes(_scope(now, words[0] if words else "probe"))


def _inject(now: ActionContext, words: Words) -> Command:
    word, *rest = words
    if word == _REAL:
        return InjectResults(now.probe.key, ())
    times = _number("times", rest[0]) if rest else 1
    if not 1 <= times <= _MOST_TIMES:
        raise UsageError(f"times: is {times}, must be 1 to {_MOST_TIMES}")
    return InjectResults(now.probe.key, (Injected(word),) * times)


def _injections(now: ActionContext) -> Iterator[PaletteEntry]:
    probe = now.probe
    where = target_text(Target.PROBE, now)
    times = min(probe.probe.failure_threshold, _MOST_TIMES)
    yield PaletteEntry(
        f"Inject failure x{times}: {where}",
        (Injected.FAILURE, str(times)),
        f"Make the next {times} runs fail, without a probe",
    )
    yield PaletteEntry(
        f"Inject success: {where}",
        (Injected.SUCCESS,),
        "Make the next run succeed, without a probe",
    )
    yield PaletteEntry(f"Inject: {where}", (), "Choose results and how many runs")


def _edit(now: ActionContext, words: Words) -> Command:
    """Parse `period=5 failures=2`; `manifest` restores the manifest's timing."""
    probe = now.probe
    if words[0].strip() == "manifest":
        return EditProbe(probe.key, None)
    fields = {}
    for pair in words[0].split():
        name, is_given, value = pair.partition("=")
        if name not in _FIELDS or not is_given:
            raise UsageError(
                f'"{pair}" is not one of {", ".join(_FIELDS)} with = and more'
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


def _inject_fault(now: ActionContext, words: Words) -> Command:
    return InjectContainerFault(*_container(now), Fault(words[0]))


def _delay(now: ActionContext, words: Words) -> Command:
    text, *where = words
    delay = timedelta() if text == _NO_DELAY else parse_clock_duration(text)
    if delay is None:
        raise UsageError(f'"{text}" is not a delay; write 500ms, 2s or {_NO_DELAY}')
    return DelayProbes(_scope(now, where[0] if where else "probe"), delay)


def _break_at(now: ActionContext, words: Words) -> Command:
    """Set one break-point or none; several can be set on the screen."""
    point, *where = words
    points = frozenset() if point == _NOTHING else frozenset({BreakpointKind(point)})
    return SetBreakpoints(points, _scope(now, where[0] if where else "container"))


def _can_write_manifest(now: ActionContext) -> bool:
    return now.host.copy_edited is not None


EXPERIMENT_ACTIONS = (
    Action(
        "time.run-to-change",
        "S",
        "Run until the next change of a result or state",
        _HERE_AND_IN_STEPS,
        word="next change",
        build_command=lambda _now, _words: RunToChange(),
        on=Target.ALL_PODS,
        changes=True,
        footer=95,
    ),
    Action(
        "time.queue",
        "Q",
        "Show the queue and what the last step did",
        _HERE,
        "app.show_screen('step')",
        on=Target.ALL_PODS,
        footer=99,
    ),
    Action(
        "probe.try",
        "T",
        "Run this probe once, count nothing",
        _HERE_AND_IN_STEPS,
        build_command=lambda now, _words: DryRunProbe(now.probe.key),
        on=Target.PROBE,
        when=ActionContext.is_running,
        changes=True,
        footer=94,
    ),
    Action(
        "probe.inject",
        "i",
        "Inject results for the next runs",
        _HERE_AND_IN_STEPS,
        "app.show_screen('inject')",
        build_command=_inject,
        on=Target.PROBE,
        changes=True,
        arguments=(Argument("result", (*Injected, _REAL)), Argument("times")),
        palette_entries=_injections,
        footer=54,
    ),
    Action(
        "probe.mute",
        "m",
        "Keep probing, ignore results",
        _HERE_AND_IN_STEPS,
        build_command=_mute,
        on=Target.PROBE,
        when=lambda now: not now.probe.muted,
        changes=True,
        arguments=(Argument("scope", _SCOPES),),
        footer=91,
    ),
    Action(
        "probe.unmute",
        "m",
        "Use the results of the probe again",
        _HERE_AND_IN_STEPS,
        build_command=_unmute,
        on=Target.PROBE,
        when=lambda now: now.probe.muted,
        changes=True,
        arguments=(Argument("scope", _SCOPES),),
        shares_keys_of="probe.mute",
        footer=91,
    ),
    Action(
        "probe.edit",
        "e",
        "Try other timing on the session so far, then in it",
        _HERE,
        "app.show_screen('edit')",
        build_command=_edit,
        on=Target.PROBE,
        changes=True,
        arguments=(Argument("fields", takes_rest=True),),
        footer=97,
    ),
    Action(
        "files.write-edits",
        "",
        "Write a copy of the manifest with edited timing",
        _HERE_AND_IN_STEPS,
        "app.write_manifest",
        typed="write manifest",
        word="write",
        on=Target.POD,
        when=_can_write_manifest,
        is_local=True,
    ),
    Action(
        "files.write-shown",
        "ctrl+s",
        "Write a copy of the manifest with these numbers",
        _TIMING,
        "write",
        typed="write shown timing",
        word="write copy",
        when=_can_write_manifest,
        is_listed=False,
        is_local=True,
    ),
    Action(
        "container.break",
        "x",
        "Inject faults, delay probes, set break-points",
        _HERE_AND_IN_STEPS,
        "app.show_screen('break')",
        build_command=_inject_fault,
        on=Target.CONTAINER,
        changes=True,
        typed="fault",
        arguments=(Argument("how", tuple(Fault)),),
        footer=96,
    ),
    Action(
        "probe.delay",
        "",
        "Delay results: 500ms, 2s; off resets it",
        _HERE_AND_IN_STEPS,
        build_command=_delay,
        on=Target.PROBE,
        changes=True,
        arguments=(Argument("time", is_required=True), Argument("scope", _SCOPES)),
    ),
    Action(
        "container.break-at",
        "",
        "Pause automatically when this happens",
        _HERE_AND_IN_STEPS,
        build_command=_break_at,
        on=Target.CONTAINER,
        changes=True,
        arguments=(
            Argument("point", (*BreakpointKind, _NOTHING), is_required=True),
            Argument("scope", ("container", "pod", "all")),
        ),
    ),
    Action(
        "container.clear-backoff",
        "R",
        "Clear the back-off and restart now",
        _HERE_AND_IN_STEPS,
        typed="clear back-off",
        build_command=lambda now, _words: ClearBackoff(*_container(now)),
        on=Target.CONTAINER,
        changes=True,
        acts=True,
        footer=98,
    ),
    Action(
        "time.close-queue",
        "escape,Q",
        "Go back to the panes",
        _STEPS,
        "close",
        word="back",
        is_listed=False,
    ),
    Action(
        "app.close-queue",
        "q",
        "Go back to the panes",
        _STEPS,
        "close",
        typed="back from queue",
        word="back",
        footer=110,
        shares_keys_of="app.quit",
        is_listed=False,
    ),
    Action(
        "app.pick", "enter", "Run the selected line", _MENU, "pick", is_listed=False
    ),
    Action(
        "app.less",
        "left",
        "Decrease the number",
        (KeyContext.MENU_SCREEN, KeyContext.STEPS),
        "change(-1)",
        is_listed=False,
    ),
    Action(
        "app.more",
        "right",
        "Increase the number",
        (KeyContext.MENU_SCREEN, KeyContext.STEPS),
        "change(1)",
        is_listed=False,
    ),
    Action(
        "app.choose-nothing",
        "escape,q",
        "Close without a choice",
        _MENU_SCREEN,
        "close",
        word="close",
        is_listed=False,
    ),
)
