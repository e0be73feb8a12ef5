"""What is said of a container for each kind of cause: a predicate that follows a name.

`web/app` + `is not ready: its readiness probe failed 3 times in a row`. A predicate is
in the present, or in the past for what was so until a pod was deleted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.analysis.causes.cause import Cause
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.obstacles import is_refused_by_registry
from probetui.durations import format_age, format_countdown, format_duration
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    HookType,
    LifecycleStep,
)
from probetui.presentation.cause.probe_failure import failure_clause
from probetui.presentation.container.evidence import hook_text, last_line, shortened
from probetui.presentation.container.exits import signal_name
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import attempt_predicate

K = CauseKind
_SECOND = timedelta(seconds=1)


class Words(Struct, frozen=True):
    """The tense and the formats of a sentence.

    Attributes:
        view: formats instants, and makes foreign text safe.
        is_past: say what was so.
        now: until when something lasted.
    """

    view: View
    is_past: bool = False
    now: datetime | None = None

    @property
    def be(self) -> str:
        """Return `is` or `was`."""
        return "was" if self.is_past else "is"

    @property
    def have(self) -> str:
        """Return `has` or `had`."""
        return "had" if self.is_past else "has"

    @property
    def wait(self) -> str:
        """Return `waits` or `waited`."""
        return "waited" if self.is_past else "waits"

    def lasted(self, since: datetime | None) -> str:
        """Return for how long something has gone on: ` for 40s`."""
        if since is None:
            return ""
        return f" for {format_age((self.now or self.view.now) - since)}"

    def since(self, instant: datetime | None) -> str:
        """Return since when: ` since 12:00:03.0`."""
        return "" if instant is None else f" since {self.view.times.stamp(instant)}"

    def at(self, instant: datetime | None) -> str:
        """Return when: ` at 12:00:03.0`."""
        return "" if instant is None else f" at {self.view.times.stamp(instant)}"

    def lasted_since(self, step: ContainerEntry) -> str:
        """Return for how long it has gone on since a step: ` for 3s to 20s`."""
        now = self.now or self.view.now
        least, most = format_age(now - step.latest), format_age(now - step.earliest)
        return f" for {least}" if least == most else f" for {least} to {most}"

    def started(self, cause: Cause) -> str:
        """Return when the instance of a cause was started: ` at 12:00:03.0`."""
        instance = cause.evidence.instance
        start = None if instance is None else instance.start
        return self.at(cause.since) if start is None else self.view.times.when(start)

    def said(self, message: str) -> str:
        """Return what somebody said, after a colon; empty if nothing was said."""
        return f": {self.view.safe(message)}" if message else ""


Predicate = Callable[[Cause, Words], str]


def predicate(cause: Cause, words: Words) -> str:
    """Return what is said of the subject of a cause."""
    return _PREDICATES[cause.kind](cause, words)


# -- never created


def _absent(cause: Cause, words: Words) -> str:
    """Return that a container is not there: it was never created, or not again."""
    instance = cause.evidence.instance
    if instance is None:
        return f"{words.have} not been created"
    if instance.exited is not None:
        return f"{words.have} not been restarted"
    return f"{words.have} not been started"


def _missing(what: str) -> Predicate:
    def say(cause: Cause, words: Words) -> str:
        name = f" {words.view.safe(cause.subject.name)}" if cause.subject.name else ""
        is_missing = what.format(name=name)
        said = words.said(_detail(cause))
        return f"{_absent(cause, words)}: {is_missing}{_reason(cause)}{said}"

    return say


def _reason(cause: Cause) -> str:
    """Return the kubelet's word in brackets, as other tools show it."""
    return f" ({cause.evidence.reason})" if cause.evidence.reason else ""


def _detail(cause: Cause) -> str:
    """Return the message, unless it says no more than which object is missing."""
    message = cause.evidence.message
    is_plain = message.endswith("not found") and message.count('"') == 2  # noqa: PLR2004  # one quoted name
    return "" if is_plain else message


