from __future__ import annotations

from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.prober.worker_scheduler import PendingOutcomes
from tests.builders import START, at


def finished(probe_id: int) -> ProbeFinished:
    outcome = ProbeOutcome((Attempt(ProbeResult.SUCCESS),), START)
    return ProbeFinished(probe_id, outcome)


def test_answers_are_popped_once_in_the_order_of_their_instants() -> None:
    answers = PendingOutcomes()
    answers.set(finished(1), at(3))
    answers.set(finished(2), at(2))

    early = answers.pop_due(at(1))
    popped = [answers.pop_due(at(3)) for _ in range(3)]

    assert early is None
    assert popped == [finished(2), finished(1), None]


def test_there_is_a_deadline_while_an_answer_is_pending() -> None:
    answers = PendingOutcomes()
    before = (bool(answers), answers.next_deadline())

    answers.set(finished(1), at(3))

    assert before == (False, None)
    assert (bool(answers), answers.next_deadline()) == (True, at(3))
