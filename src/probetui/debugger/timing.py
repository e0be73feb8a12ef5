"""Probe timing: delays, periods, timeouts and thresholds."""

from __future__ import annotations

from msgspec.structs import replace

from probetui.k8s.probe import Probe, ProbeType
from probetui.values import Value

_LEAST = {
    "initial_delay_seconds": 0,
    "timeout_seconds": 1,
    "period_seconds": 1,
    "success_threshold": 1,
    "failure_threshold": 1,
}
_API_NAMES = {
    "initial_delay_seconds": "initialDelaySeconds",
    "timeout_seconds": "timeoutSeconds",
    "period_seconds": "periodSeconds",
    "success_threshold": "successThreshold",
    "failure_threshold": "failureThreshold",
}
_MOST = 2**31 - 1
"""The API's integers have 32 bits."""


class Timing(Value, frozen=True):
    """The fields of a probe that can change while its worker runs."""

    initial_delay_seconds: int
    timeout_seconds: int
    period_seconds: int
    success_threshold: int
    failure_threshold: int

    @classmethod
    def of(cls, probe: Probe) -> Timing:
        """Return the timing of a probe."""
        return cls(**{name: getattr(probe, name) for name in _LEAST})

    def applied_to(self, probe: Probe) -> Probe:
        """Return the probe with this timing and an unchanged handler."""
        return replace(probe, **{name: getattr(self, name) for name in _LEAST})

    @property
    def numbers(self) -> dict[str, int]:
        """The values by their names in the API."""
        return {api: getattr(self, name) for name, api in _API_NAMES.items()}

    def problems(self, probe_type: ProbeType) -> tuple[str, ...]:
        """Return the problems of the timing, one text per field.

        Difference: the API server replaces a zero by the default, as for an absent
        field; here it is refused, as a user who types zero means zero.

        Source: pkg/apis/core/validation/validation.go, v1.32.10, validateProbe.
        """
        problems = []
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value < least:
                problems.append(
                    f"{_API_NAMES[name]}: is {value}, must be {least} or more"
                )
            elif value > _MOST:
                problems.append(
                    f"{_API_NAMES[name]}: is {value}, must be {_MOST} or less"
                )
        if self.success_threshold > 1 and probe_type is not ProbeType.READINESS:
            problems.append(
                f"successThreshold: is {self.success_threshold}, "
                f"must be 1 for a {probe_type.lower()} probe"
            )
        return tuple(problems)

    def changes(self, after: Timing) -> tuple[tuple[str, int, int], ...]:
        """Return the fields that differ: their name in the API, before and after."""
        return tuple(
            (_API_NAMES[name], getattr(self, name), getattr(after, name))
            for name in _LEAST
            if getattr(self, name) != getattr(after, name)
        )