def _not_synced(cause: Cause, words: Words) -> str:
    if cause.subject.probe is not None:
        return (
            f"{words.be} ready by its probes, and the kubelet {words.have} made no "
            "status of that yet"
        )
    if cause.evidence.instance is not None:
        runs = "ran" if words.is_past else "runs"
        return f"{runs}, and the kubelet {words.have} made no status of it yet"
    return f"{words.have} not been created yet: the kubelet {words.have} not come to it"


def _waits_for_init(cause: Cause, words: Words) -> str:
    other = cause.subject.name
    return f"{_absent(cause, words)}: it {words.wait} for init container {other}"


def _waits_for_sidecar(cause: Cause, words: Words) -> str:
    other, exits = cause.subject.name, cause.evidence.count
    is_probed = cause.subject.probe is not None
    if not words.is_past:
        counts = "its startup probe succeeds" if is_probed else "it runs"
        is_not_up = f"which counts as started once {counts}"
    elif is_probed:
        is_not_up = "whose startup probe had not succeeded"
    else:
        is_not_up = "which had not started"
    text = f"{_absent(cause, words)}: it {words.wait} for sidecar {other}, {is_not_up}"
    if not exits:
        return text
    times = "once" if exits == 1 else f"{exits} times"
    return (
        f"{text}; it has exited {times} before the first tick of that probe that "
        "counted"
    )


def _waits_for_hook(cause: Cause, words: Words) -> str:
    hook = f"the postStart hook of {cause.subject.name}"
    comes = f"waited for {hook}" if words.is_past else f"is created once {hook} ends"
    lasted = words.lasted(cause.since)
    return f"{_absent(cause, words)}: it {comes}; it {words.have} run{lasted}"


def _waits_for_start(cause: Cause, words: Words) -> str:
    started = "was starting" if words.is_past else "is starting"
    return f"{_absent(cause, words)}: the kubelet {started} {cause.subject.name} first"


def _pulling(cause: Cause, words: Words) -> str:
    return f"{_absent(cause, words)}: {pull_clause(cause, words, 'its')}"


def pull_clause(cause: Cause, words: Words, its: str) -> str:
    """Return how long a pull has taken; `its` is whose image it is."""
    image = words.view.safe(cause.subject.name)
    took = format_age((words.now or words.view.now) - (cause.since or words.view.now))
    return f"the pull of {its} image {image} {words.have} taken {took} so far"


def _image_not_pulled(cause: Cause, words: Words) -> str:
    image = words.view.safe(cause.subject.name)
    message = cause.evidence.message
    needs = ""
    if cause.because is None and is_refused_by_registry(message):
        needs = (
            "; the registry wants credentials, those of imagePullSecrets, or has no "
            "such repository"
        )
    return (
        f"{_absent(cause, words)}: its image {image} could not be pulled"
        f"{_reason(cause)}{words.said(message)}{needs}"
    )


def pull_secret_clause(cause: Cause, words: Words) -> str:
    """Return that pull Secrets do not exist, with which an image could be pulled."""
    names = words.view.safe(cause.subject.name)
    secrets, do = ("Secrets", "do") if ", " in names else ("Secret", "does")
    do = "did" if words.is_past else do
    return (
        f"{secrets} {names}, which imagePullSecrets names, {do} not exist, so the pull "
        "went on without"
    )


def _image_never_pulled(cause: Cause, words: Words) -> str:
    image = words.view.safe(cause.subject.name)
    return (
        f"{_absent(cause, words)}: its image {image} is not there, and imagePullPolicy "
        "is Never"
    )


def _pod_ended_first(cause: Cause, words: Words) -> str:
    phase, reason = cause.subject.name, cause.evidence.message
    why = f" ({reason})" if reason else ""
    if cause.because is None and cause.since is not None:
        return f"was never created: the pod was deleted{words.at(cause.since)}"
    return f"was never created: the pod is {phase}{why}"


# -- between two samples


