"""Describe evidence: what a container printed last, and what its hooks did."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.durations import format_age, format_duration
from probetui.k8s.runtime import LogLine
from probetui.kubelet.journal import (
    HookEntry,
    LastOutputEntry,
    UnfinishedTickEntry,
)
from probetui.presentation.text.view import View

PRINTED = "It last printed:"
_INDENT = "  "
_TOGETHER = timedelta(milliseconds=20)
_SHORT = 160
"""The longest last line that is a part of a sentence, in characters."""


def last_line(entry: LastOutputEntry) -> str:
    """Return the last line that is not blank, empty if there is none.

    Without one it is the last line of the termination message. Runtimes read the two
    streams of a container side by side: of lines that came together, the error is the
    last word.
    """
    lines = [line for line in entry.lines or () if line.text.strip()]
    if not lines:
        texts = entry.message.splitlines()
        return next((text for text in reversed(texts) if text.strip()), "")
    last = lines[-1]
    errors = (line for line in reversed(lines) if line.is_stderr)
    error = next((line for line in errors if _came_together(line, last)), last)
    return error.text


def _came_together(one: LogLine, other: LogLine) -> bool:
    if one.at is None or other.at is None:
        return False
    return other.at - one.at < _TOGETHER


def own_message(entry: LastOutputEntry) -> str:
    """Return the termination message, empty if it only repeats the output."""
    printed = [line.text for line in entry.lines or ()]
    message = entry.message.splitlines()
    same = min(len(printed), len(message))
    repeats = same and printed[-same:] == message[-same:]
    return "" if repeats else entry.message.rstrip("\n")


def last_line_sentence(entry: LastOutputEntry, view: View) -> str:
    """Return the last line that an instance printed, or that there is none."""
    if entry.lines is None:
        return f"What it printed last could not be read: {view.safe(entry.problem)}"
    if text := last_line(entry):
        what = "Its last line was" if entry.lines else "Its termination message is"
        return f'{what} "{shortened(view.safe(text))}".'
    return "It printed nothing."


def output_lines(entry: LastOutputEntry, view: View) -> Iterator[str]:
    """Yield all that an instance printed last, below a heading, and its message.

    Nothing if it is no more than the sentence about the last line.
    """
    message = own_message(entry) if entry.lines else ""
    lines = [view.safe(line.text) for line in entry.lines or ()]
    if len(lines) > 1 or any(shortened(line) != line for line in lines) or message:
        yield PRINTED
        yield from (_INDENT + line for line in lines)
        if message:
            yield "(termination message)"
            yield from (_INDENT + view.safe(line) for line in message.splitlines())


def shortened(text: str) -> str:
    """Return a line, cut if it is too long for a part of a sentence."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"


def hook_sentences(hook: HookEntry, view: View) -> Iterator[str]:
    """Yield what a lifecycle hook did, with its duration, its error and its output."""
    if hook.ended_at is None:
        since, age = view.times.stamp(hook.started_at), view.now - hook.started_at
        yield f"Its {hook.hook} hook has run since {since}, for {format_age(age)}."
        return
    lasted = format_duration(hook.ended_at - hook.started_at)
    if hook.error is None:
        yield f"Its {hook.hook} hook succeeded after {lasted}."
        if hook.output.strip():
            yield f"The hook printed: {view.safe(hook.output)}"
    else:
        # Late: the first screen tells no hook that failed.
        from probetui.analysis.causes.probe_failure import (  # noqa: PLC0415
            hook_failure,
        )
        from probetui.presentation.cause.probe_failure import (  # noqa: PLC0415
            failure_clause,
        )

        why = view.safe(hook_text(hook))
        failure = hook_failure(hook)
        if failure is not None and (clause := failure_clause(failure, view)):
            why = f"{why}; {clause}"
        yield f"Its {hook.hook} hook failed after {lasted}: {why}"


def hook_outcome(hook: HookEntry) -> str:
    """Return how a hook has ended: `failed after 1.2s`, or that it has started."""
    if hook.ended_at is None:
        return "started"
    lasted = format_duration(hook.ended_at - hook.started_at)
    return f"{'succeeded' if hook.error is None else 'failed'} after {lasted}"


def unfinished_text(entry: UnfinishedTickEntry) -> str:
    """Return that a probe runs for longer than its timeout."""
    lasted = format_duration(entry.at - entry.started_at)
    return f"has not ended after {lasted} (timeoutSeconds is {entry.timeout_seconds})"


def hook_text(hook: HookEntry) -> str:
    """Return why a hook failed and what it printed; a server's answer is printed."""
    output = hook.output.rstrip("\n")
    if hook.error is None:
        return output
    # The error of a command ends with what it printed on stderr, which may be all.
    error = hook.error.rstrip("\n")
    if not output or error.endswith(output):
        return error
    return (
        f"{error}{output}" if error.endswith(": ") else f"{error}; it printed: {output}"
    )
