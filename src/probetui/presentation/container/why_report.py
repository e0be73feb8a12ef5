"""The report of `why` as a value: instances of containers, and their explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from probetui.analysis.causes.cause import (
    Cause,
    WhyAnswer,
)
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.pages import page_of
from probetui.analysis.container_history import (
    ContainerInstance,
    InstanceRun,
    SessionHistory,
    fold_instances,
)
from probetui.analysis.next_failure import Outlook, OutlookCondition, OutlookEvent
from probetui.k8s.api.codec import format_time
from probetui.kubelet.journal import (
    ExitCause,
    HookEntry,
    HookType,
    LastOutputEntry,
)
from probetui.presentation.cause.answer import past_words
from probetui.presentation.cause.predicates import Words, predicate
from probetui.presentation.container.why import report_explanations, why_report
from probetui.presentation.container.why_ticket import short_lines, ticket_lines
from probetui.presentation.outlook import outlook_sentences
from probetui.presentation.report import Part, separated
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import WhyContext, attempt_predicate
from probetui.record.masking import Mask
from probetui.record.wire import json_schema


class ExplainedContainer(Struct, frozen=True):
    """A container to explain, with its pod."""

    namespace: str
    pod_name: str
    pod_uid: str
    context: WhyContext


class WhyReport(Struct, frozen=True):
    """The instances and explanations of some containers of a session.

    `origin` says in words of the command line how the session was started, and with
    which program, kubelet and runtime; a ticket ends with it. `doubt` is a sentence
    about all of it.
    """

    containers: Sequence[ExplainedContainer]
    past: SessionHistory
    origin: tuple[str, ...] = ()
    doubt: str = ""

    def value(self) -> list[WhyObject]:
        """Return the instances and explanations of each container."""
        return [_explained(container, self.past) for container in self.containers]

    def parts(self, form: str) -> Iterator[Part]:
        """Yield the lines of each container, separated by empty lines."""
        lines = _FORMS[form]
        yield from separated(
            lines(container.context, self.past, container.pod_uid)
            for container in self.containers
        )
        if self.doubt:
            yield from ("", self.doubt)
        if form == "md":
            yield from ("", *self.origin)


_FORMS: Mapping[str, Callable[[WhyContext, SessionHistory, str], list[str]]] = (
    MappingProxyType({"text": why_report, "md": ticket_lines, "short": short_lines})
)
"""What makes the lines of a container, by the form."""

APITime = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, in whole seconds",
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$",
    ),
]


class _WhyStruct(Struct, frozen=True, rename="camel"):
    """An object of the report."""


class KillObject(_WhyStruct, frozen=True):
    """The tick of a probe that killed an instance; `last` is what the probe said."""

    probe: Annotated[str, Meta(pattern="^(liveness|readiness|startup)$")]
    n: int
    ts: APITime | None
    failures: int
    threshold: int
    last: str | None


class LineObject(_WhyStruct, frozen=True):
    """One line that a container printed; `at` is null where it is not known."""

    at: APITime | None
    text: str
    stderr: bool


class OutputObject(_WhyStruct, frozen=True):
    """What an instance printed last, and its termination message.

    `lines` is null where the log could not be read; `problem` is the reason.
    """

    lines: list[LineObject] | None
    message: str
    problem: str


class HookObject(_WhyStruct, frozen=True):
    """A lifecycle hook that ran; the seconds are null while it runs."""

    hook: HookType
    started_at: APITime | None
    seconds: float | None
    error: str | None
    output: str


class InstanceObject(_WhyStruct, frozen=True):
    """An instance of a container; null stands for what is not known, or not yet.

    With `orNewer` its end is that of this instance or of one after it.
    """

    container_id: str = field(name="containerID")
    restart_count: int
    started_at: APITime | None
    exited_at: APITime | None
    exit_code: int | None
    oom_killed: bool | None
    by: ExitCause | None
    grace_period_seconds: int | None
    killed_by: KillObject | None
    last_output: OutputObject | None
    hooks: list[HookObject]
    or_newer: bool | UnsetType = UNSET


class InstanceRunObject(_WhyStruct, frozen=True):
    """Consecutive instances that ended alike, by their numbers, counted from 1.

    The seconds are the shortest and the longest time from a start to the next, null for
    a single instance.
    """

    first: int
    last: int
    exit_code: int | None
    by: ExitCause | None
    shortest_seconds: float | None
    longest_seconds: float | None


class ExplanationObject(_WhyStruct, frozen=True):
    """Sentences about a subject, and the command that repeats the probe."""

    subject: str
    sentences: tuple[str, ...]
    command: str | None


class CauseObject(_WhyStruct, frozen=True):
    """A link of the chain of causes: each is because of the next one.

    `page` is the kind that its page of the catalogue is named after. `name` is what
    else it is about, such as an image, an object or another container.
    """

    kind: CauseKind
    page: CauseKind
    container: str
    probe: str | None
    hook: HookType | None
    name: str | None
    since: APITime | None
    sentence: str
    quirk: CauseKind | None


class OutlookObject(_WhyStruct, frozen=True):
    """What comes next, not before `earliest` and not after `latest`.

    `condition` is what must happen first, `count` times.
    """

    what: OutlookEvent
    earliest: APITime | None
    latest: APITime | None
    condition: OutlookCondition | None
    count: int | None
    sentence: str


class RemedyObject(_WhyStruct, frozen=True):
    """Where to look: a field of the manifest, and a page of the catalogue."""

    path: str
    page: CauseKind


class WhyObject(_WhyStruct, frozen=True):
    """A container, what its instances came to, and why.

    `causes` is why it is as it is, `before_deletion` why it was not well when its pod
    was deleted, `last_end` how its last instance ended, where `causes` do not say so.
    There is no outlook for what has ended.
    """

    namespace: str
    pod: str
    container: str
    instances: list[InstanceObject]
    instance_runs: list[InstanceRunObject]
    explanations: list[ExplanationObject]
    causes: list[CauseObject]
    before_deletion: list[CauseObject]
    last_end: list[CauseObject]
    outlook: OutlookObject | None
    remedy: RemedyObject | None


_SCHEMA_NAMES: Mapping[type, str] = {
    CauseKind: "CauseKind",
    CauseObject: "Cause",
    OutlookCondition: "Condition",
    OutlookEvent: "Event",
    ExitCause: "By",
    ExplanationObject: "Explanation",
    HookObject: "HookRun",
    HookType: "Hook",
    InstanceObject: "Instance",
    InstanceRunObject: "InstanceRun",
    KillObject: "Kill",
    LineObject: "Line",
    OutlookObject: "Outlook",
    OutputObject: "Output",
    RemedyObject: "Remedy",
    WhyObject: "Container",
}


def why_schema() -> dict[str, Any]:
    """Return the JSON Schema of the report of `why`."""
    return json_schema(list[WhyObject], "What `probetui why` explains", _SCHEMA_NAMES)


def _explained(explained: ExplainedContainer, past: SessionHistory) -> WhyObject:
    context = explained.context
    instances = context.history.instances
    return WhyObject(
        explained.namespace,
        explained.pod_name,
        context.container_name,
        [_instance(instance, context.view) for instance in instances],
        [_run(run) for run in fold_instances(instances)],
        [
            ExplanationObject(
                explanation.subject, explanation.sentences, explanation.command or None
            )
            for explanation in report_explanations(context, past, explained.pod_uid)
        ],
        *_answer(context.answer, context.view),
    )


def _answer(
    answer: WhyAnswer | None, view: View
) -> tuple[
    list[CauseObject],
    list[CauseObject],
    list[CauseObject],
    OutlookObject | None,
    RemedyObject | None,
]:
    """Return causes, before a deletion, of the last end, the outlook, the remedy."""
    if answer is None:
        return [], [], [], None, None
    outlook, remedy, before = answer.outlook, answer.remedy, answer.before
    return (
        _chain(answer.now, Words(view)),
        [] if before is None else _chain(before, past_words(answer, view)),
        [] if answer.last_end is None else _chain(answer.last_end, Words(view)),
        None if outlook is None else _outlook(outlook, view),
        None if remedy is None else RemedyObject(remedy.path, page_of(remedy.page)),
    )


def _chain(head: Cause, words: Words) -> list[CauseObject]:
    return [
        CauseObject(
            cause.kind,
            page_of(cause.kind),
            cause.subject.container,
            None if cause.subject.probe is None else cause.subject.probe.lower(),
            cause.subject.hook,
            cause.subject.name or None,
            format_time(cause.since),
            predicate(cause, words),
            cause.quirk,
        )
        for cause in head.chain
    ]


def _outlook(outlook: Outlook, view: View) -> OutlookObject:
    return OutlookObject(
        outlook.what,
        format_time(outlook.earliest),
        format_time(outlook.latest),
        outlook.condition,
        outlook.count or None,
        " ".join(outlook_sentences(outlook, view)),
    )


def _instance(instance: ContainerInstance, view: View) -> InstanceObject:
    kill, end, exited = instance.kill, instance.end, instance.exited
    return InstanceObject(
        container_id=instance.container_id,
        restart_count=instance.restart_count,
        started_at=format_time(instance.started_at),
        exited_at=None if exited is None else format_time(exited.at),
        exit_code=None if exited is None else exited.exit_code,
        oom_killed=None if exited is None else exited.oom_killed,
        by=None if end is None else end.by,
        grace_period_seconds=None if end is None else end.grace_period_seconds,
        killed_by=None
        if kill is None
        else KillObject(
            probe=kill.key.probe_type.lower(),
            n=kill.n,
            ts=format_time(kill.timing.started_at),
            failures=kill.run.count,
            threshold=kill.run.threshold,
            last=attempt_predicate(kill.attempts[-1], view) if kill.attempts else None,
        ),
        last_output=None
        if instance.output is None
        else _output(instance.output, view.mask),
        hooks=[_hook(hook, view.mask) for hook in instance.hooks],
        or_newer=instance.or_newer or UNSET,
    )


def _output(entry: LastOutputEntry, mask: Mask) -> OutputObject:
    lines = entry.lines
    return OutputObject(
        None
        if lines is None
        else [
            LineObject(format_time(line.at), mask.text(line.text), line.is_stderr)
            for line in lines
        ],
        mask.text(entry.message),
        entry.problem,
    )


def _hook(hook: HookEntry, mask: Mask) -> HookObject:
    ended_at = hook.ended_at
    return HookObject(
        hook.hook,
        format_time(hook.started_at),
        None if ended_at is None else (ended_at - hook.started_at).total_seconds(),
        None if hook.error is None else mask.text(hook.error),
        mask.text(hook.output),
    )


def _run(run: InstanceRun) -> InstanceRunObject:
    exited, end = run.last.exited, run.last.end
    seconds = [interval.total_seconds() for interval in run.intervals]
    return InstanceRunObject(
        run.first.number,
        run.last.number,
        None if exited is None else exited.exit_code,
        None if end is None else end.by,
        *((min(seconds), max(seconds)) if seconds else (None, None)),
    )