def _between_samples(cause: Cause, words: Words) -> str:
    """Return what an instance may have been, and the bounds of what decides it."""
    step, instance = cause.evidence.undecided, cause.evidence.instance
    at, stamp = words.at(words.now or words.view.now), words.view.times.stamp
    if isinstance(step, ContainerEntry):
        when = words.view.times.when(step)
        if step.what is LifecycleStep.STOPPING:
            states = f"either still running or already being stopped{at}"
            return f"was {states}: it was killed{when}"
        if instance is None:
            return f"had either not been started yet{at} or ran: it was started{when}"
        if instance.exited is None:
            states = f"either running or between two instances{at}"
        else:
            states = f"either still down or already running again{at}"
        return f"was {states}: it was restarted{when}"
    if step is None or step.not_before is None:
        return f"{words.be} not ready, and no result of a probe tells why"
    began = None if instance is None else instance.started_at
    is_new = began is not None and began > step.not_before
    first = began if began is not None and is_new else step.not_before
    when = f" between {stamp(first)} and {stamp(step.at)}"
    was_ready, is_ready = step.before == "true" and not is_new, step.after == "true"
    if is_ready and not was_ready:
        return f"was up, and either ready already{at} or not yet: it became ready{when}"
    if was_ready and not is_ready:
        return (
            f"was up, and either still ready{at} or no longer: it ceased to be ready"
            f"{when}"
        )
    state = "ready" if is_ready else "not ready"
    return (
        f"was up, and either ready{at} or not: it may have changed{when}, and was "
        f"{state} at last"
    )


# -- created, and being up


def _not_started(_cause: Cause, words: Words) -> str:
    return f"{words.have} been created, and {words.be} being started"


def _start_error(cause: Cause, words: Words) -> str:
    message = cause.evidence.message
    said = f"{words.said(message)}{_why_not_started(message, words)}"
    return f"could not be started{_reason(cause)}{said}"


_START_ERRORS: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r'exec: "(\S+\s[^"]*)": .*(?:not found|no such file)'),
        (
            'the whole of "{}" is looked up as one program: each word of a command is '
            "an item of its own"
        ),
    ),
    (
        re.compile(r'exec: "([^"]+)": (?:executable file not found|stat \S+: no such)'),
        "{} is not in the image",
    ),
    (
        re.compile(r'exec: "([^"]+)": permission denied'),
        (
            "{} is in the image, and may not be executed: it lacks the mode x, or the "
            "container's user may not"
        ),
    ),
    (re.compile(r"exec format error()"), "the image is one for another processor"),
    (
        re.compile(r'chdir to cwd \("([^"]+)"\)'),
        "workingDir {} is not there, or the container's user may not enter it",
    ),
    (
        re.compile(r"(?:not a directory|is a directory)()(?=.*mount)", re.IGNORECASE),
        "a file and a directory are mounted on each other: subPath mounts a file alone",
    ),
)
"""What a runtime's error means, with what it is about."""


def _why_not_started(message: str, words: Words) -> str:
    for pattern, meaning in _START_ERRORS:
        if match := pattern.search(message):
            return f"; {meaning.format(words.view.safe(match[1]))}"
    return ""


def _hook_runs(cause: Cause, words: Words) -> str:
    return (
        f"{words.be} not up: its postStart hook {words.have} run"
        f"{words.lasted(cause.since)}"
    )


def _not_probed(state: str) -> Predicate:
    def say(cause: Cause, words: Words) -> str:
        delay, due = cause.evidence.needed, cause.evidence.until
        lead = f"{words.be} not {state}: its {_probe(cause)} probe {words.have}"
        now = words.now or words.view.now
        if due is not None and now - due > _SECOND:
            late = format_age(now - due)
            return (
                f"{lead} given no result yet: the tick due{words.at(due)} {words.have} "
                f"not ended for {late}"
            )
        if cause.because is not None:
            return f"{lead} given no result yet"
        why = f", as initialDelaySeconds is {delay}" if delay else ""
        comes = "" if due is None else f"; its next tick {words.be} due{words.at(due)}"
        return f"{lead} not run yet{why}{comes}"

    return say


def _hangs(cause: Cause, words: Words) -> str:
    unfinished = cause.evidence.unfinished
    timeout = 0 if unfinished is None else unfinished.timeout_seconds
    return (
        f"{words.have} a {_probe(cause)} probe that {words.have} not ended"
        f"{words.lasted(cause.since)}, although timeoutSeconds is {timeout}: the tick "
        f"began{words.at(cause.since)}, and no other runs meanwhile"
    )


