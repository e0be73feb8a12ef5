"""The report of `why` as a value: instances of containers, and their explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from probetui.analysis.container_history import ContainerInstance, SessionHistory
from probetui.k8s.api.codec import format_time
from probetui.presentation.container.why import report_explanations, why_report
from probetui.presentation.report import Part, separated
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import WhyContext, attempt_predicate


class ExplainedContainer(Struct, frozen=True):
    """A container to explain, with its pod."""

    namespace: str
    pod_name: str
    pod_uid: str
    context: WhyContext


class WhyReport(Struct, frozen=True):
    """The instances and explanations of some containers of a session."""

    containers: Sequence[ExplainedContainer]
    past: SessionHistory

    def value(self) -> list[dict[str, object]]:
        """Return the instances and explanations of each container."""
        return [
            {
                "namespace": explained.namespace,
                "pod": explained.pod_name,
                "container": explained.context.container_name,
                "instances": [
                    _instance(instance, explained.context.view)
                    for instance in explained.context.history.instances
                ],
                "explanations": [
                    {
                        "subject": explanation.subject,
                        "sentences": explanation.sentences,
                        "command": explanation.command or None,
                    }
                    for explanation in report_explanations(
                        explained.context, self.past, explained.pod_uid
                    )
                ],
            }
            for explained in self.containers
        ]

    def parts(self, _form: str) -> Iterator[Part]:
        """Yield the lines of each container, separated by empty lines."""
        return separated(
            why_report(explained.context, self.past, explained.pod_uid)
            for explained in self.containers
        )


def _instance(instance: ContainerInstance, view: View) -> dict[str, object]:
    kill, end, exited = instance.kill, instance.end, instance.exited
    return {
        "containerID": instance.container_id,
        "restartCount": instance.restart_count,
        "startedAt": format_time(instance.started_at),
        "exitedAt": None if exited is None else format_time(exited.at),
        "exitCode": None if exited is None else exited.exit_code,
        "oomKilled": None if exited is None else exited.oom_killed,
        "by": None if end is None or end.by is None else end.by.value,
        "gracePeriodSeconds": None if end is None else end.grace_period_seconds,
        "killedBy": None
        if kill is None
        else {
            "probe": kill.key.probe_type.lower(),
            "n": kill.n,
            "ts": format_time(kill.timing.started_at),
            "failures": kill.run.count,
            "threshold": kill.run.threshold,
            "last": attempt_predicate(kill.attempts[-1], view)
            if kill.attempts
            else None,
        },
    }
