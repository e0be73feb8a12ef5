"""Systematic mutations of observations, on which two judges must agree.

Each mutation returns changed copies of an observation's records. Together they turn
most expectations of all cases from true to false and back.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Record = dict[str, Any]
Records = list[Record]
Mutation = Callable[[Record], None]

SHIFTS = (-6.0, -1.5, -0.7, 0.7, 1.5, 6.0)
KINDS = ("event", "status", "action", "gone")
CUTS = (0.1, 0.3, 0.5, 0.7, 0.9)
MESSAGE = "Liveness probe failed: Startup probe failed: Stopping container"
REASONS = ("Failed", "FailedPostStartHook", "FailedPreStopHook", "Killing", "Unhealthy")


def mutations(records: Sequence[Record]) -> Iterator[tuple[str, Records]]:
    """Yield changed observations, each with a name that is unique among them."""
    yield "none", copied(records)
    yield from _without_one(records)
    yield from _shifted(records)
    yield from _cut(records)
    for name, mutation in STATUS_MUTATIONS.items():
        yield name, _mutated(records, "status", mutation)
        yield f"{name}-late", _mutated(_latter_half(records), "status", mutation)
    for name, mutation in CONTAINER_MUTATIONS.items():
        yield name, _mutated(records, "status", _of_containers(mutation))
        half = _latter_half(records)
        yield f"{name}-late", _mutated(half, "status", _of_containers(mutation))
    yield "events-of-pod", _mutated(records, "event", _assign_to_pod)
    yield "events-twice", _duplicated(records, "event")
    yield (
        "no-events",
        [record for record in copied(records) if record["kind"] != "event"],
    )
    yield "bad-events", _with_bad_events(records)
    yield "all-starts", _with_starts(records)
    yield "missed", [*copied(records), _missed_action()]


def copied(records: Sequence[Record]) -> Records:
    """Return a deep copy."""
    return copy.deepcopy(list(records))


def _without_one(records: Sequence[Record]) -> Iterator[tuple[str, Records]]:
    for index, record in enumerate(records):
        if record["kind"] != "submitted":
            kept = [*records[:index], *records[index + 1 :]]
            yield f"drop-{index}-{record['kind']}", copied(kept)


def _shifted(records: Sequence[Record]) -> Iterator[tuple[str, Records]]:
    for kind in KINDS:
        for seconds in SHIFTS:
            changed = copied(records)
            for changed_record in changed:
                if changed_record["kind"] == kind:
                    changed_record["t"] += seconds
            yield f"shift-{kind}-{seconds:+}", changed
    for index, record in enumerate(records):
        if record["kind"] == "event":
            changed = copied(records)
            changed[index]["t"] += 3
            yield f"shift-{index}", changed


def _cut(records: Sequence[Record]) -> Iterator[tuple[str, Records]]:
    """Yield observations that end too early."""
    last = max(record["t"] for record in records)
    for share in CUTS:
        end = last * share
        kept = [
            record
            for record in records
            if record["t"] <= end and record["kind"] != "end"
        ]
        yield f"cut-{share}", [*copied(kept), {"t": end, "kind": "end"}]


def _latter_half(records: Sequence[Record]) -> list[Record]:
    """Return a copy in which the first half of the statuses is marked to be kept."""
    found = copied(records)
    statuses = [record for record in found if record["kind"] == "status"]
    for status in statuses[: len(statuses) // 2]:
        status["keep"] = True
    return found


def _mutated(records: Sequence[Record], kind: str, mutation: Mutation) -> Records:
    found = copied(records)
    for record in found:
        if record["kind"] == kind and not record.pop("keep", False):
            mutation(record)
    return found


def _duplicated(records: Sequence[Record], kind: str) -> Records:
    return [
        copy.deepcopy(record)
        for record in records
        for _ in range(2 if record["kind"] == kind else 1)
    ]


def _with_bad_events(records: Sequence[Record]) -> Records:
    """Add, after each event, one of each bad kind for the same container."""
    found = copied(records)
    for event in [record for record in found if record["kind"] == "event"]:
        found += [
            event | {"type": "Warning", "reason": reason, "message": MESSAGE}
            for reason in REASONS
        ]
    return found


def _with_starts(records: Sequence[Record]) -> Records:
    """Add a Started event of every container right after the submission of the pod."""
    names = {
        container["name"]
        for record in records
        if record["kind"] == "status"
        for key in ("initContainerStatuses", "containerStatuses")
        for container in record["status"].get(key) or ()
    }
    starts: Records = [
        {"t": 0.0, "kind": "event", "type": "Normal", "reason": "Started"}
        | {"container": name, "message": f"Started container {name}"}
        for name in sorted(names)
    ]
    return [*starts, *copied(records)]


def _missed_action() -> Record:
    return {"t": 1.0, "kind": "missed_action", "detail": "nothing came of it"}


def _assign_to_pod(event: Record) -> None:
    event["container"] = None


def _of_containers(mutation: Mutation) -> Mutation:
    def mutate(record: Record) -> None:
        for key in ("initContainerStatuses", "containerStatuses"):
            for container in record["status"].get(key) or ():
                mutation(container)

    return mutate


def _states(container: Record, which: str) -> Iterator[Record]:
    """Yield the current and the last state of a container, if they are of one kind."""
    for key in ("state", "lastState"):
        if which in (container.get(key) or {}):
            yield container[key][which]


def _no_restarts(container: Record) -> None:
    container["restartCount"] = 0


def _one_more_restart(container: Record) -> None:
    container["restartCount"] += 1


def _one_restart_less(container: Record) -> None:
    container["restartCount"] = max(0, container["restartCount"] - 1)


def _not_ready(container: Record) -> None:
    container["ready"] = False


def _ready(container: Record) -> None:
    container["ready"] = True


def _not_started(container: Record) -> None:
    container["started"] = False


def _started(container: Record) -> None:
    container["started"] = True


def _no_last_state(container: Record) -> None:
    container["lastState"] = {}


def _running(container: Record) -> None:
    container["state"] = {"running": {}}


def _waiting(container: Record) -> None:
    container["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": ""}}


def _stateless(container: Record) -> None:
    del container["state"]


def _exit_0(container: Record) -> None:
    for state in _states(container, "terminated"):
        state |= {"exitCode": 0, "reason": "Completed"}


def _exit_137(container: Record) -> None:
    for state in _states(container, "terminated"):
        state |= {"exitCode": 137, "reason": "Error", "message": "killed"}


def _no_finish(container: Record) -> None:
    for state in _states(container, "terminated"):
        state["finishedAt"] = None


def _finish_at_fraction(container: Record) -> None:
    for state in _states(container, "terminated"):
        if state.get("finishedAt"):
            state["finishedAt"] = state["finishedAt"].replace("Z", ".25+00:00")


def _no_start(container: Record) -> None:
    for state in _states(container, "running"):
        state["startedAt"] = "1970-01-01T00:00:00Z"


def _other_name(container: Record) -> None:
    container["name"] += "-other"


def _no_conditions(record: Record) -> None:
    record["status"]["conditions"] = None


def _conditions_inverted(record: Record) -> None:
    for condition in record["status"].get("conditions") or ():
        condition["status"] = "False" if condition["status"] == "True" else "True"
        condition["reason"] = "Turned"


def _phase(phase: str) -> Mutation:
    def mutate(record: Record) -> None:
        record["status"] |= {"phase": phase, "reason": None}

    return mutate


def _next_generation(record: Record) -> None:
    record["gen"] = record.get("gen", 0) + 1


STATUS_MUTATIONS: dict[str, Mutation] = {
    "no-conditions": _no_conditions,
    "conditions-turned": _conditions_inverted,
    "pending": _phase("Pending"),
    "running-phase": _phase("Running"),
    "succeeded": _phase("Succeeded"),
    "failed": _phase("Failed"),
    "next-generation": _next_generation,
}

CONTAINER_MUTATIONS: dict[str, Mutation] = {
    "no-restarts": _no_restarts,
    "one-more-restart": _one_more_restart,
    "one-restart-less": _one_restart_less,
    "not-ready": _not_ready,
    "ready": _ready,
    "not-started": _not_started,
    "started": _started,
    "no-last-state": _no_last_state,
    "running": _running,
    "waiting": _waiting,
    "stateless": _stateless,
    "exit-0": _exit_0,
    "exit-137": _exit_137,
    "no-finish": _no_finish,
    "finish-at-fraction": _finish_at_fraction,
    "no-start": _no_start,
    "other-name": _other_name,
}
