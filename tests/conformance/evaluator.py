"""The judge: a case and what was seen of its pod, to one verdict per expectation."""

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
"""What an expectation that is not in the form of the cases brings about."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one expectation, rule or action of a case held, and why."""

    subject: str
    holds: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.holds else 'FAIL'} {self.subject} -> {self.detail}"


def evaluate(
    case: Mapping[str, Any], seen: Observation, slack: float = 1.0
) -> list[Verdict]:
    """Judge what was seen of a case's pod.

    First comes a verdict for each expectation, in the case's order, then one for each
    rule that was broken and each action that was missed.

    Args:
        case: as read from its file.
        seen: what was seen.
        slack: stretches upper bounds in seconds, for a slow machine.
    """
    verdicts = [_judge(expectation, seen, slack) for expectation in case["expect"]]
    verdicts += [
        Verdict("rule", holds=False, detail=rule)
        for rule in broken_rules(case["pod"], seen)
    ]
    verdicts += [
        Verdict("action", holds=False, detail=detail) for detail in seen.missed
    ]
    return verdicts


def passes(verdicts: Sequence[Verdict]) -> bool:
    """Return whether everything held."""
    return all(verdict.holds for verdict in verdicts)


def _judge(expectation: Mapping[str, Any], seen: Observation, slack: float) -> Verdict:
    subject = json.dumps(expectation)
    try:
        ((key, wanted),) = expectation.items()
        finding = JUDGES[key](wanted, seen, slack)
    except UnmetError as unmet:
        finding = Finding(holds=False, detail=str(unmet))
    except MALFORMED as error:
        finding = Finding(holds=False, detail=f"malformed: {error!r}")
    return Verdict(subject, finding.holds, finding.detail)
