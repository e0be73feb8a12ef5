"""Hypothesis strategies for expectations of every kind about a case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.conformance.cases import Case

Expectation = Mapping[str, Any]

SECONDS = st.sampled_from([0, 0.5, 1, 2, 5, 8, 12, 20, 30, 60])
RUNS = st.integers(0, 3)
COUNTS = st.integers(1, 3)
PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])
REASONS = st.sampled_from(
    ["Started", "Created", "Pulled", "Killing", "Unhealthy", "BackOff", "Failed"]
)
EXIT_CODES = st.sampled_from([0, 1, 2, 137, 143])
TYPES = st.sampled_from(["Normal", "Warning"])
PARTS = st.sampled_from(["", "failed", "Container", "probe", "nowhere"])
CONDITIONS = st.sampled_from(
    ["Ready", "ContainersReady", "Initialized", "PodReadyToStartContainers", "Other"]
)


def expectations(case: Case) -> st.SearchStrategy[Expectation]:
    """Return expectations about the containers of a case."""
    spec = case["pod"]["spec"]
    names = [
        container["name"]
        for key in ("initContainers", "containers")
        for container in spec.get(key, [])
    ]
    containers = st.sampled_from([*names, "nobody"])
    moments = _moments(containers)
    opening = {"within": SECONDS, "after": moments, "plus": SECONDS}
    opening |= {"gen": st.integers(0, 2)}
    window = opening | {"before": moments}
    state = {"reason": REASONS, "exit_code": EXIT_CODES, "message_contains": PARTS}
    state |= {"started": st.booleans(), "ready": st.booleans()}
    states = st.sampled_from(["waiting", "running", "terminated"])
    some_container = {"container": containers}
    period = {"for": SECONDS, "gen": st.integers(0, 2)}
    event = some_container | {
        "reason": REASONS,
        "type": TYPES,
        "message_contains": PARTS | st.lists(PARTS, max_size=2),
    }
    condition = {
        "type": CONDITIONS,
        "status": st.sampled_from(["True", "False", "Unknown"]),
    }
    kinds = {
        "restarts": _some({"for": SECONDS, "exactly": RUNS}, some_container | period)
        | _some({"for": SECONDS, "at_most": RUNS}, some_container | period)
        | _some({"within": SECONDS, "at_least": RUNS}, some_container),
        "ready": _some({}, some_container | opening)
        | _some({"container": containers, "not_before_started_plus": SECONDS}, opening),
        "never_ready": _some({"for": SECONDS}, some_container | period),
        "unready": _some({"within": SECONDS, "after": moments}, some_container),
        "event": _some({}, event | window | {"count_at_least": COUNTS, "for": SECONDS}),
        "no_event": _some({}, event | window | {"for": SECONDS}),
        "phase": _some({"is": PHASES}, window | {"reason": REASONS, "for": SECONDS})
        | _some({"stays": PHASES, "for": SECONDS}, period)
        | _some({"never": PHASES}, period)
        | _some({"last": PHASES}, {"gen": st.integers(0, 2)}),
        "state": _some({"container": containers, "is": states}, state | window),
        "never_state": _some({"container": containers, "is": states}, state | period),
        "terminated": _some(
            some_container,
            {
                "run": RUNS,
                "exit_code": EXIT_CODES,
                "exit_code_not": EXIT_CODES,
                "reason": st.sampled_from(["Error", "Completed"]),
                "message": st.sampled_from(["", "finished"]),
                "within": SECONDS,
                "gen": st.integers(0, 2),
            },
        ),
        "never_started": _some(some_container, period),
        "order": st.lists(moments, min_size=1, max_size=4),
        "gap": _some(
            {"from": moments, "to": moments}, {"at_least": SECONDS, "at_most": SECONDS}
        ),
        "condition": _some(
            condition, window | {"reason": REASONS, "message_contains": PARTS}
        ),
        "together": st.tuples(containers, containers).map(list),
    }
    return st.one_of(
        [st.fixed_dictionaries({key: value}) for key, value in kinds.items()]
    )


def _some(
    always: Mapping[str, st.SearchStrategy[Any]],
    sometimes: Mapping[str, st.SearchStrategy[Any]],
) -> st.SearchStrategy[dict[str, Any]]:
    optional = {
        key: sometime for key, sometime in sometimes.items() if key not in always
    }
    return st.fixed_dictionaries(dict(always), optional=optional)


def _moments(containers: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return moments of every kind, and some unknown ones."""
    one = st.sampled_from(["running", "startup_done", "ready", "unready"])
    counted = st.sampled_from(["started", "killing", "terminated", "restarted"])
    fixed = ["submitted", "deleted", "replaced", "replaced(1)", "gone", "gone(1)"]
    fixed += ["ready(pod)", "unready(pod)", "started", "unheard_of(app)", "(?)"]
    return (
        st.sampled_from(fixed)
        | PHASES.map("phase({})".format)
        | st.builds("{}({})".format, one | counted, containers)
        | st.builds("{}({},{})".format, counted, containers, RUNS)
        | REASONS.map("event({})".format)
        | st.builds("event({},{})".format, REASONS, containers)
        | st.builds("event({}, {}, {})".format, REASONS, containers, RUNS)
    )
