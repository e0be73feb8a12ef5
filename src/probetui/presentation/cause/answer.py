"""An answer as sentences: why a container is as it is, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from probetui.analysis.causes.answer import WELL
from probetui.analysis.causes.cause import Cause, WhyAnswer
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.pages import page_of
from probetui.analysis.container_history import MISSING_PULL_SECRETS
from probetui.kubelet.journal import HookType
from probetui.presentation.cause.predicates import (
    Words,
    is_being_stopped,
    predicate,
    pull_clause,
    pull_secret_clause,
    stop_clause,
)
from probetui.presentation.cause.probe_failure import failure_clause
from probetui.presentation.container.evidence import hook_sentences
from probetui.presentation.outlook import outlook_sentences
from probetui.presentation.text.spans import (
    EMPTY,
    HINT,
    NEXT,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import Explanation

_OF_PROBES = frozenset(
    {
        CauseKind.NOTHING_LISTENS,
        CauseKind.CONNECTION_REFUSED,
        CauseKind.LISTENS_ON_LOOPBACK,
        CauseKind.LISTENS_ELSEWHERE,
        CauseKind.PORT_SPEAKS_TLS,
        CauseKind.PORT_SPEAKS_PLAIN,
        CauseKind.PORT_SPEAKS_OTHER,
        CauseKind.TLS_REFUSED,
        CauseKind.COMMAND_NOT_EXECUTABLE,
        CauseKind.PORT_IS_UDP,
        CauseKind.PORT_NAME_UNKNOWN,
        CauseKind.HOST_NOT_RESOLVED,
        CauseKind.HOST_UNREACHABLE,
        CauseKind.CONNECTION_RESET,
        CauseKind.REDIRECT_FOLLOWED,
        CauseKind.REDIRECT_NOT_FOLLOWED,
        CauseKind.HTTP_STATUS,
        CauseKind.GRPC_NOT_SERVING,
        CauseKind.GRPC_NO_HEALTH_SERVICE,
        CauseKind.COMMAND_FAILED,
        CauseKind.COMMAND_NOT_FOUND,
        CauseKind.TIMED_OUT,
        CauseKind.OUTPUT_HELD_OPEN,
        CauseKind.VARIABLE_NOT_EXPANDED,
        CauseKind.RUNTIME_ERROR,
        CauseKind.EXEC_CANCELED,
        CauseKind.PROBE_NOT_SENT,
        CauseKind.RESULT_INJECTED,
        CauseKind.PROBE_FAILED,
    }
)
"""The kinds whose subject is the probe itself."""

_BEGUN = frozenset(
    {
        CauseKind.NOT_SYNCED,
        CauseKind.NOT_STARTED_YET,
        CauseKind.POST_START_HOOK_RUNNING,
        CauseKind.STARTUP_NOT_PROBED,
        CauseKind.READINESS_NOT_PROBED,
        CauseKind.READINESS_TOO_FEW_SUCCESSES,
    }
)
"""Of what has just begun again, the end before it tells more than what comes next."""

_QUIRKS: Mapping[CauseKind, str] = {
    CauseKind.STARTUP_WINDOW: (
        "{it} had not started up yet: since 1.35 a container that is restarted at once "
        "counts as started until the next tick of its startup probe, so that its "
        "liveness probe runs too early (the startup window, k/k#141155)."
    ),
    CauseKind.PRE_STOP_HOOK_CUT_OFF: (
        "{its} preStop hook did not end within the grace period and was cut off."
    ),
    CauseKind.EXEC_CANCELED: (
        "From then on the command of {whose} readiness probe was not run any more "
        "and ended with `context canceled`, which counts for nothing, so that the "
        "container stayed as ready as it was: a rule of kubelet {version} (k/k#140881)."
    ),
    CauseKind.SIGTERM_IGNORED: (
        "{it} did not end on its stop signal within the grace period, so SIGKILL "
        "ended it."
    ),
}
"""What is odd about a container, `it`, in the words of the answer."""

_SYNC = timedelta(seconds=2)
"""A sync that does nothing but stop a pod's containers begins within this time."""

_FIRST_RESTARTS = range(2, 4)
"""The numbers of instances that make people ask why the first restart was at once."""


