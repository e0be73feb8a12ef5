"""The conditions of `--until`."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.errors import UsageError
from probetui.headless.condition import (
    Condition,
    ConditionKind,
    ConditionWatch,
    parse_condition,
)
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import ContainerPort, Pod, RestartPolicy
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
)
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    PodGoneEntry,
    StatusEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from tests.builders import (
    a_container,
    a_pod,
    a_probe,
    a_tcp_probe,
    an_http_probe,
    at,
)
from tests.ticks import changed_tick, skipped_tick

WEB = a_pod(
    a_container("app", liveness_probe=a_probe()), a_container("log"), name="web"
)
PORTS = (ContainerPort(8080, "http"),)
DB = a_pod(a_container("db", readiness_probe=a_probe()), name="db")


def status(pod: Pod, *containers: ContainerStatus, ready: bool = False) -> StatusEntry:
    condition = PodCondition(
        "Ready", ConditionStatus.TRUE if ready else ConditionStatus.FALSE
    )
    pod_status = PodStatus(
        phase=PodPhase.RUNNING, conditions=(condition,), container_statuses=containers
    )
    return StatusEntry(1, at(1), pod.uid, pod_status)


def a_pod_end(pod: Pod, phase: PodPhase) -> StatusEntry:
    return StatusEntry(1, at(1), pod.uid, PodStatus(phase=phase))


def a_probed_tick(
    pod: Pod,
    container: str,
    stored: Result,
    probe_type: ProbeType = ProbeType.READINESS,
    *,
    second: int = 1,
) -> TickEntry:
    return changed_tick(
        skipped_tick(second),
        key=ProbeKey(pod.uid, container, probe_type),
        skip=None,
        result=stored,
        stored_after=stored,
    )


DB_PROBED = a_probed_tick(DB, "db", Result.SUCCESS)


def stopping(
    pod: Pod, container: str, by: ExitCause = ExitCause.LIVENESS
) -> ContainerEntry:
    return ContainerEntry(
        1,
        at(1),
        pod.uid,
        container,
        ContainerID("x://1"),
        0,
        LifecycleStep.STOPPING,
        by=by,
    )


def backoff(pod: Pod, container: str, *, waits: bool) -> BackoffEntry:
    return BackoffEntry(
        1, at(1), pod.uid, container, timedelta(), None, waits, None, timedelta()
    )


def event(pod: Pod, reason: str, container: str = "") -> EventEntry:
    return EventEntry(
        1, at(1), Event(EventType.NORMAL, reason, "", pod.uid, "", at(1), container)
    )


def watch(text: str, *pods: Pod) -> ConditionWatch:
    return ConditionWatch(parse_condition(text), pods or (WEB, DB))


def is_met(text: str, *entries: JournalEntry) -> bool:
    watching = watch(text)
    for entry in entries:
        watching.observe(entry)
    return watching.is_met


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ready", Condition(ConditionKind.READY)),
        ("started", Condition(ConditionKind.STARTED)),
        ("killed", Condition(ConditionKind.KILLED)),
        ("killed=3", Condition(ConditionKind.KILLED, 3)),
        ("restarts=2", Condition(ConditionKind.RESTARTS, 2)),
        ("backoff", Condition(ConditionKind.BACKOFF)),
        ("event=Unhealthy", Condition(ConditionKind.EVENT, reason="Unhealthy")),
        ("web:ready", Condition(ConditionKind.READY, target="web")),
        (
            "web/app:killed=2",
            Condition(ConditionKind.KILLED, 2, target="web/app"),
        ),
    ],
)
def test_a_condition_is_parsed_and_formatted(text: str, condition: Condition) -> None:
    assert parse_condition(text) == condition
    assert str(condition) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("redy", "nearest: ready", id="misspelt"),
        pytest.param("", "is not one of ready, started", id="nothing"),
        pytest.param("ready=1", "ready takes no number", id="number too many"),
        pytest.param("restarts", "restarts needs a number", id="number missing"),
        pytest.param("restarts=0", "not a number from 1", id="zero"),
        pytest.param("killed=-1", "not a number from 1", id="negative"),
        pytest.param("killed=x", "not a number from 1", id="no number"),
        pytest.param("event", "event needs a reason", id="reason missing"),
        pytest.param(":ready", "is not POD, POD/CONTAINER", id="empty target"),
        pytest.param("web/:ready", "is not POD, POD/", id="empty container"),
        pytest.param("a/b/c/d:ready", "is not POD, POD/", id="too many parts"),
    ],
)
def test_an_invalid_condition_is_refused_with_the_valid_ones(
    text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        parse_condition(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "wed:ready",
            r'no pod is called "wed" \(has: web, db\) \(nearest: web\)',
            id="pod",
        ),
        pytest.param(
            "web/ap:ready",
            r'pod "web" has no container "ap" \(has: app, log\)',
            id="container",
        ),
    ],
)
def test_an_unknown_target_is_refused_with_the_known_ones(
    text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        watch(text)


def test_ready_needs_every_pod() -> None:
    assert not is_met("ready", status(WEB, ready=True))
    assert is_met("ready", status(WEB, ready=True), DB_PROBED, status(DB, ready=True))


@pytest.mark.parametrize(
    ("text", "ticks", "is_reached"),
    [
        pytest.param("db:ready", [], False, id="no probe"),
        pytest.param("db/db:ready", [], False, id="no probe of the container"),
        pytest.param(
            "db:ready", [a_probed_tick(DB, "db", Result.FAILURE)], False, id="a failure"
        ),
        pytest.param(
            "db:ready",
            [a_probed_tick(DB, "db", Result.SUCCESS, ProbeType.LIVENESS)],
            False,
            id="another probe",
        ),
        pytest.param("db:ready", [DB_PROBED], True, id="a success"),
        pytest.param("db/db:ready", [DB_PROBED], True, id="of the container"),
        pytest.param(
            "db:ready",
            [changed_tick(DB_PROBED, result=None, stored_after=Result.FAILURE)],
            False,
            id="a skipped tick",
        ),
    ],
)
def test_ready_needs_a_readiness_probe_that_succeeded_in_this_session(
    text: str,
    ticks: list[TickEntry],
    is_reached: bool,  # noqa: FBT001  # a column of the table
) -> None:
    ready = status(DB, ContainerStatus("db", ready=True, started=True), ready=True)

    assert is_met(text, ready, *ticks) is is_reached


def test_a_success_of_an_earlier_instance_does_not_count() -> None:
    first_of_another = changed_tick(
        DB_PROBED, result=None, new_container=True, stored_after=Result.FAILURE
    )

    assert not is_met("db:ready", DB_PROBED, first_of_another, status(DB, ready=True))


def test_started_needs_a_startup_probe_that_succeeded_in_this_session() -> None:
    slow = a_pod(a_container("app", startup_probe=a_probe()), name="slow")
    started = status(slow, ContainerStatus("app", started=True))
    watching = watch("started", slow)

    watching.observe(started)
    assert not watching.is_met

    watching.observe(a_probed_tick(slow, "app", Result.SUCCESS, ProbeType.STARTUP))
    assert watching.is_met


def holding(*entries: JournalEntry) -> ConditionWatch:
    """Return a watch for a readiness of 10 seconds, after these entries."""
    watching = ConditionWatch(
        parse_condition("db:ready"), [DB], hold_for=timedelta(seconds=10)
    )
    for entry in entries:
        watching.observe(entry)
    return watching


def test_a_state_that_has_to_hold_is_met_after_its_duration() -> None:
    watching = holding(DB_PROBED, status(DB, ready=True))
    assert not watching.is_met
    assert watching.due_at == at(11)

    watching.advance(at(10.9))
    assert not watching.is_met

    watching.advance(at(11))
    assert watching.is_met


def test_an_interruption_restarts_the_duration() -> None:
    again = a_probed_tick(DB, "db", Result.SUCCESS, second=8)
    watching = holding(
        DB_PROBED,
        status(DB, ready=True),
        a_probed_tick(DB, "db", Result.FAILURE, second=5),
        again,
    )

    assert watching.due_at == at(18)
    watching.advance(at(17))
    assert not watching.is_met


def test_a_state_that_held_for_its_duration_is_met_even_if_it_ends_later() -> None:
    broken = a_probed_tick(DB, "db", Result.FAILURE, second=12)

    assert holding(DB_PROBED, status(DB, ready=True), broken).is_met


def test_only_a_state_can_hold() -> None:
    with pytest.raises(UsageError, match=r"^killed is an occurrence; only ready and"):
        ConditionWatch(parse_condition("killed"), [WEB], hold_for=timedelta(seconds=1))


def test_ready_needs_them_at_the_same_time() -> None:
    entries = [status(WEB, ready=True), status(WEB), status(DB, ready=True)]

    assert not is_met("ready", *entries)


def test_a_condition_that_was_met_once_stays_met() -> None:
    assert is_met("web:ready", status(WEB, ready=True), status(WEB))


def test_ready_of_a_pod_does_not_depend_on_the_others() -> None:
    assert is_met("web:ready", status(WEB, ready=True))
    assert not is_met("web:ready", status(DB, ready=True))


def test_ready_of_a_container_does_not_depend_on_the_others() -> None:
    entry = status(WEB, ContainerStatus("app", ready=True), ContainerStatus("log"))

    assert is_met("web/app:ready", entry)
    assert not is_met("web/log:ready", entry)


def test_started_needs_every_container_and_not_set_is_not_started() -> None:
    app = ContainerStatus("app", started=True)

    assert not is_met("web:started", status(WEB, app, ContainerStatus("log")))
    assert not is_met("web:started", status(WEB, app))
    assert is_met("web:started", status(WEB, app, ContainerStatus("log", started=True)))


def test_killed_counts_kills_by_probes_over_all_pods() -> None:
    kills = [stopping(WEB, "app"), stopping(DB, "db", ExitCause.STARTUP)]

    assert is_met("killed", kills[0])
    assert not is_met("killed=2", kills[0])
    assert is_met("killed=2", *kills)


def test_a_kill_that_turns_out_to_be_of_a_newer_instance_is_counted_once() -> None:
    told = replace(stopping(WEB, "app"), or_newer=True)
    again = replace(stopping(WEB, "app"), container_id=ContainerID("x://2"))
    later = replace(again, at=at(60))

    assert is_met("killed", told)
    assert not is_met("killed=2", told, again)
    assert is_met("killed=2", told, again, later)
    assert is_met("killed=2", told, later)


@pytest.mark.parametrize(
    "by", [ExitCause.DELETE, ExitCause.USER, ExitCause.ITSELF, ExitCause.POD]
)
def test_killed_does_not_count_ends_for_other_reasons(by: ExitCause) -> None:
    assert not is_met("killed", stopping(WEB, "app", by))


def test_killed_of_a_container_does_not_count_others() -> None:
    assert not is_met("web/app:killed", stopping(WEB, "log"))
    assert not is_met("web/app:killed", stopping(DB, "app"))
    assert is_met("web/app:killed", stopping(WEB, "app"))


def test_restarts_are_summed_over_containers() -> None:
    web = status(
        WEB,
        ContainerStatus("app", restart_count=1),
        ContainerStatus("log", restart_count=2),
    )

    assert is_met("restarts=3", web)
    assert not is_met("restarts=4", web)
    assert is_met("restarts=4", web, status(DB, ContainerStatus("db", restart_count=1)))
    assert not is_met("web/app:restarts=2", web)


def test_restarts_of_an_old_status_are_not_counted_again() -> None:
    once = status(WEB, ContainerStatus("app", restart_count=1))

    assert not is_met("restarts=2", once, once)


def test_backoff_is_met_when_a_container_waits() -> None:
    assert not is_met("backoff", backoff(WEB, "app", waits=False))
    assert is_met("backoff", backoff(WEB, "app", waits=True))


def test_an_event_is_matched_by_its_reason_and_its_container() -> None:
    unhealthy = event(WEB, "Unhealthy", "app")

    assert is_met("event=Unhealthy", unhealthy)
    assert is_met("web/app:event=Unhealthy", unhealthy)
    assert not is_met("web/log:event=Unhealthy", unhealthy)
    assert not is_met("event=Killing", unhealthy)


NEVER = a_pod(
    a_container("job", liveness_probe=a_probe()),
    name="job",
    restart_policy=RestartPolicy.NEVER,
)
SIDECAR = a_container("proxy", restart_policy=RestartPolicy.ALWAYS)


@pytest.mark.parametrize(
    ("text", "pod", "reason"),
    [
        pytest.param(
            "killed",
            DB,
            "no liveness probe and no startup probe in db",
            id="nothing can kill",
        ),
        pytest.param(
            "web/log:killed", WEB, "startup probe in web/log", id="not that container"
        ),
        pytest.param(
            "restarts=1", NEVER, "nothing in job is restarted", id="policy Never"
        ),
        pytest.param(
            "backoff", NEVER, "nothing in job is restarted", id="no back-off then"
        ),
        pytest.param(
            "ready",
            a_pod(name="gated", readiness_gates=("example.com/lb",)),
            "nothing sets the readiness gate of gated: example.com/lb",
            id="a readiness gate",
        ),
        pytest.param(
            "ready",
            a_pod(
                a_container(readiness_probe=an_http_probe(port="htpt"), ports=PORTS),
                name="shop",
            ),
            "the readiness probe of shop/app names port htpt, which the container "
            "does not have",
            id="ready with a readiness probe of a port that is not there",
        ),
        pytest.param(
            "ready",
            a_pod(a_container(startup_probe=a_tcp_probe(port="htpt"), ports=PORTS)),
            "names port htpt",
            id="ready with a startup probe of a port that is not there",
        ),
        pytest.param(
            "web/app:started",
            a_pod(a_container(startup_probe=an_http_probe(port="htpt"))),
            "names port htpt",
            id="started with a startup probe of a port that is not there",
        ),
    ],
)
def test_a_condition_that_can_never_be_met_is_reported_at_once(
    text: str, pod: Pod, reason: str
) -> None:
    assert reason in watch(text, pod).impossible


@pytest.mark.parametrize(
    ("text", "pod"),
    [
        pytest.param("killed", WEB, id="a liveness probe"),
        pytest.param(
            "killed", a_pod(a_container(startup_probe=a_probe())), id="a startup probe"
        ),
        pytest.param("ready", DB, id="a readiness probe"),
        pytest.param("ready", a_pod(), id="ready without a probe"),
        pytest.param(
            "ready",
            a_pod(a_container(readiness_probe=an_http_probe("http"), ports=PORTS)),
            id="a readiness probe of a port by its name",
        ),
        pytest.param(
            "ready",
            a_pod(a_container(liveness_probe=an_http_probe("htpt"))),
            id="ready where only the liveness probe has no port",
        ),
        pytest.param(
            "started",
            a_pod(a_container(readiness_probe=an_http_probe("htpt"))),
            id="started where only the readiness probe has no port",
        ),
        pytest.param("restarts=1", WEB, id="policy Always"),
        pytest.param(
            "restarts=1",
            a_pod(init_containers=(SIDECAR,), restart_policy=RestartPolicy.NEVER),
            id="a sidecar is restarted even with Never",
        ),
        pytest.param("event=Anything", NEVER, id="any event"),
    ],
)
def test_a_condition_that_can_be_met_is_waited_for(text: str, pod: Pod) -> None:
    assert watch(text, pod).impossible == ""


def test_ready_is_out_of_reach_once_a_pod_has_ended() -> None:
    watching = watch("ready")

    watching.observe(a_pod_end(WEB, PodPhase.SUCCEEDED))

    assert watching.impossible == "web has ended: Succeeded"


def test_a_count_is_out_of_reach_once_everything_is_gone() -> None:
    watching = watch("killed=2")
    watching.observe(stopping(WEB, "app"))
    watching.observe(PodGoneEntry(1, at(2), WEB.uid))
    still_possible = watching.impossible

    watching.observe(PodGoneEntry(2, at(3), DB.uid))

    assert still_possible == ""
    assert watching.impossible == "nothing of web, db runs or will run again"


def test_a_met_condition_is_never_out_of_reach() -> None:
    watching = watch("event=Completed")

    watching.observe(event(WEB, "Completed"))
    watching.observe(PodGoneEntry(1, at(2), WEB.uid))
    watching.observe(PodGoneEntry(2, at(3), DB.uid))

    assert watching.is_met
    assert watching.impossible == ""


JOB = a_pod(a_container("work"), name="job", restart_policy=RestartPolicy.NEVER)


def test_pods_have_succeeded_when_all_have_exited_successfully() -> None:
    other = a_pod(a_container("work"), name="other", restart_policy=RestartPolicy.NEVER)
    watch = ConditionWatch(parse_condition("succeeded"), [JOB, other])

    watch.observe(a_pod_end(JOB, PodPhase.SUCCEEDED))
    assert not watch.is_met
    assert not watch.impossible

    watch.observe(a_pod_end(other, PodPhase.SUCCEEDED))
    assert watch.is_met


def test_a_pod_that_failed_or_never_ends_cannot_succeed() -> None:
    watch = ConditionWatch(parse_condition("job:succeeded"), [JOB, WEB])
    watch.observe(a_pod_end(JOB, PodPhase.FAILED))

    assert watch.impossible == "job has ended: Failed"
    for_ever = ConditionWatch(parse_condition("web:succeeded"), [JOB, WEB])
    assert for_ever.impossible == "web never ends (restartPolicy Always)"
