"""What the lines of `--step` ask for."""

from __future__ import annotations

import pytest

from probetui.debugger.commands import Injected
from probetui.errors import UsageError
from probetui.headless.cases.case import ActionKind, CaseAction
from probetui.headless.cases.step_lines import (
    HELP,
    LONGEST_LINE,
    MOST_TICKS,
    StepLine,
    StepWord,
    Ticks,
    parse_step_line,
)
from probetui.k8s.probe import ProbeType
from tests.builders import a_container, a_pod, a_probe

PODS = [a_pod(a_container(liveness_probe=a_probe()))]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("", Ticks(1)),
        ("   ", Ticks(1)),
        ("3", Ticks(3)),
        (str(MOST_TICKS), Ticks(MOST_TICKS)),
        ("# what follows is a comment", None),
        *((word.value, word) for word in StepWord),
    ],
)
def test_a_line_asks_for_ticks_or_for_one_thing(
    text: str, asked: StepLine | None
) -> None:
    assert parse_step_line(text, PODS) == asked


def test_a_line_injects_results_as_an_action_of_a_case() -> None:
    asked = parse_step_line("inject web/app liveness failure 3", PODS)

    assert isinstance(asked, CaseAction)
    assert asked.kind is ActionKind.INJECT
    assert (asked.pod, asked.container) == ("web", "app")
    assert asked.probe_type is ProbeType.LIVENESS
    assert (asked.result, asked.times) == (Injected.FAILURE, 3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0", '"0" is not a number from 1'),
        (str(MOST_TICKS + 1), f"from 1 to {MOST_TICKS}"),
        ("-1", '"-1" is not one of'),
        ("9" * 500, "is not one of"),
        ("chang", "(nearest: change)"),
        ("change now", '"change" stands alone on its line'),
        ("wait 3s", '"wait" stands alone on its line'),
        ("inject web/app liveness", "inject needs a probe and a result"),
        ("inject web/app readiness failure", "web/app has no readiness probe"),
        ("kill db", 'no pod and no container is called "db"'),
        ("freeze app 20s", "has no length here"),
        ("x" * (LONGEST_LINE + 1), f"at most {LONGEST_LINE} characters"),
        ("\0\x1b[2J", "is not one of"),
    ],
)
def test_a_line_that_cannot_be_used_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_step_line(text, PODS)

    assert why in str(error.value)


def test_the_help_names_every_line() -> None:
    text = " ".join(HELP)
    actions = [kind.value for kind in ActionKind if kind is not ActionKind.WAIT]

    assert [
        word
        for word in (*(it.value for it in StepWord), *actions)
        if word not in text.replace(",", " ").split()
    ] == []
