"""Parse the input lines of `--step`: ticks, actions, words such as `queue`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from probetui.errors import UsageError
from probetui.headless.cases.case import ActionKind, CaseAction
from probetui.headless.cases.grammar import parse_action
from probetui.k8s.pod import Pod
from probetui.suggestions import nearest_hint

MOST_TICKS = 10_000
LONGEST_LINE = 1_000
"""In characters; a longer line is refused."""

HELP = (
    "an empty line   run the next tick",
    f"NUMBER          run so many ticks, up to {MOST_TICKS}",
    "change          run ticks until something changes",
    "queue           list what comes next",
    "wait            wait until no container is being started or stopped",
    "inject POD/CONTAINER PROBE RESULT [TIMES]",
    "                let the next runs of a probe have that result",
    "freeze, unfreeze, kill, stop, restart, cut-network, restore-network, delay",
    "                what `after` of a test case does, in the same words",
    "help            show this",
    "quit            end the session, as the end of the input does",
)


class StepWord(Enum):
    """A line of one word; the value is the word."""

    CHANGE = "change"
    QUEUE = "queue"
    WAIT = "wait"
    HELP = "help"
    QUIT = "quit"


class Ticks(Struct, frozen=True):
    """A number of ticks to run."""

    count: int = 1


StepLine = Ticks | StepWord | CaseAction

_COUNT = re.compile(r"[0-9]{1,9}")


def parse_step_line(text: str, pods: Sequence[Pod]) -> StepLine | None:
    """Parse a line; return None for a comment, which begins with `#`.

    Args:
        text: the line.
        pods: the pods that actions may name.

    Raises:
        UsageError: the line is invalid, or names an unknown container or probe.
    """
    if len(text) > LONGEST_LINE:
        raise UsageError(f"a line has at most {LONGEST_LINE} characters")
    words = text.split()
    match words:
        case []:
            return Ticks()
        case [first, *_] if first.startswith("#"):
            return None
        case [word] if _COUNT.fullmatch(word):
            if not 0 < int(word) <= MOST_TICKS:
                raise UsageError(f'"{word}" is not a number from 1 to {MOST_TICKS}')
            return Ticks(int(word))
        case [word] if word in {step_word.value for step_word in StepWord}:
            return StepWord(word)
    actions = {kind.value for kind in ActionKind if kind is not ActionKind.WAIT}
    known = [*(step_word.value for step_word in StepWord), *sorted(actions)]
    if words[0] not in actions:
        raise UsageError(
            f'"{words[0]}" stands alone on its line'
            if words[0] in known
            else f'"{words[0]}" is not one of {", ".join(known)}, or a number'
            f"{nearest_hint(words[0], known)}"
        )
    action = parse_action(text, "", pods)
    if action.lasting is not None:
        raise UsageError(f"{action.kind} has no length here: it lasts until undone")
    return action
