"""RoutineLines: lines of ticks and outcomes, of which what repeats is encoded once.

A thousand probes a second mostly find what they found before. So a line is a template,
which the codec makes of what comes a second time (an answer with a date in its headers
never does), and the numbers, instants and durations that are others each time. The
lines are the codec's, byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.probe import ProbeKey
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, ProbeOutcome
from probetui.record.codec import (
    Record,
    encode_attempt,
    encode_entry,
    encode_input,
    encode_line,
    encode_text,
)
from probetui.record.format import RecordContext
from probetui.record.inputs import InputEncoder
from probetui.record.masking import Mask
from probetui.record.values import format_timestamp

MOST_TEMPLATES = 4096
"""With more of a kind, all of that kind are forgotten and made anew when needed."""

LONGEST_TEMPLATE = 4096
"""Of what is longer none is kept: few probes print as much."""

_HOLE = "\ufdd0"
"""Marks where a value goes; it is no character, but a container may print it."""

_HOLES = re.compile(f'"{_HOLE}(\\w+)"')
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_HOLES_OF_TICK = 8
_HOLES_OF_OUTCOME = 7
"""Without those of its attempts."""

Key = TypeVar("Key")
Template = TypeVar("Template", str | None, "_TickTemplate")


class _TickTemplate(Struct, frozen=True):
    """The line of a probe's ticks for as long as they are of one routine.

    The text is empty where something in it looks like a hole.
    """

    routine: TickEntry
    text: str


class RoutineLines:
    """Encodes lines of one record.

    Args:
        mask: masks secrets in inputs; None to keep them.
    """

    def __init__(self, mask: Mask | None) -> None:
        self._inputs = InputEncoder(mask)
        self._context: RecordContext | None = None
        self._secrets = 0
        self._ticks: dict[ProbeKey, _TickTemplate] = {}
        # None for what has come once, empty where no template can be kept.
        self._attempts: dict[tuple[Attempt, ...], str | None] = {}
        self._outcomes: dict[ProbeOutcome, str | None] = {}

    def tick(self, tick: TickEntry, line: int, context: RecordContext) -> bytes:
        """Return the line of a tick: what `encode_entry` makes, with its number."""
        self._follow(context)
        routine = tick.routine
        known = self._ticks.get(tick.key)
        if known is None or known.routine != routine:
            record = encode_entry(routine, context)
            _leave_open(record, "seq", "ts", "t", "n", "startedAt", "ms", "attempts")
            _leave_open(record["run"], "count")
            text, holes = _to_template(record)
            known = _TickTemplate(routine, text if holes == _HOLES_OF_TICK else "")
            _keep(self._ticks, tick.key, known)
        if not known.text:
            return encode_line(encode_entry(tick, context) | {"seq": line})
        values = {
            "seq": line,
            "ts": _quoted(tick.at),
            "t": _seconds(tick.at - context.started_at),
            "n": tick.n,
            "startedAt": _quoted(tick.timing.started_at),
            "ms": tick.timing.duration / _MILLISECOND,
            "attempts": self._attempts_text(tick.attempts, context),
            "count": tick.run.count,
        }
        return f"{known.text % values}\n".encode()

    def outcome(
        self,
        item: ProbeFinished,
        number: int,
        at: datetime,
        line: int,
        context: RecordContext,
    ) -> bytes:
        """Return the line of a probe's outcome: what `encode_input` makes."""
        self._follow(context)
        outcome = item.outcome
        lengths = _lengths(outcome.attempts)
        key, template = None, None
        # From Python 3.13 on a length of zero is not written: `timedelta()` is one
        # object, and msgspec knows a default by its identity.
        if outcome.duration and all(lengths.values()):
            key = ProbeOutcome(
                _timeless(outcome.attempts), _EPOCH, injected=outcome.injected
            )
            template = self._outcomes.get(key)
        if not template:
            encoded = self._inputs.encode(item)
            whole = encode_line(encode_input(number, encoded, at, line, context))
            if key is not None and len(whole) <= LONGEST_TEMPLATE:
                if key in self._outcomes and template is None:
                    template = self._outcome_template(item, lengths, context)
                _keep(self._outcomes, key, template)
            return whole
        values = lengths | {
            "seq": line,
            "ts": _quoted(at),
            "t": _seconds(at - context.started_at),
            "n": number,
            "probeID": item.probe_id,
            "startedAt": _quoted(outcome.started_at),
            "duration": outcome.duration / _MILLISECOND,
        }
        return f"{template % values}\n".encode()

    def _outcome_template(
        self, item: ProbeFinished, lengths: Iterable[str], context: RecordContext
    ) -> str:
        """Return a template, empty where the outcome has what looks like a hole."""
        encoded = self._inputs.encode(item)
        record = encode_input(0, encoded, item.outcome.started_at, 0, context)
        outcome = record["input"]["outcome"]
        _leave_open(record, "seq", "ts", "t", "n")
        _leave_open(record["input"], "probeID")
        _leave_open(outcome, "startedAt", "duration")
        for name, attempt in zip(lengths, outcome["attempts"], strict=True):
            attempt["duration"] = _HOLE + name
        text, holes = _to_template(record)
        return text if holes == _HOLES_OF_OUTCOME + len(item.outcome.attempts) else ""

    def _attempts_text(
        self, attempts: tuple[Attempt, ...], context: RecordContext
    ) -> str:
        key, lengths = _timeless(attempts), _lengths(attempts)
        template = self._attempts.get(key)
        if template:
            return template % lengths
        records = [encode_attempt(attempt, context) for attempt in attempts]
        whole = encode_text(records)
        if len(whole) <= LONGEST_TEMPLATE:
            if key in self._attempts and template is None:
                for name, record in zip(lengths, records, strict=True):
                    record["ms"] = _HOLE + name
                text, holes = _to_template(records)
                template = text if holes == len(attempts) else ""
            _keep(self._attempts, key, template)
        return whole

    def _follow(self, context: RecordContext) -> None:
        """Forget what was made for other pods, or when fewer secrets were known."""
        if self._context is not context or self._secrets != context.mask.known:
            self._context, self._secrets = context, context.mask.known
            for templates in (self._ticks, self._attempts, self._outcomes):
                templates.clear()


def _timeless(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    return tuple(replace(attempt, duration=timedelta()) for attempt in attempts)


def _lengths(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Return how long each attempt took, in milliseconds, by the name of its hole."""
    return {
        f"ms{number}": attempt.duration / _MILLISECOND
        for number, attempt in enumerate(attempts)
    }


def _seconds(length: timedelta) -> str:
    """Return seconds as msgspec writes them: Python has two digits in exponents."""
    return msgspec.json.encode(length.total_seconds()).decode()


def _quoted(at: datetime) -> str:
    return f'"{format_timestamp(at)}"'


def _leave_open(record: Record, *names: str) -> None:
    for name in names:
        record[name] = _HOLE + name


def _to_template(value: object) -> tuple[str, int]:
    """Return JSON to format with values by name, and how many holes it has."""
    return _HOLES.subn(r"%(\1)s", encode_text(value).replace("%", "%%"))


def _keep(templates: dict[Key, Template], key: Key, template: Template) -> None:
    if len(templates) >= MOST_TEMPLATES and key not in templates:
        templates.clear()
    templates[key] = template
