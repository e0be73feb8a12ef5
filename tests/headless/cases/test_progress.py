"""What fails a case: a refused action, and no other trouble."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.headless.cases.case import CaseStep
from probetui.headless.cases.grammar import parse_action, parse_expectation
from probetui.headless.cases.progress import CaseProgress
from probetui.kubelet.journal import NoteEntry, UserEntry
from probetui.kubelet_rules import rules_of
from probetui.presentation.plain.lines import PlainLines
from tests.builders import START, a_pod

POD = a_pod()


def begun() -> CaseProgress:
    """Return a case whose first step has just killed the container."""
    action = parse_action("kill app", "cases.yaml:3:5", [POD])
    expected = parse_expectation(
        "restarts == 1 within 10s", "cases.yaml:4:5", [POD], None
    )
    steps = [CaseStep(action, (expected,))]
    progress = CaseProgress(
        steps, [POD], None, lambda _: PlainLines(rules=rules_of("1.36"))
    )
    progress.begin(START, lambda _command: None)
    return progress


@pytest.mark.parametrize(
    ("entry", "came"),
    [
        pytest.param(
            NoteEntry(1, START, "web/app is busy", is_fault=True, is_refusal=True),
            "kill app: web/app is busy",
            id="a refusal",
        ),
        pytest.param(
            NoteEntry(1, START, "a watch failed: no answer", is_fault=True),
            "",
            id="another fault",
        ),
        pytest.param(
            UserEntry(1, START, "kill main process", "web/app"), "", id="done"
        ),
    ],
)
def test_an_action_that_is_refused_fails_the_case(
    entry: NoteEntry | UserEntry, came: str
) -> None:
    progress = begun()

    progress.observe(entry)

    assert (progress.failure.came if progress.failure else "") == came
    assert progress.due_at == (None if came else START + timedelta(seconds=10))
