"""The answer of `why` for a ticket: as Markdown, or in three lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.analysis.container_history import SessionHistory
from probetui.k8s.api.pod import CONTAINER
from probetui.manifest.yaml.dump import dump_yaml
from probetui.presentation.cause.answer import page_command
from probetui.presentation.container.why import (
    instance_lines,
    report_explanations,
)
from probetui.presentation.text.markdown import code_block, code_span, markdown_line
from probetui.presentation.tick.why import Explanation, WhyContext, tick_history

_SETTINGS = (
    *("image", "command", "args", "restartPolicy"),
    *("startupProbe", "livenessProbe", "readinessProbe", "lifecycle"),
)
"""The fields of a container that a ticket shows: what decides on its life."""


def short_lines(
    context: WhyContext, session: SessionHistory, pod_uid: str
) -> list[str]:
    """Return at most three lines: the first sentences about what matters most."""
    first = report_explanations(context, session, pod_uid)[0]
    lines = (first.subject, *first.sentences)
    if context.answer is None:
        lines = (f"{context.shown_name}: {first.sentences[0]}", *first.sentences[1:])
    said, *others = lines
    return [said, *(f"  {line}" for line in (*others[:1], *others[1:][-1:]))]


def ticket_lines(
    context: WhyContext, session: SessionHistory, pod_uid: str
) -> list[str]:
    """Return what is known of a container, as Markdown."""
    return [*_ticket(context, session, pod_uid)]


def _ticket(
    context: WhyContext, session: SessionHistory, pod_uid: str
) -> Iterator[str]:
    yield f"### {markdown_line(context.shown_name)}"
    for explanation in report_explanations(context, session, pod_uid):
        yield from ("", f"**{markdown_line(explanation.subject)}**", "")
        yield from (f"- {markdown_line(line)}" for line in explanation.sentences)
        if explanation.printed:
            title, *printed = explanation.printed
            yield from _titled(title, printed)
        heading, *printed = explanation.printed or ("",)
        yield from _titled(heading, printed)
        yield from _repeat(explanation)
    if context.answer and (page := page_command(context.answer)):
        yield from ("", f"More: {code_span(page)}")
    yield from _titled("Tick by tick:", kill_ticks(context, session))
    yield from _titled("Instances:", instance_lines(context))
    yield from _titled("Settings in force:", _settings(context), "yaml")


def kill_ticks(context: WhyContext, session: SessionHistory) -> Iterator[str]:
    """Yield the ticks before a container's last end, if a probe brought that about."""
    for end in context.history.last_ends[:1]:
        if end.kill is not None:
            timeline = session.timeline(end.kill.key)
            yield from tick_history(timeline, end.kill, context.view)


def _repeat(explanation: Explanation) -> Iterator[str]:
    if explanation.command:
        lines = explanation.command.splitlines()
        yield from _titled("To repeat the probe by hand:", lines, "sh")
    if explanation.note:
        yield from ("", markdown_line(explanation.note))


def _titled(title: str, lines: Iterable[str], language: str = "text") -> Iterator[str]:
    """Yield a block of code below a title, nothing for no lines."""
    if kept := list(lines):
        yield from ("", title, "")
        yield from code_block(kept, language)


def _settings(context: WhyContext) -> list[str]:
    """Return the fields that decide on a container's life, with their defaults."""
    pod = None if context.pod is None else context.view.mask.pod(context.pod)
    container = None if pod is None else pod.container(context.container_name)
    if pod is None or container is None:
        return []
    fields = CONTAINER.write(container)
    settings = {name: fields[name] for name in _SETTINGS if name in fields}
    settings.setdefault("restartPolicy", pod.restart_policy.value)
    grace = pod.termination_grace_period_seconds
    if grace is not None:
        settings["terminationGracePeriodSeconds"] = grace
    return context.view.mask.text(dump_yaml(settings)).splitlines()