def explain_answer(answer: WhyAnswer, name: str, view: View) -> Iterator[Explanation]:
    """Yield the explanations of an answer, the most telling one first."""
    present = Words(view)
    if answer.before is not None:
        past = past_words(answer, view)
        lead = _lead(name, answer.before, past)
        why = tuple(_because(answer.before, past))
        ended = tuple(line for line in _last_end(answer, present) if line not in why)
        until = (
            f"That was so until its pod was deleted{present.at(answer.now.since)}.",
            *_late_stop(answer.now, present),
        )
        has_begun = answer.before.kind in _BEGUN
        rest = (*ended, *until) if has_begun else (*until, *ended)
        yield Explanation(lead, (*why, *rest))
        return
    if answer.leads_with_last_end and answer.last_end is not None:
        said = tuple(_because(answer.last_end, present))
        yield Explanation(
            _lead(
                f"{_instance_of(answer.last_end).capitalize()} of {name}",
                answer.last_end,
                present,
            ),
            (
                *said,
                f"The container {predicate(answer.now, present)}.",
                *(line for line in _because(answer.now, present) if line not in said),
            ),
        )
        return
    said = tuple(_because(answer.now, present))
    ended = tuple(line for line in _last_end(answer, present) if line not in said)
    comes = tuple(_outlook(answer, view))
    has_begun = answer.now.kind in _BEGUN
    rest = (*ended, *comes) if has_begun else (*comes, *ended)
    yield Explanation(_lead(name, answer.now, present), (*said, *rest))


def _late_stop(deleted: Cause, words: Words) -> Iterator[str]:
    """Yield that a deletion came after the sync that ran, if it did."""
    instance = deleted.evidence.instance
    stop = None if instance is None else instance.stopping
    if stop is None or deleted.since is None or stop.at - deleted.since < _SYNC:
        return
    yield (
        f"The deletion waited for the sync that ran: it was stopped{words.at(stop.at)}."
    )


def past_words(answer: WhyAnswer, view: View) -> Words:
    """Return the words for what was so until the deletion of a pod."""
    return Words(view, is_past=True, now=answer.now.since)


def page_command(answer: WhyAnswer) -> str:
    """Return the command that prints the page about an answer; empty if all is well.

    The page is that of the last link of the chain of which something is known; that of
    a missing pull Secret is the page of the image.
    """
    heads = answer.causes
    if heads[0].kind in _BEGUN and answer.last_end is not None:
        heads = (answer.last_end, *heads)
    for head in heads:
        is_known = head.kind is not CauseKind.BETWEEN_SAMPLES or head.because
        if head.kind not in WELL and is_known:
            kinds = [
                cause.kind
                for cause in head.chain
                if cause.evidence.reason != MISSING_PULL_SECRETS
            ]
            known = [kind for kind in kinds if kind not in _TELL_LITTLE]
            return f"probetui why --page {page_of((known or kinds)[-1])}"
    return ""


_TELL_LITTLE = WELL | {CauseKind.PROBE_FAILED, CauseKind.BETWEEN_SAMPLES}


def chain_lines(answer: WhyAnswer, name: str, view: View) -> list[Line]:
    """Return the chain of causes, a line each, and what comes next as the last one.

    A cause is indented below what it brought about.
    """
    head, *reasons = chain_clauses(answer.now, Words(view))
    corner = "`- " if view.marks.is_ascii else "└ "
    lines = [line(strong(name), f" {head}")]
    for depth, reason in enumerate(reasons):
        indent = "  " * depth + corner
        lines.append(line(muted(indent), reason))
    if comes := " ".join(_outlook(answer, view)):
        lines.append(line(Span(f"{NEXT}{comes}", Role.WARNING)))
    return lines


def root_line(answer: WhyAnswer, name: str, view: View) -> Line:
    """Return the root of the chain of causes, which says most where only one fits.

    What a probe printed stands above it, so what that means takes its place, or else
    what it brought about; empty if nothing is left to say.
    """
    words = Words(view)
    head, *others = answer.now.chain
    if not others:
        return line(strong(name), f" {predicate(head, words)}")
    root = others.pop()
    if root.kind in _OF_PROBES and root.evidence.failure is not None:
        if clause := failure_clause(root.evidence.failure, view):
            return line(Span(HINT, Role.ACCENT), strong(clause))
        if not others:
            return EMPTY
        root = others.pop()
    reason = _reason(root, head, words)
    return line(f"{reason[:1].upper()}{reason[1:]}")


def answer_clause(answer: WhyAnswer, view: View) -> str:
    """Return why a container is as it is, as what follows its name in one line."""
    clause, end = cause_clause(answer.now, view), answer.last_end
    if end is None or answer.now.kind not in _BEGUN:
        return clause
    return f"{clause}; its {_instance_of(end)} {cause_clause(end, view)}"


def cause_clause(head: Cause, view: View, until: datetime | None = None) -> str:
    """Return a chain of causes, as what follows a name in one line.

    Args:
        head: the first cause.
        view: formats instants, and makes foreign text safe.
        until: say what was so until then; None says what is so.
    """
    words = Words(view) if until is None else Words(view, is_past=True, now=until)
    return _joined(chain_clauses(head, words))


def chain_clauses(head: Cause, words: Words) -> list[str]:
    """Return what is said of each cause of a chain; the first has no subject.

    None says again how the one before it ends, as `side is not ready` does.
    """
    clauses = [predicate(head, words)]
    for before, cause in pairwise(head.chain):
        if (before.kind, cause.kind) == _SAME_HOOK:
            continue
        reason = _reason(cause, head, words)
        state, _, why = reason.partition(": ")
        is_told = bool(why) and clauses[-1].endswith(state)
        clauses.append(why if is_told else reason)
    return clauses