def _lead(state: str, words: Words) -> str:
    if state == "well":
        return f"{words.be} up, and "
    return f"{words.be} not {state}: "


def _fails(state: str) -> Predicate:
    def say(cause: Cause, words: Words) -> str:
        count, needed = cause.evidence.count, cause.evidence.needed
        tick = cause.evidence.tick
        times = "once" if count == 1 else f"{count} times in a row"
        is_counting = cause.subject.probe is ProbeType.STARTUP or state == "well"
        if is_counting and needed:
            times = f"{count} of {needed} times in a row"
        since = words.since(cause.since) if count > 1 else ""
        if not since and tick is not None:
            since = words.at(tick.timing.started_at)
        lead = _lead(state, words)
        return f"{lead}its {_probe(cause)} probe failed {times}{since}"

    return say


def _errors(state: str) -> Predicate:
    def say(cause: Cause, words: Words) -> str:
        lead = _lead(state, words)
        return (
            f"{lead}its {_probe(cause)} probe could not be run, which counts as "
            "neither a success nor a failure"
        )

    return say


def _muted(cause: Cause, words: Words) -> str:
    is_startup = cause.subject.probe is ProbeType.STARTUP
    lead = _lead("up" if is_startup else "ready", words)
    return f"{lead}its {_probe(cause)} probe {words.be} muted, so that nothing counts"


def _too_few_successes(cause: Cause, words: Words) -> str:
    run = f"{cause.evidence.count} of {cause.evidence.needed}"
    return f"{words.be} not ready: its readiness probe succeeded {run} times in a row"


def _gate(cause: Cause, words: Words) -> str:
    gate = words.view.safe(cause.subject.name)
    return (
        f"{words.be} ready, and its pod {words.be} not: nothing has set the readiness "
        f"gate {gate} to True{words.said(cause.evidence.message)}"
    )


def _other_not_ready(cause: Cause, words: Words) -> str:
    other = cause.subject.name
    return f"{words.be} ready, and its pod {words.be} not: {other} {words.be} not ready"


def _being_deleted(cause: Cause, words: Words) -> str:
    return f"{words.be} being deleted with its pod{words.since(cause.since)}"


def _ready(cause: Cause, words: Words) -> str:
    is_up = f"{words.be} up and ready"
    if cause.since is None:
        return is_up
    return f"{is_up}; it was started{words.started(cause)}"


def _running(cause: Cause, words: Words) -> str:
    started = f"{words.be} running; it was started{words.started(cause)}"
    return f"{started}{_printed(cause, words)}"


# -- ended


_KILL_REASONS: Mapping[CauseKind, str] = {
    K.KILLED_BY_POST_START_HOOK: "{its} postStart hook failed",
    K.KILLED_BY_DEADLINE: "the pod was active for longer than activeDeadlineSeconds",
    K.KILLED_BY_DELETION: "its pod was deleted",
    K.KILLED_BY_EDIT: "{its} definition was changed",
    K.KILLED_BY_USER: "a user asked for it",
    K.KILLED_BY_DRAIN: "its pod was evicted",
    K.KILLED_BY_RESTART_ALL: "{name} restarts all containers of the pod",
    K.KILLED_WITH_POD: "its pod was stopped as a whole{more}",
}


_KILLS = frozenset(
    {K.KILLED_BY_LIVENESS, K.KILLED_BY_STARTUP, K.STARTUP_WINDOW, *_KILL_REASONS}
)


def _killed(cause: Cause, words: Words) -> str:
    reason = f"{_kill_reason(cause)}{_ended(cause)}{words.said(_kill_output(cause))}"
    stopping = _sampled_stop(cause)
    if stopping is not None:
        return f"was killed{words.view.times.when(stopping)}: {reason}"
    if is_being_stopped(cause):
        return f"{words.be} being killed{words.since(cause.since)}: {reason}"
    return f"was killed{words.at(cause.since)}: {reason}"


def _sampled_stop(cause: Cause) -> ContainerEntry | None:
    """Return the stop of an instance of which bounds are known alone."""
    instance = cause.evidence.instance
    stopping = None if instance is None else instance.stopping
    return None if stopping is None or stopping.not_before is None else stopping


