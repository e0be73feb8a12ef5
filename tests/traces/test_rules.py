"""A recording distinguishes the two values of each rule that recordings show.

The run that follows a recording no longer follows it with that one rule switched.
"""

from __future__ import annotations

import pytest
from msgspec.structs import asdict, replace

from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import KubeletRules, rules_of
from tests.traces.candidate_runs import candidate_runs, differences
from tests.traces.trace import OWN_DATA, all_traces, only_own

pytestmark = only_own

OWN = all_traces(OWN_DATA)

RULES_SHOWN_BY_RECORDINGS = [
    ("startup_probes", "1.15", "1.20/startup-slow"),
    ("inherits_started", "1.34", "1.36/startup-window"),
    ("triggers_readiness", "1.20", "1.36/readiness-flap"),
    ("results_wake_pod", "1.20", "1.36/startup-never"),
    ("exec_timeout_is_failure", "1.19", "1.20/exec-timeout"),
    ("tells_exec_timeout", "1.20", "1.36/exec-timeout"),
    ("has_dockershim", "1.36", "1.20-dockershim/readiness-missing-binary"),
    ("redirect_warning", "1.36", "1.20/http-redirect"),
    ("probe_grace_period", "1.20", "1.36/startup-grace"),
    ("errored_text", "1.32", "1.36/tcp-unknown-port"),
    ("created_text", "1.34", "1.36/crashloop"),
    ("started_text", "1.34", "1.36/crashloop"),
    ("image_present_text", "1.34", "1.36/crashloop"),
    ("back_off_text", "1.20", "1.36/crashloop"),
    ("sleeps_until_back_off_ends", "1.34", "1.36/crash-fast"),
    ("early_ready_to_start", "1.35", "1.36/poststart-sleep"),
    ("ready_to_start_condition", "1.20", "1.36/readiness-flap"),
    ("tells_hook_errors", "1.20", "1.36/poststart-fail"),
    ("consistent_http_hooks", "1.36", "1.20/poststart-http"),
    ("static_pods_wait", "1.36", "1.20/edit"),
    ("static_pods_wait", "1.20", "1.36/edit"),
    ("starts_inits", "1.20", "1.36/init-then-main"),
    ("starts_inits", "1.36", "1.20/init-then-main"),
    ("status_ends_at_deadline", "1.36", "1.20/deadline"),
    ("status_ends_at_deadline", "1.20", "1.36/deadline"),
    ("keeps_last_state", "1.35", "1.36/restart-rules-in"),
]
"""Fields, the version with the other value, and the recording that shows the
difference."""


class _Switched(KubeletConfig, frozen=True):
    """A configuration with rules of more than one version."""

    switched: KubeletRules | None = None

    @property
    def rules(self) -> KubeletRules:
        """The switched rules."""
        return self.switched or super().rules


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "version", "name"),
    [pytest.param(*row, id="-".join(row)) for row in RULES_SHOWN_BY_RECORDINGS],
)
def test_only_one_value_of_a_rule_follows_the_recording(
    field: str, version: str, name: str
) -> None:
    trace = OWN[name]
    candidate = next(
        candidate
        for candidate in candidate_runs(trace)
        if not differences(trace, candidate)
    )
    value = getattr(rules_of(version), field)
    switched = _Switched(
        **asdict(candidate.config),
        switched=replace(trace.config.rules, **{field: value}),
    )

    found = differences(trace, candidate._replace(config=switched))

    assert found != []