_SAME_HOOK = (
    CauseKind.WAITS_FOR_POST_START_HOOK,
    CauseKind.POST_START_HOOK_RUNNING,
)
"""What waits for a hook has said for how long it has run."""


def _joined(clauses: Sequence[str]) -> str:
    return ", because ".join(clauses)


def _reason(cause: Cause, head: Cause, words: Words) -> str:
    """Return what follows `because`; it does not say again what the head says."""
    subject = _subject(cause, head)
    if is_being_stopped(cause):
        is_dated = head.kind is CauseKind.BETWEEN_SAMPLES
        return stop_clause(cause, words, _possessive(subject), is_dated=is_dated)
    if cause.evidence.reason == MISSING_PULL_SECRETS:
        return pull_secret_clause(cause, words)
    if cause.kind is CauseKind.IMAGE_PULLING:
        return pull_clause(cause, words, _possessive(subject))
    return f"{subject} {predicate(cause, words)}"


def _possessive(subject: str) -> str:
    return "its" if subject == "it" else f"{subject}'s"


def _lead(name: str, head: Cause, words: Words) -> str:
    """Return the first line: all of a chain but its root, which is the second line."""
    clauses = chain_clauses(head, words)
    return f"{name} {_joined(clauses[:-1] or clauses)}"


def _because(head: Cause, words: Words) -> Iterator[str]:
    """Yield the root of a chain, and then what else is known of it."""
    _, *reasons = chain_clauses(head, words)
    if reasons:
        yield f"because {reasons[-1]}"
    for cause in head.chain:
        yield from cause.evidence.lines
    for cause in head.chain:
        if cause.quirk is not None:
            name = _subject(cause, head)
            it, its = ("It", "Its") if name == "it" else (name, f"{name}'s")
            whose = its.lower() if name == "it" else its
            yield _QUIRKS[cause.quirk].format(
                it=it, its=its, whose=whose, version=words.view.rules.version
            )
        yield from _failed_pre_stop(cause, words)
        if cause.kind is CauseKind.BACK_OFF:
            yield from _about_back_off(cause)
        if cause.kind is CauseKind.KILLED_BY_ANOTHER:
            yield (
                "Another process sent it, or the program exited with that code, which "
                "looks the same."
            )


def _failed_pre_stop(cause: Cause, words: Words) -> Iterator[str]:
    """Yield that the preStop hook of an instance failed before it was stopped."""
    instance = cause.evidence.instance
    is_end = cause.kind.startswith("killed-") or cause.kind is CauseKind.POD_DELETED
    hook = None if instance is None else instance.hook(HookType.PRE_STOP)
    is_cut_off = cause.quirk is CauseKind.PRE_STOP_HOOK_CUT_OFF
    if is_end and not is_cut_off and hook is not None and hook.error is not None:
        yield from hook_sentences(hook, words.view)


def _about_back_off(cause: Cause) -> Iterator[str]:
    because = cause.because
    if because is not None and because.kind is CauseKind.COMPLETED:
        yield (
            "restartPolicy Always restarts a container that exits with 0 too, and "
            "backs off all the same."
        )
    if cause.evidence.count in _FIRST_RESTARTS:
        yield (
            "Its first restart was at once: there was no back-off yet, and each "
            "restart sets the next one, twice as long."
        )


def _subject(cause: Cause, head: Cause) -> str:
    if cause.kind in _OF_PROBES:
        return "the probe" if cause.subject.hook is None else "the hook"
    name = cause.subject.container
    return "it" if name == head.subject.container else name


def _last_end(answer: WhyAnswer, words: Words) -> Iterator[str]:
    end, before = answer.last_end, answer.before
    if end is None or (before is not None and _tells(before, end)):
        return
    yield from _end_lines(f"Its {_instance_of(end)}", end, words)


def _tells(head: Cause, end: Cause) -> bool:
    """Return whether a chain says how an instance ended."""
    return any(
        cause.kind is end.kind and cause.evidence.instance == end.evidence.instance
        for cause in head.chain
    )


def end_sentences(subject: str, end: Cause, view: View) -> Iterator[str]:
    """Yield who ended an instance, or asked for its end, and why."""
    yield from _end_lines(subject, end, Words(view))


def _end_lines(subject: str, end: Cause, words: Words) -> Iterator[str]:
    yield f"{subject} {predicate(end, words)}"
    yield from _because(end, words)


def _instance_of(end: Cause) -> str:
    instance = end.evidence.instance
    return "instance" if instance is None else f"instance {instance.number}"


def _outlook(answer: WhyAnswer, view: View) -> Iterator[str]:
    if answer.outlook is not None:
        yield from outlook_sentences(answer.outlook, view)