def is_being_stopped(cause: Cause) -> bool:
    """Return whether a cause is that of a stop which has not ended."""
    instance = cause.evidence.instance
    is_running = instance is not None and instance.exited is None
    return cause.kind in _KILLS and is_running


def stop_clause(cause: Cause, words: Words, its: str, *, is_dated: bool = False) -> str:
    """Return why a container is being stopped: `its pod was deleted at 12:00:03.0`.

    `its` is what names the container, if another one is the subject. `is_dated`: when
    that was has been said.
    """
    said, stopping = words.said(_kill_output(cause)), _sampled_stop(cause)
    when = words.view.times.when(stopping) if stopping else words.at(cause.since)
    return f"{_kill_reason(cause, its)}{'' if is_dated else when}{said}"


def _kill_reason(cause: Cause, its: str = "its") -> str:
    if cause.kind in _KILL_REASONS:
        name = cause.subject.name
        more = f", as {name}" if " " in name else f" ({name})" if name else ""
        return _KILL_REASONS[cause.kind].format(name=name, its=its, more=more)
    count, needed = cause.evidence.count, cause.evidence.needed
    run = ""
    if count > needed:
        run = f" {count} times in a row"
    elif needed > 1:
        run = f" {count} of {needed} times in a row"
    return f"{its} {_probe(cause)} probe failed{run}"


def _kill_output(cause: Cause) -> str:
    """Return what a hook said whose failure ends a container, else an empty text."""
    is_hook = cause.kind is K.KILLED_BY_POST_START_HOOK
    if not is_hook or cause.because is not None:  # The reason has it.
        return ""
    instance = cause.evidence.instance
    hook = None if instance is None else instance.hook(HookType.POST_START)
    return cause.evidence.message if hook is None else hook_text(hook)


def _ended(cause: Cause) -> str:
    """Return how an instance ended that was killed: ` (exit 143 after 0.3s)`."""
    instance = cause.evidence.instance
    exited = None if instance is None else instance.exited
    if exited is None:
        return ""
    return f" ({_exit_code(exited)})"


def _exit_code(exited: ContainerEntry) -> str:
    if exited.exit_code is None:
        return "exit code not known"
    signal = signal_name(exited.exit_code, exited.signal)
    return f"exit {exited.exit_code}" + (f", {signal}" if signal else "")


def _when_it_ended(cause: Cause, words: Words) -> str:
    """Return when an instance ended: ` at 12:00:04.0, 2.0s after its start`."""
    instance, ended_at = cause.evidence.instance, cause.evidence.ended_at
    exited = None if instance is None else instance.exited
    if instance is None or exited is None:
        return words.at(cause.since)
    at = words.at(ended_at or exited.at)
    if instance.started_at is None:
        return at
    length = format_countdown((ended_at or exited.at) - instance.started_at)
    most = "" if ended_at is not None else "at most "
    return f"{at}, {most}{length} after its start"


def _printed(cause: Cause, words: Words) -> str:
    """Return the last line that an instance printed, as the end of a sentence."""
    instance = cause.evidence.instance
    output = None if instance is None else instance.output
    text = "" if output is None else last_line(output)
    return f'; its last line was "{shortened(words.view.safe(text))}"' if text else ""


def _code(cause: Cause) -> int:
    instance = cause.evidence.instance
    exited = None if instance is None else instance.exited
    return 0 if exited is None else exited.exit_code or 0


def _signal(cause: Cause) -> str:
    instance = cause.evidence.instance
    exited = None if instance is None else instance.exited
    return "" if exited is None else signal_name(exited.exit_code or 0, exited.signal)


def _killed_by_another(cause: Cause, words: Words) -> str:
    return (
        f"ended with the exit code of {_signal(cause)}{_when_it_ended(cause, words)}; "
        f"the kubelet sent none{_printed(cause, words)}"
    )


def _out_of_memory(cause: Cause, words: Words) -> str:
    end = _when_it_ended(cause, words)
    if _signal(cause) == "SIGKILL":
        reason = f"it was out of memory{_printed(cause, words)}"
        return f"was killed by the kernel{end}: {reason}"
    return (
        f"exited by itself with {_code(cause)}{end}, after the kernel had killed a "
        f"process of it: it was out of memory{_printed(cause, words)}"
    )


