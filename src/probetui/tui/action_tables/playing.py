"""Time, where it is not the wall's; and the pages of lessons."""

from __future__ import annotations

from probetui.tui.action import Action, Argument, Circumstances, On, Where

_HERE = (Where.MAIN, Where.STEPS)


def _is_played(now: Circumstances) -> bool:
    return now.snapshot.playback is not None


def _can_save(now: Circumstances) -> bool:
    return now.outside.save is not None


def _has_lesson(now: Circumstances) -> bool:
    return now.outside.lesson is not None


PLAYING = (
    Action(
        "time.step-back",
        "comma",
        "back",
        "step back",
        "Back to before the last tick (sim, replay)",
        _HERE,
        "app.step_back",
        on=On.ALL_PODS,
    ),
    Action(
        "time.slower",
        "less_than_sign",
        "slower",
        "slower",
        "Half as fast (sim, replay)",
        _HERE,
        "app.change_pace(-1)",
        on=On.ALL_PODS,
    ),
    Action(
        "time.faster",
        "greater_than_sign",
        "faster",
        "faster",
        "Twice as fast (sim, replay)",
        _HERE,
        "app.change_pace(1)",
        on=On.ALL_PODS,
    ),
    Action(
        "time.seek",
        "",
        "seek",
        "seek",
        "Go to a time: 1m30s, 01:30, -10s, +10s",
        _HERE,
        "app.seek",
        on=On.ALL_PODS,
        when=_is_played,
        arguments=(Argument("time", is_required=True),),
    ),
    Action(
        "app.save",
        "ctrl+s",
        "save",
        "save session",
        "Keep the session's record in a file",
        (Where.PROGRAM,),
        "app.save",
        on=On.PROGRAM,
        when=_can_save,
    ),
    Action(
        "app.next-lesson",
        "right_curly_bracket",
        "next lesson",
        "next lesson",
        "The next lesson",
        (Where.MAIN,),
        "app.turn_page(1)",
        on=On.PROGRAM,
        when=_has_lesson,
        footer=15,
    ),
    Action(
        "app.previous-lesson",
        "left_curly_bracket",
        "lesson before",
        "previous lesson",
        "The lesson before",
        (Where.MAIN,),
        "app.turn_page(-1)",
        on=On.PROGRAM,
        when=_has_lesson,
    ),
)
