"""Understanding: the tick that is looked at, and why things came about."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.kubelet.journal import By
from probetui.tui.action import Action, Circumstances, Offer, On, Where, acted_on


def _has_ticks(now: Circumstances) -> bool:
    return bool(now.probe.history)


def _has_output(now: Circumstances) -> bool:
    return now.probe.last_run is not None


def _questions(now: Circumstances) -> Iterator[Offer]:
    where = acted_on(On.CONTAINER, now)
    last_exit = now.container.last_exit
    if last_exit is None:
        yield Offer(f"Why: the last decision about {where}")
    elif last_exit.by is By.ITSELF:
        yield Offer(f"Why did {where} end last time?")
    else:
        yield Offer(f"Why was {where} killed last time?")


def _explanations(now: Circumstances) -> Iterator[Offer]:
    where = acted_on(On.CONTAINER, now)
    kinds = [each.key.probe_type.lower() for each in now.container.probes]
    if not kinds:
        yield Offer(f"Explain: {where}, which has no probe")
    for each in kinds:
        yield Offer(f"Explain: {each} timing of {where}")
    for each in kinds:
        yield Offer(f"Help: what does {each} mean here")


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
        offers=_questions,
    ),
    Action(
        "look.why-line",
        "w",
        "why",
        "why this line",
        "Why: the tick behind the line, the last end",
        (Where.EVENT_LOG,),
        "why",
        on=On.CONTAINER,
        footer=28,
    ),
    Action(
        "look.explain",
        "",
        "explain",
        "explain",
        "What its probes come to, in words and numbers",
        (Where.MAIN,),
        "app.show_screen('explain')",
        on=On.CONTAINER,
        offers=_explanations,
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