def _exited(cause: Cause, words: Words) -> str:
    end = f"{_when_it_ended(cause, words)}{_printed(cause, words)}"
    return f"exited by itself with {_code(cause)}{end}{_what_it_means(cause)}"


_LAST_WORDS: Mapping[str, str] = {
    "address already in use": (
        "the containers of a pod have one network, in which another one, or another "
        "process of this one, has that port"
    ),
    "exec format error": "the image is one for another processor",
    "exec /": (
        "what its first line (#!) or its loader names is not in the image; a CR at the "
        "end of that line is part of the name"
    ),
    "read-only file system": (
        "the place that it writes to needs a volume, or readOnlyRootFilesystem is set"
    ),
}
_EXIT_CODES: Mapping[int, str] = {
    126: "exit code 126 is that of a shell which cannot execute the command it found",
    127: (
        "exit code 127 is that of a shell which did not find a command, or what the "
        "first line (#!) of one names, where a CR at its end counts"
    ),
}


def _what_it_means(cause: Cause) -> str:
    """Return what last words or an exit code mean that many programs have."""
    instance = cause.evidence.instance
    output = None if instance is None else instance.output
    text = "" if output is None or not _code(cause) else last_line(output).lower()
    said = (meaning for words, meaning in _LAST_WORDS.items() if words in text)
    meaning = next(said, _EXIT_CODES.get(_code(cause), ""))
    return f"; {meaning}" if meaning else ""


def _crashed(cause: Cause, words: Words) -> str:
    end = f"{_when_it_ended(cause, words)}{_printed(cause, words)}"
    return f"was ended by {_signal(cause)}{end}"


def _unseen(cause: Cause, words: Words) -> str:
    instance = cause.evidence.instance
    end = None if instance is None else instance.end
    when = "" if end is None else words.at(end.at)
    if end is not None and end.by is ExitCause.UNCERTAIN:
        return (
            f"ended{when} with {_code(cause)}, perhaps killed by its probe: not "
            "each of its results is known, or not their order"
        )
    if end is not None and end.by is ExitCause.UNKNOWN:
        return (
            f"ended{when} with {_code(cause)}, and its probe did not ask for it: by "
            "itself, or by a change of its pod"
        )
    return "ended before it was watched; the cause is not known"


# -- not restarted


def _not_restarted(why: str) -> Predicate:
    def say(cause: Cause, words: Words) -> str:
        reason = f" ({cause.subject.name})" if cause.subject.name else ""
        return f"{words.have} not been restarted: {why}{reason}"

    return say


def _completed_init(_cause: Cause, words: Words) -> str:
    return f"{words.have} succeeded, as an init container must, and is not restarted"


def _pod_deleted(cause: Cause, words: Words) -> str:
    return f"was deleted with its pod{words.at(cause.since)}"


def _back_off(cause: Cause, words: Words) -> str:
    wait, until = cause.evidence.backoff, cause.evidence.until
    window = "" if wait is None else f" of {format_age(wait.window)}"
    since = "" if wait is None else words.at(wait.since)
    if until is not None and (words.now or words.view.now) >= until:
        return (
            f"{words.have} not been restarted yet: its back-off{window} was over"
            f"{words.at(until)}"
        )
    instance = cause.evidence.instance
    began_at = None if instance is None else instance.started_at
    is_of_before = wait and wait.since and began_at and wait.since < began_at
    whose = "the exit of the instance before" if is_of_before else "its exit"
    exit_text = f", counted from {whose}{since}" if since else ""
    return f"{words.be} in back-off{window}{exit_text}"


def _restart_due(_cause: Cause, words: Words) -> str:
    return f"{words.be} not running"


# -- being deleted


def _deletion_waits(cause: Cause, words: Words) -> str:
    if cause.evidence.instance is None:
        return (
            f"{_absent(cause, words)}, and its pod {words.be} not gone: the deletion "
            f"{words.wait} for the sync that runs"
        )
    return (
        f"{words.be} not gone: the deletion of its pod {words.wait} for the sync that "
        "runs"
    )


