"""Understanding: the tick that is looked at, and why things came about."""

from __future__ import annotations

from probetui.tui.action import Action, Circumstances, On, Where


def _has_ticks(now: Circumstances) -> bool:
    return bool(now.probe.history)


def _has_output(now: Circumstances) -> bool:
    return now.probe.last_run is not None


UNDERSTANDING = (
    Action(
        "look.why",
        "w",
        "why",
        "why",
        "Why: this tick, the last end, the wait",
        (Where.MAIN,),
        "app.show_screen('why')",
        on=On.CONTAINER,
        footer=56,
    ),
    Action(
        "look.container",
        "",
        "container",
        "container",
        "The container's lives and the chosen probe in full",
        (Where.MAIN,),
        "app.show_screen('container')",
        on=On.CONTAINER,
    ),
    Action(
        "look.probe-output",
        "",
        "output",
        "probe output",
        "All that the last probe printed",
        (Where.MAIN,),
        "app.show_screen('probe-output')",
        on=On.PROBE,
        when=_has_output,
    ),
    Action(
        "look.older-tick",
        "left",
        "older tick",
        "older tick",
        "Look at the tick before",
        (Where.MAIN,),
        "tick(-1)",
        on=On.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.newer-tick",
        "right",
        "newer tick",
        "newer tick",
        "Look at the tick after, or follow",
        (Where.MAIN,),
        "tick(1)",
        on=On.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.first-tick",
        "home",
        "first tick",
        "first tick",
        "Look at the first tick of the session",
        (Where.TICKS,),
        "first_tick",
        on=On.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.newest-tick",
        "end",
        "newest tick",
        "newest tick",
        "Look at the newest tick, and follow",
        (Where.TICKS,),
        "newest_tick",
        on=On.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.copy-answer",
        "c",
        "copy",
        "copy answer",
        "Copy the command to repeat the probe, or the output",
        (Where.ANSWER,),
        "copy_answer",
        on=On.PROBE,
        footer=92,
        has_line=False,
    ),
    Action(
        "look.close-answer",
        "escape",
        "back",
        "close answer",
        "Back to where you were",
        (Where.ANSWER,),
        "close",
        has_line=False,
    ),
    Action(
        "app.close-answer",
        "q",
        "back",
        "back from answer",
        "Back to where you were",
        (Where.ANSWER,),
        "close",
        footer=110,
        shares_keys_of="app.quit",
        has_line=False,
    ),
)
