"""The judge: from a case and the observation of its pod to verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.expectations import JUDGES, Finding
from tests.conformance.observation import Observation
from tests.conformance.rules import broken_rules
from tests.conformance.windows import UnmetError

MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Exceptions that a malformed expectation raises."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one expectation, rule or action of a case holds, and why."""

    subject: str
    holds: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.holds else 'FAIL'} {self.subject} -> {self.detail}"


def evaluate(
    case: Mapping[str, Any], observation: Observation, slack: float = 1.0
) -> list[Verdict]:
    """Judge the observation of a case's pod.

    The verdicts are in this order: one per expectation, as in the case, one per broken
    rule, one per missed action.

    Args:
        case: the case, as read from its file.
        observation: the observation of its pod.
        slack: stretches upper bounds in seconds, for a slow machine.
    """
    verdicts = [
        _judge(expectation, observation, slack) for expectation in case["expect"]
    ]
    verdicts += [
        Verdict("rule", holds=False, detail=rule)
        for rule in broken_rules(case["pod"], observation)
    ]
    verdicts += [
        Verdict("action", holds=False, detail=detail) for detail in observation.missed
    ]
    return verdicts


def passes(verdicts: Sequence[Verdict]) -> bool:
    """Return whether all verdicts hold."""
    return all(verdict.holds for verdict in verdicts)


def _judge(
    expectation: Mapping[str, Any], observation: Observation, slack: float
) -> Verdict:
    subject = json.dumps(expectation)
    try:
        ((key, argument),) = expectation.items()
        finding = JUDGES[key](argument, observation, slack)
    except UnmetError as unmet:
        finding = Finding(holds=False, detail=str(unmet))
    except MALFORMED as error:
        finding = Finding(holds=False, detail=f"malformed: {error!r}")
    return Verdict(subject, finding.holds, finding.detail)