def _pre_stop(cause: Cause, words: Words) -> str:
    until = cause.evidence.until
    most = (
        ""
        if until is None
        else f"; it {words.be} cut off{words.at(until)} at the latest"
    )
    stopping = _sampled_stop(cause)
    lasted = words.lasted_since(stopping) if stopping else words.lasted(cause.since)
    return f"{words.be} being stopped: its preStop hook {words.have} run{lasted}{most}"


def _sigterm_ignored(cause: Cause, words: Words) -> str:
    instance = cause.evidence.instance
    if (stopping := _sampled_stop(cause)) is not None:
        return (
            f"{words.be} being stopped, and {words.have} not ended"
            f"{words.lasted_since(stopping)}"
        )
    hook = None if instance is None else instance.hook(HookType.PRE_STOP)
    after = ""
    if hook is not None and hook.ended_at is not None:
        took = format_duration(hook.ended_at - hook.started_at)
        after = f" since the end of its preStop hook, which took {took}"
    elif cause.since and (words.now or words.view.now) - cause.since < _SECOND:
        return f"{words.be} being stopped"
    return (
        f"{words.be} being stopped, and {words.have} not ended"
        f"{words.lasted(cause.since)}{after}"
    )


def _sidecar_later(cause: Cause, words: Words) -> str:
    return (
        f"{words.be} being stopped after the containers that it serves: it "
        f"{words.wait} for {cause.subject.name}"
    )


def _cut_off(_cause: Cause, _words: Words) -> str:
    return "had a preStop hook that was cut off"


# -- probes


def _probe(cause: Cause) -> str:
    probe_type = cause.subject.probe
    return "" if probe_type is None else probe_type.lower()


def _attempt(cause: Cause, words: Words) -> str:
    tick, failure = cause.evidence.tick, cause.evidence.failure
    if tick is not None and tick.attempts:
        said = attempt_predicate(tick.attempts[-1], words.view)
    elif failure is not None:
        attempt = failure.failed.attempt
        said = f"failed after {format_duration(attempt.duration)}"
        said += words.said(attempt.output.rstrip())
    elif cause.kind is K.OUTPUT_HELD_OPEN:
        return (
            f"{words.wait} for the end of its command's output, which a child keeps "
            "open: the runtime ends the command at its time limit, and not its children"
        )
    else:
        return "failed"
    clause = "" if failure is None else failure_clause(failure, words.view)
    return f"{said}; {clause}" if clause else said


def _injected(_cause: Cause, _words: Words) -> str:
    return "did not run: a user injected the result"


