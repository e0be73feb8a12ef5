"""What must hold of every answer, whatever happened: it is held against the journal.

The answer is read as values and as text. It may name only what exists, the head of its
chain must fit what the newest instance does, and nothing is promised of what has ended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from probetui.analysis.causes.answer import explain, last_endings
from probetui.analysis.causes.cause import Cause, WhyAnswer
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.analysis.session_summary import summarize_session
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    PodGoneEntry,
    StatusEntry,
)
from probetui.kubelet_rules import KubeletRules
from probetui.presentation.cause.answer import (
    answer_clause,
    chain_clauses,
    explain_answer,
)
from probetui.presentation.cause.predicates import Words
from probetui.presentation.cause.summary import summary_lines
from probetui.presentation.container.why import explain_container
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.why import Explanation, WhyContext

K = CauseKind

NOT_CREATED = frozenset(
    {
        K.NOT_SYNCED,
        K.WAITS_FOR_INIT_CONTAINER,
        K.WAITS_FOR_SIDECAR,
        K.WAITS_FOR_POST_START_HOOK,
        K.WAITS_FOR_START_BEFORE,
        K.WAITS_FOR_OLDER_POD,
        K.POD_ENDED_FIRST,
    }
)
"""Of a container that has no instance."""

_OF_EACH_END = (
    "A probe had reached its failureThreshold before",
    "The preStop hook runs first",
    "The hook printed: ",
    "Its preStop hook ",
    "Its postStart hook ",
)

OBSTACLES = frozenset(
    {
        K.IMAGE_PULLING,
        K.IMAGE_PULL_FAILED,
        K.IMAGE_NEVER_PULLED,
        K.IMAGE_NAME_INVALID,
        K.IMAGE_NOT_INSPECTED,
        K.MISSING_CONFIG_MAP,
        K.MISSING_SECRET,
        K.MISSING_KEY,
        K.MISSING_CLAIM,
        K.MISSING_TOKEN,
        K.VOLUME_NOT_MOUNTED,
        K.SANDBOX_FAILED,
        K.NETWORK_NOT_READY,
        K.CONFIG_REFUSED,
        K.RUNTIME_REFUSED,
        K.START_ERROR,
    }
)
"""Of a container that is to be created, or to be created again."""

UP = frozenset(
    {
        K.NOT_SYNCED,
        K.POST_START_HOOK_RUNNING,
        K.STARTUP_NOT_PROBED,
        K.STARTUP_PROBE_FAILS,
        K.STARTUP_PROBE_ERRORS,
        K.PROBE_HANGS,
        K.PROBE_MUTED,
        K.READINESS_NOT_PROBED,
        K.READINESS_PROBE_FAILS,
        K.READINESS_PROBE_ERRORS,
        K.READINESS_TOO_FEW_SUCCESSES,
        K.READINESS_GATE_UNSET,
        K.OTHER_CONTAINER_NOT_READY,
        K.LIVENESS_PROBE_FAILS,
        K.LIVENESS_PROBE_ERRORS,
        K.READY,
        K.RUNNING,
    }
)
"""Of an instance that runs and that nobody stops."""

STOPPING = frozenset(
    {K.PRE_STOP_HOOK_RUNNING, K.SIGTERM_IGNORED, K.SIDECAR_STOPS_LATER}
)

NOT_RESTARTED = frozenset(
    {
        K.RESTART_POLICY_NEVER,
        K.RESTART_POLICY_ON_FAILURE,
        K.INIT_CONTAINER_COMPLETED,
        K.POD_SUCCEEDED,
        K.POD_FAILED,
        K.POD_DELETED,
        K.BACK_OFF,
        K.RESTART_DUE,
    }
)
"""Of an instance that has ended."""

_DELETION = frozenset({K.DELETION_WAITS_FOR_SYNC, K.POD_BEING_DELETED})
_ENDS = frozenset(
    kind
    for kind in CauseKind
    if kind.value.startswith("killed-")
    or kind
    in {
        K.OOM_KILLED,
        K.START_FAILED,
        K.COMPLETED,
        K.EXITED,
        K.ENDED_BY_SIGNAL,
        K.ENDED_UNSEEN,
    }
)
FINAL = NOT_RESTARTED - {K.BACK_OFF, K.RESTART_DUE} | {K.POD_ENDED_FIRST}

PROMISES = re.compile(
    r"\bIt is (?:restarted|created|pulled again|tried again|stopped|ready)\b"
    r"|SIGKILL follows|and it (?:is killed|is ready|counts as started)"
    r"|counts as started once"
)
"""What would be said of the future."""

UNFIT = re.compile(r"\bNone\b|  |\(\)|::|: *$|\bfor -|in a row since.*in a row since")
"""What no sentence may have."""

CONTRADICTIONS: Sequence[tuple[str, str]] = (
    (r"has not been created", r"has not been restarted|is up and ready"),
    (r"restartPolicy is", r"in back-off|next sync of its pod restarts it"),
    (r"is in back-off", r"is up and ready|is being stopped"),
    (r"has not been restarted", r"It is created once"),
    (r"was out of memory", r"the kubelet sent none|its liveness probe failed"),
    (r"was never created", r"has not been restarted|is in back-off of"),
)
"""What may not stand of one subject in one answer."""


OF_PARAGRAPHS: Sequence[tuple[str, str]] = (
    (r"It was restarted", r"A restart was tried"),
    (r"without back-off", r"was in back-off until"),
    (r"grace period 0s", r"within the grace period"),
    (r"stopped within the grace period", r"did not stop within|something else sent"),
    (r"set the OOM flag", r"no OOM flag"),
    (r"It was killed", r"exited by itself|with the exit code of"),
)
"""What may not stand in the paragraph about one end."""

ACROSS: Sequence[tuple[str, str]] = (
    (r"did not end on its stop signal", r"^It did not stop within the grace period"),
    (r"was killed by the kernel", r"the kubelet sent none"),
)
"""What says the same, or contradicts it, in two places of one answer."""


class Observed(Struct, frozen=True):
    """An instant of a session.

    `past` is its history, and `entries` what was journaled until then.
    """

    past: SessionHistory
    entries: Sequence[JournalEntry]
    now: datetime
    rules: KubeletRules
    pods: tuple[Pod, ...]
    slowest_call: float = 0.0
    """How long a call of the runtime may take, in seconds."""


def untruths(observed: Observed) -> Iterator[str]:
    """Yield what is wrong with the answers about all containers at an instant."""
    pods = {pod.uid: pod for pod in observed.pods}
    for pod in observed.pods:
        for container in pod.all_containers():
            answer = explain(
                pod, container, observed.past, observed.now, observed.rules, pods
            )
            text = _text(answer, pod, container, observed)
            for wrong in (
                *_of_chain(answer, pod, observed.now),
                *_of_state(answer, pod, container, observed),
                *_of_future(answer, pod, observed, text),
                *_of_text(answer, text),
                *_of_links(answer, observed),
                *_of_absence(answer, pod, container, observed, text),
                *_of_details(answer, pod, container, observed),
            ):
                yield f"{pod.name}/{container.name} at {observed.now}: {wrong}\n{text}"


def _of_chain(answer: WhyAnswer, pod: Pod, now: datetime) -> Iterator[str]:
    names = set(pod.container_names())
    for head in answer.causes:
        seen = set()
        for cause in head.chain:
            subject = cause.subject
            if subject.container and subject.container not in names:
                yield f"there is no container {subject.container}"
            if (key := (cause.kind, subject)) in seen:
                yield f"{cause.kind} is because of itself"
            seen.add(key)
            if cause.since is not None and cause.since > now:
                yield f"{cause.kind} begins in the future"
            yield from _of_subject(cause, pod)


def _of_subject(cause: Cause, pod: Pod) -> Iterator[str]:
    subject = cause.subject
    container = pod.container(subject.container)
    if container is None:
        return
    is_awaited = cause.kind is K.WAITS_FOR_SIDECAR
    asked = pod.container(subject.name) if is_awaited else container
    if subject.probe is not None and (
        asked is None or asked.probe(subject.probe) is None
    ):
        yield f"{cause.kind} names a {subject.probe} probe that there is not"
    if cause.kind in _WAITS:
        for name in subject.name.split(", "):
            if name not in pod.container_names() or name == subject.container:
                yield f"{cause.kind} waits for {name!r}"


_WAITS = frozenset(
    {
        K.WAITS_FOR_INIT_CONTAINER,
        K.WAITS_FOR_SIDECAR,
        K.WAITS_FOR_POST_START_HOOK,
        K.WAITS_FOR_START_BEFORE,
        K.SIDECAR_STOPS_LATER,
        K.OTHER_CONTAINER_NOT_READY,
    }
)


def _of_state(
    answer: WhyAnswer, pod: Pod, container: Container, observed: Observed
) -> Iterator[str]:
    history = observed.past.container(pod.uid, container.name)
    last = history.instances[-1] if history.instances else None
    kind = answer.now.kind
    if last is None:
        fitting, state = NOT_CREATED | OBSTACLES | _DELETION, "was never created"
    elif last.exited is not None:
        fitting = NOT_RESTARTED | OBSTACLES | _DELETION | NOT_CREATED | _ENDS
        state = "has ended"
    elif last.stopping is not None:
        fitting, state = STOPPING | _ENDS | _DELETION, "is being stopped"
    elif last.started_at is None and last.created_at is not None:
        # One that is older than the session has neither time.
        fitting, state = OBSTACLES | _DELETION | {K.NOT_STARTED_YET}, "is not started"
    else:
        fitting, state = UP | _DELETION, "runs"
    if kind not in fitting:
        yield f"it {state}, and the answer is {kind}"
    patience = _PATIENCE + _CALLS_OF_SYNC * observed.slowest_call
    waits_long = _quiet_seconds(observed, pod) > patience
    if kind is K.NOT_SYNCED and waits_long and not _is_runtime_away(observed):
        yield "nothing is known to keep it"
    status = _status(observed, pod, container)
    # A kubelet that waits for the runtime makes no status of a probe's success.
    if kind is K.READY and status is False and not _is_runtime_away(observed):
        yield "it is not ready, and the answer is ready"
    if status and kind in _NOT_READY and container.probe(ProbeType.STARTUP) is None:
        yield f"it is ready, and the answer is {kind}"


_NOT_READY = frozenset(
    {
        K.READINESS_PROBE_FAILS,
        K.READINESS_NOT_PROBED,
        K.READINESS_TOO_FEW_SUCCESSES,
        K.STARTUP_PROBE_FAILS,
    }
)
_SUMMARY_LINES = 6
_PATIENCE = 5.0
"""Seconds in which the kubelet comes to a new pod, and goes on after a container."""
_CALLS_OF_SYNC = 4
"""Calls of a sync before the journal has anything of it: to make a sandbox, to look for
an image, to create and to start a container."""
_STOPPED_WITHIN = timedelta(seconds=1)
_RETRIED_WITHIN = timedelta(seconds=12)
"""In this time a sync that failed is tried again."""


def _quiet_seconds(observed: Observed, pod: Pod) -> float:
    """Return for how many seconds nothing has happened to a pod that is there."""
    times = [
        entry.at
        for entry in observed.entries
        if getattr(entry, "pod_uid", None) == pod.uid
    ]
    return (observed.now - max(times)).total_seconds() if times else 0.0


def _is_runtime_away(observed: Observed) -> bool:
    """Return whether the runtime does not answer, or did not before the last retry."""
    for entry in reversed(observed.entries):
        if isinstance(entry, NoteEntry) and "the container runtime" in entry.text:
            return entry.is_fault or observed.now - entry.at < _RETRIED_WITHIN
    return False


def _status(observed: Observed, pod: Pod, container: Container) -> bool | None:
    """Return whether the newest status says that a container is ready.

    None if it does not, or only just: with 1.20 a pod is Failed before it is stopped.
    """
    for entry in reversed(observed.entries):
        if isinstance(entry, StatusEntry) and entry.pod_uid == pod.uid:
            status = entry.status.container(container.name)
            is_new = observed.now - entry.at < _STOPPED_WITHIN
            return None if status is None or is_new else status.ready
    return None


def _of_future(
    answer: WhyAnswer, pod: Pod, observed: Observed, text: str
) -> Iterator[str]:
    is_gone = any(
        isinstance(entry, PodGoneEntry) and entry.pod_uid == pod.uid
        for entry in observed.entries
    )
    outlook = answer.outlook
    if (is_gone or answer.now.kind in FINAL) and (outlook or PROMISES.search(text)):
        yield "it has ended, and something is promised"
    if outlook is None:
        return
    if outlook.latest is not None and (
        outlook.earliest is None or outlook.earliest > outlook.latest
    ):
        yield f"it comes between {outlook.earliest} and {outlook.latest}"


def _of_text(answer: WhyAnswer, text: str) -> Iterator[str]:
    lines = text.split("\n")
    for line in lines:
        if UNFIT.search(line.strip()):
            yield f"no sentence: {line!r}"
    if len(set(lines)) < len(lines):
        yield "a line stands twice"
    head = lines[0].partition(", because ")[0]
    if answer.before is None:
        for one, other in CONTRADICTIONS:
            if re.search(one, head) and re.search(other, head):
                yield f"{one} beside {other}"


def _of_links(answer: WhyAnswer, observed: Observed) -> Iterator[str]:
    """Yield what a link of a chain says that the one before it has said."""
    view = View(TimeFormatter(observed.now, observed.now, zone=UTC))
    for head in answer.causes:
        for is_past in (False, True):
            clauses = chain_clauses(head, Words(view, is_past, observed.now))
            for before, after in pairwise(map(_statements, clauses)):
                if repeated := before & after:
                    yield f"a link says again: {repeated}"


def _statements(clause: str) -> frozenset[str]:
    """Return the statements of a clause that are long enough to say something."""
    parts = re.split(r"[:;,] | and ", clause)
    parts += re.findall(r"\bhas run for \S+", clause)
    return frozenset(part for part in parts if len(part.split()) > _FEW_WORDS)


_FEW_WORDS = 2


def _of_absence(
    answer: WhyAnswer, pod: Pod, container: Container, observed: Observed, text: str
) -> Iterator[str]:
    """Yield what is said of instances that there were not."""
    if answer.before is not None:
        return
    instances = observed.past.container(pod.uid, container.name).instances
    head = re.split(r"\n|, because ", text, maxsplit=1)[0]
    if re.search(r"not been created|never created", head) and instances:
        yield "it was created"
    if re.search(r"not been restarted", head) and not any(
        instance.exited for instance in instances
    ):
        yield "it has not ended, so it could not be restarted"
    if re.search(r"not been started", head) and not instances:
        yield "it was not even created"


def _of_details(
    answer: WhyAnswer, pod: Pod, container: Container, observed: Observed
) -> Iterator[str]:
    """Yield what is wrong with the paragraphs about the last ends."""
    past, now, rules = observed.past, observed.now, observed.rules
    context = WhyContext(
        pod,
        f"{pod.name}/{container.name}",
        container.name,
        past.pod_ip(pod.uid),
        past.container(pod.uid, container.name),
        View(TimeFormatter(now, now, zone=UTC), rules=rules),
        answer,
        last_endings(pod, container, past, now, rules),
    )
    paragraphs = explain_container(context, None)
    whole = [line for told in paragraphs for line in told.sentences]
    ends = [
        line for told in paragraphs if _is_about_end(told) for line in told.sentences
    ]
    # Two ends that went alike have the same facts, each below its own instance.
    counted = Counter(whole) - Counter(
        {line: ends.count(line) - 1 for line in ends if line.startswith(_OF_EACH_END)}
    )
    if repeated := {line for line, count in counted.items() if count > 1}:
        yield f"a line stands twice in the whole answer: {repeated}"
    for told in paragraphs[1 if answer.before is None else 0 :]:
        if not _is_about_end(told):
            continue
        text = "\n".join(told.sentences)
        if PROMISES.search(text):
            yield f"a paragraph promises something: {text}"
        if UNFIT.search(text):
            yield f"no sentence: {text!r}"
        for one, other in OF_PARAGRAPHS:
            if re.search(one, text) and re.search(other, text):
                yield f"{one} beside {other}: {text}"
    for one, other in ACROSS:
        everything = "\n".join((*(told.subject for told in paragraphs), *whole))
        if re.search(one, everything) and re.search(other, everything):
            yield f"{one} beside {other}: {everything}"


def _is_about_end(told: Explanation) -> bool:
    return told.subject.startswith(("Exit of", "Stop of"))


def of_summary(observed: Observed) -> Iterator[str]:
    """Yield what is wrong with the summary of a session that ends at an instant."""
    now, pods = observed.now, observed.pods
    began = observed.entries[0].at if observed.entries else now
    summary = summarize_session(observed.entries, pods, began, now, observed.rules)
    view = View(TimeFormatter(now, now, zone=UTC), rules=observed.rules)
    lines = [*summary_lines(summary, pods, view, "/record", is_last=True)]
    text = "\n".join(lines)
    if len(set(lines)) < len(lines) or len(lines) != _SUMMARY_LINES:
        yield f"a line stands twice, or is missing: {text}"
    if any(map(UNFIT.search, lines[:2])):
        yield f"no sentence: {text}"
    ended = [
        entry
        for entry in observed.entries
        if isinstance(entry, ContainerEntry)
        and entry.what is LifecycleStep.EXITED
        and entry.exit_code
        and entry.by is not ExitCause.DELETE
    ]
    if ended and summary.worst is None:
        yield f"something failed: {text}"


def _text(answer: WhyAnswer, pod: Pod, container: Container, observed: Observed) -> str:
    times = TimeFormatter(observed.now, observed.now, zone=UTC)
    view = View(times, rules=observed.rules)
    told = explain_answer(answer, f"{pod.name}/{container.name}", view)
    lines = [line for each in told for line in (each.subject, *each.sentences)]
    return "\n".join((*lines, answer_clause(answer, view)))