_PREDICATES: Mapping[CauseKind, Predicate] = {
    K.NOT_SYNCED: _not_synced,
    K.BETWEEN_SAMPLES: _between_samples,
    K.WAITS_FOR_INIT_CONTAINER: _waits_for_init,
    K.WAITS_FOR_SIDECAR: _waits_for_sidecar,
    K.WAITS_FOR_POST_START_HOOK: _waits_for_hook,
    K.WAITS_FOR_START_BEFORE: _waits_for_start,
    K.IMAGE_PULLING: _pulling,
    K.IMAGE_PULL_FAILED: _image_not_pulled,
    K.IMAGE_NEVER_PULLED: _image_never_pulled,
    K.IMAGE_NAME_INVALID: _missing("the name of its image is invalid"),
    K.IMAGE_NOT_INSPECTED: _missing("the runtime could not look for its image"),
    K.MISSING_CONFIG_MAP: _missing("ConfigMap{name} does not exist"),
    K.MISSING_SECRET: _missing("Secret{name} does not exist"),
    K.MISSING_KEY: _missing("an object that it names has no key{name}"),
    K.MISSING_CLAIM: _missing("PersistentVolumeClaim{name} is not there"),
    K.MISSING_TOKEN: _missing("there is no token of service account{name}"),
    K.VOLUME_NOT_MOUNTED: _missing("a volume could not be mounted"),
    K.SANDBOX_FAILED: _missing("the sandbox of its pod could not be created"),
    K.NETWORK_NOT_READY: _missing("the network of the runtime is not ready"),
    K.WAITS_FOR_OLDER_POD: _missing("an older pod{name} is still being stopped"),
    K.CONFIG_REFUSED: _missing("the kubelet could not make its configuration"),
    K.RUNTIME_REFUSED: _missing("the runtime refused to create it"),
    K.POD_ENDED_FIRST: _pod_ended_first,
    K.NOT_STARTED_YET: _not_started,
    K.START_ERROR: _start_error,
    K.POST_START_HOOK_RUNNING: _hook_runs,
    K.STARTUP_NOT_PROBED: _not_probed("up"),
    K.STARTUP_PROBE_FAILS: _fails("up"),
    K.STARTUP_PROBE_ERRORS: _errors("up"),
    K.READINESS_NOT_PROBED: _not_probed("ready"),
    K.READINESS_PROBE_FAILS: _fails("ready"),
    K.READINESS_PROBE_ERRORS: _errors("ready"),
    K.READINESS_TOO_FEW_SUCCESSES: _too_few_successes,
    K.READINESS_GATE_UNSET: _gate,
    K.OTHER_CONTAINER_NOT_READY: _other_not_ready,
    K.POD_BEING_DELETED: _being_deleted,
    K.LIVENESS_PROBE_FAILS: _fails("well"),
    K.LIVENESS_PROBE_ERRORS: _errors("well"),
    K.READY: _ready,
    K.RUNNING: _running,
    K.PROBE_MUTED: _muted,
    K.PROBE_HANGS: _hangs,
    **dict.fromkeys(_KILLS, _killed),
    K.KILLED_BY_ANOTHER: _killed_by_another,
    K.OOM_KILLED: _out_of_memory,
    K.START_FAILED: _start_error,
    K.COMPLETED: _exited,
    K.EXITED: _exited,
    K.ENDED_BY_SIGNAL: _crashed,
    K.ENDED_UNSEEN: _unseen,
    K.RESTART_POLICY_NEVER: _not_restarted("restartPolicy is Never"),
    K.RESTART_POLICY_ON_FAILURE: _not_restarted(
        "restartPolicy is OnFailure, and it exited with 0"
    ),
    K.INIT_CONTAINER_COMPLETED: _completed_init,
    K.POD_SUCCEEDED: _not_restarted("its pod has succeeded"),
    K.POD_FAILED: _not_restarted("its pod has failed"),
    K.POD_DELETED: _pod_deleted,
    K.BACK_OFF: _back_off,
    K.RESTART_DUE: _restart_due,
    K.DELETION_WAITS_FOR_SYNC: _deletion_waits,
    K.PRE_STOP_HOOK_RUNNING: _pre_stop,
    K.PRE_STOP_HOOK_CUT_OFF: _cut_off,
    K.SIGTERM_IGNORED: _sigterm_ignored,
    K.SIDECAR_STOPS_LATER: _sidecar_later,
    K.RESULT_INJECTED: _injected,
    **dict.fromkeys(
        (
            K.NOTHING_LISTENS,
            K.CONNECTION_REFUSED,
            K.LISTENS_ON_LOOPBACK,
            K.LISTENS_ELSEWHERE,
            K.PORT_SPEAKS_TLS,
            K.PORT_SPEAKS_PLAIN,
            K.PORT_SPEAKS_OTHER,
            K.TLS_REFUSED,
            K.COMMAND_NOT_EXECUTABLE,
            K.PORT_IS_UDP,
            K.PORT_NAME_UNKNOWN,
            K.HOST_NOT_RESOLVED,
            K.HOST_UNREACHABLE,
            K.CONNECTION_RESET,
            K.REDIRECT_FOLLOWED,
            K.REDIRECT_NOT_FOLLOWED,
            K.HTTP_STATUS,
            K.GRPC_NOT_SERVING,
            K.GRPC_NO_HEALTH_SERVICE,
            K.COMMAND_FAILED,
            K.COMMAND_NOT_FOUND,
            K.TIMED_OUT,
            K.OUTPUT_HELD_OPEN,
            K.VARIABLE_NOT_EXPANDED,
            K.RUNTIME_ERROR,
            K.EXEC_CANCELED,
            K.PROBE_NOT_SENT,
            K.PROBE_FAILED,
        ),
        _attempt,
    ),
}
